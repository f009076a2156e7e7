"""Hidden confounding: sorting against linear programming, and where a verdict turns."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from nacre.errors import InputError
from nacre.inference.sensitivity import (
    LARGEST_FACTOR,
    WeightedOutcomes,
    bound_drop,
    decision_drop,
    turning_factor,
    worst_gain,
    worst_weights,
)


def make_sample(n: int, seed: int, density: bool = False) -> WeightedOutcomes:
    rng = np.random.default_rng(seed)
    probabilities = np.zeros(n) if density else rng.uniform(0.05, 0.95, n)
    return WeightedOutcomes(
        rng.gamma(1.0, 1.0, n) * (rng.random(n) < 0.8),
        rng.normal(1.0, 1.0, n),
        rng.normal(0.0, 0.3, n),
        probabilities,
    )


def programme(sample: WeightedOutcomes, factor: float) -> float:
    """min Σ w e / Σ w by Charnes and Cooper: y = w / Σ w, t = 1 / Σ w."""
    p = sample.probabilities
    low = sample.ratios * (p + (1 - p) / factor)
    high = sample.ratios * (p + (1 - p) * factor)
    n = len(low)
    eye = np.eye(n)
    limits = np.block([[eye, -high[:, None]], [-eye, low[:, None]]])
    solved = linprog(
        np.append(sample.outcomes, 0.0),
        A_ub=limits,
        b_ub=np.zeros(2 * n),
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * (n + 1),
    )
    return float(solved.fun)


@pytest.mark.parametrize("factor", [1.0, 1.3, 3.0, 20.0])
@pytest.mark.parametrize("density", [False, True])
def test_sorting_solves_the_linear_fractional_programme(factor: float, density: bool) -> None:
    for seed in range(100, 105):
        sample = make_sample(12, seed, density)
        gain, _ = worst_gain(sample, factor)
        expected = programme(sample, factor) + sample.baselines.mean()
        assert gain == pytest.approx(expected, abs=1e-7)


@given(st.integers(100, 199), st.floats(1.0, 30.0), st.floats(1.0, 30.0), st.floats(0.0, 3.0))
def test_more_confounding_never_raises_the_bound(
    seed: int, one: float, other: float, quantile: float
) -> None:
    sample = make_sample(40, seed)
    less, more = sorted((one, other))
    assert worst_gain(sample, more)[0] <= worst_gain(sample, less)[0] + 1e-9
    assert bound_drop(sample, more, quantile) >= -1e-9
    assert bound_drop(sample, 1.0, quantile) == pytest.approx(0.0, abs=1e-12)


@given(st.integers(100, 199), st.floats(1.0, 30.0))
def test_worst_weights_stay_within_the_model(seed: int, factor: float) -> None:
    """The true probability 1/w·π has odds within Λ of the given ones."""
    sample = make_sample(30, seed)
    used = sample.ratios > 0
    p = sample.probabilities[used]
    true = p * sample.ratios[used] / worst_weights(sample, factor)[used]
    odds = (true / (1 - true)) / (p / (1 - p))
    assert np.all(odds <= factor * (1 + 1e-9))
    assert np.all(odds >= (1 - 1e-9) / factor)


def test_without_confounding_it_is_the_self_normalised_gain() -> None:
    sample = make_sample(500, 100)
    gain, error = worst_gain(sample, 1.0)
    plain = np.average(sample.outcomes, weights=sample.ratios)
    assert gain == pytest.approx(plain + sample.baselines.mean())
    influence = sample.baselines + sample.ratios * (sample.outcomes - plain) / sample.ratios.mean()
    assert error == pytest.approx(influence.std(ddof=1) / math.sqrt(500))


def test_a_sure_action_leaves_nothing_to_confounding() -> None:
    """Probability one has infinite odds: no factor moves it."""
    sample = WeightedOutcomes(np.ones(5), np.arange(5.0), np.zeros(5), np.ones(5))
    assert worst_gain(sample, 50.0)[0] == pytest.approx(2.0)


def test_the_turning_factor_is_where_the_bound_meets_the_cost() -> None:
    sample = make_sample(400, 101)
    lower = 0.8

    def drop(factor: float) -> float:
        return bound_drop(sample, factor, 1.645)

    turns = turning_factor(lower, drop, 0.3)
    assert 1.0 < turns < LARGEST_FACTOR
    assert lower - drop(turns) > 0.3
    assert lower - drop(turns * 1.001) <= 0.3
    assert turning_factor(lower, drop, 0.5) < turns


def test_turning_factor_at_its_ends() -> None:
    sample = make_sample(50, 102)

    def drop(factor: float) -> float:
        return bound_drop(sample, factor)

    assert turning_factor(-0.1, drop) == 1.0
    assert turning_factor(0.0, drop) == 1.0
    assert turning_factor(math.nan, drop) == 1.0
    assert turning_factor(1e6, drop) == math.inf


def test_confounding_within_the_factor_is_covered() -> None:
    """A hidden coin moves both action and reward; at its own Λ the bound is below the truth."""
    rng = np.random.default_rng(103)
    n, odds = 200_000, 2.0
    hidden = rng.random(n) < 0.5
    # Odds of the action 1 are 2 : 1 or 1 : 2; the log shows 1 : 1.
    taken = rng.random(n) < np.where(hidden, odds / (1 + odds), 1 / (1 + odds))
    rewards = hidden + 0.1 * taken + rng.normal(0.0, 0.1, n)
    # Always taking action 1 is truly worth 0.1 · 0.5 more.
    truth = 0.05
    sample = WeightedOutcomes(np.where(taken, 2.0, 0.0), rewards, -rewards, np.full(n, 0.5))
    assert worst_gain(sample, 1.0)[0] > truth + 0.1
    assert worst_gain(sample, odds)[0] <= truth + 0.005
    assert worst_gain(sample, 1.5)[0] > truth


def test_decisions_one_step_long_are_the_one_step_case() -> None:
    sample = make_sample(60, 104)
    drop = decision_drop(
        sample.ratios, sample.outcomes, sample.probabilities, np.zeros(60, np.int64), 2.0, 0.9
    )
    assert drop == pytest.approx(bound_drop(sample, 2.0))


def test_later_decisions_are_discounted_and_weighed_by_who_is_left() -> None:
    """Two steps, the second reached by half of the episodes: γ · 1/2 of its own drop."""
    first, second = make_sample(40, 105), make_sample(20, 106)
    steps = np.repeat([0, 1], [40, 20])
    ratios, outcomes, probabilities = (
        np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("ratios", "outcomes", "probabilities")
    )
    expected = bound_drop(first, 3.0) + 0.9 * 0.5 * bound_drop(second, 3.0)
    drop = decision_drop(ratios, outcomes, probabilities, steps, 3.0, 0.9)
    assert drop == pytest.approx(expected)
    # Ratios are shares of each other: their common size says nothing.
    small = decision_drop(0.01 * ratios, outcomes, probabilities, steps, 3.0, 0.9)
    assert small == pytest.approx(expected)
    # A step at which the candidate would do nothing that the log has seen adds nothing.
    unseen = np.where(steps == 1, 0.0, ratios)
    drop = decision_drop(unseen, outcomes, probabilities, steps, 3.0, 0.9)
    assert drop == pytest.approx(bound_drop(first, 3.0))


def test_bad_input_is_named() -> None:
    ones = np.ones(3)
    with pytest.raises(InputError, match="same length"):
        WeightedOutcomes(ones, ones, ones, np.ones(2))
    for ratios in (-ones, 0 * ones, ones - [2, 0, 0]):
        with pytest.raises(InputError, match="negative, and one at least positive"):
            WeightedOutcomes(ratios, ones, ones, ones)
    with pytest.raises(InputError, match="not finite"):
        WeightedOutcomes(ones, ones * np.nan, ones, ones)
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        WeightedOutcomes(ones, ones, ones, 2 * ones)
    with pytest.raises(InputError, match="at least 1"):
        worst_gain(WeightedOutcomes(ones, ones, ones, ones), 0.5)
