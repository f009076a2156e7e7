"""ε-greedy logs: ε is found, its interval covers, and other policies are not taken for it."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.diagnostics.exploration import estimate_epsilon, find_exploration
from nacre.diagnostics.on_policy import examine_behaviour
from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.exploring import add_exploration
from nacre.policies.heads import Head
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature

PLANE = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
BOX = gymnasium.spaces.Box(-2.0, 2.0, (2,), np.float32)
CHOICES = gymnasium.spaces.Discrete(4)


def make_policy(head: Head, space: gymnasium.Space[Any], seed: int = 0) -> MLPPolicy:
    signature = Signature(PLANE, space)
    return MLPPolicy.init(jax.random.key(seed), signature, head=head, hidden=(8,))


def sample_log(policies: list[Policy], length: int = 20, seed: int = 100) -> Log:
    """One episode of each policy, at normal observations."""
    n = len(policies) * length
    states = np.random.default_rng(seed).normal(size=(n, 2)).astype(np.float32)
    # Every policy acts everywhere, at once; each episode takes its own policy's actions.
    different = list({id(policy): policy for policy in policies}.values())
    draws = [
        np.asarray(draw(policy, jnp.asarray(states), jax.random.key(seed + number)))
        for number, policy in enumerate(different)
    ]
    chosen = np.repeat(
        [[p is policy for p in different].index(True) for policy in policies], length
    )
    actions = np.stack(draws)[chosen, np.arange(n)]
    return Log.from_arrays(
        states,
        actions,
        np.zeros(n),
        np.zeros(n, bool),
        np.arange(n) % length == length - 1,
        np.roll(states, -1, axis=0),
        offsets=np.arange(0, n + 1, length),
        observation_space=PLANE,
        action_space=policies[0].action_space,
    )


@eqx.filter_jit
def draw(policy: Policy, states: jax.Array, key: jax.Array) -> jax.Array:
    return policy(states).sample(key)


@pytest.mark.parametrize(
    ("head", "space"), [("greedy", CHOICES), ("deterministic", BOX), ("squashed_gaussian", BOX)]
)
def test_epsilon_is_found(head: Head, space: gymnasium.Space[Any]) -> None:
    """ε = 0.1 within 0.03, inside its interval, and the policy with it has made the log."""
    policy = make_policy(head, space)
    if head == "squashed_gaussian":
        # Nearly deterministic: standard deviations of e⁻⁴.
        policy = MLPPolicy(policy.network, None, policy.signature, policy.head, (-4.0, -4.0))
    log = sample_log([add_exploration(policy, 0.1)] * 60)
    exploration = find_exploration(log, policy)
    assert exploration.found, exploration.describe()
    assert exploration.epsilon == pytest.approx(0.1, abs=0.03)
    assert exploration.low < exploration.epsilon < exploration.high
    before = examine_behaviour(log, policy)
    assert not (before.own.all() and before.consistent)
    assert examine_behaviour(log, exploration.include(policy)).on_policy
    assert "explores with ε" in exploration.describe()


def test_interval_covers() -> None:
    """The 95 % interval holds the true ε in at least 88 of 100 samples, and is exact at ends."""
    rng = np.random.default_rng(100)
    covered = 0
    for _ in range(100):
        # Greedy, four actions: a uniform draw hits the greedy action in a quarter of the cases.
        own = (rng.random(400) > 0.05) | (rng.random(400) < 0.25)
        _, low, high = estimate_epsilon(np.where(own, np.log(4.0), -60.0))
        covered += low <= 0.05 <= high
    assert covered >= 88
    best, low, high = estimate_epsilon(np.full(100, np.log(4.0)))
    assert best < 1e-9
    assert low < 1e-9 < high < 0.05


def test_foreign_episodes_are_not_exploration() -> None:
    """A fifth of the episodes by a uniform policy: its actions are uniform but not spread."""
    policy = make_policy("greedy", CHOICES)
    uniform = add_exploration(policy, 1.0)
    exploration = find_exploration(sample_log([policy] * 48 + [uniform] * 12), policy)
    assert not exploration.found
    assert "episodes" in exploration.reason
    assert exploration.include(policy) is policy


def test_another_policy_is_not_exploration() -> None:
    """Another greedy policy's actions are not uniform where the two differ."""
    policy, other = (make_policy("greedy", CHOICES, seed) for seed in (0, 3))
    exploration = find_exploration(sample_log([other] * 40), policy)
    assert exploration.impossible > 0
    assert not exploration.found


def test_own_log_shows_none() -> None:
    """A policy's own log, stochastic or not, shows nothing."""
    heads: dict[Head, gymnasium.Space[Any]] = {
        "greedy": CHOICES,
        "categorical": CHOICES,
        "deterministic": BOX,
    }
    for head, space in heads.items():
        policy = make_policy(head, space)
        exploration = find_exploration(sample_log([policy] * 10), policy)
        assert not exploration.found
        assert exploration.impossible == 0
        assert exploration.describe().startswith("no exploration")


def test_given_epsilon_is_taken() -> None:
    policy = make_policy("greedy", CHOICES)
    log = sample_log([policy] * 4)
    exploration = find_exploration(log, policy, 0.2)
    assert (exploration.epsilon, exploration.found, exploration.given) == (0.2, True, True)
    assert not find_exploration(log, policy, 0.0).found
    with pytest.raises(InputError, match="no probability"):
        find_exploration(log, policy, 2.0)


def test_a_wrong_epsilon_is_contradicted() -> None:
    """More than a little above or below what the log shows; foreign episodes are another case."""
    policy = make_policy("greedy", CHOICES)
    log = sample_log([add_exploration(policy, 0.2)] * 400)
    said = {epsilon: find_exploration(log, policy, epsilon) for epsilon in (0.0, 0.1, 0.2, 0.25)}
    assert [one.contradicted for one in said.values()] == [True, True, False, True]
    assert said[0.25].low < 0.2 < said[0.25].high < 0.25
    assert "was given, the log explores with" in said[0.25].describe()
    foreign = sample_log([policy] * 48 + [add_exploration(policy, 1.0)] * 12)
    assert not find_exploration(foreign, policy, 0.0).contradicted


def test_the_right_epsilon_is_not_contradicted() -> None:
    """300 honest logs, of many and of few exploring actions: next to no alarm."""
    policy = make_policy("greedy", CHOICES)
    alarms = 0
    for seed in range(300, 600):
        epsilon = (0.01, 0.1, 0.5)[seed % 3]
        log = sample_log([add_exploration(policy, epsilon)] * 20, seed=seed)
        alarms += find_exploration(log, policy, epsilon).contradicted
    assert alarms <= 1


def test_unbounded_actions_have_no_uniform_draw() -> None:
    policy = make_policy("gaussian", PLANE)
    assert not find_exploration(sample_log([policy] * 4), policy).found
