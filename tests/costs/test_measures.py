"""State measures: which states they hold, what they draw, and how sure an average is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.costs import FiniteStates, LogStates, StateMeasure, UniformBox, WeightedStates
from nacre.costs.measures import StateSample, read_rows
from nacre.errors import InputError

KEY = jax.random.key(0)
PLANE = Box(-np.inf, np.inf, (2,))
ROWS = np.random.default_rng(0).standard_normal((500, 2)).astype(np.float32)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_all_states_of_the_log() -> None:
    for measure in (LogStates(), LogStates(500), LogStates(10_000)):
        sample = measure.support(KEY, ROWS, PLANE)
        assert sample.states is ROWS
        assert sample.weights is None
        assert sample.exact
    numbers = np.array([3, 1, 3])
    np.testing.assert_array_equal(LogStates().support(KEY, numbers, Discrete(4)).states, numbers)


def test_some_states_of_the_log() -> None:
    sample = LogStates(50).support(KEY, ROWS, PLANE)
    again = LogStates(50).support(KEY, ROWS, PLANE)
    other = LogStates(50).support(jax.random.key(1), ROWS, PLANE)
    np.testing.assert_array_equal(sample.states, again.states)
    assert not np.array_equal(sample.states, other.states)
    chosen = {tuple(row) for row in np.asarray(sample.states).tolist()}
    assert len(chosen) == 50
    assert chosen <= {tuple(row) for row in ROWS.tolist()}
    assert sample.share == 0.1
    assert not sample.exact


@pytest.mark.parametrize(
    ("observations", "text"),
    [
        (None, "no log was given; give one, or choose another state measure"),
        (np.zeros((0, 2)), "there is none; give at least one"),
        (np.float64(3.0), "there is none"),
    ],
)
def test_the_log_must_be_there(observations: np.ndarray | None, text: str) -> None:
    with pytest.raises(InputError, match=text):
        LogStates().support(KEY, observations, PLANE)


@pytest.mark.parametrize(
    ("space", "low", "high"),
    [
        (PLANE, [-3.0, -3.0], [3.0, 3.0]),
        (Box(floats(-1.0, -9.0), floats(2.0, np.inf)), [-1.0, -3.0], [2.0, 3.0]),
        # A coordinate that is constant in the world stays so.
        (Box(floats(0.5, -1.0), floats(0.5, 1.0)), [0.5, -1.0], [0.5, 1.0]),
    ],
)
def test_uniform_box_is_clipped(space: Box, low: list[float], high: list[float]) -> None:
    measure = UniformBox(limit=3.0, n=20_000)
    sample = measure.support(KEY, None, space)
    states = np.asarray(sample.states)
    assert states.shape == (20_000, 2)
    assert not sample.exact
    np.testing.assert_array_equal(sample.probabilities, 1 / 20_000)
    width = np.subtract(high, low)
    assert np.all(states >= low)
    assert np.all(states <= high)
    # Within five standard errors: mean of the middle, variance of width²/12 (its own is w⁴/180).
    error = 5 * width / np.sqrt(12 * 20_000) + 1e-6
    assert np.all(np.abs(states.mean(axis=0) - np.add(low, high) / 2) <= error)
    error = 5 * width**2 / np.sqrt(180 * 20_000) + 1e-6
    assert np.all(np.abs(states.var(axis=0) - width**2 / 12) <= error)
    drawn = jax.jit(lambda key: measure.draw(key, 7, None, space))(KEY)
    assert drawn.shape == (7, 2)
    assert np.all((drawn >= np.array(low)) & (drawn <= np.array(high)))


@pytest.mark.parametrize(
    "space", [Box(200.0, 300.0, (2,)), Box(-300.0, -100.0, (1,)), Box(200.0, 200.0, (1,))]
)
def test_uniform_box_needs_room(space: Box) -> None:
    with pytest.raises(InputError, match="limit = 100 leaves nothing of the observation box"):
        UniformBox().support(KEY, None, space)
    with pytest.raises(InputError, match="leaves nothing"):
        UniformBox().draw(KEY, 3, None, space)


def test_uniform_box_needs_vectors() -> None:
    with pytest.raises(InputError, match="needs vector observations, these are Discrete"):
        UniformBox().support(KEY, None, Discrete(3))


@pytest.mark.parametrize("limit", [0.0, -1.0, np.nan, np.inf])
def test_limits_are_checked(limit: float) -> None:
    with pytest.raises(InputError, match="the box needs a positive finite limit"):
        UniformBox(limit)


@pytest.mark.parametrize("n", [0, -1, 2.5, "3"])
def test_counts_are_checked(n: Any) -> None:
    measures: tuple[Callable[[Any], StateMeasure], ...] = (LogStates, lambda n: UniformBox(n=n))
    for measure in measures:
        with pytest.raises(InputError, match=f"n = {n}: give a whole number of states"):
            measure(n)
    whole: Any = np.int64(3)
    assert LogStates(whole).n == 3


def test_finite_states() -> None:
    sample = FiniteStates().support(KEY, None, Discrete(4))
    np.testing.assert_array_equal(sample.states, [0, 1, 2, 3])
    np.testing.assert_array_equal(sample.probabilities, 0.25)
    assert sample.exact
    listed: Any = [0.5, 0.0, 0.5]
    weighted = FiniteStates(listed)
    assert weighted == FiniteStates((0.5, 0.0, 0.5))
    assert hash(weighted) == hash(FiniteStates((0.5, 0.0, 0.5)))
    sample = weighted.support(KEY, None, Discrete(3))
    np.testing.assert_array_equal(sample.states, [0, 1, 2])
    np.testing.assert_array_equal(sample.probabilities, [0.5, 0.0, 0.5])
    assert sample.exact
    with pytest.raises(InputError, match="needs discrete observations, these are Box"):
        weighted.support(KEY, None, PLANE)
    with pytest.raises(InputError, match="3 state weights given for 4 states; give one a state"):
        weighted.draw(KEY, 2, None, Discrete(4))


def test_given_states() -> None:
    sample = WeightedStates(ROWS[:3], np.array([0.2, 0.3, 0.5])).support(KEY, None, PLANE)
    np.testing.assert_array_equal(sample.states, ROWS[:3])
    np.testing.assert_allclose(sample.probabilities, [0.2, 0.3, 0.5])
    assert sample.exact
    rows: Any = [[1.0, 2.0], [3.0, 4.0]]
    plain = WeightedStates(rows).support(KEY, None, PLANE)
    np.testing.assert_array_equal(plain.probabilities, 0.5)


def test_given_states_are_compared_by_content() -> None:
    rows = ROWS[:3].copy()
    measure = WeightedStates(rows)
    assert measure == WeightedStates(ROWS[:3])
    assert hash(measure) == hash(WeightedStates(ROWS[:3]))
    assert repr(measure) == repr(WeightedStates(ROWS[:3]))
    assert "3 states" in repr(measure)
    others = (
        WeightedStates(ROWS[:3], np.array([0.2, 0.3, 0.5])),
        WeightedStates(ROWS[1:4]),
        WeightedStates(ROWS[:3].astype(np.float64)),
        LogStates(),
    )
    assert all(measure != other for other in others)
    rows[0] = 7.0
    np.testing.assert_array_equal(measure.states, ROWS[:3])
    with pytest.raises(ValueError, match="read-only"):
        measure.states[0] = 7.0


@pytest.mark.parametrize(
    ("states", "weights", "text"),
    [
        ([], None, "needs at least one state, each a number or a vector; these have shape"),
        (np.zeros((2, 2, 2)), None, "these have shape"),
        ([[1.0], [1.0, 2.0]], None, "differ in length; make them equally long"),
        ([[np.nan]], None, "hold NaN, infinity or what is no number"),
        ([["a"]], None, "hold NaN, infinity or what is no number"),
        ([1, 2], [1.0], "1 weights for 2 states; give one a state"),
        (
            [1, 2],
            [0.5, 0.6],
            "add up to one, in a plain list; these add up to 1.1",
        ),
        ([1, 2], [1.5, -0.5], "state weights must be finite, not negative"),
        ([1, 2], [np.nan, 1.0], "state weights must be finite"),
        ([1, 2], [[0.5], [0.5]], "in a plain list"),
        ([1, 2], ["a", "b"], "are no list of numbers"),
    ],
)
def test_given_states_are_checked(states: Any, weights: Any, text: str) -> None:
    with pytest.raises(InputError, match=text):
        WeightedStates(states, weights)


def test_rows_from_outside() -> None:
    rows: Any = [[1, 2]]
    np.testing.assert_array_equal(read_rows(rows), [[1, 2]])
    ragged: Any = [[1, 2], [3]]
    with pytest.raises(InputError, match="differ in length"):
        read_rows(ragged)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        (LogStates(), [0.25, 0.0, 0.75]),
        (FiniteStates(), [1 / 3, 1 / 3, 1 / 3]),
        (FiniteStates((0.1, 0.9, 0.0)), [0.1, 0.9, 0.0]),
        (WeightedStates(np.array([2, 0]), np.array([0.3, 0.7])), [0.7, 0.0, 0.3]),
        (WeightedStates(np.array([2, 0])), [0.5, 0.0, 0.5]),
    ],
)
def test_draws_follow_the_measure(measure: StateMeasure, expected: list[float]) -> None:
    log = jnp.array([0, 2, 2, 2])
    drawn = jax.jit(lambda key: measure.draw(key, 10_000, log, Discrete(3)))(KEY)
    frequency = np.bincount(np.asarray(drawn), minlength=3) / 10_000
    error = 5 * np.sqrt(np.array(expected) * (1 - np.array(expected)) / 10_000)
    assert np.all(np.abs(frequency - expected) <= error)


@pytest.mark.parametrize(("n", "most"), [(1, 4), (4, 4), (5, 4), (7, 3), (10, 4), (10, 1)])
def test_split_fills_up_with_nothing(n: int, most: int) -> None:
    states, weights = StateSample(ROWS[:n], None, 1.0).split(most)
    assert states.shape[:2] == weights.shape
    assert weights.shape[1] <= most
    assert weights.size - n < weights.shape[0]
    np.testing.assert_array_equal(states.reshape(-1, 2)[:n], ROWS[:n])
    np.testing.assert_allclose(weights.ravel()[:n], 1 / n, rtol=1e-6)
    np.testing.assert_array_equal(weights.ravel()[n:], 0.0)


def test_split_keeps_the_weights() -> None:
    _, weights = StateSample(np.arange(3), np.array([0.2, 0.3, 0.5]), 1.0).split(2)
    np.testing.assert_allclose(weights, [[0.2, 0.3], [0.5, 0.0]], rtol=1e-6)


def test_standard_error_by_hand() -> None:
    costs = np.array([[1.0], [2.0], [3.0], [6.0]])
    spread = costs.std(ddof=1)
    assert StateSample(ROWS[:4], None, 1.0).standard_error(costs) == 0.0
    assert StateSample(ROWS[:4], None, 0.0).standard_error(costs) == pytest.approx(spread / 2)
    # A quarter of the states is known: three quarters of the variance are left.
    some = StateSample(ROWS[:4], None, 0.25).standard_error(costs)
    assert some == pytest.approx(spread / 2 * math.sqrt(0.75))
    assert math.isnan(StateSample(ROWS[:1], None, 0.0).standard_error(costs[:1]))
    # Costs that are noisy themselves: the variance of each mean of two is a quarter of the square.
    noisy = np.array([[1.0, 3.0], [5.0, 5.0]])
    exact = StateSample(ROWS[:2], np.array([0.25, 0.75]), 1.0)
    assert exact.standard_error(noisy) == pytest.approx(0.25 * 1.0)


def test_standard_error_is_right_on_average() -> None:
    """Half of a finite population, and independent draws with noise: squares against truth."""
    rng = np.random.default_rng(0)
    population = rng.exponential(size=60)
    means, variances = [], []
    for _ in range(4000):
        costs = rng.choice(population, 30, replace=False)[:, None] + rng.normal(size=(30, 2))
        sample = StateSample(np.arange(30), None, 0.5)
        means.append(costs.mean())
        variances.append(sample.standard_error(costs) ** 2)
    # Both sides have a relative error of about 2 %.
    assert np.mean(variances) == pytest.approx(np.var(means), rel=0.1)


def test_bad_states_are_named() -> None:
    sample = StateSample(np.array([[0.0], [1.0], [np.inf]]), None, 1.0)
    text = sample.describe_bad_state(np.array([1.0, np.nan, np.nan]))
    assert text.startswith("the switching cost is nan at state 1: a policy or the importance")
    text = sample.describe_bad_state(np.array([1.0, 1.0, np.nan]))
    assert text == "state 2 holds NaN or infinity; mend it or leave it out"
