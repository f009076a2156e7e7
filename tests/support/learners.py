"""Small problems that learning tests share: a finite world, and vectors without a world."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from nacre.costs import SwitchingCost, TransportCost, groups
from nacre.learners import ActorConfig, LearnerConfig
from nacre.learners.net_actor_critic.problem import SwitchingProblem
from nacre.learners.net_actor_critic.step import State, init_state
from nacre.logs import Log
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature
from nacre.policies.tabular import TabularPolicy
from nacre.simulators import FiniteWorld, random_policy, random_world
from nacre.training.backup import CriticConfig
from nacre.training.critics import Critics
from nacre.training.fitted_evaluation import EvaluationConfig
from nacre.training.transitions import Transitions

Tree = TypeVar("Tree")

DISCOUNT = 0.8
CRITICS = CriticConfig(hidden=(), learning_rate=0.02, polyak=0.9, batch_size=64)


class Finite(NamedTuple):
    """A finite world and what is known of it."""

    world: FiniteWorld
    table: np.ndarray
    log: Log
    policy: TabularPolicy


@functools.cache
def make_finite(
    seed: int = 0, *, n_rows: int = 2000, n_states: int = 4, terminating: bool = True
) -> Finite:
    """A random world with three actions, its start everywhere, and a log of a random policy."""
    world = random_world(seed, n_states, 3, discount=DISCOUNT, terminating=terminating)
    world = world.starting_at(np.full(n_states, 1.0 / n_states))
    table = random_policy(seed + 1, world, concentration=2.0)
    log = world.sample_log(table, n_rows, seed=seed, horizon=25)
    return Finite(world, table, log, TabularPolicy.from_probabilities(table))


@functools.cache
def make_vectors(seed: int = 0, *, n_rows: int = 300) -> tuple[Log, MLPPolicy]:
    """A made-up log of two observations and two actions, and a small squashed Gaussian policy."""
    rng = np.random.default_rng(seed)
    steps = np.arange(n_rows) % 10
    visited = rng.normal(size=(n_rows // 10, 11, 2)).astype(np.float32)
    log = Log.from_arrays(
        observations=visited[:, :-1].reshape(n_rows, 2),
        actions=np.tanh(rng.normal(size=(n_rows, 2))).astype(np.float32),
        rewards=rng.normal(size=n_rows).astype(np.float32),
        terminated=(steps == 9) & (np.arange(n_rows) % 20 < 10),
        truncated=(steps == 9) & (np.arange(n_rows) % 20 >= 10),
        next_observations=visited[:, 1:].reshape(n_rows, 2),
        offsets=np.arange(0, n_rows + 1, 10),
        observation_space=gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32),
        action_space=gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32),
    )
    signature = Signature(log.observation_space, log.action_space)
    return log, MLPPolicy.init(jax.random.key(seed), signature, hidden=(8,))


def singletons(learning_weight: float, transaction_weight: float = 0.0) -> SwitchingCost:
    """Three actions, each a group of its own: every change of probabilities costs."""
    return TransportCost(learning_weight, transaction_weight, groups.indices([[0], [1], [2]]))


def by_sign(learning_weight: float) -> SwitchingCost:
    """Action vectors in two groups by their first coordinate."""
    return TransportCost(learning_weight, 0.0, groups.sign(0))


def make_config(actor: dict[str, Any] | None = None, **changes: Any) -> LearnerConfig:
    """A learner for these problems: linear critics, few samples, no stopping rule."""
    settings = LearnerConfig(
        discount=DISCOUNT,
        critics=CRITICS,
        actor=ActorConfig(n_action_samples=8, learning_rate=0.02, hidden=(8,)),
        evaluation=EvaluationConfig(CRITICS, epochs=2, steps_per_epoch=100, n_actions=64),
        stopping=None,
        epochs=2,
        steps_per_epoch=10,
        n_cost_states=16,
    )
    changed = dataclasses.replace(settings.actor, **(actor or {}))
    return dataclasses.replace(settings, actor=changed, **changes)


def make_learner() -> LearnerConfig:
    """A learner that gets somewhere in a finite world; who shares it shares its compilation."""
    return make_config(
        {"states": "log", "learning_rate": 0.05},
        epochs=4,
        steps_per_epoch=300,
        evaluation=EvaluationConfig(CRITICS, epochs=5, steps_per_epoch=300, combine="mean"),
    )


def set_up(
    config: LearnerConfig,
    log: Log,
    old_policy: Policy,
    cost: SwitchingCost,
    policy: Policy | None = None,
) -> tuple[Transitions, SwitchingProblem, State]:
    """The log, the problem at its first state, and a state with fresh critics."""
    transitions = Transitions.from_log(
        log, discount=config.discount, discounted_states=config.actor.discounted_states
    )
    length = transitions.discounted_length
    problem = SwitchingProblem.of(config, old_policy, log.starts[:1], cost, length)
    critics = config.critics.init(jax.random.key(1), old_policy.signature)
    return (
        transitions,
        problem,
        init_state(config, policy or old_policy, critics, jax.random.key(2)),
    )


def set_up_away(
    kind: str, config: LearnerConfig, *, weight: float = 0.5
) -> tuple[Transitions, SwitchingProblem, State]:
    """A problem of discrete or vector actions whose learning starts away from the old policy."""
    if kind == "discrete":
        finite = make_finite(3)
        return set_up(config, finite.log, finite.policy, singletons(weight), move(finite.policy))
    log, policy = make_vectors(3)
    return set_up(config, log, policy, by_sign(weight), move(policy))


# Arrays are changed by NumPy where it can be done: every operation of JAX outside a compiled
# function is compiled on its own.
def change(tree: Tree, into: Callable[[np.ndarray], np.ndarray]) -> Tree:
    """A tree with other floating-point arrays."""
    changed: Tree = jax.tree.map(
        lambda leaf: jnp.asarray(into(np.asarray(leaf))) if eqx.is_inexact_array(leaf) else leaf,
        tree,
    )
    return changed


def move(policy: Policy, size: float = 0.3) -> Policy:
    """Another policy of the same form."""
    rng = np.random.default_rng(11)
    return change(
        policy, lambda leaf: leaf + (size * rng.normal(size=leaf.shape)).astype(leaf.dtype)
    )


def in_double(tree: Tree) -> Tree:
    """The same numbers in float64."""
    return change(tree, lambda leaf: leaf.astype(np.float64))


def leaves_of(tree: object) -> list[np.ndarray]:
    """All arrays of a tree."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def same_bits(mine: object, theirs: object) -> bool:
    """Whether all arrays of two trees are equal to the bit."""
    return all(map(np.array_equal, leaves_of(mine), leaves_of(theirs)))


def shift_critics(critics: Critics, amount: jax.Array | float) -> Critics:
    """Critics that say this much less everywhere."""
    lower = jnp.asarray(np.asarray(critics.biases[-1]) - np.asarray(amount))
    shifted: Critics = eqx.tree_at(lambda c: c.biases[-1], critics, lower)
    return shifted


def silence(state: State, config: LearnerConfig) -> State:
    """The state with critics that say zero everywhere."""
    critics = change(state.critics.online, np.zeros_like)
    critics = eqx.tree_at(lambda c: c.spread, critics, state.critics.online.spread)
    return init_state(config, state.policy, critics, jax.random.key(0))
