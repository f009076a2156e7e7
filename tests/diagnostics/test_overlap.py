"""What lies outside of a log: nothing of the old policy, all of an action that was never logged."""

from __future__ import annotations

import functools
import json
import math

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.diagnostics.log_index import LogIndex
from nacre.diagnostics.overlap import Overlap, measure_overlap, measure_value_range
from nacre.logs import Log
from nacre.policies import Gaussian, Policy, Signature, TabularPolicy
from nacre.simulators import random_world
from nacre.simulators.linear import LinearPolicy, double_integrator

WORLD = double_integrator()
SIGNATURE = Signature(WORLD.observation_space, WORLD.action_space)


class Linear(Policy):
    """u = gain · x + shift, with normal noise."""

    gain: jax.Array
    shift: float
    std: float
    signature: Signature = eqx.field(static=True, default=SIGNATURE)

    def __call__(self, observations: jax.Array) -> Gaussian:
        location = observations @ self.gain.T + self.shift
        return Gaussian(location, jnp.full_like(location, math.log(self.std)))


def linear(shift: float = 0.0, std: float = 0.3) -> Linear:
    return Linear(jnp.asarray([[-0.5, -0.8]]), shift, std)


@functools.cache
def make_log(n_rows: int = 3000) -> Log:
    gain = np.array([[-0.5, -0.8]])
    return WORLD.sample_log(LinearPolicy(gain, np.array([0.3])), n_rows, seed=101, horizon=40)


def measure(candidate: Policy, *, seed: int = 100) -> Overlap:
    log = make_log()
    return measure_overlap(
        jax.random.key(seed), log, linear(), candidate, log.starts, WORLD.discount
    )


def test_old_policy_has_no_excess() -> None:
    same = measure(linear())
    assert same.outside == same.outside_old < 0.3
    assert same.excess == same.penalty == 0.0
    assert same.missing == ()


def test_less_noise_stays_inside() -> None:
    assert measure(linear(std=0.03)).excess == 0.0


def test_outside_grows_with_the_distance_to_the_logs_actions() -> None:
    excess = [measure(linear(shift)).excess for shift in (0.0, 1.0, 2.0, 4.0)]
    assert excess == sorted(excess)
    assert excess[-1] > 0.95 > 0.5 > excess[0]


def test_what_is_far_away_is_charged_with_the_whole_range_and_named() -> None:
    far = measure(linear(6.0))
    assert far.outside > 0.99
    assert far.penalty == pytest.approx(far.excess * far.value_range)
    assert far.value_range == measure_value_range(make_log(), WORLD.discount)
    # The shift of 6 is in the actions that are missing; the log's reach is about 2.
    action = far.missing[0].action
    assert isinstance(action, tuple)
    assert action[0] > 3.0
    assert 0.0 < sum(case.share for case in far.missing) <= 1.0 + 1e-6


def test_same_key_gives_the_same_numbers_and_json() -> None:
    first, again = measure(linear(1.0)), measure(linear(1.0))
    assert first == again
    record = json.loads(json.dumps(first.as_json()))
    assert record["penalty"] == first.penalty
    assert record["note"].startswith("No episode of the log ended by itself")


def two_actions(*, log_action: int | None) -> tuple[Log, TabularPolicy, TabularPolicy]:
    """A small world whose log shows one action only, or both."""
    world = random_world(3, 5, 2, discount=0.9)
    table = np.full((5, 2), 0.5) if log_action is None else np.tile(np.eye(2)[log_action], (5, 1))
    log = world.sample_log(table, 1000, seed=101, horizon=20)
    old = TabularPolicy.from_probabilities(table)
    return log, old, TabularPolicy.from_probabilities(np.tile([0.0, 1.0], (5, 1)))


def test_discrete_action_that_was_never_logged_is_outside_at_once() -> None:
    log, old, candidate = two_actions(log_action=0)
    overlap = measure_overlap(jax.random.key(0), log, old, candidate, log.starts, 0.9)
    assert (overlap.outside, overlap.outside_old, overlap.excess) == (1.0, 0.0, 1.0)
    assert {case.action for case in overlap.missing} == {1}
    assert {case.state for case in overlap.missing} <= set(log.starts.tolist())


def test_discrete_pairs_that_were_logged_are_inside() -> None:
    log, old, candidate = two_actions(log_action=None)
    overlap = measure_overlap(jax.random.key(0), log, old, candidate, log.starts, 0.9)
    assert overlap.outside == overlap.outside_old == 0.0


def test_share_that_leaves_late_counts_less() -> None:
    """A chain 0 → 1 → 2 → …; the candidate departs at state 3 for sure: E[γ^τ] = γ³."""
    n = 6
    steps = np.arange(n)
    log = Log.from_arrays(
        observations=np.tile(steps, 20),
        actions=np.zeros(20 * n, np.int32),
        rewards=np.ones(20 * n),
        terminated=np.tile(steps == n - 1, 20),
        next_observations=np.tile(np.minimum(steps + 1, n - 1), 20),
        offsets=np.arange(0, 20 * n + 1, n),
        observation_space=gymnasium.spaces.Discrete(n),
        action_space=gymnasium.spaces.Discrete(2),
    )
    stay = np.tile([1.0, 0.0], (n, 1))
    leave = stay.copy()
    leave[3] = [0.0, 1.0]
    old, candidate = (TabularPolicy.from_probabilities(table) for table in (stay, leave))
    overlap = measure_overlap(jax.random.key(0), log, old, candidate, log.starts, 0.9)
    assert overlap.outside == pytest.approx(0.9**3)
    assert overlap.outside_old == 0.0
    assert [(case.state, case.action) for case in overlap.missing] == [(3, 1)]
    # Returns-to-go are (1 - γ^k)/(1 - γ), k = 1 … 6, and 0 after the end.
    assert overlap.value_range == pytest.approx((1 - 0.9**6) / 0.1, rel=1e-3)
    assert overlap.saw_ends
    assert overlap.note == ""


def test_log_without_any_outcome_cannot_tell() -> None:
    log, old, candidate = two_actions(log_action=0)
    blank = Log.from_arrays(
        log.observations,
        log.actions,
        np.zeros(len(log)),
        log.terminated,
        log.truncated,
        log.next_observations,
        offsets=log.offsets,
        observation_space=log.observation_space,
        action_space=log.action_space,
    )
    overlap = measure_overlap(jax.random.key(0), blank, old, candidate, log.starts, 0.9)
    assert math.isinf(overlap.penalty)
    assert overlap.as_json()["penalty"] is None
    assert overlap.note.startswith("All outcomes in the log are zero")


def test_range_of_a_steady_reward_that_goes_on_is_that_reward_forever() -> None:
    """Truncated after 10 steps of reward 1: 1/(1-γ), not the sum of 10."""
    log = Log.from_arrays(
        observations=np.zeros((40, 1)),
        actions=np.zeros(40, np.int32),
        rewards=np.ones(40),
        terminated=np.zeros(40, bool),
        next_observations=np.zeros((40, 1)),
        offsets=np.arange(0, 41, 10),
    )
    assert measure_value_range(log, 0.9) == pytest.approx(10.0)


def test_rare_action_is_looked_up_among_its_own_rows() -> None:
    """Vector states, two actions: action 1 was logged for positive states only."""
    rng = np.random.default_rng(101)
    states = rng.normal(size=(2000, 2)).astype(np.float32)
    actions = ((states[:, 0] > 0) & (rng.random(2000) < 0.3)).astype(np.int32)
    log = Log.from_arrays(
        states,
        actions,
        np.ones(2000),
        np.zeros(2000, bool),
        next_observations=np.roll(states, -1, axis=0),
        offsets=np.arange(0, 2001, 20),
        action_space=gymnasium.spaces.Discrete(2),
    )
    index = LogIndex(log, np.random.default_rng(0))
    asked = np.array([[1.0, 0.0], [-1.0, 0.0]], np.float32)
    for action, expected in ((0, [0.0, 0.0]), (1, [0.0, 1.0])):
        outside, rows, shares = index.look_up(0, asked, np.full(2, action), np.zeros(2))
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        np.testing.assert_array_equal(outside, expected)
        assert set(log.actions[rows].ravel().tolist()) == {action}
