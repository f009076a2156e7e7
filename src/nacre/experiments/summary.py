"""The paper's tables again, from the records: three measures of every row and configuration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from nacre.errors import InputError
from nacre.experiments.measures import PublishedStyle, read_fitted
from nacre.experiments.records import Place, Record, read_records
from nacre.experiments.tables import TABLES, Row

CONFIGS = ("paper", "authors", "default")
PUBLISHED_SEEDS = 10
"""Repetitions behind each published figure."""
OLD_VALUES = ("returns", "fitted", "true")
"""Ways to ask what an old policy is worth: returns of the log, fitted critics, simulation."""


@dataclass(frozen=True)
class Summary:
    """A row of a table for one configuration, over the seeds that have a record.

    Improvements are true net improvements of the candidate by simulation: its value minus the
    switching cost minus the old policy's value. The responsible rate is the share of decisions that
    agree with the truth's, ties left out; None if there are only ties. Undecided means keep.
    `old_values` are the old policy's, by the returns of the log, fitted critics and simulation.
    `old_policies` are their names; those of the package are not the published ones.
    `published_style` is the published measure, whose responsible rate knows no ties.
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
    published_style: tuple[PublishedStyle, ...]
    old_policies: tuple[str, ...] = ()

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
            tuple(_read_old_values(record) for record in records),
            tuple(PublishedStyle.of(record) for record in records),
            tuple(
                dict.fromkeys(
                    record.get("old_policy", {}).get("name", row.old_policy) for record in records
                )
            ),
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
    def published_improvements(self) -> tuple[float | None, ...]:
        """Improvements by the published measure; None where a record lacks what it needs."""
        return tuple(measure.improvement for measure in self.published_style)

    @property
    def published_style_responsible_rate(self) -> float | None:
        """Share of decisions that agree with the sign of the published measure."""
        agree = [
            (decision == "switch") == (improvement > 0)
            for decision, improvement in zip(
                self.decisions, self.published_improvements, strict=True
            )
            if improvement is not None
        ]
        return float(np.mean(agree)) if agree else None

    @property
    def published_style_missing(self) -> str | None:
        """Which seeds the published measure leaves out, and why; None where none."""
        named = [
            f"seed {seed}: {measure.missing}"
            for seed, measure in zip(self.seeds, self.published_style, strict=True)
            if measure.missing
        ]
        return "; ".join(named) or None

    @property
    def distance_from_published(self) -> float | None:
        """How many standard errors the published measure lies above the published figure."""
        figures, spread = self.row.published, spread_of_known(self.published_improvements)
        mean, n = mean_of_known(self.published_improvements), self.n_published_style
        published, published_spread = figures.improvement_mean, figures.improvement_std
        if mean is None or spread is None or published is None or published_spread is None:
            return None
        return (mean - published) / math.hypot(
            spread / math.sqrt(n), published_spread / math.sqrt(PUBLISHED_SEEDS)
        )

    @property
    def n_published_style(self) -> int:
        """How many runs the published measure is known of."""
        return sum(number is not None for number in self.published_improvements)

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
        return {way: mean_of_known(values) for way, values in ways}

    def as_json(self) -> dict[str, Any]:
        """The interface of `--summary --json`."""
        sources = {measure.new_value for measure in self.published_style} - {None}
        return {
            "table": self.row.table,
            "row": self.row.name,
            "config": self.config,
            "seeds": list(self.seeds),
            "old_policy": ", ".join(self.old_policies),
            "improvement_mean": float(np.mean(self.improvements)),
            "improvement_std": spread_of_known(self.improvements),
            "improvement_interval": self.interval,
            "estimated_improvement_mean": mean_of_known(self.estimated),
            "published_style_mean": mean_of_known(self.published_improvements),
            "published_style_std": spread_of_known(self.published_improvements),
            "published_style_responsible_rate": self.published_style_responsible_rate,
            "published_style_new_value": " and ".join(sorted(map(str, sources))) or None,
            "published_style_missing": self.published_style_missing,
            "switch_proportion": self.switch_proportion,
            "responsible_rate": self.responsible_rate,
            "ties": sum(self.ties),
            "wrong_switches": self.wrong_switches,
            "old_value": self.old_value,
            "published": vars(self.row.published),
        }


def mean_of_known(numbers: Sequence[float | None]) -> float | None:
    """The mean, unknown numbers left out; None if there are no others."""
    known = [number for number in numbers if number is not None]
    return float(np.mean(known)) if known else None


def spread_of_known(numbers: Sequence[float | None]) -> float | None:
    """The standard deviation, unknown numbers left out; None for fewer than two others."""
    known = [number for number in numbers if number is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None


def _read_old_values(record: Record) -> tuple[float | None, ...]:
    found = record["old_value"]
    # Whoever has no fitted value says so; a record without the field is not whole.
    _ = found["fitted"]
    return found["returns"]["mean"], read_fitted(record), found["true"]["mean"]


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
