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
from hypothesis import given
from hypothesis import strategies as st

from nacre.diagnostics.log_index import LogIndex
from nacre.diagnostics.overlap import (
    Overlap,
    OverlapMeter,
    bound_returns,
    continue_returns,
    measure_value_range,
)
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
    meter = OverlapMeter.prepare(jax.random.key(seed), log, linear(), log.starts, WORLD.discount)
    return meter.measure(candidate)


def test_old_policy_has_no_excess() -> None:
    same = measure(linear())
    assert same.outside == same.outside_old < 0.3
    assert same.excess == same.penalty == 0.0
    assert same.standard_error == 0.0
    assert set(same.forms.values()) == {0.0}
    assert same.charge(5.0) == (0.0, 0.0)
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
    assert far.excess > 0.95
    assert min(far.forms.values()) > 0.95
    assert set(far.forms) == {"since_leaving", "one_step"}
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
    assert record["forms"] == first.forms
    assert (record["least"], record["most"]) == (first.least, first.most)
    assert record["old_value"] == first.old_value
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
    overlap = OverlapMeter.prepare(jax.random.key(0), log, old, log.starts, 0.9).measure(candidate)
    assert (overlap.outside, overlap.outside_old, overlap.excess) == (1.0, 0.0, 1.0)
    assert overlap.forms == {"since_leaving": 1.0, "one_step": 1.0}
    assert {case.action for case in overlap.missing} == {1}
    assert {case.state for case in overlap.missing} <= set(log.starts.tolist())


def test_discrete_pairs_that_were_logged_are_inside() -> None:
    log, old, candidate = two_actions(log_action=None)
    overlap = OverlapMeter.prepare(jax.random.key(0), log, old, log.starts, 0.9).measure(candidate)
    assert overlap.outside == overlap.outside_old == 0.0


def make_chain(n: int = 6, episodes: int = 20) -> Log:
    """A chain 0 → 1 → 2 → … that earns one a step and ends."""
    steps = np.arange(n)
    return Log.from_arrays(
        observations=np.tile(steps, episodes),
        actions=np.zeros(episodes * n, np.int32),
        rewards=np.ones(episodes * n),
        terminated=np.tile(steps == n - 1, episodes),
        next_observations=np.tile(np.minimum(steps + 1, n - 1), episodes),
        offsets=np.arange(0, episodes * n + 1, n),
        observation_space=gymnasium.spaces.Discrete(n),
        action_space=gymnasium.spaces.Discrete(2),
    )


def leave_chain_at(*states: int, chance: float = 1.0) -> Overlap:
    """The candidate departs from the chain at these states."""
    log = make_chain()
    stay = np.tile([1.0, 0.0], (6, 1))
    leave = stay.copy()
    leave[list(states)] = [1.0 - chance, chance]
    old, candidate = (TabularPolicy.from_probabilities(table) for table in (stay, leave))
    return OverlapMeter.prepare(jax.random.key(0), log, old, log.starts, 0.9).measure(candidate)


def test_share_that_leaves_late_counts_less() -> None:
    """It departs at state 3 for sure: E[γ^τ] = γ³, and the walk is lost from there on.

    So three steps of six are outside; the walk does not know where the episode would have ended.
    """
    overlap = leave_chain_at(3)
    steps = sum(0.9**step for step in range(3, 6)) / sum(0.9**step for step in range(6))
    assert overlap.forms["since_leaving"] == pytest.approx(0.9**3)
    assert overlap.outside == overlap.excess == pytest.approx(steps)
    assert overlap.outside_old == 0.0
    # A sixth of the log's states, whatever their order; 512 of them are drawn.
    assert overlap.forms["one_step"] == pytest.approx(1 / 6, abs=0.06)
    assert [(case.state, case.action) for case in overlap.missing] == [(3, 1)]
    # Returns-to-go are (1 - γ^k)/(1 - γ), k = 1 … 6, and 0 after the end.
    assert overlap.value_range == pytest.approx((1 - 0.9**6) / 0.1, rel=1e-3)
    assert overlap.least == 0.0
    assert overlap.old_value == pytest.approx((1 - 0.9**6) / 0.1)
    assert overlap.saw_ends
    assert overlap.note == ""


def test_leaving_with_the_last_step_and_leaving_always() -> None:
    """The last step is one of six; leaving always is all of it."""
    last, always = leave_chain_at(5), leave_chain_at(*range(6))
    assert last.forms["since_leaving"] == pytest.approx(0.9**5)
    assert last.excess == pytest.approx(0.9**5 * 0.1 / (1 - 0.9**6))
    assert always.forms == {"since_leaving": 1.0, "one_step": 1.0}
    assert always.excess == 1.0
    # Every walker leaves at the same time.
    assert last.standard_error == pytest.approx(0.0, abs=1e-12)


def test_the_order_of_episodes_does_not_matter() -> None:
    """One of the chain's episodes starts at state 3 instead of 0: first or last in the log."""
    chain = make_chain()
    stay = np.tile([1.0, 0.0], (6, 1))
    leave = stay.copy()
    leave[1] = [0.0, 1.0]
    old, candidate = (TabularPolicy.from_probabilities(table) for table in (stay, leave))
    found = []
    for rows in (np.arange(3, len(chain)), np.append(np.arange(6, len(chain)), [3, 4, 5])):
        log = Log.from_arrays(
            observations=chain.observations[rows],
            actions=chain.actions[rows],
            rewards=chain.rewards[rows],
            terminated=chain.terminated[rows],
            next_observations=chain.next_observations[rows],
            observation_space=chain.observation_space,
            action_space=chain.action_space,
        )
        overlap = OverlapMeter.prepare(jax.random.key(0), log, old, np.zeros(9, int), 0.9).measure(
            candidate
        )
        found.append(overlap.excess)
    assert found[0] == pytest.approx(found[1])


def test_leaving_by_chance_has_a_standard_error() -> None:
    """128 walkers leave at the second step with chance 1/2: γ/2 ± γ/2/√127."""
    overlap = leave_chain_at(1, chance=0.5)
    assert overlap.forms["since_leaving"] == pytest.approx(0.45, abs=4 * 0.45 / math.sqrt(127))
    # Those that leave are outside for five steps of six.
    share = sum(0.9**step for step in range(1, 6)) / sum(0.9**step for step in range(6))
    assert overlap.standard_error == pytest.approx(share / 2 / math.sqrt(127), rel=0.1)


def make_overlap(excess: float, least: float, most: float, old_value: float = 0.0) -> Overlap:
    return Overlap(excess, 0.0, 0.0, excess, least, most, old_value, saw_ends=True)


def test_charge_by_hand() -> None:
    """V = 4 + 2 between -2 and 10, a quarter outside: (6 + 2)/4 less, (10 - 6)/4 more."""
    overlap = make_overlap(0.25, -2.0, 10.0, old_value=4.0)
    assert overlap.charge(2.0) == pytest.approx((2.0, 1.0))
    assert sum(overlap.charge(2.0)) == pytest.approx(overlap.penalty) == 3.0
    # A value above the most that the log has seen is charged for more, and allowed nothing.
    assert overlap.charge(8.0) == pytest.approx((3.5, 0.0))
    assert overlap.charge(-8.0) == pytest.approx((0.0, 3.5))


@given(
    excess=st.floats(0.0, 1.0),
    gain=st.floats(-100.0, 100.0),
    old_value=st.floats(-50.0, 50.0),
    least=st.floats(-50.0, 0.0),
    most=st.floats(0.001, 50.0),
)
def test_charges_never_reach_beyond_what_the_log_has_seen(
    excess: float, gain: float, old_value: float, least: float, most: float
) -> None:
    overlap = make_overlap(excess, least, most, old_value)
    less, more = overlap.charge(gain)
    value = old_value + gain
    assert less >= 0.0
    assert more >= 0.0
    # The lower end is not below the least, the upper not above the most, unless V itself is.
    assert value - less >= min(least, value) - 1e-9
    assert value + more <= max(most, value) + 1e-9
    if least <= value <= most:
        assert less + more == pytest.approx(overlap.penalty, abs=1e-9)
    wider = make_overlap(min(1.0, excess + 0.1), least, most, old_value).charge(gain)
    assert wider[0] >= less
    assert wider[1] >= more


def test_what_lies_wholly_outside_is_worth_the_least_or_the_most() -> None:
    overlap = make_overlap(1.0, -3.0, 7.0, old_value=2.0)
    less, more = overlap.charge(1.0)
    assert (3.0 - less, 3.0 + more) == (-3.0, 7.0)


def test_where_outcomes_are_all_alike_charges_are_infinite_or_nothing() -> None:
    assert make_overlap(0.1, 0.0, 0.0).charge(0.0) == (math.inf, math.inf)
    assert make_overlap(0.0, 0.0, 0.0).charge(0.0) == (0.0, 0.0)


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
    overlap = OverlapMeter.prepare(jax.random.key(0), blank, old, log.starts, 0.9).measure(
        candidate
    )
    assert math.isinf(overlap.penalty)
    assert overlap.charge(0.0) == (math.inf, math.inf)
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
    np.testing.assert_allclose(continue_returns(log, 0.9), 10.0)


def test_truncated_episodes_go_on_as_their_last_quarters_did() -> None:
    """Rewards 0, 0, 0, 2, cut; and 5, ended: only the first goes on, with 2 a step."""
    log = Log.from_arrays(
        observations=np.zeros((5, 1)),
        actions=np.zeros(5, np.int32),
        rewards=np.array([0.0, 0.0, 0.0, 2.0, 5.0]),
        terminated=np.array([False, False, False, False, True]),
        next_observations=np.zeros((5, 1)),
        offsets=np.array([0, 4, 5]),
    )
    # 2 + 2·0.5/(1 - 0.5) = 4 at the cut, then halved a step backwards.
    np.testing.assert_allclose(continue_returns(log, 0.5), [0.5, 1.0, 2.0, 4.0, 5.0])


def test_bounds_of_returns_are_quantiles_with_zero_between() -> None:
    numbers = np.arange(1001.0)
    assert bound_returns(numbers) == pytest.approx((0.0, 995.0))
    assert bound_returns(-numbers) == pytest.approx((-995.0, 0.0))
    assert bound_returns(numbers + 7.0) == pytest.approx((0.0, 1002.0))
    assert bound_returns(numbers - 500.0) == pytest.approx((-495.0, 495.0))


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
