"""The paper's ablation from the records: a row at a higher cost against the same at a lower one.

Both runs of a pair have the same seed and the same old policy, whose log follows from them: they
differ in the weights of the cost alone. The paper increases c_t from 0; the rows of traffic have
three pairs of weights, the cheapest of which the others are compared with.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from nacre.experiments.measures import PublishedStyle, read_number
from nacre.experiments.records import Record, read_records
from nacre.experiments.summary import CONFIGS
from nacre.experiments.tables import TABLES, Row

LEVEL = 0.05
SENTENCE = (
    "when increasing c_t by an appropriate value, the performance in both optimal and suboptimal "
    "old policy cases are similar or slightly better"
)
"""What the paper concludes from its ablation."""


@dataclass(frozen=True)
class Paired:
    """Differences of pairs, higher cost minus lower cost: a paired t-test.

    `interval` at 95 % and `p_value` of "no difference" need two pairs that differ in their
    difference; None else.
    """

    differences: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        """The mean difference."""
        return float(np.mean(self.differences)) if self.differences else None

    @property
    def _standard_error(self) -> float | None:
        n = len(self.differences)
        error = float(np.std(self.differences, ddof=1)) / math.sqrt(n) if n > 1 else 0.0
        return error or None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the mean difference, by Student's t."""
        mean, error = self.mean, self._standard_error
        if mean is None or error is None:
            return None
        half = float(stats.t.ppf(1 - LEVEL / 2, len(self.differences) - 1)) * error
        return mean - half, mean + half

    @property
    def p_value(self) -> float | None:
        """How likely a mean difference as large as this is if there is none, both ways."""
        mean, error = self.mean, self._standard_error
        if mean is None or error is None:
            return None
        return 2 * float(stats.t.sf(abs(mean) / error, len(self.differences) - 1))

    def as_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return {"mean": self.mean, "interval": self.interval, "p_value": self.p_value}


@dataclass(frozen=True)
class Comparison:
    """A row at a higher cost against its baseline, for one configuration.

    Args:
        row: The row at the higher cost.
        baseline: The same row at the lower cost.
        config: The configuration.
        seeds: Seeds that have both records, of one old policy.
        improvement: Differences of the true net improvement.
        value: Differences of the new policies' true values, before the cost: what was learned.
        published_style: Differences by the published measure.
        same_decisions: How many pairs decide alike.
    """

    row: Row
    baseline: Row
    config: str
    seeds: tuple[int, ...]
    improvement: Paired
    value: Paired
    published_style: Paired
    same_decisions: int

    def as_json(self) -> dict[str, Any]:
        """For `--summary --json`."""
        return {
            "against": self.baseline.name,
            "seeds": list(self.seeds),
            "improvement": self.improvement.as_json(),
            "value": self.value.as_json(),
            "published_style": self.published_style.as_json(),
            "same_decisions": self.same_decisions,
        }


def find_baseline(row: Row) -> Row | None:
    """The row of the same world and old policy that the paper compares with; None for itself."""
    table = TABLES["gymnasium" if row.table == "gymnasium-ct" else row.table]
    alike = [
        other
        for other in table
        if (other.world, other.old_policy) == (row.world, row.old_policy)
        and other.transaction_weight < row.transaction_weight
    ]
    return min(alike, key=lambda other: other.transaction_weight, default=None)


def compare_costs(table: str, out: Path) -> list[Comparison]:
    """Every row and configuration of a table that shares seeds with its baseline."""
    found = []
    for config in CONFIGS:
        higher = read_records(out, table, config)
        for row in TABLES[table]:
            baseline = find_baseline(row)
            if baseline is None:
                continue
            lower = read_records(out, baseline.table, config) if higher else {}
            pairs = [
                (lower[baseline.name, seed], record)
                for (name, seed), record in higher.items()
                if name == row.name and (baseline.name, seed) in lower
            ]
            pairs = [pair for pair in pairs if _identify(pair[0]) == _identify(pair[1])]
            if pairs:
                found.append(_compare(row, baseline, config, pairs))
    order = {row.name: place for place, row in enumerate(TABLES[table])}
    return sorted(found, key=lambda one: order[one.row.name])


def _identify(record: Record) -> Any:
    """What both runs of a pair have to share beside the seed: the old policy."""
    return record.get("old_policy", {}).get("sha256")


def _compare(
    row: Row, baseline: Row, config: str, pairs: Sequence[tuple[Record, Record]]
) -> Comparison:
    return Comparison(
        row,
        baseline,
        config,
        tuple(high["seed"] for _, high in pairs),
        _pair([(_read_gain(low), _read_gain(high)) for low, high in pairs]),
        _pair([(_read_value(low), _read_value(high)) for low, high in pairs]),
        _pair([(_read_style(low), _read_style(high)) for low, high in pairs]),
        sum((low["decision"] == "switch") == (high["decision"] == "switch") for low, high in pairs),
    )


def _pair(numbers: Sequence[tuple[float | None, float | None]]) -> Paired:
    """Differences of the pairs that are known on both sides."""
    known = [(low, high) for low, high in numbers if low is not None and high is not None]
    return Paired(tuple(high - low for low, high in known))


def _read_gain(record: Record) -> float | None:
    return read_number(record, "improvement", "true")


def _read_value(record: Record) -> float | None:
    return read_number(record, "new_value", "true", "mean")


def _read_style(record: Record) -> float | None:
    return PublishedStyle.of(record).improvement


HEADER = (
    "row",
    "configuration",
    "against",
    "shared seeds",
    "true improvement",
    "value of the new policy",
    "published style",
    "same decision",
)


def tabulate_comparisons(comparisons: Sequence[Comparison]) -> list[list[str]]:
    """Rows of text: differences with their intervals and p-values."""
    return [
        [
            one.row.name,
            one.config,
            one.baseline.name,
            str(len(one.seeds)),
            *map(_show, (one.improvement, one.value, one.published_style)),
            f"{one.same_decisions} of {len(one.seeds)}",
        ]
        for one in comparisons
    ]


def _show(paired: Paired) -> str:
    if paired.mean is None:
        return "unknown"
    text = f"{paired.mean:+.1f}"
    if paired.interval is not None:
        low, high = paired.interval
        text += f" [{low:+.1f}, {high:+.1f}], {_show_p(paired.p_value)}"
    return text


def _show_p(p_value: float | None) -> str:
    if p_value is None:
        return ""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def conclude(comparisons: Sequence[Comparison], config: str = "paper") -> str:
    """What the pairs of a configuration say of the paper's sentence."""
    ours = [one for one in comparisons if one.config == config]
    gains, values = _count([one.improvement for one in ours]), _count([one.value for one in ours])
    if not gains.tested:
        return (
            f"With `{config}` no row has two shared seeds yet: these records neither support the "
            "sentence nor contradict it."
        )
    if not gains.lower:
        verdict = "They do not contradict the sentence."
    elif not values.lower:
        verdict = (
            "They contradict the sentence, though not because less is learned: what is lost is the "
            "higher cost itself."
        )
    else:
        verdict = "They contradict the sentence."
    both = any(one.row.learning_weight != one.baseline.learning_weight for one in ours)
    aside = " These rows raise c_l too, which the paper's ablation does not." if both else ""
    return (
        f"With `{config}`, {gains.tested} rows have two shared seeds or more. At the "
        f"higher cost the true improvement is significantly lower in {gains.lower} of them and "
        f"higher in {gains.higher}; the value of the new policy, before the cost, is lower in "
        f"{values.lower} and higher in {values.higher} (5 % for all tests of a column "
        f"together). {verdict}{aside}"
    )


class _Counts(NamedTuple):
    tested: int
    lower: int
    higher: int


def _count(pairs: Sequence[Paired]) -> _Counts:
    """How many columns of differences are significant, each at its share of the level."""
    tested = [(one.mean or 0.0, one.p_value) for one in pairs if one.p_value is not None]
    significant = [mean for mean, p_value in tested if p_value < LEVEL / len(tested)]
    return _Counts(len(tested), sum(m < 0 for m in significant), sum(m > 0 for m in significant))
