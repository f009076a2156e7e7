"""Whose log it is: own logs are recognised, others and mixtures are named."""

from __future__ import annotations

import functools
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.diagnostics import log_answers
from nacre.diagnostics.on_policy import LARGEST_SCORE, Behaviour, examine_behaviour
from nacre.learners.scale_noise import scale_noise
from nacre.logs import Log
from nacre.policies.distributions import Deterministic, Mixture, Uniform
from nacre.policies.heads import Head
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature
from nacre.policies.tabular import TabularPolicy
from tests.support.policies import expect

PLANE = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
BOX = gymnasium.spaces.Box(-2.0, 2.0, (2,), np.float32)
FREE = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
SPACES: dict[Head, gymnasium.Space[Any]] = {
    "squashed_gaussian": BOX,
    "clipped_gaussian": BOX,
    "gaussian": FREE,
    "deterministic": BOX,
    "categorical": gymnasium.spaces.Discrete(3),
    "greedy": gymnasium.spaces.Discrete(3),
}
LENGTH = 500


def make_policy(head: Head, seed: int = 0, sharpen: float = 3.0) -> MLPPolicy:
    """A random network; the last layer is stretched, so that it depends on the state."""
    signature = Signature(PLANE, SPACES[head])
    policy = MLPPolicy.init(jax.random.key(seed), signature, head=head, hidden=(8,))
    last = policy.network.weights[-1] * sharpen
    return expect(MLPPolicy, eqx.tree_at(lambda p: p.network.weights[-1], policy, last))


def sample_log(policy: Policy, episodes: int = 20, seed: int = 0, length: int = LENGTH) -> Log:
    """Actions of a policy at normal observations; rewards do not matter here."""
    n = episodes * length
    rng = np.random.default_rng(seed)
    states: np.ndarray = rng.normal(size=(n, 2)).astype(np.float32)
    if isinstance(policy.observation_space, gymnasium.spaces.Discrete):
        states = rng.integers(policy.observation_space.n, size=n)
    ends = np.arange(n) % length == length - 1
    return Log.from_arrays(
        observations=states,
        actions=np.asarray(draw(policy, jnp.asarray(states), jax.random.key(seed))),
        rewards=np.zeros(n),
        terminated=ends,
        truncated=np.zeros(n, bool),
        next_observations=np.roll(states, -1, axis=0),
        offsets=np.arange(0, n + 1, length),
        observation_space=policy.observation_space,
        action_space=policy.action_space,
    )


@eqx.filter_jit
def draw(policy: Policy, states: jax.Array, key: jax.Array) -> jax.Array:
    return policy(states).sample(key)


def join(*logs: Log) -> Log:
    """Episodes of several logs, one log after the other."""
    lengths = np.concatenate([log.episode_lengths for log in logs])
    names = ("observations", "actions", "rewards", "terminated", "truncated", "next_observations")
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(log, name) for log in logs]) for name in names
    }
    return Log.from_arrays(
        **arrays,
        offsets=np.append(0, np.cumsum(lengths)),
        observation_space=logs[0].observation_space,
        action_space=logs[0].action_space,
    )


@functools.cache
def own_log(head: Head) -> Log:
    return sample_log(make_policy(head))


@pytest.mark.parametrize("head", SPACES)
def test_the_policy_s_own_log_is_recognised(head: Head) -> None:
    found = examine_behaviour(own_log(head), make_policy(head))
    assert found.own.all()
    assert (found.share, found.on_policy, found.consistent) == (1.0, True, True)
    assert found.scores.shape == (20,)
    # One in a hundred thousand is beyond five by chance, and few are beyond three.
    assert np.all(found.scores < LARGEST_SCORE)
    assert found.overall_score < LARGEST_SCORE
    assert found.describe() == "every episode looks like the old policy's own"


@pytest.mark.parametrize("head", SPACES)
def test_another_policy_s_log_is_named(head: Head) -> None:
    found = examine_behaviour(own_log(head), make_policy(head, seed=5))
    assert found.share < 0.1
    assert not found.on_policy
    assert found.describe().startswith("the log was not made by the given old policy: ")
    assert "of 20 episodes hold actions that it would not choose" in found.describe()


@pytest.mark.parametrize("head", SPACES)
def test_a_mixture_of_episodes_is_taken_apart(head: Head) -> None:
    other = sample_log(make_policy(head, seed=5), episodes=10, seed=3)
    found = examine_behaviour(join(own_log(head), other), make_policy(head))
    np.testing.assert_array_equal(found.own, np.arange(30) < 20)
    assert found.share == pytest.approx(2 / 3)
    assert found.on_policy
    assert found.describe() == (
        "10 of 30 episodes were not made by the old policy and are left out of its value"
    )
    # Most of it foreign: then the log is not the policy's.
    assert not examine_behaviour(join(own_log(head), other), make_policy(head, seed=5)).on_policy


@pytest.mark.parametrize("head", ["squashed_gaussian", "gaussian", "clipped_gaussian"])
def test_the_same_mean_with_other_noise_is_another_policy(head: Head) -> None:
    policy = make_policy(head)
    narrower = scale_noise(policy, 0.4)
    assert narrower is not None
    assert examine_behaviour(sample_log(narrower), policy).share == 0.0
    assert examine_behaviour(own_log(head), narrower).share == 0.0


@pytest.mark.parametrize("head", ["squashed_gaussian", "clipped_gaussian"])
@pytest.mark.parametrize("push", [1.5, 4.0, 8.0])
def test_saturated_actions_raise_no_false_alarm(head: Head, push: float) -> None:
    """Actions pressed against a bound, partly or all of them, are still the policy's own."""
    policy = make_policy(head, sharpen=1.0)
    shift = jnp.array([push, -push, 0.0, 0.0])
    pushed = eqx.tree_at(lambda p: p.network.biases[-1], policy, policy.network.biases[-1] + shift)
    log = sample_log(pushed, episodes=10)
    edge = 2.0 - 1e-3
    assert np.mean(np.abs(log.actions) > edge) > (0.0 if push < 3 else 0.05)
    found = examine_behaviour(log, pushed)
    assert found.own.all()
    assert found.consistent
    # A policy that keeps away from the bounds would not act so.
    assert examine_behaviour(log, policy).share == 0.0


def test_a_log_of_bounds_alone_is_not_that_of_a_quiet_policy() -> None:
    log = own_log("squashed_gaussian")
    bang = np.where(np.random.default_rng(0).random(log.actions.shape) < 0.5, -2.0, 2.0)
    forged = rebuild(log, bang.astype(np.float32))
    quiet = scale_noise(make_policy("squashed_gaussian", sharpen=0.1), 0.3)
    assert quiet is not None
    assert examine_behaviour(forged, quiet).share == 0.0


def rebuild(log: Log, actions: np.ndarray) -> Log:
    """The same log with other actions."""
    return Log.from_arrays(
        observations=log.observations,
        actions=actions,
        rewards=log.rewards,
        terminated=log.terminated,
        truncated=log.truncated,
        next_observations=log.next_observations,
        offsets=log.offsets,
        observation_space=log.observation_space,
        action_space=log.action_space,
    )


TABLE = TabularPolicy.from_probabilities([[0.7, 0.3, 0.0], [0.2, 0.5, 0.3]])


def test_an_impossible_action_flags_its_episode() -> None:
    log = sample_log(TABLE)
    actions = log.actions.copy()
    row = 7 * LENGTH + int(np.flatnonzero(log.observations[7 * LENGTH :] == 0)[0])
    actions[row] = 2
    found = examine_behaviour(rebuild(log, actions), TABLE)
    np.testing.assert_array_equal(np.flatnonzero(~found.own), [7])
    assert found.scores[7] == np.inf
    assert found.share == pytest.approx(19 / 20)
    assert found.on_policy


def test_a_deterministic_policy_allows_rounding_but_no_other_action() -> None:
    policy, log = make_policy("deterministic"), own_log("deterministic")
    nudged = log.actions.copy()
    nudged[3 * LENGTH + 50, 1] += 1e-3  # of a range of 4: a quarter of the tolerance
    assert examine_behaviour(rebuild(log, nudged), policy).own.all()
    nudged[3 * LENGTH + 50, 1] += 1e-2
    found = examine_behaviour(rebuild(log, nudged), policy)
    np.testing.assert_array_equal(np.flatnonzero(~found.own), [3])


@pytest.mark.parametrize("head", ["squashed_gaussian", "gaussian"])
def test_next_to_no_noise_is_no_noise(head: Head) -> None:
    """Standard deviations far below the rounding of a log: places in them mean nothing."""
    policy = scale_noise(make_policy(head), 1e-7)
    assert policy is not None
    log = sample_log(policy)
    rounded = np.round(log.actions.astype(np.float64), 5).astype(np.float32)
    assert examine_behaviour(rebuild(log, rounded), policy).own.all()
    moved = log.actions.copy()
    moved[LENGTH + 23] += 0.01
    found = examine_behaviour(rebuild(log, moved), policy)
    np.testing.assert_array_equal(np.flatnonzero(~found.own), [1])


def test_an_even_choice_has_no_surprises_but_counts() -> None:
    """Every action as probable as the others: only how often each was taken can tell."""
    even = TabularPolicy.from_probabilities(np.full((2, 2), 0.5))
    always = TabularPolicy.from_probabilities([[1.0, 0.0], [1.0, 0.0]])
    assert examine_behaviour(sample_log(even), even).own.all()
    assert examine_behaviour(sample_log(always), even).share == 0.0


def test_rare_actions_are_no_false_alarm() -> None:
    """One in a thousand: some of these episodes hold a few, and none is foreign for that."""
    rare = TabularPolicy.from_probabilities([[0.999, 0.001], [0.9999, 0.0001]])
    log = sample_log(rare, episodes=400, length=50)
    assert np.sum(log.actions == 1) > 5
    found = examine_behaviour(log, rare)
    assert found.own.all()
    assert found.consistent


def test_what_is_too_short_to_tell_by_itself_tells_together() -> None:
    """Episodes of four steps: none of them is beyond chance, the log is."""
    other = TabularPolicy.from_probabilities([[0.3, 0.7, 0.0], [0.5, 0.2, 0.3]])
    short = sample_log(TABLE, episodes=300, length=4)
    found = examine_behaviour(short, other)
    assert found.share > 0.5
    assert found.overall_score > 10
    assert not found.on_policy
    assert "taken together its actions are not those that it would choose" in found.describe()
    own = examine_behaviour(short, TABLE)
    assert own.on_policy
    assert own.describe() == "every episode looks like the old policy's own"


@pytest.mark.parametrize("place", [0, 150, 600])
def test_a_run_of_foreign_episodes_too_short_to_tell_is_found(place: int) -> None:
    """Episodes of four steps: a quarter of them by another policy, at the start, between, last."""
    other = TabularPolicy.from_probabilities([[0.3, 0.7, 0.0], [0.5, 0.2, 0.3]])
    own = sample_log(TABLE, episodes=600, length=4)
    foreign = sample_log(other, episodes=200, seed=3, length=4)
    before, after = np.arange(place), np.arange(place, 600)
    parts = [foreign] if place == 0 else [own.select(before), foreign]
    whole = functools.reduce(join, [*parts, own.select(after)] if place < 600 else parts)
    found = examine_behaviour(whole, TABLE)
    truly = (np.arange(800) >= place) & (np.arange(800) < place + 200)
    # The edges are found to within a few episodes.
    assert np.sum(found.own == truly) <= 8
    assert found.on_policy
    assert found.overall_score < LARGEST_SCORE
    # A clone of such a log cannot say which part of it is foreign.
    assert examine_behaviour(whole, TABLE, uncertainty=1e-6).own.sum() > 780


def test_a_near_copy_passes_for_the_policy() -> None:
    """A hundredth of a standard deviation off: beyond chance in a long log, and of no account."""
    policy = make_policy("gaussian", sharpen=0.0)
    shift = jnp.array([0.03, 0.03, 0.0, 0.0])
    copy = eqx.tree_at(lambda p: p.network.biases[-1], policy, policy.network.biases[-1] + shift)
    log = sample_log(policy, episodes=4, length=20_000)
    found = examine_behaviour(log, copy)
    assert found.overall_score > LARGEST_SCORE
    assert found.on_policy
    assert found.own.all()


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    log, policy = own_log("categorical"), make_policy("categorical", seed=5)
    whole = examine_behaviour(log, policy)
    monkeypatch.setattr(log_answers, "BLOCK", 333)
    parts = examine_behaviour(log, policy)
    np.testing.assert_allclose(parts.scores, whole.scores, rtol=1e-5)
    np.testing.assert_array_equal(parts.own, whole.own)


def test_scores_by_hand() -> None:
    """A coin, four heads in a row: four halves too many, variance 1, so 2 / √(1 + 2/3)."""
    coin = TabularPolicy.from_probabilities([[0.5, 0.5]])
    log = sample_log(coin, episodes=1, length=4)
    heads = rebuild(log, np.zeros(4, int))
    found = examine_behaviour(heads, coin)
    assert found.scores[0] == pytest.approx(2 / np.sqrt(5 / 3), rel=1e-6)
    assert found.own.all()


def test_a_policy_that_says_nan_has_not_acted_so() -> None:
    for head in ("gaussian", "categorical"):
        policy = make_policy(head)
        broken = eqx.tree_at(
            lambda p: p.network.biases[-1], policy, replace_fn=lambda b: b * jnp.nan
        )
        found = examine_behaviour(own_log(head), broken)
        assert (found.share, found.on_policy) == (0.0, False)


class Fixed(Policy):
    """The same distribution everywhere."""

    signature: Signature = eqx.field(static=True)
    mixed: bool = eqx.field(static=True)

    def __call__(self, observations: jax.Array) -> Uniform | Mixture:
        shape = (*observations.shape[:-1], 2)
        uniform = Uniform(jnp.full(shape, -1.0), jnp.full(shape, 1.0))
        if not self.mixed:
            return uniform
        weights = jnp.broadcast_to(jnp.array([0.5, 0.5]), shape)
        return Mixture(weights, (Deterministic(jnp.zeros(shape)), uniform))


def test_of_other_distributions_it_is_known_what_they_cannot_do() -> None:
    log, signature = own_log("squashed_gaussian"), Signature(PLANE, BOX)
    inside = rebuild(log, np.clip(log.actions, -1, 1))
    assert examine_behaviour(inside, Fixed(signature, False)).own.all()
    assert examine_behaviour(log, Fixed(signature, False)).share < 0.5
    assert examine_behaviour(log, Fixed(signature, True)).own.all()


def test_half_of_the_log_is_enough() -> None:
    scores = np.zeros(2)
    half = Behaviour(scores, np.array([True, False]), 0.5, 0.0)
    assert half.on_policy
    assert not Behaviour(scores, np.array([True, False]), 0.49, 0.0).on_policy
    assert not Behaviour(scores, np.array([True, True]), 1.0, 9.0, False).on_policy


def test_a_clone_may_be_as_wrong_as_it_says() -> None:
    """A rare action is more frequent in the log than its clone says: one in a hundred."""
    rng = np.random.default_rng(100)
    shares = np.array([[0.6, 0.39, 0.01]])
    clone = TabularPolicy.from_probabilities(np.array([[0.606, 0.393, 0.001]]))
    log = Log.from_arrays(
        np.zeros(20_000, int),
        rng.choice(3, size=20_000, p=shares[0]),
        np.zeros(20_000),
        np.ones(20_000, bool),
        observation_space=gymnasium.spaces.Discrete(1),
        action_space=gymnasium.spaces.Discrete(3),
    )
    assert not examine_behaviour(log, clone).on_policy
    assert examine_behaviour(log, clone, uncertainty=0.009).on_policy
    other = TabularPolicy.from_probabilities(np.array([[0.3, 0.3, 0.4]]))
    assert not examine_behaviour(log, other, uncertainty=0.009).on_policy
