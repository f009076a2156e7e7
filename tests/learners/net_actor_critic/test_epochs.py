"""Epochs of learning: averages of their steps, the value at their end, break-downs."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from nacre.learners import OccupancyConfig
from nacre.learners.net_actor_critic.epochs import LearningEpoch
from nacre.learners.net_actor_critic.occupancy import OccupancyState
from nacre.learners.net_actor_critic.problem import SwitchingProblem
from nacre.learners.net_actor_critic.step import Info, State, step
from nacre.learners.net_actor_critic.stopping import StoppingRule
from nacre.policies.tabular import TabularPolicy
from nacre.training.loop import Outcome, run_once
from nacre.training.transitions import Transitions
from tests.support.learners import (
    change,
    leaves_of,
    make_config,
    set_up_away,
)
from tests.support.policies import expect

THREE_STEPS = make_config(steps_per_epoch=3)


def learn_epoch(
    rows: Transitions, problem: SwitchingProblem, state: State, seed: int, largest: float
) -> Outcome[State, Info]:
    program = LearningEpoch(problem, jnp.asarray(largest))
    n_steps = problem.config.steps_per_epoch
    return run_once(program, rows, n_steps, state, jax.random.key(seed))


def test_an_epoch_is_its_steps_and_reports_their_averages() -> None:
    config = THREE_STEPS
    rows, problem, state = set_up_away("discrete", config)
    after, info, count, ok = learn_epoch(rows, problem, state, 5, 1e3)
    infos, compiled_step = [], eqx.filter_jit(step)
    for i in range(3):
        key = jax.random.fold_in(jax.random.key(5), i)
        state, one = compiled_step(problem, rows, key, state)
        infos.append(one)
    assert (int(count), bool(ok)) == (3, True)
    for mine, theirs in zip(leaves_of(after.policy), leaves_of(state.policy), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)
    for name in vars(info):
        mean = np.mean([float(getattr(one, name)) for one in infos])
        np.testing.assert_allclose(float(getattr(info, name)), mean, rtol=1e-4, atol=1e-5)


def test_an_epoch_ends_with_the_first_step_that_is_not_believable() -> None:
    config = THREE_STEPS
    rows, problem, state = set_up_away("discrete", config)
    *_, count, ok = learn_epoch(rows, problem, state, 5, 1e-6)
    assert (int(count), bool(ok)) == (1, False)


def test_the_end_of_an_epoch_reads_the_start_and_looks_at_the_last_update() -> None:
    config = make_config(
        {"states": "log", "discounted_states": True},
        form="net",
        steps_per_epoch=1,
        occupancy=OccupancyConfig(hidden=(), learning_rate=0.05),
    )
    rows, problem, state = set_up_away("discrete", config)
    after, info, _, ok = learn_epoch(rows, problem, state, 0, 1e3)
    lowest = np.asarray(after.critics.online(problem.start)).min(axis=0)[0]
    value = float(
        np.asarray(expect(TabularPolicy, after.policy).table)[int(problem.start[0])] @ lowest
    )
    assert bool(ok)
    np.testing.assert_allclose(info.value, value, rtol=1e-4)
    np.testing.assert_allclose(info.net_value, value, rtol=1e-4)  # the cost is in net critics
    # The visits are learned along.
    before, learned = (
        expect(OccupancyState, s.occupancy).online(jnp.arange(4)) for s in (state, after)
    )
    np.testing.assert_array_equal(before, np.ones(4))
    assert np.any(np.asarray(learned) != 1.0)

    # Adam's memory makes the next update overflow; the step's own numbers are from before it.
    loud = change(state.optimizer[0].mu, lambda leaf: np.full_like(leaf, 1e38))
    broken = eqx.tree_at(lambda s: s.optimizer[0].mu, state, loud)
    after, info, count, ok = learn_epoch(rows, problem, broken, 0, 1e3)
    assert np.isfinite(float(info.critic_loss))
    assert np.isfinite(float(info.actor_gradient_norm))
    assert not np.all(np.isfinite(expect(TabularPolicy, after.policy).logits))
    assert (int(count), bool(ok)) == (1, False)


def test_a_rule_that_looks_at_the_last_update_has_the_value_at_the_end() -> None:
    """Discrete actions are summed over: the value is exact, and not the average of the steps."""
    rule = StoppingRule(value="last")
    rows, problem, state = set_up_away("discrete", make_config(steps_per_epoch=3, stopping=rule))
    after, info, *_ = learn_epoch(rows, problem, state, 5, 1e3)
    lowest = np.asarray(after.critics.online(problem.start)).min(axis=0)[0]
    table = np.asarray(expect(TabularPolicy, after.policy).table)
    value = float(table[int(problem.start[0])] @ lowest)
    np.testing.assert_allclose(info.value, value, rtol=1e-4)
    np.testing.assert_allclose(info.net_value, value - float(info.cost), rtol=1e-4)
    plain = make_config(steps_per_epoch=3, stopping=StoppingRule())
    rows, problem, state = set_up_away("discrete", plain)
    _, averaged, *_ = learn_epoch(rows, problem, state, 5, 1e3)
    assert abs(float(averaged.value) - value) > 1e-4
