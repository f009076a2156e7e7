"""Both policies side by side in a few states."""

from __future__ import annotations

import numpy as np

from nacre.advice.record import DecisionRecord
from nacre.report.evidence import Evidence
from nacre.report.sections.base import build_context
from nacre.report.sections.change import Change, state_concentration

STATES = Evidence(
    state_names=("<one>",),
    state_costs=np.asarray([0.5]),
    action_names=("left", "right"),
    old_actions=np.asarray([[0.2, 0.8]]),
    new_actions=np.asarray([[0.9, 0.1]]),
    concentration=np.linspace(0, 1, 21) ** 0.5,
)


def test_states_are_shown_with_cost_and_probabilities(record: DecisionRecord) -> None:
    page = str(Change().render(build_context(record, STATES)))
    assert "<bdi>&lt;one&gt;</bdi>; cost 0.5" in page
    assert "90\u00a0%" in page
    assert page.count("old-bar") == page.count("new-bar") == 2


def test_the_share_of_a_tenth_of_the_states_is_told() -> None:
    assert state_concentration(STATES) == (
        "The tenth of the states with the highest switching cost has 32\u00a0% of the whole cost."
    )
    assert state_concentration(Evidence()) is None
    assert state_concentration(Evidence(concentration=np.zeros(21))) is None


def test_nothing_is_drawn_of_nothing(record: DecisionRecord) -> None:
    assert Change().render(build_context(record)) is None
