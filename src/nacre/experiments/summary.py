"""The paper's tables again, from the records: published figures beside ours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from nacre.errors import InputError
from nacre.experiments.records import Place, Record, read_records
from nacre.experiments.tables import TABLES, Published, Row

CONFIGS = ("paper", "default")
OLD_VALUES = ("returns", "fitted", "true")
"""Ways to ask what an old policy is worth: returns of the log, fitted critics, simulation."""


@dataclass(frozen=True)
class Summary:
    """A row of a table for one configuration, over the seeds that have a record.

    Improvements are true net improvements of the candidate by simulation: its value minus the
    switching cost minus the old policy's value. The responsible rate is the share of decisions that
    agree with the truth's, ties left out; None if there are only ties. Undecided means keep.
    `old_values` are the old policy's, by the returns of the log, fitted critics and simulation.
    An advice may say that it does not know an estimate: None, and left out of means.
    """

    row: Row
    config: str
    seeds: tuple[int, ...]
    improvements: tuple[float, ...]
    estimated: tuple[float | None, ...]
    decisions: tuple[str, ...]
    truths: tuple[str, ...]
    ties: tuple[bool, ...]
    old_values: tuple[tuple[float | None, ...], ...]

    @classmethod
    def from_records(cls, row: Row, config: str, records: Sequence[Record]) -> Summary:
        """Gather what the records of a row say."""
        return cls(
            row,
            config,
            tuple(record["seed"] for record in records),
            tuple(record["improvement"]["true"] for record in records),
            tuple(record["improvement"]["estimated"] for record in records),
            tuple(record["decision"] for record in records),
            tuple(record["truth_decision"] for record in records),
            tuple(record["tie"] for record in records),
            tuple(_read_old_values(record["old_value"]) for record in records),
        )

    @property
    def switch_proportion(self) -> float:
        """Share of runs that advise to switch."""
        return float(np.mean([decision == "switch" for decision in self.decisions]))

    @property
    def responsible_rate(self) -> float | None:
        """Share of decisions that agree with the truth's, ties left out."""
        judged = [
            (decision == "switch") == (truth == "switch")
            for decision, truth, tie in zip(self.decisions, self.truths, self.ties, strict=True)
            if not tie
        ]
        return float(np.mean(judged)) if judged else None

    @property
    def wrong_switches(self) -> int:
        """Switches whose true net gain is negative, ties included."""
        return sum(
            decision == "switch" and gain < 0
            for decision, gain in zip(self.decisions, self.improvements, strict=True)
        )

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the mean improvement, by Student's t; None for a single seed."""
        n = len(self.improvements)
        if n < 2:
            return None
        half = stats.t.ppf(0.975, n - 1) * np.std(self.improvements, ddof=1) / math.sqrt(n)
        mean = float(np.mean(self.improvements))
        return mean - float(half), mean + float(half)

    @property
    def old_value(self) -> dict[str, float | None]:
        """Means over the seeds of what the old policy is worth, by each way of asking."""
        ways = zip(OLD_VALUES, zip(*self.old_values, strict=True), strict=True)
        return {way: _mean_of_known(values) for way, values in ways}

    def as_json(self) -> dict[str, Any]:
        """The interface of `--summary --json`."""
        spread = float(np.std(self.improvements, ddof=1)) if len(self.seeds) > 1 else None
        return {
            "table": self.row.table,
            "row": self.row.name,
            "config": self.config,
            "seeds": list(self.seeds),
            "improvement_mean": float(np.mean(self.improvements)),
            "improvement_std": spread,
            "improvement_interval": self.interval,
            "estimated_improvement_mean": _mean_of_known(self.estimated),
            "switch_proportion": self.switch_proportion,
            "responsible_rate": self.responsible_rate,
            "ties": sum(self.ties),
            "wrong_switches": self.wrong_switches,
            "old_value": self.old_value,
            "published": vars(self.row.published),
        }


def _mean_of_known(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return float(np.mean(known)) if known else None


def _show(number: float | None) -> str:
    return "unknown" if number is None else f"{number:.1f}"


def _read_old_values(found: dict[str, Any]) -> tuple[float | None, ...]:
    fitted = found["fitted"]
    # The paper's decision takes a value, advice a mean with an interval.
    value = fitted["value"] if "value" in fitted else fitted["mean"]
    return found["returns"]["mean"], value, found["true"]["mean"]


def _check_whole(record: Record, place: Place, row: Row) -> Record:
    """A record, if there is all in it that a summary reads."""
    try:
        Summary.from_records(row, place.config, [record]).as_json()
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(
            f"{place}: not a whole record ({type(error).__name__}: {error}); delete it and run "
            "nacre reproduce again"
        ) from None
    return record


def summarise(table: str, out: Path) -> list[Summary]:
    """One summary for each row and configuration of a table that has records."""
    kept = {config: read_records(out, table, config) for config in CONFIGS}
    summaries = []
    for row in TABLES[table]:
        for config, records in kept.items():
            whole = [
                _check_whole(record, Place.of(out, row, config, seed), row)
                for (name, seed), record in records.items()
                if name == row.name
            ]
            if whole:
                summaries.append(Summary.from_records(row, config, whole))
    return summaries


HEADER = (
    "row",
    "configuration",
    "seeds",
    "improvement",
    "estimated",
    "switch",
    "responsible",
    "wrong switches",
)


def format_text(summaries: Sequence[Summary]) -> str:
    """The table for a terminal or a file: as wide as it has to be, nothing is cut off."""
    lines = tabulate(summaries)
    columns = zip(HEADER[1:], *(line[1:] for line in lines), strict=True)
    widths = [max(map(len, column)) for column in columns]

    def align(cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return "  " + "  ".join(padded).rstrip()

    text = [HEADER[0], align(HEADER[1:])]
    for name, *cells in lines:
        text += [name] if name else []
        text.append(align(cells))
    return "\n".join(text)


def tabulate(summaries: Sequence[Summary]) -> list[list[str]]:
    """Rows of text: for each row of the table the published figures, then ours."""
    lines: list[list[str]] = []
    for row, same in itertools.groupby(summaries, lambda summary: summary.row):
        lines.append([row.name, "published", *_published(row.published)])
        lines += [["", f"ours, {summary.config}", *_ours(summary)] for summary in same]
    return lines


def _published(figures: Published) -> list[str]:
    mean, spread = figures.improvement_mean, figures.improvement_std
    improvement = "" if mean is None else f"{mean:.1f} ± {spread:.1f}"
    switch, responsible = figures.switch_proportion, figures.responsible_rate
    return ["10", improvement, "", f"{switch:.0%}", f"{responsible:.0%}", ""]


def _ours(summary: Summary) -> list[str]:
    plain = summary.as_json()
    improvement = f"{plain['improvement_mean']:.1f}"
    if summary.interval is not None:
        low, high = summary.interval
        improvement += f" ± {plain['improvement_std']:.1f} [{low:.1f}, {high:.1f}]"
    rate = summary.responsible_rate
    responsible = "all ties" if rate is None else f"{rate:.0%}"
    ties = plain["ties"]
    if ties and rate is not None:
        responsible += f" ({ties} {'tie' if ties == 1 else 'ties'})"
    return [
        str(len(summary.seeds)),
        improvement,
        _show(plain["estimated_improvement_mean"]),
        f"{summary.switch_proportion:.0%}",
        responsible,
        str(summary.wrong_switches),
    ]


OLD_HEADER = ("row", "configuration", "seeds", "fitted critics", "returns of the log", "simulated")


def tabulate_old(summaries: Sequence[Summary]) -> list[list[str]]:
    """Rows of text: what the old policies are worth, the published estimate first."""
    lines: list[list[str]] = []
    for name, same in itertools.groupby(summaries, lambda summary: summary.row.name):
        together = list(same)
        published = together[0].row.published.old_value
        if published is not None:
            lines.append([name, "published", "10", f"{published:.1f}", "", ""])
            name = ""
        for summary in together:
            old = summary.old_value
            values = (_show(old[way]) for way in ("fitted", "returns", "true"))
            lines.append([name, f"ours, {summary.config}", str(len(summary.seeds)), *values])
            name = ""
    return lines
