"""Tables as people have them: ten kinds, made by a seed, each a mess of its own."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

Rows = list[list[Any]]
START = datetime(2024, 3, 1, 8)


def write_table(
    path: Path, names: list[str], rows: Rows, *, separator: str = ",", encoding: str = "utf-8"
) -> Path:
    """Write a table of texts and numbers."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator)
    writer.writerows([names, *rows])
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def make_call_centre(folder: Path, rng: np.random.Generator, n: int = 300) -> Path:
    """Texts, missing values, an identifier, a time, one step for each customer."""
    rows, time = [], START
    for i in range(n):
        time += timedelta(minutes=int(rng.integers(1, 90)))
        offer = rng.choice(["none", "mail", "call"], p=[0.5, 0.3, 0.2])
        revenue = {"none": 0.0, "mail": 3.0, "call": 2.0}[str(offer)] + rng.normal()
        region = "" if rng.random() < 0.1 else rng.choice(["north", "south", "east"])
        income = rng.choice(["NA", "31000", "52000", "78000"])
        rows.append(
            [
                *(f"C{i:05d}", int(rng.integers(18, 80)), region, f"{time:%Y-%m-%d %H:%M}"),
                *(income, str(offer), f"{revenue:.2f}"),
            ]
        )
    names = ["call_id", "age", "region", "called_at", "income", "offer", "revenue"]
    return write_table(folder / "calls.csv", names, rows)


def make_offers(folder: Path, rng: np.random.Generator, n: int = 300) -> Path:
    """The probability of each offer that was made, and money with its sign."""
    rows = []
    for _ in range(n):
        loyalty, chances = rng.random(), np.array([0.2, 0.3, 0.5])
        offer = int(rng.choice(3, p=chances))
        earned = loyalty * offer + rng.normal(scale=0.3)
        price = f"${rng.integers(5, 20)}.99"
        rows.append([f"{loyalty:.3f}", price, offer, chances[offer], f"${earned:.2f}"])
    names = ["loyalty", "basket", "offer", "pscore", "revenue"]
    return write_table(folder / "offers.csv", names, rows)


def make_dosing(folder: Path, rng: np.random.Generator, n: int = 60) -> Path:
    """Visits of patients, laboratory values that are often missing, yes and no."""
    rows = []
    for patient in range(n):
        pressure, day = rng.normal(150, 12), START
        for _ in range(int(rng.integers(3, 7))):
            dose = str(rng.choice(["none", "low", "high"]))
            pressure += {"none": 2.0, "low": -3.0, "high": -6.0}[dose] + rng.normal()
            creatinine = "n.d." if rng.random() < 0.2 else f"{rng.normal(1.0, 0.2):.2f}"
            shown = "" if rng.random() < 0.1 else f"{pressure:.0f}"
            day += timedelta(days=int(rng.integers(20, 40)))
            wellbeing = -abs(pressure - 130) / 20
            rows.append([f"P{patient:03d}", f"{day:%d/%m/%Y}", shown, creatinine, dose, wellbeing])
    rng.shuffle(rows)
    names = ["patient_id", "visit date", "pressure", "creatinine", "dose", "wellbeing"]
    return write_table(folder / "dosing.csv", names, rows)


def make_energy(folder: Path, rng: np.random.Generator, n: int = 24 * 21) -> Path:
    """A row each hour, days before months, per cent, a number that is chosen."""
    rows, warmth = [], 20.0
    for hour in range(n):
        time = START + timedelta(hours=hour)
        setpoint = round(float(rng.uniform(18, 24)), 1)
        warmth += 0.3 * (setpoint - warmth) + rng.normal(scale=0.2)
        saving = -abs(warmth - 21) - 0.1 * setpoint
        humidity = f"{rng.integers(30, 60)} %"
        rows.append(
            [f"{time:%d.%m.%Y %H:%M}", f"{warmth:.2f}", humidity, setpoint, f"{saving:.3f}"]
        )
    names = ["timestamp", "indoor", "humidity", "setpoint", "saving"]
    return write_table(folder / "energy.csv", names, rows)


def make_latin(folder: Path, rng: np.random.Generator, n: int = 300) -> Path:
    """Latin-1, semicolons, decimal commas, umlauts in names and texts."""
    rows = []
    for _ in range(n):
        size, shop = rng.normal(3, 1), rng.choice(["Köln", "München", "Überlingen"])
        price = str(rng.choice(["günstig", "üblich", "hoch"]))
        profit = {"günstig": 1.0, "üblich": 2.0, "hoch": 2.5}[price] + rng.normal()
        shown = [f"{size:.2f}".replace(".", ","), shop, price, f"{profit:.2f}".replace(".", ",")]
        rows.append(shown)
    names = ["Größe", "Filiale", "price", "profit"]
    return write_table(folder / "laden.csv", names, rows, separator=";", encoding="latin-1")


def make_one_hot(folder: Path, rng: np.random.Generator, n: int = 300) -> Path:
    """The action spread over columns of zeros and ones."""
    rows = []
    for _ in range(n):
        age, arm = int(rng.integers(20, 70)), int(rng.integers(3))
        marks = [int(arm == i) for i in range(3)]
        rows.append([age, *marks, int(rng.random() < 0.2 + 0.2 * arm)])
    names = ["age", "treatment_a", "treatment_b", "treatment_c", "cured"]
    return write_table(folder / "trial.csv", names, rows)


def make_unicode(folder: Path, rng: np.random.Generator, n: int = 300) -> Path:
    """Labels in many scripts, a comma in a label, words for yes and no."""
    arms = ["お茶", "قهوة", 'milk, "hot"', "☕"]
    rows = []
    for _ in range(n):
        arm = int(rng.integers(4))
        answer = "yes" if rng.random() < 0.2 + 0.15 * arm else "no"
        rows.append([rng.choice(["Zürich", "東京"]), f"{rng.normal():.3f}", arms[arm], answer])
    return write_table(folder / "getränke.csv", ["city name", "mood", "choice", "bought"], rows)


def make_masks(folder: Path, rng: np.random.Generator, n: int = 300) -> Path:
    """Which actions were allowed, row by row."""
    rows = []
    for _ in range(n):
        allowed = [1, int(rng.random() < 0.7), int(rng.random() < 0.5)]
        arm = int(rng.choice(np.flatnonzero(allowed)))
        rows.append([f"{rng.random():.3f}", *allowed, arm, f"{arm + rng.normal():.3f}"])
    names = ["stock", "allowed_0", "allowed_1", "allowed_2", "decision", "margin"]
    return write_table(folder / "masks.csv", names, rows)


def make_two_outcomes(folder: Path, rng: np.random.Generator, n: int = 300) -> Path:
    """Two columns that could both be the reward: somebody has to say which."""
    rows = []
    for _ in range(n):
        variant = str(rng.choice(["A", "B"]))
        clicked = int(rng.random() < (0.3 if variant == "A" else 0.5))
        rows.append([int(rng.integers(1, 9)), variant, clicked, f"{clicked * rng.random():.2f}"])
    return write_table(folder / "test.csv", ["visits", "variant", "clicked", "revenue"], rows)


def make_million(folder: Path, rng: np.random.Generator) -> Path:
    """A file of 30 MB."""
    return make_many(folder, rng, 1_000_000)


def make_many(folder: Path, rng: np.random.Generator, n: int = 20_000) -> Path:
    """Many rows, and many different texts in one column."""
    arms, towns = rng.integers(5, size=n), rng.zipf(1.5, size=n).clip(max=400)
    context = rng.normal(size=n)
    revenue = context * (arms - 2) + rng.normal(size=n)
    rows = [
        [f"town {town}", f"{x:.4f}", f"arm {arm}", f"{r:.4f}"]
        for town, x, arm, r in zip(towns, context, arms, revenue, strict=True)
    ]
    return write_table(folder / "many.csv", ["town", "context", "arm", "revenue"], rows)


TABLES: dict[str, Callable[[Path, np.random.Generator], Path]] = {
    "call centre": make_call_centre,
    "offers with propensities": make_offers,
    "dosing with missing values": make_dosing,
    "energy with timestamps": make_energy,
    "Latin-1 and semicolons": make_latin,
    "wide one-hot": make_one_hot,
    "labels with unicode": make_unicode,
    "masks": make_masks,
    "two outcomes": make_two_outcomes,
    "1,000,000 rows": make_million,
    "20,000 rows": make_many,
}
