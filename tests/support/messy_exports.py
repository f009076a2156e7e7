"""More tables, as other programs export them: a hospital, a shop, a thermostat, a sheet."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from tests.support.messy import START, write_table

EARLIER = datetime(2023, 11, 20)


def make_pain(folder: Path, rng: np.random.Generator, n: int = 60) -> Path:
    """Visits: days before months, decimal commas, doses with a unit, less of it is better."""
    rows = []
    for patient in range(n):
        pain, day = rng.uniform(4, 9), EARLIER + timedelta(days=int(rng.integers(60)))
        for _ in range(int(rng.integers(2, 6))):
            dose = str(rng.choice(["2,5 mg", "5 mg", "10 mg"]))
            pain = max(0.0, pain + {"2,5 mg": 0.2, "5 mg": -0.6, "10 mg": -1.0}[dose])
            weight = f"{rng.normal(75, 12):.1f} kg".replace(".", ",")
            renal = "" if rng.random() < 0.15 else f"{rng.normal(90, 10):.0f}"
            shown = f"{pain:.1f}".replace(".", ",")
            rows.append([f"{1000 + patient}", f"{day:%d.%m.%Y}", weight, renal, dose, shown])
            day += timedelta(days=int(rng.integers(1, 9)))
    names = ["Patient Nr.", "Datum", "Gewicht", "GFR", "dose", "pain (0-10)"]
    return write_table(folder / "hospital.csv", names, rows, separator=";", encoding="cp1252")


def make_clicks(folder: Path, rng: np.random.Generator, n: int = 600) -> Path:
    """Tabs, 40 sites of which most are rare, numbers that name advertisements, AM and PM."""
    rows, time = [], START
    for i in range(n):
        time += timedelta(seconds=int(rng.integers(5, 400)))
        site = f"site-{min(39, int(rng.zipf(1.6)) - 1):02d}.example"
        device = str(rng.choice(["mobile", "desktop", "tablet", ""], p=[0.6, 0.3, 0.08, 0.02]))
        shown = int(rng.choice([101, 205, 330, 777]))
        clicked = int(rng.random() < (0.2 if shown == 205 else 0.05))
        rows.append([f"{i:08x}", f"{time:%m/%d/%Y %I:%M:%S %p}", site, device, shown, clicked])
    names = ["impression_id", "time", "site", "device", "ad_id", "click"]
    return write_table(folder / "clicks.tsv", names, rows, separator="\t")


def make_thermostat(folder: Path, rng: np.random.Generator, n: int = 96 * 12) -> Path:
    """A row each quarter of an hour, in a zone; a sensor that fails for hours."""
    rows, warmth, gap = [], 19.0, 0
    for i in range(n):
        gap = gap - 1 if gap else int(rng.integers(4, 30)) * int(rng.random() < 0.01)
        mode = str(rng.choice(["off", "eco", "heat"]))
        warmth += {"off": -0.15, "eco": 0.02, "heat": 0.25}[mode] + rng.normal(scale=0.05)
        time = f"{START + timedelta(minutes=15 * i):%Y-%m-%dT%H:%M:%S}+01:00"
        sensor = "unavailable" if gap else f"{warmth:.2f}"
        rows.append([time, sensor, mode, f"{-abs(warmth - 21):.3f}"])
    return write_table(
        folder / "thermostat.csv", ["last_changed", "sensor.room", "hvac_mode", "comfort"], rows
    )


def make_sheet(folder: Path, rng: np.random.Generator, n: int = 300) -> Path:
    """A spreadsheet: a title above, totals below, euros with points between the thousands."""
    rows: list[list[object]] = []
    for i in range(n):
        discount, price = int(rng.choice([0, 5, 10])), float(rng.integers(900, 9000))
        paid = price * (1 - discount / 100) * (rng.random() < 0.3 + 0.03 * discount)
        region = str(rng.choice(["Nord", "Süd", "West"]))
        rows.append([i + 1, region, write_euros(price), f"{discount} %", write_euros(paid)])
    rows.append(["Summe", "", "", "", write_euros(1234567.0)])
    names = ["lfd. Nr.", "Region", "Listenpreis", "Rabatt", "Umsatz"]
    path = write_table(folder / "sheet.csv", names, rows, separator=";", encoding="utf-8-sig")
    title = "\ufeffUmsatzbericht 2024;;;;\r\n;;;;\r\n".encode()
    path.write_bytes(title + path.read_bytes().removeprefix("\ufeff".encode()))
    return path


def write_euros(amount: float) -> str:
    return f"{amount:,.2f} €".translate(str.maketrans(",.", ".,"))


def make_months(folder: Path, rng: np.random.Generator, n: int = 60) -> Path:
    """A folder with two files for each month."""
    for month in range(1, 4):
        for half in "ab":
            rows = []
            for i in range(n):
                day, offer = 1 + i // 5 + 15 * (half == "b"), str(rng.choice(["mail", "call"]))
                revenue = f"{(offer == 'call') + rng.normal():.2f}"
                rows.append([f"2024-{month:02d}-{day:02d}", rng.integers(18, 80), offer, revenue])
            path = folder / "campaign" / f"2024-{month:02d}{half}.csv"
            path.parent.mkdir(exist_ok=True)
            write_table(path, ["day", "age", "offer", "revenue"], rows)
    return folder / "campaign"


def make_therapy(folder: Path, rng: np.random.Generator, n: int = 300) -> Path:
    """A drug, its dose and how often it is given, chosen together."""
    rows = []
    for _ in range(n):
        drug, dose, often = str(rng.choice(["A", "B"])), rng.uniform(1, 20), int(rng.integers(1, 4))
        recovery = (drug == "B") + 0.05 * dose - 0.1 * often + rng.normal()
        rows.append([rng.integers(20, 80), drug, f"{dose:.1f}", often, f"{recovery:.2f}"])
    names = ["age", "therapy", "strength", "often", "recovery"]
    return write_table(folder / "therapy.csv", names, rows)


EXPORTS: dict[str, Callable[[Path, np.random.Generator], Path]] = {
    "pain in European writing": make_pain,
    "clicks with rare sites": make_clicks,
    "thermostat with gaps": make_thermostat,
    "spreadsheet with totals": make_sheet,
    "two files a month": make_months,
    "several choices at once": make_therapy,
}
