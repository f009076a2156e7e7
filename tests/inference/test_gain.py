"""The net gain: hand-worked intervals, what widens them, and that NaN proves nothing."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import integrate

from nacre.inference.gain import Gain

# Differences 1, 2, 3, 4: mean 5/2, standard deviation √(5/3). Student's t of three degrees of
# freedom has 95 % below 2.353363 and 97.5 % below 3.182446.
FOUR = np.array([1.0, 2.0, 3.0, 4.0])
SPREAD = math.sqrt(5 / 3)
T95, T975 = 2.3533634, 3.1824463

numbers = st.floats(-100, 100)
sizes = st.floats(0, 100)
gains = st.builds(
    Gain,
    st.lists(numbers, min_size=2, max_size=8).map(np.array),
    numbers,
    sizes,
    sizes,
    st.none() | numbers,
    st.floats(0.1, 3),
)
probabilities = st.floats(0.501, 0.999)


def test_by_hand() -> None:
    gain = Gain(FOUR, cost=0.5)
    assert gain.mean == 2.0
    assert gain.standard_error == pytest.approx(SPREAD, rel=1e-12)
    # √(1 + 1/4) for the centre, which is estimated too.
    reach = SPREAD * math.sqrt(1.25)
    assert gain.bound(0.95) == pytest.approx(2.0 - T95 * reach, abs=1e-6)
    low, high = gain.interval(0.95)
    assert low == pytest.approx(2.0 - T975 * reach, abs=1e-6)
    assert high == pytest.approx(2.0 + T975 * reach, abs=1e-6)


def test_errors_add_in_squares_and_doubt_on_top() -> None:
    """Twice the spread and an error of 1: √(4 · 5/3 + 1); a doubt of 0.3 shifts both ends."""
    gain = Gain(FOUR, 0.5, cost_error=1.0, doubt=0.3, scale=2.0)
    error = math.sqrt(20 / 3 + 1)
    assert gain.standard_error == pytest.approx(error, rel=1e-12)
    half = T975 * error * math.sqrt(1.25) + 0.3
    low, high = gain.interval(0.95)
    assert (low, high) == pytest.approx((2.0 - half, 2.0 + half), abs=1e-5)


def test_pessimism_bounds_from_below_only() -> None:
    plain = Gain(FOUR, 0.5)
    low, high = plain.interval(0.9)
    worse = dataclasses.replace(plain, pessimistic=low + 0.5 - 1.0)
    assert worse.interval(0.9) == (pytest.approx(low - 1.0, abs=1e-12), high)
    # The worst of the critics may say more than the interval does: then it says nothing new.
    assert dataclasses.replace(plain, pessimistic=50.0).interval(0.9) == (low, high)


def test_confidence_by_integrating_students_density() -> None:
    """Three members: two degrees of freedom, density (2 + x²)^(-3/2), to 1e-6."""
    gain = Gain(np.array([0.0, 1.0, 2.0]), 0.4)
    z = 0.6 / (1.0 * math.sqrt(4 / 3))
    expected = 0.5 + integrate.quad(lambda x: (2 + x * x) ** -1.5, 0, z)[0]
    assert gain.confidence == pytest.approx(expected, abs=1e-6)
    # Doubt takes from the gain, but never more than all of it.
    doubted = dataclasses.replace(gain, doubt=0.6)
    assert doubted.confidence == pytest.approx(0.5, abs=1e-12)
    assert dataclasses.replace(gain, doubt=60.0).confidence == pytest.approx(0.5, abs=1e-12)
    loss = dataclasses.replace(gain, cost=1.6, doubt=0.2)
    mirrored = dataclasses.replace(gain, doubt=0.2)
    assert loss.confidence == pytest.approx(1.0 - mirrored.confidence, abs=1e-9)


def test_critics_that_all_agree() -> None:
    same = np.full(3, 2.0)
    assert Gain(same, 1.0).confidence == 1.0
    assert Gain(same, 1.0).interval(0.95) == (1.0, 1.0)
    assert Gain(same, 3.0).confidence == 0.0
    assert Gain(same, 1.0, pessimistic=0.5).confidence == 0.0


@given(gains, probabilities, probabilities)
def test_more_confidence_is_a_lower_bound_and_a_wider_interval(
    gain: Gain, one: float, other: float
) -> None:
    less, more = sorted((one, other))
    assert gain.bound(more) <= gain.bound(less) + 1e-9
    inner, outer = gain.interval(less), gain.interval(more)
    assert outer[0] <= inner[0] + 1e-9
    assert outer[1] >= inner[1] - 1e-9
    assert inner[0] <= gain.mean + 1e-9
    assert inner[1] >= gain.mean - 1e-9


@given(gains, probabilities, sizes)
def test_more_doubt_error_spread_or_cost_never_raises_the_bound(
    gain: Gain, probability: float, more: float
) -> None:
    bound = gain.bound(probability)
    for changed in (
        {"doubt": gain.doubt + more},
        {"cost_error": gain.cost_error + more},
        {"scale": gain.scale + more},
        {"cost": gain.cost + more},
    ):
        assert dataclasses.replace(gain, **changed).bound(probability) <= bound + 1e-9


@given(gains, probabilities, numbers, sizes)
def test_more_pessimism_never_raises_the_bound(
    gain: Gain, probability: float, pessimistic: float, more: float
) -> None:
    some = dataclasses.replace(gain, pessimistic=pessimistic)
    lower = dataclasses.replace(gain, pessimistic=pessimistic - more)
    none = dataclasses.replace(gain, pessimistic=None)
    assert lower.bound(probability) <= some.bound(probability) <= none.bound(probability)
    assert lower.confidence <= some.confidence + 1e-12
    assert some.interval(probability)[1] == none.interval(probability)[1]


@given(gains, probabilities)
def test_confidence_says_the_same_as_the_bound(gain: Gain, probability: float) -> None:
    bound = gain.bound(probability)
    assume(abs(bound) > 1e-6)
    assert (gain.confidence > probability) == (bound > 0)
    assert 0.0 <= gain.confidence <= 1.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "place", ["differences", "cost", "cost_error", "doubt", "pessimistic", "scale"]
)
def test_nothing_follows_from_what_is_not_finite(place: str, bad: float) -> None:
    given_: dict[str, Any] = {"differences": FOUR + 100.0, "cost": 0.0, "pessimistic": 90.0}
    assert Gain(**given_).bound(0.95) > 0
    given_[place] = np.array([100.0, bad, 101.0]) if place == "differences" else bad
    with np.errstate(invalid="ignore"):  # NumPy warns of infinite differences
        gain = Gain(**given_)
        assert not gain.sound
        assert gain.interval(0.95) == (-math.inf, math.inf)
        assert gain.confidence == 0.0


def test_one_critic_has_no_interval() -> None:
    gain = Gain(np.array([5.0]), 1.0)
    assert gain.mean == 4.0
    assert gain.standard_error == math.inf
    assert gain.interval(0.5) == (-math.inf, math.inf)
    assert gain.confidence == 0.0


# Three degrees of freedom: χ² has 95 % below 7.814728.
CHI95 = 7.8147279


def test_within_reach_by_hand() -> None:
    reach = T95 * math.sqrt(5 / 4) * SPREAD
    lucky = math.sqrt(3 / CHI95) * reach
    for mean, expected in ((1.01 * reach, True), (1.01 * lucky, True), (0.99 * lucky, False)):
        gain = Gain(FOUR - 2.5 + mean, cost=0.0)
        assert gain.is_within_reach(0.95) is expected


@given(gains, probabilities)
def test_who_is_proven_is_within_reach_and_doubt_is_not_the_spread(
    gain: Gain, confidence: float
) -> None:
    if gain.bound(confidence) > 0:
        assert gain.is_within_reach(confidence)
    certain = dataclasses.replace(gain, doubt=abs(gain.mean) + 1.0)
    assert not certain.is_within_reach(confidence)
    if gain.mean <= 0 or (gain.pessimistic is not None and gain.pessimistic <= gain.cost):
        assert not gain.is_within_reach(confidence)


def test_nan_is_not_within_reach() -> None:
    assert not Gain(np.array([1.0, math.nan]), cost=0.0).is_within_reach(0.95)
