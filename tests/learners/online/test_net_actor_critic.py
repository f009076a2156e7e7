"""Net Actor-Critic online: it learns, is the same every time, and is held back by a cost."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.costs import FiniteStates, TransportCost, groups
from nacre.errors import InputError
from nacre.estimators.simulation import simulate_value
from nacre.learners.online.net_actor_critic import Leaving, NetOnlineConfig, NetStep
from nacre.learners.online.soft_actor_critic import OnlineConfig, init_soft
from nacre.learners.online.training import OnlineResult, train_online
from nacre.policies import TabularPolicy
from nacre.policies.distributions import Categorical
from nacre.training.batches import Batch
from tests.support.online import CONFIG, make_ring
from tests.support.policies import expect

NET = NetOnlineConfig(**{name: getattr(CONFIG, name) for name in CONFIG.as_json()})
STAYING = TabularPolicy.from_probabilities([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1]])


def leave(weight: float) -> Leaving:
    return Leaving(
        STAYING, TransportCost(weight, 0.0, groups.halves(), state_measure=FiniteStates())
    )


def train(config: NetOnlineConfig = NET, leaving: Leaving | None = None) -> OnlineResult:
    return train_online(make_ring(), config, seed=3, leaving=leaving)


def worth(result: OnlineResult) -> float:
    found = simulate_value(make_ring(), result.policy, discount=0.8, n_episodes=40, n_steps=30)
    return float(found.as_json()["mean"])


def test_it_comes_near_the_best_policy() -> None:
    """The ring's best policy earns 0.8² / (1 - 0.8) = 3.2 from the nominal start less a step."""
    result = train()
    assert result.healthy
    assert worth(result) > 2.0
    assert result.as_json()["method"] == "net actor-critic"
    again = train()
    assert all(
        np.array_equal(one, other)
        for one, other in zip(
            jax.tree.leaves(result.policy.network),
            jax.tree.leaves(again.policy.network),
            strict=True,
        )
    )


def test_a_prohibitive_cost_holds_it_at_the_old_policy() -> None:
    table = jax.nn.softmax(jnp.zeros((3, 2)))
    held, free, old = (
        np.asarray(expect(Categorical, policy(jnp.arange(3))).probabilities)
        for policy in (train(leaving=leave(1000.0)).policy, train().policy, STAYING)
    )
    assert np.abs(held - old).max() < np.abs(free - old).max()
    assert np.abs(held - old).mean() < np.abs(np.asarray(table) - old).mean()


def make_batch(rewards: float) -> Batch:
    rows: dict[str, Any] = {
        "observations": jnp.zeros(4, int),
        "actions": jnp.zeros(4, int),
        "rewards": jnp.full(4, rewards),
        "next_observations": jnp.zeros(4, int),
        "terminated": jnp.ones(4),
    }
    return Batch(**rows, weights=jnp.ones(4))


def test_the_target_carries_the_cost() -> None:
    """Terminated rows: y = r - (1 - γ) C - γ C = r - C, so a cost of C is a reward less by C."""
    config = dataclasses.replace(NET, actor_states="start")
    key = jax.random.key(0)
    state = init_soft(config, key, make_ring().signature)
    start = jnp.zeros(2, int)
    leaving = leave(4.0)
    cost = float(leaving.charge(state.policy, jnp.zeros(4, int), key))
    assert cost > 0.1
    charged, _ = NetStep(config, start, leaving)(make_batch(1.0), key, state)
    plain, _ = NetStep(config, start)(make_batch(1.0 - cost), key, state)
    for one, other in zip(
        jax.tree.leaves(charged.critics.online), jax.tree.leaves(plain.critics.online), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"actor_states": "log"}, "actor_states = 'log': give replay or start"),
        ({"n_actions": 0}, "n_actions = 0: at least 1"),
        ({"epochs": 0}, "epochs = 0: at least 1"),
    ],
)
def test_impossible_settings_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        NetOnlineConfig(**options)


def test_soft_actor_critic_knows_no_cost() -> None:
    with pytest.raises(InputError, match="soft actor-critic knows no cost of leaving a policy"):
        train_online(make_ring(), OnlineConfig(), leaving=leave(1.0))
