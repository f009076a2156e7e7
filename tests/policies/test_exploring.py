"""Exploration on top of a policy: exact probabilities, draws, and what is refused."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.policies import fingerprint
from nacre.policies.distributions import Categorical, Mixture
from nacre.policies.exploring import ExploringPolicy, add_exploration
from nacre.policies.heads import Head
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature, ask
from nacre.policies.tabular import TabularPolicy

PLANE = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
BOX = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)
STATES = jnp.asarray(np.random.default_rng(0).normal(size=(50, 2)), jnp.float32)


def make_policy(head: Head, space: gymnasium.Space[Any]) -> MLPPolicy:
    return MLPPolicy.init(jax.random.key(1), Signature(PLANE, space), head=head, hidden=(8,))


def test_greedy_becomes_epsilon_greedy() -> None:
    """The greedy action has 1 - ε + ε/n, every other one ε/n."""
    policy = make_policy("greedy", gymnasium.spaces.Discrete(4))
    said = ask(add_exploration(policy, 0.2), STATES)
    assert isinstance(said, Categorical)
    greedy = np.asarray(policy(STATES).mode())
    expected = np.full((50, 4), 0.05)
    expected[np.arange(50), greedy] = 0.85
    np.testing.assert_allclose(said.probabilities, expected, atol=1e-6)


def test_table_stays_a_table() -> None:
    """A table with exploration is a table, so that it keeps its file form and its exact solves."""
    policy = TabularPolicy.from_probabilities([[1.0, 0.0], [0.25, 0.75]])
    explored = add_exploration(policy, 0.1)
    assert isinstance(explored, TabularPolicy)
    np.testing.assert_allclose(explored.table, [[0.95, 0.05], [0.275, 0.725]], atol=1e-6)


@pytest.mark.parametrize("head", ["deterministic", "squashed_gaussian"])
def test_share_of_uniform_vectors(head: Head) -> None:
    """A deterministic policy's draws are its own with 1 - ε; a Gaussian's density is the mix."""
    policy = make_policy(head, BOX)
    explored = add_exploration(policy, 0.3)
    said = explored(STATES)
    assert isinstance(said, Mixture)
    draws = np.asarray(said.sample(jax.random.key(0), (400,)))
    assert draws.shape == (400, 50, 1)
    if head == "deterministic":
        own = np.mean(np.abs(draws - np.asarray(policy(STATES).mode())) < 1e-6)
        assert own == pytest.approx(0.7, abs=0.02)
    else:
        actions = jnp.asarray(draws[0])
        density = 0.7 * np.exp(policy(STATES).log_prob(actions)) + 0.3 / 4.0
        np.testing.assert_allclose(np.exp(said.log_prob(actions)), density, rtol=1e-4)


def test_no_exploration_changes_nothing() -> None:
    policy = make_policy("greedy", gymnasium.spaces.Discrete(3))
    assert add_exploration(policy, 0.0) is policy
    assert isinstance(add_exploration(policy, 0.1), ExploringPolicy)


def test_what_is_refused() -> None:
    """Probabilities outside [0, 1], and uniform draws from a space without bounds."""
    policy = make_policy("greedy", gymnasium.spaces.Discrete(3))
    for epsilon in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match="no probability"):
            add_exploration(policy, epsilon)
    with pytest.raises(InputError, match="finite bounds"):
        add_exploration(make_policy("gaussian", PLANE), 0.1)


def test_exploration_is_part_of_the_fingerprint() -> None:
    policy = make_policy("greedy", gymnasium.spaces.Discrete(3))
    shares = [fingerprint(add_exploration(policy, epsilon)) for epsilon in (0.0, 0.1, 0.2, 0.1)]
    assert len(set(shares)) == 3
    assert shares[1] == shares[3]
