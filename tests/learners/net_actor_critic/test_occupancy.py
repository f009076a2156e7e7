"""How often the new policy visits a state: learned from the log against the exact ratio."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.estimators.exact import occupancy
from nacre.learners import OccupancyConfig
from nacre.learners.net_actor_critic.occupancy import (
    OccupancyState,
    Ratio,
    init_occupancy,
    occupancy_loss,
    step_occupancy,
)
from nacre.policies.networks import Scaling
from nacre.policies.policy import Policy
from nacre.policies.tabular import TabularPolicy
from nacre.simulators import random_policy, random_world
from nacre.training.batches import Batch
from nacre.training.transitions import Transitions
from tests.support.learners import DISCOUNT, make_finite, make_vectors

CONFIG = OccupancyConfig(hidden=(), learning_rate=0.01, polyak=0.95)
N_STATES = 5


@eqx.filter_jit
def fit(
    state: OccupancyState, transitions: Transitions, policy: Policy, old_policy: Policy
) -> OccupancyState:
    """Two thousand steps at a fixed policy; the target averages over the last of them."""
    dynamic, static = eqx.partition(state, eqx.is_array)

    def advance(i: jax.Array, dynamic: OccupancyState) -> OccupancyState:
        batch_key, start_key = jax.random.split(jax.random.fold_in(jax.random.key(3), i))
        after = step_occupancy(
            CONFIG,
            eqx.combine(dynamic, static),
            transitions,
            transitions.sample(batch_key, 256),
            policy,
            old_policy,
            DISCOUNT,
            start_key,
        )
        arrays: OccupancyState = eqx.filter(after, eqx.is_array)
        return arrays

    fitted: OccupancyState = eqx.combine(jax.lax.fori_loop(0, 2000, advance, dynamic), static)
    return fitted


@pytest.mark.parametrize("terminating", [False, True])
def test_the_ratio_approaches_the_exact_one(terminating: bool) -> None:
    """Weighted error below 10 %, from 20,000 rows; without learning it is more than 25 %."""
    world = random_world(4, N_STATES, 3, discount=DISCOUNT, terminating=terminating)
    world = world.starting_at([0.6, 0.1, 0.1, 0.1, 0.1])
    old_table = random_policy(5, world, concentration=2.0)
    log = world.sample_log(old_table, 20_000, seed=0, horizon=40)
    assert bool(log.terminated.any()) is terminating
    old = TabularPolicy.from_probabilities(old_table)
    # Mostly what the old policy does least, within the largest ratio.
    table = 0.2 * old_table + 0.8 * np.eye(3)[old_table.argmin(axis=-1)]
    assert (table / old_table).max() < CONFIG.largest_ratio
    new = TabularPolicy.from_probabilities(table)
    transitions = Transitions.from_log(log, discount=DISCOUNT, discounted_states=True)
    state = init_occupancy(CONFIG, jax.random.key(0), old.signature, None)

    visits = occupancy(world, old_table)
    exact = occupancy(world, table) / visits

    def error(ratio: np.ndarray) -> float:
        return float(visits @ np.abs(ratio - exact) / visits.sum())

    learned = fit(state, transitions, new, old)
    assert error(np.ones(N_STATES)) > 0.25
    assert error(np.asarray(learned.target(jnp.arange(N_STATES)))) < 0.1

    # For the old policy itself there is nothing to correct; Adam makes roundings visible.
    same = fit(state, transitions, old, old)
    np.testing.assert_allclose(same.online(jnp.arange(N_STATES)), 1.0, atol=0.01)


@pytest.mark.parametrize("hidden", [(), (4,), (4, 3)])
def test_the_ratio_is_exactly_one_at_first(hidden: tuple[int, ...]) -> None:
    config = OccupancyConfig(hidden=hidden)
    finite, (log, policy) = make_finite(), make_vectors()
    discrete = init_occupancy(config, jax.random.key(0), finite.policy.signature, None)
    np.testing.assert_array_equal(discrete.online(jnp.arange(4)), np.ones(4, np.float32))
    scaling = Scaling.fit(log.observations)
    vectors = init_occupancy(config, jax.random.key(0), policy.signature, scaling)
    rows = jnp.asarray(log.observations[:7])
    np.testing.assert_array_equal(vectors.online(rows), np.ones(7, np.float32))
    np.testing.assert_array_equal(vectors.target(rows), np.ones(7, np.float32))


def make_ratio(values: list[float]) -> Ratio:
    """A table with these ratios."""
    finite = make_finite()
    state = init_occupancy(CONFIG, jax.random.key(0), finite.policy.signature, None)
    logits = np.log(np.expm1(np.asarray(values, np.float32) * np.log(2.0)))
    ratio: Ratio = eqx.tree_at(
        lambda r: r.network.weights[0],
        state.online,
        jnp.asarray(logits[:, None], jnp.float32),
    )
    return ratio


def test_the_loss_by_hand() -> None:
    ratio, target = make_ratio([1.0, 2.0, 3.0, 0.5]), make_ratio([2.0, 1.0, 1.0, 1.0])
    batch = Batch(
        observations=jnp.asarray([0, 1, 3]),
        actions=jnp.asarray([0, 0, 0]),
        rewards=jnp.zeros(3),
        next_observations=jnp.asarray([1, 2, 0]),
        terminated=jnp.asarray([0.0, 0.0, 1.0]),
        weights=jnp.asarray([1.5, 1.0, 0.5]),
    )
    # Arriving: 0.5 · 2 = 1 at state 1 (ratio 2), 4 · 1 = 4 at state 2 (ratio 3); the third ended.
    walked = (1.5 * (2.0 - 1.0) ** 2 + 1.0 * (3.0 - 4.0) ** 2 + 0.0) / 3
    # Starts: states 1 and 3, ratios 2 and 0.5.
    begun = ((2.0 - 1.0) ** 2 + (0.5 - 1.0) ** 2) / 2
    loss = occupancy_loss(
        ratio,
        target,
        jnp.asarray([0.5, 4.0, 100.0]),
        batch,
        jnp.asarray([1, 3]),
        0.9,
        jnp.asarray(5.0),
    )
    np.testing.assert_allclose(loss, begun / 5.0 + 0.9 * walked, rtol=1e-5)


def test_the_largest_ratio_is_the_most_that_an_action_counts() -> None:
    """An action that the old policy hardly takes counts ten times, as if new/old were ten."""
    finite = make_finite()
    transitions = Transitions.from_log(finite.log, discount=DISCOUNT, discounted_states=True)
    batch = transitions.take(jnp.arange(32))
    start = init_occupancy(CONFIG, jax.random.key(0), finite.policy.signature, None)
    logits = np.zeros((4, 3), np.float32)
    rare, tenth = logits.copy(), logits.copy()
    rare[:] = -np.inf  # the log holds actions that such an old policy would never take
    tenth[:] = np.log(1 / 30)
    rare[:, 0], tenth[:, 0] = 0.0, np.log(1 - 2 / 30)
    batch = eqx.tree_at(lambda b: b.actions, batch, jnp.ones_like(batch.actions))
    uniform = TabularPolicy(jnp.asarray(logits), finite.policy.signature)
    compiled, gradients = eqx.filter_jit(step_occupancy), []
    for old in (rare, tenth):
        after = compiled(
            CONFIG,
            start,
            transitions,
            batch,
            uniform,
            TabularPolicy(jnp.asarray(old), finite.policy.signature),
            DISCOUNT,
            jax.random.key(0),
        )
        gradients.append(np.asarray(after.optimizer[0].mu))
    assert np.all(np.isfinite(gradients[0]))
    assert np.abs(gradients[0]).max() > 0
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-4, atol=1e-7)
