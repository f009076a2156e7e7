"""Fitted evaluation against exact values: finite worlds, a linear-quadratic one, broken runs."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable
from typing import cast

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest
from jaxtyping import Array, ArrayLike

import nacre.training.fitted_evaluation as module
from nacre.errors import InputError
from nacre.estimators.exact import start_value, value_range, values
from nacre.logs import Log
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature
from nacre.policies.tabular import TabularPolicy
from nacre.simulators import (
    FiniteWorld,
    LinearPolicy,
    LinearWorld,
    double_integrator,
    random_policy,
    two_state_policies,
    two_state_world,
)
from nacre.training.backup import CriticConfig, critic_loss
from nacre.training.fitted_evaluation import (
    EpochReport,
    Evaluation,
    EvaluationConfig,
    as_rows,
    check_spaces,
    evaluate_policy,
    has_settled,
    init_critics,
    read_values,
)
from nacre.training.transitions import Transitions
from tests.support.training import FINITE, SMALL, TABLES, make_steady_log, sample_finite, sign


def evaluate(
    table: np.ndarray,
    log: Log,
    world: FiniteWorld,
    config: EvaluationConfig = FINITE,
    *,
    seed: int = 0,
    on_epoch: Callable[[EpochReport], None] | None = None,
) -> Evaluation:
    policy = TabularPolicy.from_probabilities(table)
    return evaluate_policy(
        policy, log, 0, config, discount=world.discount, seed=seed, on_epoch=on_epoch
    )


@functools.cache
def evaluate_old() -> tuple[Evaluation, list[EpochReport]]:
    world, old, log = sample_finite(0)
    reports: list[EpochReport] = []
    return evaluate(old, log, world, on_epoch=reports.append), reports


# Against exact values


@pytest.mark.parametrize(("seed", "terminating"), [(0, False), (1, False), (2, True)])
def test_finite_worlds(seed: int, terminating: bool) -> None:
    """Old policy and another one within 2 % of the exact value range."""
    world, old, log = sample_finite(seed, terminating)
    assert bool(log.terminated.any()) is terminating
    allowed = 0.02 * np.ptp(value_range(world))
    for table in (old, random_policy(seed + 100, world)):
        found = evaluate(table, log, world)
        assert found.healthy
        assert abs(found.value - float(start_value(world, table))) < allowed
        assert np.abs(found.per_critic - found.value).max() < allowed


def test_two_state_world_as_in_the_paper() -> None:
    """Minimum in the backup and at the start, online networks read; within 2 % of the range 100."""
    world, policies = two_state_world(), two_state_policies()
    log = world.sample_log(policies["old"], 20_000, seed=0, horizon=200)
    critics = dataclasses.replace(TABLES, backup="min", polyak=0.8)
    config = EvaluationConfig(critics, epochs=8, steps_per_epoch=500, prefit_steps=500)
    assert (config.combine, config.averaged) == ("min", False)
    for name in ("old", "n2", "n3"):
        found = evaluate(policies[name], log, world, config)
        assert abs(found.value - start_value(world, policies[name])) < 2.0


@pytest.mark.parametrize(("seed", "terminating"), [(0, False), (2, True)])
def test_the_cost_in_the_target_gives_the_net_value(seed: int, terminating: bool) -> None:
    """Algorithm 2 as printed: V_N = V - C, within 2 % of the exact value range."""
    world, old, log = sample_finite(seed, terminating)
    allowed, cost = 0.02 * np.ptp(value_range(world)), 3.0
    policy = TabularPolicy.from_probabilities(old)
    found = evaluate_policy(policy, log, 0, FINITE, discount=world.discount, switching_cost=cost)
    assert found.healthy
    assert abs(found.value - (float(start_value(world, old)) - cost)) < allowed


def as_policy(world: LinearWorld, linear: LinearPolicy) -> MLPPolicy:
    """A linear policy with Gaussian noise as a network without hidden layers."""
    signature = Signature(world.observation_space, world.action_space)
    shapes = eqx.filter_eval_shape(
        MLPPolicy.init, jax.random.key(0), signature, head="gaussian", hidden=()
    )
    weights = np.zeros((2, 2), np.float32)
    weights[:, 0] = linear.gain[0]
    biases = np.array([0.0, np.log(linear.std[0])], np.float32)
    policy: MLPPolicy = eqx.tree_at(
        lambda p: (p.network.weights[0], p.network.biases[0]),
        shapes,
        (jnp.asarray(weights), jnp.asarray(biases)),
    )
    return policy


def test_linear_quadratic_world() -> None:
    """A small network; old policy and one near the optimum within 3 % of the closed form.

    Over seeds the error of the second one varies by about 1.5 %.
    """
    world = double_integrator()
    old = LinearPolicy(np.array([[-0.8, -1.0]]), np.array([1.0]))
    new = LinearPolicy(0.3 * old.gain + 0.7 * world.optimal_policy().gain, np.array([0.3]))
    log = world.sample_log(old, 20_000, seed=0, horizon=50)
    critics = CriticConfig(
        n_critics=3,
        hidden=(32, 32),
        scale_observations=True,
        scale_returns=True,
        learning_rate=3e-3,
        polyak=0.9,
        backup="own",
    )
    config = dataclasses.replace(FINITE, critics=critics, prefit_steps=1000)
    found = {}
    for name, linear in (("old", old), ("new", new)):
        evaluation = evaluate_policy(
            as_policy(world, linear), log, log.starts, config, discount=world.discount
        )
        exact = world.value(linear).at(log.starts).mean()
        assert abs(evaluation.value - exact) < 0.03 * abs(exact)
        found[name] = evaluation.value
    assert found["new"] > 0.5 * found["old"]


def test_rewards_in_other_units_are_the_same_question() -> None:
    """A thousandfold reward is a thousandfold value, to 1 %: scaled critics see no difference."""
    world, old, log = sample_finite(0)
    larger = dataclasses.replace(log, rewards=1000 * log.rewards)
    scaled = evaluate(old, larger, world)
    np.testing.assert_allclose(scaled.value, 1000 * evaluate_old()[0].value, rtol=0.01)


# What an evaluation says


def test_shapes_and_reports() -> None:
    found, reports = evaluate_old()
    assert found.curve.shape == found.losses.shape == (10,)
    assert found.member_curves.shape == (10, 2)
    assert found.per_critic.shape == (2,)
    assert found.value == found.curve[-1]
    np.testing.assert_array_equal(found.per_critic, found.member_curves[-1])
    np.testing.assert_allclose(found.curve, found.member_curves.mean(axis=1), rtol=1e-5)
    assert [report.epoch for report in reports] == list(range(10))
    assert [report.value for report in reports] == list(found.curve)
    assert [report.loss for report in reports] == list(found.losses)
    assert {(report.epochs, report.steps) for report in reports} == {(10, 300)}
    assert (found.healthy, found.reason) == (True, "all epochs done")
    assert found.settled
    assert repr(found) == f"Evaluation(value={found.value:.6g}, settled, all epochs done)"


def test_same_seed_same_bits() -> None:
    world, old, log = sample_finite(0)
    first, again = evaluate_old()[0], evaluate(old.copy(), log, world)
    np.testing.assert_array_equal(first.member_curves, again.member_curves)
    np.testing.assert_array_equal(first.losses, again.losses)
    for leaf, other in zip(
        jax.tree.leaves(first.critics), jax.tree.leaves(again.critics), strict=True
    ):
        np.testing.assert_array_equal(leaf, other)
    other = evaluate(old, log, world, seed=1)
    assert other.value != first.value


def test_a_policy_can_be_asked_once() -> None:
    """The same values as when it is asked at every step, to 1e-4."""
    _, old, log = sample_finite(0)
    policy, start = TabularPolicy.from_probabilities(old), log.starts[:1]
    short = dataclasses.replace(FINITE, epochs=2, steps_per_epoch=50, prefit_steps=50)
    values = [
        evaluate_policy(
            policy, log, start, dataclasses.replace(short, asked_once=once), discount=0.9
        ).per_critic
        for once in (False, True)
    ]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-4)


def test_paired_differences_carry_less_noise() -> None:
    """Old against slightly changed: over seeds the difference varies less than the values do.

    Read after the third epoch of ten; standard deviations of three, at most half.
    """
    world, old, log = sample_finite(1)
    near = 0.95 * old + 0.05 * random_policy(7, world)
    pairs = np.array(
        [[evaluate(t, log, world, seed=seed).curve[2] for t in (old, near)] for seed in range(3)]
    )
    assert np.std(pairs[:, 1] - pairs[:, 0]) < 0.5 * np.std(pairs[:, 0])


def test_several_starts_are_averaged() -> None:
    """The mean over start states of what each would get alone; to 1e-5."""
    world, old, _ = sample_finite(0)
    policy, critics = TabularPolicy.from_probabilities(old), evaluate_old()[0].critics
    key = jax.random.key(0)
    alone = [read_values(FINITE, critics, policy, jnp.array([s]), key) for s in (2, 5, 5)]
    together = read_values(FINITE, critics, policy, jnp.array([2, 5, 5]), key)
    np.testing.assert_allclose(together[0], np.mean([value for value, _ in alone]), rtol=1e-5)
    np.testing.assert_allclose(together[1], np.mean([each for _, each in alone], axis=0), rtol=1e-5)
    exact = values(world, old)[[2, 5, 5]].mean()
    assert abs(float(together[0]) - exact) < 0.02 * np.ptp(value_range(world))


def test_minimum_is_below_every_member_and_the_mean() -> None:
    """On critics that disagree; a quantile lies between."""
    _, old, _ = sample_finite(0)
    policy, critics = TabularPolicy.from_probabilities(old), evaluate_old()[0].critics
    noise = np.random.default_rng(0).normal(0, 0.3, critics.weights[0].shape)
    critics = eqx.tree_at(
        lambda c: c.weights[0], critics, critics.weights[0] + noise.astype(np.float32)
    )
    found = {
        combine: read_values(
            dataclasses.replace(FINITE, combine=combine),
            critics,
            policy,
            jnp.arange(8),
            jax.random.key(0),
        )
        for combine in ("min", "mean", 0.25)
    }
    assert found["min"][0] < found["min"][1].min()
    np.testing.assert_allclose(found["mean"][0], found["mean"][1].mean(), rtol=1e-5)
    assert found["min"][0] < found[0.25][0] < found["mean"][0]


@pytest.mark.parametrize(
    ("curve", "settled"),
    [
        (np.full(10, 7.0), True),
        (np.zeros(5), True),
        (np.linspace(0, 1, 10), False),
        (np.linspace(100, 0, 20), False),
        (50 * (1 - np.exp(-np.arange(20))), True),
        (50 * (1 - np.exp(-0.05 * np.arange(20))), False),
        (np.full(4, 7.0), False),
        (np.array([]), False),
    ],
)
def test_settled(curve: np.ndarray, settled: bool) -> None:
    """Flat or levelled off: yes. Rising, falling, or fewer than five epochs: no."""
    assert has_settled(curve, 0.02) is settled


# Resampled episodes

FEW = dataclasses.replace(FINITE, epochs=2, steps_per_epoch=50, prefit_steps=50)
BOOTSTRAP = dataclasses.replace(FEW, bootstrap=True)


def test_seeing_everything_once_is_no_resampling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of one: the same bits as without."""
    world, old, log = sample_finite(0)
    plain = evaluate(old, log, world, FEW)
    monkeypatch.setattr(
        module, "draw_resampling", lambda episodes, members, seed: np.ones((episodes, members))
    )
    once = evaluate(old, log, world, BOOTSTRAP)
    np.testing.assert_array_equal(once.member_curves, plain.member_curves)
    for mine, theirs in zip(
        jax.tree.leaves(once.critics), jax.tree.leaves(plain.critics), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_members_with_episodes_of_their_own_differ_by_about_as_much_as_logs_do() -> None:
    """Spread of five members: larger than without, and about that of the values over logs."""
    world, old, log = sample_finite(0)
    few = log.select(np.arange(40))
    critics = dataclasses.replace(TABLES, n_critics=5, batch_size=128)
    five = dataclasses.replace(FINITE, critics=critics, epochs=3, steps_per_epoch=150)
    plain = evaluate(old, few, world, five).per_critic
    resampled = evaluate(old, few, world, dataclasses.replace(five, bootstrap=True)).per_critic
    assert np.std(resampled) > 3 * np.std(plain)
    others = [
        evaluate(old, log.select(np.arange(first, first + 40)), world, five).value
        for first in (40, 80, 120, 160)
    ]
    assert 0.2 < np.std(resampled, ddof=1) / np.std(others, ddof=1) < 5.0


def test_a_member_is_not_moved_by_an_episode_that_it_does_not_see() -> None:
    """Gradients are zero to the bit for it, and for it alone."""
    world, _, log = sample_finite(0)
    critics = init_critics(TABLES, jax.random.key(0), log, sign(log), world.discount)
    resampling = np.ones((log.n_episodes, 2))
    resampling[3, 0] = 0.0
    transitions = Transitions.from_log(log, resampling=resampling)
    unseen = jnp.arange(log.offsets[3], log.offsets[4])

    def gradient(rows: Array) -> np.ndarray:
        batch = transitions.take(rows)
        loss = eqx.filter_grad(critic_loss, has_aux=True)
        found, _ = loss(critics, batch, jnp.full(len(rows), 7.0))
        return np.asarray(found.weights[0])

    moved = gradient(unseen)
    assert np.all(moved[0] == 0.0)
    assert np.any(moved[1] != 0.0)
    mixed = gradient(jnp.concatenate([unseen, jnp.arange(10)]))
    alone = gradient(jnp.arange(10))
    share = 10 / (10 + len(unseen))
    np.testing.assert_allclose(mixed[0], share * alone[0], rtol=1e-4, atol=1e-7)
    assert not np.allclose(mixed[1], share * alone[1], rtol=1e-2)


# Broken runs

CLIMBING = EvaluationConfig(SMALL, epochs=40, steps_per_epoch=5)


def evaluate_steady(config: EvaluationConfig) -> Evaluation:
    policy = TabularPolicy.from_probabilities([[1.0]])
    return evaluate_policy(policy, make_steady_log(), 0, config, discount=0.9)


def test_the_last_good_epoch_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that climb towards 10 leave bounds put at 5: stopped there, the epoch before kept."""
    monkeypatch.setattr("nacre.training.preparation.LARGEST_BELIEVABLE", 0.5)
    found = evaluate_steady(CLIMBING)
    done = len(found.curve)
    assert 0 < done < 40
    assert (found.healthy, found.settled) == (False, False)
    assert found.reason.startswith(f"diverged in epoch {done} at step ")
    assert found.reason.endswith("; kept the epoch before")
    assert found.value == found.curve[-1] < 5
    assert len(found.losses) == len(found.member_curves) == done
    policy = TabularPolicy.from_probabilities([[1.0]])
    again, _ = read_values(CLIMBING, found.critics, policy, jnp.array([0]), jax.random.key(0))
    np.testing.assert_allclose(again, found.value, rtol=1e-6)


@pytest.mark.parametrize(
    ("learning_rate", "steps", "prefit_steps", "reason"),
    [
        (1e20, 50, 0, r"diverged in epoch 0 at step \d; kept"),
        (3e38, 1, 0, "diverged in epoch 0 at step 1; kept"),
        (1e20, 1, 2, "diverged in the fit to the log's returns; kept fresh critics"),
    ],
)
def test_exploding_steps(learning_rate: float, steps: int, prefit_steps: int, reason: str) -> None:
    """Also in the last step of an epoch, whose loss is still sound, and before the first epoch."""
    critics = dataclasses.replace(SMALL, learning_rate=learning_rate)
    found = evaluate_steady(
        EvaluationConfig(critics, epochs=3, steps_per_epoch=steps, prefit_steps=prefit_steps)
    )
    assert not found.healthy
    assert not found.settled
    assert np.isfinite(found.value)
    assert abs(found.value) < 10
    assert "not settled, diverged" in repr(found)
    assert np.all(np.isfinite(found.per_critic))
    assert found.curve.shape == (0,)
    assert found.member_curves.shape == (0, 2)
    for leaf in jax.tree.leaves(found.critics):
        assert np.all(np.isfinite(leaf))
    assert re.match(reason, found.reason)


# Input


def read_rows(start: npt.ArrayLike, signature: Signature) -> Array:
    """Starts as rows, from whatever NumPy makes arrays of."""
    return as_rows(cast(ArrayLike, start), signature)


def test_starts_become_rows() -> None:
    box = Signature(gymnasium.spaces.Box(-1, 1, (2,), np.float32), gymnasium.spaces.Discrete(2))
    one, many = read_rows([0.1, 0.2], box), read_rows(np.zeros((3, 2)), box)
    assert (one.shape, many.shape) == ((1, 2), (3, 2))
    assert one.dtype == many.dtype == read_rows([1, 0], box).dtype == jnp.float32
    states = Signature(gymnasium.spaces.Discrete(4), gymnasium.spaces.Discrete(2))
    np.testing.assert_array_equal(read_rows(3, states), [3])
    np.testing.assert_array_equal(read_rows([0, 3, 3], states), [0, 3, 3])
    np.testing.assert_array_equal(read_rows(jnp.array([2.0]), states), [2])
    assert read_rows(2.0, states).dtype == jnp.int32


@pytest.mark.parametrize(
    ("start", "discrete", "message"),
    [
        ([0.1, 0.2, 0.3], False, r"start of shape \(3,\) and type float64 does not fit"),
        (np.zeros((2, 2, 2)), False, r"start of shape \(2, 2, 2\)"),
        (np.zeros((0, 2)), False, r"start of shape \(0, 2\)"),
        (0.5, False, r"start of shape \(\)"),
        (["a", "b"], False, "type <U1 does not fit"),
        ([0.1, np.nan], False, "start holds NaN or infinity; give finite states"),
        ([0.1, np.inf], False, "start holds NaN or infinity"),
        ([[0, 1]], True, r"start of shape \(1, 2\)"),
        ([], True, r"start of shape \(0,\)"),
        (np.nan, True, "start holds NaN or infinity"),
        (4, True, r"start: 4 is not one of the states 0\.\.3"),
        ([0, -1], True, r"start: -1 is not one of the states 0\.\.3"),
        (1.5, True, r"start: 1.5 is not one of the states 0\.\.3"),
    ],
)
def test_wrong_starts_are_refused(start: npt.ArrayLike, discrete: bool, message: str) -> None:
    space = (
        gymnasium.spaces.Discrete(4) if discrete else gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    )
    with pytest.raises(InputError, match=message):
        read_rows(start, Signature(space, gymnasium.spaces.Discrete(2)))


def test_logs_of_other_worlds_are_refused() -> None:
    world, _, log = sample_finite(0)
    with pytest.raises(InputError, match=r"action space: the log has Discrete\(3\), the policy"):
        evaluate(np.full((8, 2), 0.5), log, world)
    box = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    with pytest.raises(InputError) as caught:
        check_spaces(log, Signature(box, box))
    assert len(caught.value.problems) == 2
    check_spaces(log, Signature(gymnasium.spaces.Discrete(9), gymnasium.spaces.Discrete(3)))


@pytest.mark.parametrize("discount", [1.0, -0.1, float("nan")])
def test_wrong_discounts_are_refused(discount: float) -> None:
    _, old, log = sample_finite(0)
    with pytest.raises(InputError, match=r"discount = .*: must lie in \[0, 1\)"):
        evaluate_policy(TabularPolicy.from_probabilities(old), log, 0, FINITE, discount=discount)
