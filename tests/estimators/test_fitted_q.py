"""Fitted Q-evaluation by linear critics against exact truth, and when it says nothing."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from hypothesis import given
from hypothesis import strategies as st

from nacre.diagnostics.overlap import measure_value_range
from nacre.errors import InputError
from nacre.estimators.base import Estimate, Estimator, Problem, report_nothing
from nacre.estimators.exact import start_value
from nacre.estimators.fitted_q import (
    LARGEST_LEVEL_ERROR,
    LARGEST_SPREAD,
    LEAST_SPREAD,
    FittedQ,
    Prepared,
    Values,
    describe,
)
from nacre.inference.intervals import bound_above, bound_below
from nacre.logs import Log
from nacre.policies import MLPPolicy, Signature, TabularPolicy
from nacre.training.linear_critics import add_up, add_up_ahead, solve
from nacre.training.state_action_features import draw_actions
from tests.support import one_hot
from tests.support.one_hot import (
    DISCOUNT,
    NEW,
    OLD,
    WORLD,
    Table,
    as_network,
    find_gain,
    make_problem,
    pose_vectors,
    sample_vectors,
)

QUICK = FittedQ(sets=4, groups=10, sizes=(48,))


def prepare(**changes: Any) -> Prepared:
    prepared: Prepared = one_hot.prepare(QUICK)
    return dataclasses.replace(prepared, **changes)


def estimate(table: Table = NEW, prepared: Prepared | None = None) -> Estimate:
    return one_hot.estimate(QUICK, table, prepared or prepare())


def shift(values: Values, by: float) -> Values:
    return Values(values.whole + by, values.left_out + by, values.coarse + by)


def test_it_finds_the_gain() -> None:
    found = estimate()
    assert found.informative, found.reason
    assert isinstance(QUICK, Estimator)
    assert (found.estimator, found.basis) == ("fitted_q", "model")
    assert QUICK.extrapolates
    assert 0.0 < found.standard_error < 0.05 * found.diagnostics["value_range"]
    assert abs(found.gain - find_gain()) < 3.0 * found.standard_error
    # The gain itself is clear, so that this says something.
    assert abs(find_gain()) > 3.0 * found.standard_error


def test_it_finds_both_values() -> None:
    numbers = estimate().diagnostics
    for name, table in (("old_value", OLD), ("new_value", NEW)):
        truth = float(start_value(WORLD, table))
        assert numbers[name] == pytest.approx(truth, abs=0.05 * numbers["value_range"])
    log = make_problem().log
    assert numbers["value_range"] == measure_value_range(log, DISCOUNT)
    assert numbers["features"] == prepare().sums[0].features.size
    assert numbers["level_error"] < LARGEST_LEVEL_ERROR * numbers["value_range"]
    assert numbers["beyond_limits"] == 0.0


def test_the_standard_error_has_all_its_parts() -> None:
    numbers = estimate().diagnostics
    parts = [numbers[f"error_of_{name}"] for name in ("episodes", "features", "resolution")]
    floor = LEAST_SPREAD * numbers["value_range"]
    assert numbers["standard_error"] == pytest.approx(math.hypot(*parts, floor))


def test_the_old_policy_itself_gains_nothing_but_is_not_certain() -> None:
    found = estimate(OLD)
    assert found.informative
    assert found.gain == 0.0
    assert found.standard_error >= LEAST_SPREAD * found.diagnostics["value_range"] > 0.0
    # No degree of freedom was spent, and quantiles are still numbers.
    assert bound_below(found, 0.95) == pytest.approx(-1.645 * found.standard_error, rel=1e-3)


def test_it_is_pure() -> None:
    assert estimate() == estimate()
    again = QUICK.prepare(jax.random.key(100), make_problem(), report_nothing)
    assert estimate(prepared=again) == estimate()
    other = QUICK.prepare(jax.random.key(102), make_problem(), report_nothing)
    assert estimate(prepared=other).gain != estimate().gain
    assert abs(estimate(prepared=other).gain - estimate().gain) < 3.0 * estimate().standard_error


def test_progress_is_reported() -> None:
    heard: list[float] = []
    prepared = QUICK.prepare(jax.random.key(1), make_problem(), heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    heard.clear()
    QUICK.estimate(jax.random.key(1), make_problem(), prepared, as_network(NEW), heard.append)
    assert heard == [0.8, 1.0]


def test_sets_that_differ_too_much_say_nothing() -> None:
    """The old policy's value stays right on average."""
    old = prepare().old
    wild = prepare().value_range * np.array([-1.0, 1.0, -1.0, 1.0])
    found = estimate(prepared=prepare(old=dataclasses.replace(old, whole=old.whole + wild)))
    assert not found.informative
    assert found.reason == "its standard error is more than a tenth of the range of returns"
    assert (found.gain, found.standard_error) == (0.0, math.inf)
    scale = found.diagnostics["value_range"]
    assert found.diagnostics["standard_error"] > LARGEST_SPREAD * scale


def test_critics_that_miss_the_old_policy_s_value_say_nothing() -> None:
    missed = prepare().returns_mean + 1.1 * LARGEST_LEVEL_ERROR * prepare().value_range
    found = estimate(prepared=prepare(returns_mean=missed))
    assert not found.informative
    assert found.diagnostics["level_error"] > LARGEST_LEVEL_ERROR * prepare().value_range


def test_critics_that_miss_the_old_policy_s_value_say_so() -> None:
    missed = prepare().returns_mean + 1.1 * LARGEST_LEVEL_ERROR * prepare().value_range
    found = estimate(prepared=prepare(returns_mean=missed))
    assert "misses the old policy's own value" in found.reason


def test_a_level_that_is_missed_by_less_changes_nothing() -> None:
    """What is wrong for both policies alike is not in their difference."""
    plain = estimate()
    by = 0.5 * LARGEST_LEVEL_ERROR * prepare().value_range
    missed = float(np.mean(prepare().old.whole)) + by
    found = estimate(prepared=prepare(returns_mean=missed))
    assert found.informative
    assert (found.gain, found.standard_error) == (plain.gain, plain.standard_error)
    assert found.diagnostics["level_error"] == pytest.approx(by)


def test_values_beyond_what_rewards_allow_say_nothing() -> None:
    whole = prepare().old.whole
    found = estimate(prepared=prepare(limits=(float(whole.max()) + 0.5, 1e9)))
    assert not found.informative
    assert found.reason == "its values are beyond what the rewards of the log allow"
    assert found.diagnostics["beyond_limits"] >= 0.5


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_whether_it_says_something_does_not_depend_on_the_sign_of_the_gain(sign: float) -> None:
    """The old policy worth more or less than it is, by the critics and by the log alike."""
    plain, by = estimate(), 3.0 * prepare().value_range
    shifted = prepare(
        old=shift(prepare().old, sign * by),
        returns_mean=prepare().returns_mean + sign * by,
        limits=(-math.inf, math.inf),
    )
    found = estimate(prepared=shifted)
    assert found.informative == plain.informative
    assert np.sign(found.gain) == -sign
    assert found.gain == pytest.approx(plain.gain - sign * by)
    assert found.standard_error == pytest.approx(plain.standard_error, rel=1e-6)


def test_where_it_does_not_apply() -> None:
    log = sample_vectors(400)
    assert QUICK.applies(pose_vectors(log)) == ""
    long = np.argsort(-log.episode_lengths, kind="stable")
    assert QUICK.applies(pose_vectors(log.select(np.sort(long[:4])))) == ""
    three = QUICK.applies(pose_vectors(log.select(np.sort(long[:3]))))
    assert three == "3 episodes are too few to leave some out"
    assert QUICK.applies(pose_vectors(log.select([int(long[0])])))


def test_discrete_states_and_single_steps_have_exact_estimators() -> None:
    log = WORLD.sample_log(OLD, 200, seed=103, horizon=12)
    problem = Problem(log, TabularPolicy.from_probabilities(OLD), log.starts, DISCOUNT)
    assert QUICK.applies(problem) == "discrete states are solved exactly"
    single = one_hot.as_vectors(WORLD.sample_log(OLD, 200, seed=103, horizon=1))
    assert QUICK.applies(pose_vectors(single)) == "episodes of one step are estimated directly"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sets": 1}, "sets = 1: give at least 2"),
        ({"groups": 3}, "groups = 3: give at least 4"),
        ({"sizes": ()}, r"sizes = \(\)"),
        ({"sizes": (128, 7)}, "from 8 on"),
        ({"ridge": 0.0}, "ridge = 0.0: must be positive"),
        ({"ridge": math.nan}, "ridge = nan"),
    ],
)
def test_bad_configurations_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        FittedQ(**changes)


def test_every_problem_of_a_configuration_is_named() -> None:
    with pytest.raises(InputError) as caught:
        FittedQ(sets=0, groups=0, sizes=(), ridge=-1.0)
    assert len(caught.value.problems) == 4


@pytest.mark.parametrize("rows", [300, 4000])
def test_few_features_are_taken_for_few_rows_or_where_more_do_not_help(rows: int) -> None:
    """There are ten rows for each feature; and few features tell unit vectors apart."""
    config = dataclasses.replace(QUICK, sizes=(72, 144, 288))
    problem = pose_vectors(sample_vectors(rows))
    prepared = config.prepare(jax.random.key(0), problem, report_nothing)
    assert [one.features.size for one in prepared.sums] == [72] * 4


def test_more_features_are_taken_where_they_predict_better() -> None:
    """The reward is a quickly changing function of the state that few features cannot follow."""
    rng, n = np.random.default_rng(104), 6000
    signature = Signature(Box(-1.0, 1.0, (1,), np.float32), Discrete(2))
    states = rng.uniform(-1.0, 1.0, (n, 1)).astype(np.float32)
    log = Log.from_arrays(
        observations=states,
        actions=rng.integers(0, 2, n),
        rewards=np.sin(6.0 * states[:, 0]),
        terminated=np.arange(n) % 2 == 1,
        next_observations=np.roll(states, -1, axis=0),
        offsets=np.arange(0, n + 1, 2),
        observation_space=signature.observation_space,
        action_space=signature.action_space,
    )
    policy = MLPPolicy.init(jax.random.key(0), signature, head="categorical", hidden=())
    problem = Problem(log, policy, log.starts, DISCOUNT)
    config = FittedQ(sets=2, groups=4, sizes=(33, 240), ridge=1e-5)
    prepared = config.prepare(jax.random.key(0), problem, report_nothing)
    assert prepared.sums[0].features.size > 200


def test_no_more_groups_than_episodes() -> None:
    log = sample_vectors(400)
    few = log.select(range(6))
    problem = pose_vectors(few)
    prepared = QUICK.prepare(jax.random.key(0), problem, report_nothing)
    assert sorted(prepared.groups.tolist()) == list(range(6))
    assert prepared.old.left_out.shape == (4, 6)


def test_leaving_out_a_group_is_solving_without_it() -> None:
    """The jackknife by sums against preparing the shorter log from the same features."""
    problem, prepared = make_problem(), prepare()
    kept = problem.log.select(np.flatnonzero(prepared.groups != 3))
    one = prepared.sums[0]
    together = np.zeros(kept.n_episodes, np.int64)
    alone = add_up(one.features, kept, together)
    ahead = add_up_ahead([one.features], kept, problem.old_policy, together)[0]
    matrix = alone.products[0].astype(np.float64) - DISCOUNT * ahead[0]
    weights = solve(matrix, alone.rewards[0], QUICK.ridge * len(problem.log))
    drawn = draw_actions(problem.old_policy, np.asarray(problem.start))
    value = np.mean(one.features.expect(problem.start, drawn) @ weights)
    assert prepared.old.left_out[0, 3] == pytest.approx(value, rel=1e-4)


def make_gains(whole: Any, left_out: Any, coarse: Any) -> Values:
    return Values(*(np.asarray(one, np.float64) for one in (whole, left_out, coarse)))


def test_describe_by_hand() -> None:
    """Two sets, three groups.

    Jackknife: 2/3 of (1 + 0 + 1) and of (4 + 0 + 4), 4/3 and 16/3, the median 10/3. Between the
    sets: variance of (1, 3), 2, times 3/2. Resolution: (5 - 2)². Floor: 4.
    """
    gains = make_gains([1.0, 3.0], [[0.0, 1.0, 2.0], [1.0, 3.0, 5.0]], [4.0, 6.0])
    gain, found, degrees = describe(gains, 2.0)
    assert gain == 2.0
    assert found["error_of_episodes"] ** 2 == pytest.approx(10 / 3)
    assert found["error_of_features"] ** 2 == pytest.approx(3.0)
    assert found["error_of_resolution"] == pytest.approx(3.0)
    variance = 10 / 3 + 3.0 + 9.0 + 4.0
    assert found["standard_error"] == pytest.approx(math.sqrt(variance))
    assert degrees == pytest.approx(variance**2 / ((10 / 3) ** 2 / 2 + 12.0**2 / 1))


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    """Leaving each of n numbers out of their mean: s²/n."""
    numbers = np.random.default_rng(100).normal(size=12)
    left_out = np.tile((numbers.sum() - numbers) / 11, (2, 1))
    whole = np.full(2, numbers.mean())
    gain, found, degrees = describe(make_gains(whole, left_out, whole), 0.0)
    assert gain == pytest.approx(numbers.mean())
    assert found["standard_error"] == pytest.approx(numbers.std(ddof=1) / math.sqrt(12))
    assert degrees == pytest.approx(11.0)


def test_where_nothing_varies_the_floor_is_left() -> None:
    gains = make_gains(np.ones(3), np.ones((3, 5)), np.ones(3))
    gain, found, degrees = describe(gains, 0.25)
    assert (gain, found["standard_error"]) == (1.0, 0.25)
    assert degrees > 1e6


def test_what_is_not_finite_has_an_infinite_error() -> None:
    gains = make_gains([1.0, math.nan], np.ones((2, 4)), np.ones(2))
    assert describe(gains, 0.1)[1]["standard_error"] == math.inf


@given(seed=st.integers(100, 10_000), by=st.floats(-50, 50), factor=st.floats(0.1, 10.0))
def test_the_error_ignores_shifts_and_signs_and_follows_the_scale(
    seed: int, by: float, factor: float
) -> None:
    rng = np.random.default_rng(seed)
    gains = make_gains(rng.normal(size=4), rng.normal(size=(4, 6)), rng.normal(size=4))
    gain, found, degrees = describe(gains, 0.5)
    zero = make_gains(np.zeros(4), np.zeros((4, 6)), np.zeros(4))
    for changed, expected, scale in (
        (shift(gains, by), gain + by, 1.0),
        (zero - gains, -gain, 1.0),
        (
            Values(*(factor * one for one in (gains.whole, gains.left_out, gains.coarse))),
            factor * gain,
            factor,
        ),
    ):
        other, said, count = describe(changed, 0.5 * scale)
        assert other == pytest.approx(expected, abs=1e-9)
        assert said["standard_error"] == pytest.approx(scale * found["standard_error"])
        assert count == pytest.approx(degrees)


def test_differences_are_taken_set_by_set_and_group_by_group() -> None:
    first = make_gains([3.0, 4.0], [[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0])
    second = make_gains([1.0, 1.0], [[1.0, 1.0], [2.0, 2.0]], [2.0, 5.0])
    found = first - second
    np.testing.assert_array_equal(found.whole, [2.0, 3.0])
    np.testing.assert_array_equal(found.left_out, [[0.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(found.coarse, [3.0, 1.0])


def test_its_intervals_cover_the_truth() -> None:
    """Of 40 logs, at least 32 of the 90 % intervals hold the exact gain."""
    config = FittedQ(sets=3, groups=8, sizes=(48,))
    candidate, covered, widths = as_network(NEW), [], []
    for seed in range(150, 190):
        problem = pose_vectors(sample_vectors(600, seed=seed))
        prepared = config.prepare(jax.random.key(seed), problem, report_nothing)
        found = config.estimate(jax.random.key(1), problem, prepared, candidate, report_nothing)
        low, high = bound_below(found, 0.95), bound_above(found, 0.95)
        covered.append(found.informative and low <= find_gain() <= high)
        widths.append((high - low) / prepared.value_range)
    assert np.mean(covered) >= 0.8
    # Not by being as wide as all that is possible.
    assert np.median(widths) < 0.4
