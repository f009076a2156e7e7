"""The user's own terms in words: unit, horizon, payback time, break-even."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from nacre.advice.record import DecisionRecord, Interval
from nacre.inference.break_even import NetGainLine
from nacre.report.text import NARROW, UNKNOWN, clean, format_number, half_width

LONGEST_UNIT = 24


def read_unit(record: DecisionRecord) -> str:
    """The unit of reward and cost, or nothing."""
    unit = record.value.get("unit")
    return clean(unit, LONGEST_UNIT) if isinstance(unit, str) else ""


def add_unit(text: str, unit: str) -> str:
    """A number with its unit, which stays beside it when lines are broken."""
    return f"{text}{NARROW}{unit}" if unit and text != UNKNOWN else text


def state_scope(record: DecisionRecord) -> str:
    """What all figures of a page are about."""
    unit = read_unit(record) or "units of discounted reward, as the log counts it"
    episodes = _read(record.value, "episodes")
    if episodes is None or episodes == 1:
        return f"All figures are for one episode, in {unit}. The cost is paid once."
    days, daily = (_read(record.value, name) for name in ("horizon_days", "episodes_per_day"))
    return (
        f"All figures are for {format_number(days)} days with {format_number(daily)} episodes a "
        f"day: {episodes:,.0f} episodes, in {unit}. The cost is paid once."
    )


def state_span(record: DecisionRecord) -> str:
    """Over how many days a gain is counted, after the gain; nothing for one episode."""
    days = _read(record.value, "horizon_days")
    return "" if days is None else f" in {format_number(days)}{NARROW}days"


def state_payback(record: DecisionRecord) -> str | None:
    """When the cost is paid back, in one sentence; nothing without a horizon."""
    known = record.value.get("payback_days")
    horizon = _read(record.value, "horizon_days")
    if not isinstance(known, Mapping) or horizon is None:
        return None
    mean, low, high = (_read(known, name) for name in ("mean", "low", "high"))
    if mean is None:
        return "The cost is not expected to be paid back at all."
    spread = half_width(low, high)
    words = f"The cost is expected to be paid back after {_count_days(mean, spread)}"
    if low is None:
        return f"{words}."
    if high is None:
        return (
            f"{words}, at best after {_count_days(low)}; that it is ever paid back is not proven."
        )
    return f"{words}, between {_count_days(low, spread)} and {_count_days(high, spread)}."


def state_gain_per_episode(record: DecisionRecord) -> str | None:
    """One episode's gain before the cost, where all other figures are for many."""
    known = record.value.get("gain_per_episode")
    if not isinstance(known, Mapping) or _read(record.value, "episodes") in (None, 1.0):
        return None
    gain = Interval.of(*(_read(known, name) for name in ("mean", "low", "high")))
    spread, unit = half_width(gain.low, gain.high), read_unit(record)
    if gain.mean is None or spread is None:
        return None
    return (
        f"Before the cost, one episode gains {add_unit(format_number(gain.mean, spread), unit)} "
        f"({format_number(gain.low, spread)} to {format_number(gain.high, spread)})."
    )


def state_highest_cost(line: NetGainLine, record: DecisionRecord) -> str | None:
    """Up to which cost the switch pays, in the user's terms."""
    if not record.value:
        return None
    unit, limits = read_unit(record), line.limits
    if line.broken:
        return "Break-even: no cost is low enough, as a guardrail does not hold."
    if limits.expected <= 0 or not math.isfinite(limits.expected):
        return "Break-even: not even a free switch is expected to pay."
    expected = add_unit(format_number(limits.expected), unit)
    if limits.proven <= 0 or not math.isfinite(limits.proven):
        return f"Break-even: the switch is expected to pay up to a cost of {expected}; not proven."
    proven = add_unit(format_number(limits.proven), unit)
    return (
        f"Break-even: the switch is proven to pay up to a cost of {proven}, and expected to pay "
        f"up to {expected}."
    )


def _count_days(days: float, spread: float | None = None) -> str:
    text = format_number(days, None if spread is None else max(spread, days / 100))
    return f"{text}{NARROW}{'day' if text == '1' else 'days'}"


def _read(facts: Mapping[str, Any], name: str) -> float | None:
    number = facts.get(name)
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return float(number) if math.isfinite(number) else None
