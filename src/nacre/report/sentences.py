"""Words that several sections of the page share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nacre.advice.record import DecisionRecord, Interval, Value
from nacre.report.terms import add_unit
from nacre.report.text import (
    clean,
    format_bound,
    format_level,
    format_number,
    half_width,
)

HEADLINES = {"switch": "Switch", "keep": "Keep", "undecided": "Undecided: keep for now"}


def state_interval(interval: Interval, unit: str = "") -> str:
    """Mean with its unit, and bounds, with the digits that they deserve."""
    spread = half_width(interval.low, interval.high)
    mean = add_unit(format_number(interval.mean, spread), unit)
    if spread is None:
        return mean
    return f"{mean} ({format_bound(interval.low, spread)} to {format_bound(interval.high, spread)})"


def state_level(record: DecisionRecord) -> str:
    """With which confidence the bounds hold: each of them, and both together."""
    level = record.interval_level
    return (
        f"each bound holds with {format_level(level)} confidence, "
        f"both together with {format_level(2 * level - 1)}"
    )


def capitalise(text: str) -> str:
    """A sentence of its own, with one full stop."""
    text = text.strip().rstrip(".")
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def name_method(value: Value) -> str:
    """How a value was found."""
    known = {"fitted": "fitted critics", "": "unknown"}
    return known.get(value.method, clean(value.method, 40))


def flatten(facts: Any, prefix: str = "", *, most: int) -> list[tuple[str, str]]:
    """Nested facts as rows of names and texts, the first `most` of them."""
    if not isinstance(facts, Mapping) or not facts:
        return [(clean(prefix), clean(_word(facts)))]
    rows: list[tuple[str, str]] = []
    for key, value in facts.items():
        if len(rows) >= most:
            return [*rows[:most], ("…", "the rest stands in decision.json")]
        rows += flatten(value, f"{prefix} › {key}" if prefix else str(key), most=most)
    return rows


def _word(fact: Any) -> str:
    if isinstance(fact, bool):
        return "yes" if fact else "no"
    if fact is None or fact == {}:
        return "none"
    if isinstance(fact, float):
        return f"{fact:.6g}"
    if isinstance(fact, Sequence) and not isinstance(fact, str):
        return ", ".join(_word(one) for one in fact[:20]) + (" …" if len(fact) > 20 else "")
    return str(fact)
