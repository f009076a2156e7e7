"""Guardrails: what must not get worse, whatever the return does.

A guardrail is written as people say it: `length >= 100`, `terminated <= 0.02`, `queue:max - old <=
2`. On the left stands a column of the live log, or return, length or terminated; after a colon how
an episode's rows become one number (mean, sum, max, min or last). With ` - old` the difference to
the units of the old policy counts, without it the units of the new policy alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nacre.errors import InputError
from nacre.logs import Log
from nacre.logs.checks.problems import show_names
from nacre.rollout.sequences import Floats

Reduction = Literal["mean", "sum", "max", "min", "last"]
BUILT_IN = ("return", "length", "terminated")
_WRITTEN = re.compile(
    r"\s*(?P<name>[^\s:<>=]+)(?::(?P<reduction>mean|sum|max|min|last))?"
    r"(?P<relative>\s*-\s*old)?\s*(?P<sign><=|>=)\s*(?P<limit>[-+0-9.eE]+)\s*"
)


@dataclass(frozen=True)
class Guardrail:
    """A limit of the mean of some number of an episode.

    Args:
        text: As it was written.
        name: A column, or one of `BUILT_IN`.
        reduction: How rows of an episode become one number.
        relative: Whether the difference to the old policy's units counts.
        at_most: Whether the limit is an upper one.
        limit: The limit.
    """

    text: str
    name: str
    reduction: Reduction
    relative: bool
    at_most: bool
    limit: float


def parse_guardrail(text: str) -> Guardrail:
    """The guardrail that is written so.

    Raises:
        InputError: With the form that was expected.
    """
    match = _WRITTEN.fullmatch(text)
    try:
        limit = float(match["limit"]) if match else float("nan")
    except ValueError:
        limit = float("nan")
    if match is None or not np.isfinite(limit):
        raise InputError(
            f"guardrail {text!r:.80}: expected NAME[:mean|sum|max|min|last][ - old] <= NUMBER or "
            ">= NUMBER, as in 'terminated - old <= 0.02'"
        )
    return Guardrail(
        text.strip(),
        match["name"],
        match["reduction"] or "mean",  # type: ignore[arg-type]
        match["relative"] is not None,
        match["sign"] == "<=",
        limit,
    )


def read_outcomes(log: Log, guardrail: Guardrail, discount: float) -> Floats:
    """(E,) the number of each episode.

    Raises:
        InputError: If the log has no such column, or it is no single number a row.
    """
    if guardrail.name == "return":
        return log.returns(discount)
    if guardrail.name == "length":
        return log.episode_lengths.astype(np.float64)
    last = log.offsets[1:] - 1
    if guardrail.name == "terminated":
        return log.terminated[last].astype(np.float64)
    values = log.columns.get(guardrail.name)
    if values is None or np.ndim(values) != 1:
        names = show_names([*BUILT_IN, *(n for n, v in log.columns.items() if np.ndim(v) == 1)])
        raise InputError(
            f"guardrail {guardrail.text!r:.80}: the live log has no column {guardrail.name!r:.60} "
            f"of single numbers; it has {names}"
        )
    rows = np.asarray(values, np.float64)
    starts = log.offsets[:-1]
    if guardrail.reduction == "last":
        return rows[last]
    if guardrail.reduction in ("max", "min"):
        return np.asarray(getattr(np, f"{guardrail.reduction}imum").reduceat(rows, starts))
    sums = np.add.reduceat(rows, starts)
    return np.asarray(sums if guardrail.reduction == "sum" else sums / log.episode_lengths)
