"""The decision in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nacre.estimators.doubly_robust import LEAST_EFFECTIVE
from nacre.report.case import Case, Limit
from nacre.report.document import CandidateEntry, Decision, Interval, Value
from nacre.report.text import clean, format_level, format_number, format_percent, half_width

HEADLINES = {"switch": "Switch", "keep": "Keep", "undecided": "Undecided: keep for now"}
LONGEST_NAME = 60


def state_verdict(decision: Decision) -> str:
    """What to do, in one sentence."""
    name = f"“{clean(decision.chosen, LONGEST_NAME)}”"
    gain = format_number(decision.net_gain.mean, _spread(decision.net_gain))
    if decision.verdict == "switch":
        return (
            f"Replace the old policy by {name}: after the cost of switching, that is expected "
            f"to gain {gain}."
        )
    if decision.verdict == "keep":
        if not _is_known(decision):
            return "Keep the old policy: no candidate could be evaluated."
        return (
            "Keep the old policy: no candidate is expected to gain more than switching costs; "
            f"the best of them, {name}, has {gain} after the cost."
        )
    return (
        f"Keep the old policy for now: {name} is expected to gain {gain} after the cost of "
        "switching, but this log does not prove it."
    )


def state_confidence(decision: Decision) -> str:
    """How sure the verdict is."""
    chance = format_percent(decision.confidence)
    level = format_level(decision.confidence_level)
    return f"Probability that the net gain is positive: {chance}. A switch needs {level}."


def state_more(decision: Decision) -> str | None:
    """How much further log would settle an undecided case."""
    if decision.verdict != "undecided":
        return None
    if decision.more_episodes is None:
        return "More of the same log would hardly settle it."
    return f"About {decision.more_episodes:,} further episodes could settle it."


def state_interval(interval: Interval) -> str:
    """Mean and bounds with the digits that they deserve."""
    spread = _spread(interval)
    low, high = format_number(interval.low, spread), format_number(interval.high, spread)
    return f"{format_number(interval.mean, spread)} ({low} to {high})"


def shift(interval: Interval, amount: float) -> Interval:
    """The interval with an amount added to all of it."""
    ends = (interval.mean, interval.low, interval.high)
    mean, low, high = (None if end is None else end + amount for end in ends)
    return Interval(mean=mean, low=low, high=high)


def capitalise(text: str) -> str:
    """A sentence of its own."""
    return text[:1].upper() + text[1:]


def state_turns(case: Case) -> list[str]:
    """At which weights the verdict turns, one sentence each."""
    sentences = []
    for (name, turn), paid in zip(case.find_turns().items(), case.weights, strict=True):
        if not any(getattr(price, f"{name}_mass") for price in case.prices):
            continue
        words = _word_turn(turn)
        sentences.append(
            f"Price of {name}, now {format_number(paid)}, the other price kept: {words}."
        )
    return sentences


def state_fit(decision: Decision) -> str | None:
    """Whether the critics agree with the old policy's own returns."""
    fitted, old = decision.fitted_old_value, decision.old_value
    if fitted is None or fitted.mean is None or old.mean is None:
        return None
    if old.method == fitted.method:
        return "The log gives no returns of the old policy's own to check the critics by."
    doubt = decision.chosen_entry.doubt
    gap = format_number(abs(fitted.mean - old.mean), _spread(old))
    if doubt:
        return (
            f"The critics miss the old policy's returns by {gap}, more than chance explains: "
            f"{format_number(doubt)} is added to both sides of every interval."
        )
    return f"The critics put the old policy {gap} away from its own returns: within chance."


def state_second(entry: CandidateEntry) -> str | None:
    """What the second opinion says, beside the first."""
    second = entry.second_opinion
    if second is None:
        return None
    effective = second.effective_episodes
    if effective is not None and effective < LEAST_EFFECTIVE:
        return (
            "The log's episodes, weighted by how likely the new policy is to act as they do, are "
            f"too unlike it for a second opinion: about {format_number(effective)} of them would "
            "carry it."
        )
    if not second.usable or second.gain is None or second.standard_error is None:
        return None
    known = [difference for difference in entry.differences if difference is not None]
    fitted = f", the critics {format_number(sum(known) / len(known))}" if known else ""
    said = (
        "The log's episodes, weighted by how likely the new policy is to act as they do, say "
        f"{_state_gain(second.gain, second.standard_error)} before the cost{fitted}."
    )
    proof = entry.proof
    if proof is None or not proof.usable or proof.gain is None or proof.standard_error is None:
        return said
    return (
        f"{said} Weighted by where they are, not by the way they came, they say "
        f"{_state_gain(proof.gain, proof.standard_error)}."
    )


def _state_gain(gain: float, error: float) -> str:
    return f"{format_number(gain, error)} ± {format_number(error, error)}"


def name_method(value: Value) -> str:
    """How a value was found."""
    known = {"fitted": "fitted critics"}
    return known.get(value.method, clean(value.method, 40))


def flatten(facts: Any, prefix: str = "", *, most: int) -> list[tuple[str, str]]:
    """Nested facts as rows of names and texts, the first `most` of them."""
    if not isinstance(facts, dict) or not facts:
        return [(clean(prefix), clean(_word(facts)))]
    rows: list[tuple[str, str]] = []
    for key, value in facts.items():
        if len(rows) >= most:
            return [*rows[:most], ("…", "the rest stands in decision.json")]
        rows += flatten(value, f"{prefix} › {key}" if prefix else str(key), most=most)
    return rows


def _word_turn(turn: Limit) -> str:
    parts = []
    for verdict, end, before in (
        ("switch", turn.proven, 0.0),
        ("undecided", turn.expected, max(turn.proven, 0.0)),
    ):
        if end > before:
            last = math.isinf(end)
            parts.append(
                f"{verdict} at any price" if last else f"{verdict} up to {format_number(end)}"
            )
            if last:
                return ", ".join(parts)
    return ", ".join([*parts, "keep beyond that" if parts else "keep at any price"])


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


def _spread(interval: Interval) -> float | None:
    return half_width(interval.low, interval.high)


def _is_known(decision: Decision) -> bool:
    return decision.net_gain.mean is not None and decision.chosen_entry.trusted
