"""Verdicts: each of the three, what would settle the third, and what cannot be trusted."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.inference.gain import Gain
from nacre.inference.verdict import LARGEST_FACTOR, Judgement, estimate_more_episodes, judge

SHAPE = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])


def make_gain(mean: float, spread: float = 1.0, **further: float) -> Gain:
    """Five differences around a mean, at no cost."""
    return Gain(mean + spread * SHAPE, 0.0, **further)


def decide(*gains: Gain, trusted: list[bool] | None = None, confidence: float = 0.95) -> Judgement:
    return judge(gains, confidence=confidence, n_episodes=100, trusted=trusted)


def test_a_proven_gain_switches() -> None:
    found = decide(make_gain(5.0))
    assert (found.verdict, found.chosen, found.more_episodes) == ("switch", 0, None)
    assert found.confidence == make_gain(5.0).confidence > 0.95
    bound = make_gain(5.0).bound(0.95)
    assert found.reason == f"the net gain is at least {bound:.4g} with 95 % confidence"
    assert "99.9 % confidence" in decide(make_gain(50.0), confidence=0.999).reason


def test_no_expected_gain_keeps() -> None:
    found = decide(make_gain(-0.1), make_gain(-3.0))
    assert (found.verdict, found.chosen, found.more_episodes) == ("keep", 0, None)
    assert found.confidence < 0.5
    assert "no candidate is expected to gain: the best has -0.1 after the cost" in found.reason
    assert decide(make_gain(0.0)).verdict == "keep"


def test_an_expected_but_unproven_gain_is_undecided() -> None:
    found = decide(make_gain(-2.0), make_gain(0.5))
    assert (found.verdict, found.chosen) == ("undecided", 1)
    assert 0.5 < found.confidence < 0.95
    assert found.more_episodes is not None
    assert f"about {found.more_episodes:,} further episodes" in found.reason


def test_the_best_lower_bound_is_chosen_not_the_best_mean() -> None:
    sure, daring = make_gain(3.0, spread=0.1), make_gain(4.0)
    assert daring.bound(0.95) > 0
    assert decide(daring, sure).chosen == 1
    # Nothing proven: then it is the mean that is worth more evidence.
    assert decide(make_gain(0.1, spread=0.2), make_gain(0.9)).chosen == 1


def test_more_confidence_turns_switch_into_undecided() -> None:
    gain = make_gain(2.0)
    verdicts = [decide(gain, confidence=p).verdict for p in (0.6, 0.9, 0.99, 0.999)]
    assert verdicts == ["switch", "switch", "undecided", "undecided"]


def test_doubt_and_pessimism_leave_it_undecided_and_more_log_would_not_help() -> None:
    for gain in (
        make_gain(5.0, doubt=6.0),
        make_gain(5.0, pessimistic=-0.1),
        make_gain(5.0, cost_error=20.0),
        make_gain(5.0, spread=1e4),
    ):
        found = decide(gain)
        assert (found.verdict, found.more_episodes) == ("undecided", None)
        assert "more of the same log would hardly settle it" in found.reason
    assert decide(make_gain(5.0, doubt=0.5, pessimistic=0.1, cost_error=0.5)).verdict == "switch"


def test_episodes_that_would_settle_it_by_hand() -> None:
    """The bound is zero where the spread has shrunk to gain / t; it shrinks with √episodes."""
    gain = make_gain(0.5)
    reach = gain.mean - gain.bound(0.95)
    factor = (reach / 0.5) ** 2
    assert estimate_more_episodes(gain, 0.95, 100) == math.ceil((factor - 1) * 100)


@given(
    st.floats(0.2, 3.0), st.floats(0.0, 0.15), st.floats(0.0, 0.05), st.sampled_from([0.9, 0.95])
)
def test_with_so_many_episodes_it_is_settled(
    mean: float, doubt: float, cost_error: float, confidence: float
) -> None:
    gain = make_gain(mean, doubt=doubt, cost_error=cost_error)
    more = estimate_more_episodes(gain, confidence, 10_000)
    if more is None:
        assert gain.spread**2 > (LARGEST_FACTOR - 1) * ((mean - doubt) / 3) ** 2 - 1
        return
    shrunk = SHAPE / math.sqrt((10_000 + more + 1) / 10_000)
    settled = dataclasses.replace(gain, differences=mean + shrunk)
    assert settled.bound(confidence) > 0
    if more > 2:
        sooner = SHAPE / math.sqrt((10_000 + more - 2) / 10_000)
        assert dataclasses.replace(gain, differences=mean + sooner).bound(confidence) < 1e-9


def test_more_evidence_needs_fewer_further_episodes() -> None:
    spreads = [1.0, 0.8, 0.6, 0.5]
    more = [decide(make_gain(0.4, spread)).more_episodes for spread in spreads]
    assert more == sorted(more, reverse=True)  # type: ignore[type-var]
    assert more[0] > 2 * more[-1]  # type: ignore[operator]


@pytest.mark.parametrize(
    "broken",
    [
        make_gain(math.nan),
        make_gain(50.0, doubt=math.nan),
        make_gain(50.0, pessimistic=math.nan),
        make_gain(50.0, cost_error=math.nan),
        dataclasses.replace(make_gain(50.0), cost=math.nan),
        dataclasses.replace(make_gain(50.0), cost=-math.inf),
        Gain(np.array([50.0, math.nan, 51.0]), 0.0),
        Gain(np.array([50.0]), 0.0),
    ],
    ids=["mean", "doubt", "pessimistic", "cost_error", "cost", "infinite", "member", "single"],
)
def test_what_is_not_finite_never_switches_nor_hides_another(broken: Gain) -> None:
    alone = decide(broken)
    assert (alone.verdict, alone.confidence) == ("keep", 0.0)
    assert alone.reason == "no candidate could be evaluated"
    good, weak = make_gain(5.0), make_gain(0.5)
    for gains in ((broken, good), (good, broken)):
        found = decide(*gains)
        assert (found.verdict, gains[found.chosen]) == ("switch", good)
    for gains in ((broken, weak), (weak, broken)):
        found = decide(*gains)
        assert (found.verdict, gains[found.chosen]) == ("undecided", weak)
    assert estimate_more_episodes(broken, 0.95, 100) is None


def test_what_is_not_trusted_never_switches() -> None:
    found = decide(make_gain(50.0), trusted=[False])
    assert (found.verdict, found.confidence) == ("keep", 0.0)
    found = decide(make_gain(50.0), make_gain(5.0), trusted=[False, True])
    assert (found.verdict, found.chosen) == ("switch", 1)
    found = decide(make_gain(50.0), make_gain(-5.0), trusted=[False, True])
    assert (found.verdict, found.chosen) == ("keep", 1)
