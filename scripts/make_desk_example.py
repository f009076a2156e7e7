"""Make the bundled log of a service desk: `python scripts/make_desk_example.py [DIRECTORY]`.

One row a ticket: what was saved, and two outcomes that must not get worse. The world is written
down here, so that every gain is known exactly. The same file comes out whenever it is run.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from nacre import examples

N_TICKETS, SEED, TEAMS = 3000, 101, 3
REPLIES = ("call back", "answer")
COLUMNS = (
    "ticket",
    "team",
    "urgency",
    "waiting",
    "reply",
    "closed",
    "saved",
    "reopened",
    "minutes",
)


def answer_today(urgency: int) -> float:
    """Probability of an answer at once, by the rule in force."""
    return 0.6 if urgency > 6 else 0.3


def answer_as_proposed(urgency: int) -> float:
    """The same by the proposal."""
    return 0.9 if urgency > 5 else 0.1


def find_gains() -> dict[str, float]:
    """What the proposal changes in one ticket on average, exactly."""
    more = [answer_as_proposed(urgency) - answer_today(urgency) for urgency in range(10)]
    effects = [6.0 if urgency > 5 else -2.0 for urgency in range(10)]
    return {
        "saved": float(np.mean(np.multiply(more, effects))),
        "reopened": 0.02 * float(np.mean(more)),
        "minutes": 3.0 * float(np.mean(more)),
    }


def main(folder: Path) -> None:
    """Write the file."""
    rng = np.random.default_rng(SEED)
    with (folder / "log.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for ticket in range(N_TICKETS):
            urgency, waiting = int(rng.integers(0, 10)), round(float(rng.exponential(8.0)), 1)
            at_once = bool(rng.uniform() < answer_today(urgency))
            gain = (6.0 if urgency > 5 else -2.0) if at_once else 0.0
            saved = round(12.0 + gain + float(rng.normal(0.0, 5.0)), 2)
            reopened = int(rng.uniform() < (0.06 if at_once else 0.04))
            minutes = round(float(rng.gamma(9.0)) + 3.0 * at_once, 1)
            team, reply = 1 + ticket % TEAMS, REPLIES[at_once]
            row = [ticket, team, urgency, waiting, reply, True, saved, reopened, minutes]
            rows.writerow(row)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(examples.__path__[0]) / "desk")
