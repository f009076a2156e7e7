"""One step of Net Actor-Critic: pure, the cost in it, one code for all."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.costs import WeightedStates
from nacre.errors import InputError
from nacre.learners.net_actor_critic.step import Info, init_state, is_believable, step
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.tabular import TabularPolicy
from nacre.training.transitions import Transitions
from tests.support.learners import (
    by_sign,
    in_double,
    leaves_of,
    make_config,
    make_finite,
    make_vectors,
    move,
    same_bits,
    set_up,
    set_up_away,
    shift_critics,
    silence,
    singletons,
)
from tests.support.policies import expect

compiled_step = eqx.filter_jit(step)
THREE_STEPS = make_config(steps_per_epoch=3)


def test_compiled_equals_eager_and_the_same_key_gives_the_same_bits() -> None:
    config = THREE_STEPS
    rows, problem, state = set_up_away("discrete", config)
    before = leaves_of((rows, problem, state))
    eager = step(problem, rows, jax.random.key(0), state)
    first = compiled_step(problem, rows, jax.random.key(0), state)
    again = compiled_step(problem, rows, jax.random.key(0), state)
    other = compiled_step(problem, rows, jax.random.key(1), state)
    for mine, theirs in zip(leaves_of(first), leaves_of(eager), strict=True):
        # Adam divides by the root of the second moment, which makes roundings of tiny gradients
        # visible: up to a hundredth of a step of 0.02.
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-4)
    assert same_bits(first, again)
    assert not same_bits(first[0].critics, other[0].critics)
    assert not same_bits(first[0].policy, state.policy)
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves_of(first))
    assert all(map(np.array_equal, before, leaves_of((rows, problem, state))))


def test_the_average_follows_the_weights() -> None:
    config = make_config({"averaging": 0.75}, steps_per_epoch=3)
    rows, problem, state = set_up_away("discrete", config)
    assert same_bits(state.outcome, state.policy)
    key = jax.random.key(0)
    after, _ = compiled_step(problem, rows, key, state)
    without = dataclasses.replace(state, average=None)
    _, other, _ = set_up_away("discrete", THREE_STEPS)
    plain, _ = compiled_step(other, rows, key, without)
    # Learning itself does not see the average.
    assert same_bits(after.policy, plain.policy)
    assert plain.outcome is plain.policy
    for mean, old, new in zip(
        *(leaves_of(one) for one in (after.outcome, state.policy, after.policy)), strict=True
    ):
        np.testing.assert_allclose(mean, 0.75 * old + 0.25 * new, rtol=1e-5, atol=1e-6)


def make_info(**values: float) -> Info:
    numbers = dict.fromkeys((field.name for field in dataclasses.fields(Info)), 1.0) | values
    return Info(**{name: jnp.asarray(value) for name, value in numbers.items()})


def test_what_is_believable_by_hand() -> None:
    config, largest = make_config(), jnp.asarray(10.0)
    assert bool(is_believable(config, make_info(), largest))
    assert bool(is_believable(config, make_info(q=-10.0, value=10.0, cost=1e6), largest))
    for values in ({"q": -10.1}, {"value": 10.1}):
        assert not bool(is_believable(config, make_info(**values), largest))
        # Net critics hold -C, which has nothing to do with the rewards.
        net = dataclasses.replace(config, form="net")
        assert bool(is_believable(net, make_info(**values, cost=0.2), largest))
        assert not bool(is_believable(net, make_info(**values, cost=0.05), largest))
    for name in ("critic_loss", "q", "value", "cost", "divergence", "actor_gradient_norm"):
        for bad in (np.nan, np.inf):
            assert not bool(is_believable(config, make_info(**{name: bad}), largest))


def test_net_critics_stay_the_cost_below_the_others_step_by_step() -> None:
    """In float64, terminated rows included; the policy hardly moves, so C is a constant."""
    finite = make_finite(3)
    assert finite.log.terminated.any()
    cost = dataclasses.replace(singletons(10.0), state_measure=WeightedStates(np.array([2])))
    apart = make_config({"learning_rate": 1e-14})
    net = dataclasses.replace(apart, form="net")
    pieces = set_up(apart, finite.log, finite.policy, cost, move(finite.policy))
    with jax.enable_x64(True):
        rows, problem, state = in_double(pieces)
        below_problem = dataclasses.replace(problem, config=net)
        price = cost.at(problem.old_policy, state.policy, jnp.asarray([2]), jax.random.key(0))
        assert float(price) > 0.1
        lower = shift_critics(state.critics.online, price)
        below = init_state(net, state.policy, lower, jax.random.key(0))
        for i in range(20):
            state, info = compiled_step(problem, rows, jax.random.key(i), state)
            below, net_info = compiled_step(below_problem, rows, jax.random.key(i), below)
            np.testing.assert_allclose(info.net_value, net_info.net_value, atol=1e-8)
            np.testing.assert_allclose(info.value - price, net_info.value, atol=1e-8)
        for mine, theirs in (
            (state.critics.online, below.critics.online),
            (state.critics.target, below.critics.target),
        ):
            states = jnp.arange(4)
            np.testing.assert_allclose(mine(states) - price, theirs(states), atol=1e-8)


def forget_rewards(rows: Transitions) -> Transitions:
    rewards = jnp.asarray(np.zeros(len(rows), np.float32))
    forgotten: Transitions = eqx.tree_at(lambda r: r.rows.rewards, rows, rewards)
    return forgotten


def test_with_nothing_to_gain_the_cost_brings_the_policy_back() -> None:
    config = make_config({"learning_rate": 0.01}, n_cost_states=64)
    rows, problem, state = set_up_away("discrete", config, weight=2.0)
    rows, after = forget_rewards(rows), silence(state, config)
    for i in range(150):
        after, info = compiled_step(problem, rows, jax.random.key(i), after)
        assert float(info.critic_loss) == 0.0
    old, first, last = (
        np.asarray(expect(TabularPolicy, policy).table)
        for policy in (problem.old_policy, state.policy, after.policy)
    )
    ahead, behind = (np.abs(table - old).sum() for table in (first, last))
    assert behind < 0.2 * ahead


def test_a_deterministic_policy_has_no_divergence() -> None:
    log, policy = make_vectors()
    old = MLPPolicy.init(jax.random.key(0), policy.signature, head="deterministic", hidden=(8,))

    def trace(weight: float) -> Any:
        config = make_config({"states": "log", "kl_weight": weight})
        rows, problem, state = set_up(config, log, old, by_sign(0.0))
        return eqx.filter_eval_shape(step, problem, rows, jax.random.key(0), state)

    after, _ = trace(0.0)
    assert after.policy.network.weights[0].shape == (2, 8)
    with pytest.raises(InputError, match=r"kl_weight.*Deterministic.*set it to 0"):
        trace(0.1)
