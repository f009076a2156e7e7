"""What follows from each verdict."""

from __future__ import annotations

from typing import Any

import pytest

from nacre.advice.record import BY_RETURNS, DecisionRecord, Value
from nacre.report.sections.base import Context
from nacre.report.sections.next_steps import NextSteps, list_steps


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("switch", "Run it on a small share"),
        ("keep", "Ask again if the switch becomes cheaper"),
        ("undecided", "--look 2"),
    ],
)
def test_every_verdict_has_steps(record: DecisionRecord, verdict: str, words: str) -> None:
    steps = list_steps(record.model_copy(update={"verdict": verdict}))
    assert any(words in step for step in steps)
    assert all(step.endswith(".") for step in steps)


def test_what_to_watch_is_for_one_episode(record: DecisionRecord) -> None:
    changed: dict[str, Any] = {
        "verdict": "switch",
        "value": {"episodes": 10.0},
        "old_value": Value(mean=20.0, low=10.0, high=30.0, method=BY_RETURNS),
        "new_value": Value(mean=50.0, low=40.0, high=60.0),
    }
    steps = list_steps(record.model_copy(update=changed))
    assert any("about 5.0; stop if it stays below 4.0." in step for step in steps)


def test_a_policy_that_was_not_written_is_not_to_be_taken(record: DecisionRecord) -> None:
    assert "policy/" in list_steps(record)[0]
    notes = ("no new.safetensors: a RulePolicy has no file form",)
    assert "policy/" not in list_steps(record.model_copy(update={"notes": notes}))[0]


def test_the_section_is_always_there(context: Context) -> None:
    assert "Next steps" in NextSteps().render(context)
