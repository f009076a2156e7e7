"""One step of evaluation: targets by hand, the net form against the apart one, the update."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import equinox as eqx
import gymnasium
import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
import pytest
from jaxtyping import Array

from nacre.errors import InputError
from nacre.estimators.exact import state_action_values
from nacre.logs import Log
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import Scaling
from nacre.policies.optimisers import clipped_adam
from nacre.policies.policy import Signature
from nacre.policies.tabular import TabularPolicy
from nacre.simulators import FiniteWorld, random_policy, random_world
from nacre.training.backup import (
    Backup,
    CriticConfig,
    CriticState,
    Form,
    bootstrap_targets,
    critic_loss,
    next_state_values,
    polyak_average,
    step_critics,
)
from nacre.training.batches import Batch
from nacre.training.critics import Critics
from nacre.training.noise import draw_uniforms
from nacre.training.transitions import Transitions

Floats = npt.NDArray[np.float64]
Tree = TypeVar("Tree")

ROWS = 12
SIGNATURE = Signature(
    gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32),
    gymnasium.spaces.Box(-1, 1, (2,), np.float32),
)
CONFIG = CriticConfig(n_critics=2, hidden=(8,), learning_rate=0.01, polyak=0.9, batch_size=ROWS)
step_compiled = eqx.filter_jit(step_critics)


def as_single(values: npt.ArrayLike) -> Array:
    return jnp.asarray(np.asarray(values, np.float32))


def make_batch(seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    return Batch(
        as_single(rng.normal(size=(ROWS, 3))),
        as_single(rng.uniform(-1, 1, (ROWS, 2))),
        as_single(rng.normal(size=ROWS)),
        as_single(rng.normal(size=(ROWS, 3))),
        as_single(rng.random(ROWS) < 0.3),
        as_single(np.ones(ROWS)),
    )


def fill(
    init: Callable[..., Tree], seed: int = 0, signature: Signature = SIGNATURE, **options: object
) -> Tree:
    """What `init` would make, with normal numbers everywhere: nothing has to be compiled."""
    rng = np.random.default_rng(seed)
    shapes = eqx.filter_eval_shape(init, jax.random.key(0), signature, **options)
    filled: Tree = jax.tree.map(lambda leaf: as_single(rng.normal(0, 0.4, leaf.shape)), shapes)
    return filled


def make_critics(seed: int = 0, *, scaled: bool = False) -> Critics:
    critics = fill(Critics.init, seed, n_critics=2, hidden=(8,))
    scaling = Scaling(as_single([0.1, 0.2, 0.3]), as_single([1.1, 0.9, 0.7])) if scaled else None
    constants = (scaling, as_single(3.3 if scaled else 0), as_single(7.7 if scaled else 1))
    changed: Critics = eqx.tree_at(
        lambda c: (c.scaling, c.shift, c.spread), critics, constants, is_leaf=lambda x: x is None
    )
    return changed


def make_state(config: CriticConfig = CONFIG, *, scaled: bool = False) -> CriticState:
    """Online and target networks that differ."""
    state = CriticState.init(config, make_critics(0, scaled=scaled))
    changed: CriticState = eqx.tree_at(lambda s: s.target, state, make_critics(1, scaled=scaled))
    return changed


def assert_same(first: object, second: object, *, rtol: float = 0.0, atol: float = 0.0) -> None:
    leaves, others = jax.tree.leaves(first), jax.tree.leaves(second)
    assert len(leaves) == len(others) > 0
    for leaf, other in zip(leaves, others, strict=True):
        np.testing.assert_allclose(leaf, other, rtol=rtol, atol=atol)


# Targets


REWARDS, TERMINATED = np.array([1.0, 2.0, -1.0]), np.array([0.0, 1.0, 0.0])
"""The third row may be truncated: only termination is told, so it is bootstrapped."""


def bootstrap_exactly(
    rewards: Floats,
    terminated: Floats,
    ahead: Floats,
    discount: float,
    cost: float = 0.0,
    form: Form = "apart",
) -> Floats:
    """Targets of NumPy's arrays, which the formula takes as it takes JAX's: in float64."""
    columns = cast(tuple[Array, Array, Array], (rewards, terminated, ahead))
    return np.asarray(bootstrap_targets(*columns, discount, cost, form))


def test_targets_by_hand() -> None:
    """γ = 0.9, C = 10: y = r + 0.9 V' while it goes on, r alone at the end; net ones 10 less."""
    ahead = np.array([10.0, 100.0, 20.0])
    apart = bootstrap_exactly(REWARDS, TERMINATED, ahead, 0.9)
    np.testing.assert_allclose(apart, [10.0, 2.0, 17.0], rtol=1e-12)
    net = bootstrap_exactly(REWARDS, TERMINATED, ahead - 10, 0.9, 10.0, "net")
    np.testing.assert_allclose(net, [0.0, -8.0, 7.0], atol=1e-12)


def test_apart_targets_know_no_cost() -> None:
    ahead = np.array([10.0, 100.0, 20.0])
    np.testing.assert_array_equal(
        bootstrap_exactly(REWARDS, TERMINATED, ahead, 0.9, 10.0),
        bootstrap_exactly(REWARDS, TERMINATED, ahead, 0.9),
    )


def test_every_member_has_its_own_targets() -> None:
    ahead = np.array([[10.0, 100.0, 20.0], [0.0, 0.0, 0.0]])
    found = bootstrap_exactly(REWARDS, TERMINATED, ahead, 0.9)
    np.testing.assert_allclose(found, [[10.0, 2.0, 17.0], [1.0, 2.0, -1.0]], rtol=1e-12)


finite = st.floats(-1e3, 1e3, allow_nan=False)


@hypothesis.settings(deadline=None, max_examples=200, derandomize=True)
@hypothesis.given(
    rows=st.lists(st.tuples(finite, st.booleans(), finite), min_size=1, max_size=8),
    discount=st.floats(0, 0.999),
    cost=st.floats(0, 1e3),
)
def test_net_targets_are_apart_targets_minus_the_cost(
    rows: list[tuple[float, bool, float]], discount: float, cost: float
) -> None:
    """Wherever V_N = V - C, terminated or not, in float64: to 1e-9."""
    rewards, terminated, ahead = (np.array(column, float) for column in zip(*rows, strict=True))
    apart = bootstrap_exactly(rewards, terminated, ahead, discount)
    net = bootstrap_exactly(rewards, terminated, ahead - cost, discount, cost, "net")
    np.testing.assert_allclose(net, apart - cost, atol=1e-9)


@functools.cache
def sample_finite(terminating: bool) -> tuple[FiniteWorld, Log, np.ndarray]:
    """A world, its log's columns, and a policy other than the one that made the log."""
    world = random_world(5, 4, 2, discount=0.9, terminating=terminating)
    log = world.sample_log(np.full((4, 2), 0.5), 3000, seed=0, horizon=50)
    assert len(np.unique(log.observations * 2 + log.actions)) == 8
    assert bool(log.terminated.any()) is terminating
    return world, log, random_policy(6, world)


def solve_by_regression(
    log: Log, policy: np.ndarray, discount: float, cost: float, form: Form, *, naive: bool = False
) -> np.ndarray:
    """Q (S, A): average the targets of each pair over and over, in float64."""
    pairs = jnp.asarray(log.observations * 2 + log.actions)
    rewards, terminated, ahead = (
        jnp.asarray(np.asarray(column, float))
        for column in (log.rewards, log.terminated, log.next_observations)
    )
    counts = jnp.bincount(pairs, length=8)

    def sweep(_: Array, q: Array) -> Array:
        values = jnp.sum(policy * q, axis=1)[ahead.astype(int)]
        targets = bootstrap_targets(rewards, terminated, values, discount, cost, form)
        if naive:
            targets = targets + discount * terminated * cost
        return (jnp.bincount(pairs, targets, length=8) / counts).reshape(4, 2)

    return np.asarray(jax.jit(lambda q: jax.lax.fori_loop(0, 400, sweep, q))(jnp.zeros((4, 2))))


def describe_by_counts(world: FiniteWorld, log: Log) -> FiniteWorld:
    """The finite world that the log's averages describe."""
    moves, reward, ends = np.zeros((4, 2, 4)), np.zeros((4, 2)), np.zeros((4, 2))
    for s in range(4):
        for a in range(2):
            here = (log.observations == s) & (log.actions == a)
            reward[s, a] = log.rewards[here].astype(float).mean()
            ends[s, a] = log.terminated[here].mean()
            successors = log.next_observations[here & ~log.terminated]
            moves[s, a] = np.bincount(successors, minlength=4) / max(1, len(successors))
            moves[s, a, 0] += 1 - moves[s, a].sum()
    return FiniteWorld(moves, reward, world.discount, world.start, ends)


@pytest.mark.parametrize("terminating", [False, True])
def test_both_forms_reach_the_same_values(terminating: bool) -> None:
    """Iterated to the fixed point: Q_N + C = Q = exact for the log's averages, to 1e-8."""
    world, log, policy = sample_finite(terminating)
    with jax.enable_x64(True):
        apart = solve_by_regression(log, policy, 0.9, 0.0, "apart")
        net = solve_by_regression(log, policy, 0.9, 7.0, "net")
    np.testing.assert_allclose(net + 7.0, apart, atol=1e-8)
    exact = state_action_values(describe_by_counts(world, log), policy)
    np.testing.assert_allclose(apart, exact, atol=1e-8)


def test_without_the_absorbing_state_s_cost_values_would_differ() -> None:
    """The naive form, nothing bootstrapped after termination, loses a part of C there."""
    _, log, policy = sample_finite(True)
    with jax.enable_x64(True):
        apart = solve_by_regression(log, policy, 0.9, 0.0, "apart")
        naive = solve_by_regression(log, policy, 0.9, 7.0, "net", naive=True)
    assert np.max(naive + 7.0 - apart) > 1.0
    _, log, policy = sample_finite(False)
    with jax.enable_x64(True):
        apart = solve_by_regression(log, policy, 0.9, 0.0, "apart")
        naive = solve_by_regression(log, policy, 0.9, 7.0, "net", naive=True)
    np.testing.assert_allclose(naive + 7.0, apart, atol=1e-8)


# Values of next states


@pytest.mark.parametrize("backup", ["min", "mean", "own"])
def test_next_values_are_those_of_sampled_actions(backup: Backup) -> None:
    """Against the members' values at the same actions, combined one by one; to 1e-5."""
    config = dataclasses.replace(CONFIG, backup=backup, n_next_actions=3)
    critics, batch, key = make_critics(scaled=True), make_batch(), jax.random.key(5)
    policy = fill(MLPPolicy.init, hidden=(8,))
    found = eqx.filter_jit(next_state_values)(config, critics, policy, batch, key)
    distribution = policy(batch.next_observations)
    actions = distribution.transform(draw_uniforms(key, 3, ROWS, 2))
    values_at = eqx.filter_jit(critics.values_at)
    each = np.stack([values_at(batch.next_observations, a) for a in actions])
    expected = {"min": each.min(axis=1), "mean": each.mean(axis=1), "own": each}[backup]
    np.testing.assert_allclose(found, expected.mean(axis=0), rtol=1e-5, atol=1e-5)


def test_next_values_want_a_policy_or_what_it_does() -> None:
    batch, critics = make_batch(), make_critics(scaled=True)
    policy = fill(MLPPolicy.init, hidden=(8,))
    told = dataclasses.replace(batch, next_actions=policy(batch.next_observations))
    values = [
        next_state_values(CONFIG, critics, asked, rows, jax.random.key(5))
        for asked, rows in ((policy, batch), (None, told))
    ]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-5)
    with pytest.raises(InputError, match="neither a policy nor what it does"):
        next_state_values(CONFIG, critics, None, batch, jax.random.key(5))


def test_next_values_of_discrete_actions_are_exact() -> None:
    """Whatever the key."""
    _, log, table = sample_finite(True)
    policy = TabularPolicy.from_probabilities(table)
    critics = fill(Critics.init, signature=policy.signature, n_critics=2, hidden=())
    batch = Transitions.from_log(log).take(jnp.arange(50))
    evaluate = eqx.filter_jit(next_state_values)
    values = [evaluate(CONFIG, critics, policy, batch, jax.random.key(seed)) for seed in (0, 1)]
    np.testing.assert_array_equal(values[0], values[1])
    expected = (table * np.asarray(critics(jnp.arange(4))).min(axis=0)).sum(axis=1)
    np.testing.assert_allclose(values[0], expected[log.next_observations[:50]], rtol=1e-5)


# The update


def test_loss_by_hand() -> None:
    """Sum over members of the mean squared error, in units of the spread; to 1e-5."""
    critics, batch = make_critics(scaled=True), make_batch()
    targets = as_single(np.random.default_rng(1).normal(size=(2, ROWS)))
    total, (mean, q) = eqx.filter_jit(critic_loss)(critics, batch, targets)
    values = np.asarray(
        eqx.filter_jit(critics.values_at)(batch.observations, batch.actions), np.float64
    )
    each = (((values - np.asarray(targets)) / 7.7) ** 2).mean(axis=1)
    np.testing.assert_allclose(total, each.sum(), rtol=1e-5)
    np.testing.assert_allclose(mean, each.mean(), rtol=1e-5)
    np.testing.assert_allclose(q, values.mean(), rtol=1e-5)


def test_compiled_equals_eager() -> None:
    """To 1e-4 of each weight, where Adam's first step moves it by up to 0.01."""
    batch, targets = make_batch(), as_single(np.ones(ROWS))
    eager, eager_info = step_critics(CONFIG, make_state(), batch, targets)
    compiled, info = step_compiled(CONFIG, make_state(), batch, targets)
    assert_same(eager, compiled, rtol=1e-4, atol=1e-6)
    assert_same(eager_info, info, rtol=1e-5)


def test_same_input_same_bits() -> None:
    batch, targets = make_batch(), as_single(np.ones(ROWS))
    first, again = (step_compiled(CONFIG, make_state(), batch, targets) for _ in range(2))
    assert_same(first, again)


def test_first_step_by_hand() -> None:
    """Adam's first step is the learning rate against the gradient's sign."""
    state, batch, targets = make_state(), make_batch(), as_single(np.ones(ROWS))
    after, info = step_compiled(CONFIG, state, batch, targets)
    slope_of = eqx.filter_jit(eqx.filter_grad(critic_loss, has_aux=True))
    gradient, _ = slope_of(state.online, batch, targets)
    moved = jax.tree.map(jnp.subtract, after.online.weights, state.online.weights)
    for step, slope in zip(moved, gradient.weights, strict=True):
        clear = np.abs(slope) > 1e-4
        np.testing.assert_allclose(
            np.asarray(step)[clear], -0.01 * np.sign(np.asarray(slope)[clear]), rtol=1e-2
        )
    np.testing.assert_allclose(info.gradient_norm, optax.tree.norm(gradient), rtol=1e-5)


def test_members_learn_apart() -> None:
    """Changing one member's weights and targets leaves the other's update as it is."""
    batch = make_batch()
    targets = np.random.default_rng(1).normal(size=(2, ROWS))
    state = make_state()
    after, _ = step_compiled(CONFIG, state, batch, as_single(targets))
    targets[1] += 5
    other = eqx.tree_at(lambda s: s.online.weights[0], state, state.online.weights[0].at[1].add(1))
    changed, _ = step_compiled(CONFIG, other, batch, as_single(targets))
    for before, now in zip(after.online.weights, changed.online.weights, strict=True):
        np.testing.assert_allclose(now[0], before[0], atol=1e-6)
        assert np.abs(np.asarray(now[1] - before[1])).max() > 1e-3


def test_polyak_average_by_hand() -> None:
    """Targets keep 0.9 of themselves and take 0.1 of the *updated* online networks; to 1e-6."""
    state = make_state()
    after, _ = step_compiled(CONFIG, state, make_batch(), as_single(np.ones(ROWS)))
    expected = jax.tree.map(
        lambda slow, fast: 0.9 * np.asarray(slow) + 0.1 * np.asarray(fast),
        state.target,
        after.online,
    )
    assert_same(after.target, expected, rtol=1e-5, atol=1e-6)
    assert_same(polyak_average(state.target, after.online, 0.0), after.online, atol=1e-6)


def test_scalings_stay_to_the_bit() -> None:
    """Through 50 updates, online and target: they are constants."""
    state, batch, targets = make_state(scaled=True), make_batch(), as_single(np.ones(ROWS))
    after = state
    for _ in range(50):
        after, _ = step_compiled(CONFIG, after, batch, targets)
    for critics in (after.online, after.target):
        assert_same(
            (critics.scaling, critics.shift, critics.spread),
            (state.online.scaling, state.online.shift, state.online.spread),
        )


def test_clipping_bites() -> None:
    """What Adam remembers of the first gradient, a tenth of it, has the largest norm allowed."""
    batch, targets = make_batch(), as_single(np.full(ROWS, 100.0))
    config = dataclasses.replace(CONFIG, max_gradient_norm=0.5)
    after, info = step_compiled(config, make_state(config), batch, targets)
    assert info.gradient_norm > 10
    remembered = optax.tree.get(after.optimizer, "mu")
    np.testing.assert_allclose(optax.tree.norm(remembered), 0.05, rtol=1e-4)
    free, free_info = step_compiled(CONFIG, make_state(), batch, targets)
    np.testing.assert_allclose(
        optax.tree.norm(optax.tree.get(free.optimizer, "mu")), 0.1 * free_info.gradient_norm
    )
    np.testing.assert_allclose(info.gradient_norm, free_info.gradient_norm, rtol=1e-6)


def test_a_generous_clip_does_nothing() -> None:
    gradient = {"weights": jnp.array([3.0, 4.0])}
    for optimizer in (clipped_adam(0.1, None), clipped_adam(0.1, 5.1)):
        updates, _ = optimizer.update(gradient, optimizer.init(gradient))
        np.testing.assert_allclose(updates["weights"], [-0.1, -0.1], rtol=1e-5)


# Configuration


def test_scalings_only_where_configured() -> None:
    scaling = Scaling(as_single([1, 1, 1]), as_single([2, 2, 2]))
    plain = dataclasses.replace(CONFIG, hidden=())
    asked = dataclasses.replace(plain, scale_observations=True, scale_returns=True)
    without, critics = (
        config.init(jax.random.key(0), SIGNATURE, scaling=scaling, shift=3.0, spread=4.0)
        for config in (plain, asked)
    )
    assert (without.scaling, float(without.shift), float(without.spread)) == (None, 0.0, 1.0)
    assert critics.scaling is scaling
    assert (float(critics.shift), float(critics.spread)) == (3.0, 4.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_critics": 0}, "critics.n_critics = 0: at least 1"),
        ({"batch_size": 0}, "critics.batch_size = 0: at least 1"),
        ({"n_next_actions": -1}, "critics.n_next_actions = -1: at least 1"),
        ({"polyak": 1.0}, r"critics.polyak = 1.0: must lie in \[0, 1\)"),
        ({"polyak": float("nan")}, "critics.polyak = nan"),
        ({"learning_rate": 0.0}, "critics.learning_rate = 0.0: must be positive"),
        ({"backup": "max"}, "critics.backup = 'max': known are min, mean, own"),
        ({"max_gradient_norm": 0.0}, "critics.max_gradient_norm = 0.0: must be positive, or None"),
        ({"hidden": (8, 0)}, r"critics.hidden = \(8, 0\): layers have at least one unit"),
    ],
)
def test_wrong_configurations_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CriticConfig(**wrong)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InputError) as caught:
        CriticConfig(n_critics=0, polyak=2.0, backup=cast(Backup, "max"))
    assert len(caught.value.problems) == 3


def test_targets_may_follow_at_once() -> None:
    assert CriticConfig(polyak=0.0).polyak == 0.0


def test_normalised_critics_scale_all_and_take_large_steps() -> None:
    made = CriticConfig.normalised(3, hidden=(8,), polyak=0.5, backup="own")
    scaled = CriticConfig(3, (8,), layer_norm=True, scale_observations=True, scale_returns=True)
    assert made == dataclasses.replace(scaled, learning_rate=1e-3, polyak=0.5, backup="own")


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        ({}, True),
        ({"learning_rate": 0.5, "polyak": 0.5, "backup": "own", "batch_size": 3}, True),
        ({"n_critics": 3}, False),
        ({"hidden": (9,)}, False),
        ({"layer_norm": True}, False),
        ({"scale_observations": True}, False),
        ({"scale_returns": True}, False),
    ],
)
def test_critics_of_the_same_build_can_be_gone_on_with(other: dict[str, Any], alike: bool) -> None:
    assert CONFIG.alike(dataclasses.replace(CONFIG, **other)) is alike


def test_critics_are_the_published_ones_if_nothing_is_said() -> None:
    plain = dataclasses.asdict(CriticConfig())
    assert plain == {
        "n_critics": 2,
        "hidden": (256, 256),
        "learning_rate": 3e-4,
        "polyak": 0.995,
        "layer_norm": False,
        "scale_observations": False,
        "scale_returns": False,
        "max_gradient_norm": None,
        "backup": "min",
        "n_next_actions": 1,
        "batch_size": 256,
    }
