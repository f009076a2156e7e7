"""Guardrails: what must not get worse, whatever the return does.

A guardrail is written as people say it: `length >= 100`, `terminated <= 0.02`, `queue:max - old <=
2`. On the left stands a column of the live log, or return, length or terminated; after a colon how
an episode's rows become one number (mean, sum, discounted, max, min or last). With ` - old` the
difference to the units of the old policy counts, without it the units of the new policy alone. A
name with spaces stands in double quotes. What a decision says of its own guardrails is written so,
too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nacre.advice.record import GuardrailEntry
from nacre.errors import InputError
from nacre.logs import Log
from nacre.logs.checks.problems import show_names
from nacre.rollout.live_log import read_numbers
from nacre.rollout.sequences import Floats

Reduction = Literal["mean", "sum", "discounted", "max", "min", "last"]
BUILT_IN = ("return", "length", "terminated")
_WRITTEN = re.compile(
    r"\s*(?P<name>\"[^\"]+\"|[^\s:<>=\"]+)(?::(?P<reduction>mean|sum|discounted|max|min|last))?"
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
            f"guardrail {text!r:.80}: expected NAME[:mean|sum|discounted|max|min|last][ - old] "
            "<= NUMBER or >= NUMBER, as in 'terminated - old <= 0.02'"
        )
    return Guardrail(
        text.strip(),
        match["name"].strip('"'),
        match["reduction"] or "mean",  # type: ignore[arg-type]
        match["relative"] is not None,
        match["sign"] == "<=",
        limit,
    )


def take_over(entries: Iterable[GuardrailEntry], given: Iterable[str]) -> tuple[str, ...]:
    """Guardrails of a decision for the live log, where none is given for the same column.

    What the outcome may get worse by is what the decision allowed. One without that number, or with
    a name that cannot be written, is left out.
    """
    there = {parse_guardrail(text).name for text in given}
    texts = []
    for entry in entries:
        name = entry.column if re.fullmatch(r"[^\s:<>=\"]+", entry.column) else f'"{entry.column}"'
        if entry.column in there or entry.allowed is None or '"' in entry.column:
            continue
        limit = (
            f"<= {entry.allowed:.6g}"
            if entry.better == "lower"
            else f">= {0.0 - entry.allowed:.6g}"
        )
        texts.append(f"{name}:discounted - old {limit}")
    return tuple(texts)


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
    rows = read_numbers(log, guardrail.name, f"guardrail {guardrail.text!r:.80}: live log")
    starts = log.offsets[:-1]
    if guardrail.reduction == "last":
        return rows[last]
    if guardrail.reduction in ("max", "min"):
        return np.asarray(getattr(np, f"{guardrail.reduction}imum").reduceat(rows, starts))
    if guardrail.reduction == "discounted":
        steps = np.arange(len(rows)) - np.repeat(starts, log.episode_lengths)
        rows = rows * discount**steps
    sums = np.add.reduceat(rows, starts)
    return np.asarray(sums / log.episode_lengths if guardrail.reduction == "mean" else sums)
