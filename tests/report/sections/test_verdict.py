"""The answer in words, for every way it can be."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.advice.record import DecisionRecord, Interval
from nacre.report.sections.verdict import (
    state_basis,
    state_bounds,
    state_confidence,
    state_remedy,
    state_verdict,
)

UNKNOWN = Interval(mean=None, low=None, high=None)


def _change(record: DecisionRecord, **changed: Any) -> DecisionRecord:
    return record.model_copy(update=changed)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"verdict": "switch"}, "Replace the old policy by “nac-0.3”. After the switching cost"),
        ({"verdict": "keep"}, "no tested candidate gains more than the switch costs"),
        ({"verdict": "keep", "net_gain": UNKNOWN}, "no tested candidate could be evaluated"),
        ({"verdict": "undecided"}, "is expected to gain 6.0 after the switching cost, but this is"),
        ({"verdict": "undecided", "forbidden": "why"}, "this log allows no switch"),
        ({"verdict": "undecided", "net_gain": UNKNOWN}, "cannot tell what “nac-0.3” gains"),
        (
            {"verdict": "undecided", "net_gain": Interval(mean=-1.0, low=-2.0, high=1.0)},
            "no gain is expected of any tested candidate, but a gain is not ruled out",
        ),
    ],
)
def test_every_verdict_has_its_sentence(
    record: DecisionRecord, changed: dict[str, Any], words: str
) -> None:
    assert words in state_verdict(_change(record, **changed))


def test_the_interval_is_labelled_with_the_level_of_each_bound(record: DecisionRecord) -> None:
    said = state_bounds(record).replace("\u00a0", " ")
    assert "lies between 3.6 and 8.0" in said
    assert "each bound holds with 98.33 % confidence, both together with 96.67 %" in said
    assert "The whole decision has 95 % confidence, shared by all finalists." in said
    alone = _change(record, interval_level=0.95, candidates=record.candidates[:1])
    said = state_bounds(alone).replace("\u00a0", " ")
    assert said.endswith("each bound holds with 95 % confidence, both together with 90 %.")
    assert "not by these bounds" in state_bounds(_change(record, rule="paper"))
    assert state_bounds(_change(record, net_gain=UNKNOWN)).startswith("The log gives no bounds")


def test_a_probability_is_only_shown_where_it_agrees_with_the_interval(
    record: DecisionRecord,
) -> None:
    assert "up to 99.9\u00a0% or more; 95" in str(state_confidence(record))
    assert state_confidence(_change(record, probability=0.9)) is None
    across = Interval(mean=1.0, low=-1.0, high=3.0)
    open_ = _change(record, probability=0.9, net_gain=across, verdict="undecided")
    assert "at any confidence up to 90\u00a0%;" in str(state_confidence(open_))
    assert state_confidence(_change(open_, probability=0.5)) is None
    assert state_confidence(_change(record, rule="paper")) is None
    assert state_confidence(_change(record, forbidden="because")) is None


def test_what_would_settle_it(record: DecisionRecord) -> None:
    assert state_remedy(_change(record, remedy="log more")) is None
    waiting = _change(record, verdict="undecided", remedy="log more")
    assert state_remedy(waiting) == "Log more."
    assert state_remedy(_change(waiting, remedy="", more_episodes=1200)) == (
        "About 1,200 further episodes could settle it."
    )
    assert state_remedy(_change(waiting, remedy="")) is None


def test_an_only_estimator_is_said_to_be_one(record: DecisionRecord) -> None:
    assert "doubly_robust (data)." in str(state_basis(record))
    assert "Only one estimator counts" in str(state_basis(_change(record, basis=("model",))))
    assert state_basis(_change(record, basis=())) is None
