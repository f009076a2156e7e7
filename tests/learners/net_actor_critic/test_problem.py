"""What a step is told: the settings' own numbers, in a form that is compiled once for all."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.costs import SwitchingCost
from nacre.learners import LearnerConfig, Plateau
from nacre.learners.net_actor_critic.problem import SwitchingProblem
from tests.support.learners import make_config, make_finite, move, singletons

CONFIG = make_config({"states": "log", "kl_weight": 0.1})


def make(config: LearnerConfig = CONFIG, cost: SwitchingCost | None = None) -> SwitchingProblem:
    finite = make_finite(3)
    cost = cost or singletons(2.0, 0.5)
    return SwitchingProblem.of(config, finite.policy, finite.log.starts[:1], cost, jnp.ones(()))


def static_part(problem: SwitchingProblem) -> object:
    """What selects the compiled program."""
    return jax.tree.structure(eqx.filter(problem, eqx.is_array))


@pytest.mark.parametrize(
    "changes",
    [
        {"epochs": 7, "ramp_epochs": 3, "prefit_steps": 9, "stopping": Plateau()},
        {"n_cost_states_evaluation": 5, "reevaluate": False},
        {"evaluation": dataclasses.replace(CONFIG.evaluation, epochs=9, combine="mean")},
        {"actor": dataclasses.replace(CONFIG.actor, kl_weight=0.3)},
    ],
)
def test_what_a_step_does_not_see_compiles_nothing_anew(changes: dict[str, object]) -> None:
    changed = dataclasses.replace(CONFIG, **changes)  # type: ignore[arg-type]
    assert static_part(make(changed)) == static_part(make())


def test_prices_compile_nothing_anew_and_other_costs_do() -> None:
    assert static_part(make(cost=singletons(7.0, 3.0))) == static_part(make())
    other = dataclasses.replace(singletons(2.0, 0.5), link="positive")
    assert static_part(make(cost=other)) != static_part(make())


@pytest.mark.parametrize(
    "changes",
    [
        {"form": "net"},
        {"discount": 0.5},
        {"n_cost_states": 3},
        {"actor": dataclasses.replace(CONFIG.actor, kl_weight=0.0)},
        {"evaluation": dataclasses.replace(CONFIG.evaluation, n_actions=7)},
    ],
)
def test_what_a_step_sees_is_another_program(changes: dict[str, object]) -> None:
    changed = dataclasses.replace(CONFIG, **changes)  # type: ignore[arg-type]
    assert static_part(make(changed)) != static_part(make())


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_the_share_of_the_cost_is_charged(share: float) -> None:
    """That of the cost with its own prices, to 1e-6."""
    finite, cost = make_finite(3), singletons(2.0, 0.5)
    policy, states, key = move(finite.policy), jnp.arange(4), jax.random.key(0)
    full = float(cost.at(finite.policy, policy, states, key))
    assert full > 0.1
    charged = make(cost=cost).charging(share).charge(policy, states, key)
    np.testing.assert_allclose(charged, share * full, rtol=1e-6)


def test_numbers_are_those_of_the_settings() -> None:
    problem = make()
    np.testing.assert_allclose(problem.prices, [2.0, 0.5])
    np.testing.assert_allclose(problem.kl_weight, 0.1)
    assert float(problem.price_share) == 1.0
