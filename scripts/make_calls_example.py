"""Make the bundled bandit log: `python scripts/make_calls_example.py [DIRECTORY]`.

Customers call, an agent makes one offer, the reward is what the customer spends. The world is
written down here, so that the gain of every rule is known exactly: `value` sums over all kinds of
customers. The same file comes out whenever it is run.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path

import numpy as np

from nacre import examples

OFFERS = ("none", "voucher", "upgrade")
REGIONS = {"north": 0.4, "south": 0.35, "east": 0.25}
TENURES = {"new": 0.3, "regular": 0.5, "old": 0.2}
N_CALLS, SEED, SPREAD = 4000, 100, 4.0
COLUMNS = ("call_id", "called_at", "region", "tenure", "age", "offer", "probability", "spent")

Rule = Callable[[str, str], tuple[float, ...]]
"""From region and tenure to the probabilities of the offers."""


def mean_spent(region: str, tenure: str, offer: str) -> float:
    """What a customer spends on average: vouchers help with new ones, upgrades with old ones."""
    base = {"north": 10.0, "south": 12.0, "east": 9.0}[region]
    lift = {
        ("new", "voucher"): 3.0,
        ("new", "upgrade"): -1.0,
        ("regular", "voucher"): 0.5,
        ("regular", "upgrade"): 1.0,
        ("old", "voucher"): -1.0,
        ("old", "upgrade"): 4.0,
    }
    return base + lift.get((tenure, offer), 0.0)


def act_as_today(region: str, tenure: str) -> tuple[float, ...]:
    """The rule in force: mostly nothing; more vouchers in the south."""
    return (0.5, 0.3, 0.2) if region == "south" else (0.6, 0.2, 0.2)


def act_best(region: str, tenure: str) -> tuple[float, ...]:
    """The best offer for each kind of customer."""
    means = [mean_spent(region, tenure, offer) for offer in OFFERS]
    return tuple(float(offer == int(np.argmax(means))) for offer in range(len(OFFERS)))


def value(rule: Rule) -> float:
    """What a call earns on average under a rule, exactly."""
    return sum(
        share * part * sum(p * mean_spent(region, tenure, offer) for p, offer in chances)
        for (region, share), (tenure, part) in product(REGIONS.items(), TENURES.items())
        for chances in [list(zip(rule(region, tenure), OFFERS, strict=True))]
    )


def draw_calls(n: int, seed: int) -> list[dict[str, object]]:
    """Calls under the rule in force."""
    rng = np.random.default_rng(seed)
    time, rows = datetime(2024, 1, 8, 8), []
    for number in range(n):
        time += timedelta(minutes=int(rng.integers(1, 12)))
        region = str(rng.choice(list(REGIONS), p=list(REGIONS.values())))
        tenure = str(rng.choice(list(TENURES), p=list(TENURES.values())))
        chances = act_as_today(region, tenure)
        offer = int(rng.choice(len(OFFERS), p=chances))
        spent = mean_spent(region, tenure, OFFERS[offer]) + SPREAD * rng.normal()
        values = (
            *(f"C{number:05d}", f"{time:%Y-%m-%d %H:%M}", region, tenure),
            *(int(rng.integers(18, 85)), OFFERS[offer], chances[offer], f"{spent:.2f}"),
        )
        rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "log.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(draw_calls(N_CALLS, SEED))
    old, best = value(act_as_today), value(act_best)
    print(f"a call earns {old:.4f} under the rule in force, {best:.4f} under the best one")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(examples.__path__[0]) / "calls")
