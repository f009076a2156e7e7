"""Words that several sections share."""

from __future__ import annotations

import pytest

from nacre.advice.record import DecisionRecord, Interval, Value
from nacre.report.sentences import capitalise, flatten, name_method, state_interval, state_level


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((1.0, -1.0, 3.0), "1.0 (−1.0 to 3.0)"),
        ((1.5, None, None), "1.5"),
        ((1.5, None, 3.0), "1.5"),
        ((None, None, None), "unknown"),
    ],
)
def test_intervals(ends: tuple[float | None, float | None, float | None], shown: str) -> None:
    mean, low, high = ends
    assert state_interval(Interval(mean=mean, low=low, high=high)) == shown


def test_both_levels_are_said(record: DecisionRecord) -> None:
    alone = record.model_copy(update={"interval_level": 0.95})
    assert state_level(alone).replace("\u00a0", " ") == (
        "each bound holds with 95 % confidence, both together with 90 %"
    )


@pytest.mark.parametrize(
    ("text", "sentence"), [("a thing", "A thing."), ("Done. ", "Done."), ("", ""), (" ", "")]
)
def test_sentences_begin_large_and_end_with_a_stop(text: str, sentence: str) -> None:
    assert capitalise(text) == sentence


def test_methods_have_names() -> None:
    values = [Value(mean=1.0, low=None, high=None, method=name) for name in ("fitted", "x", "")]
    assert [name_method(one) for one in values] == ["fitted critics", "x", "unknown"]


def test_nested_facts_become_rows() -> None:
    facts = {"a": {"b": 1.5, "c": True}, "d": [1, 2], "e": None, "f": {}}
    assert flatten(facts, most=10) == [
        ("a › b", "1.5"),
        ("a › c", "yes"),
        ("d", "1, 2"),
        ("e", "none"),
        ("f", "none"),
    ]
    assert flatten(facts, most=1)[-1] == ("…", "the rest stands in decision.json")
