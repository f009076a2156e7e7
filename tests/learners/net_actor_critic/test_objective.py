"""What the actor maximises: terms by hand, the right gradient, the pull of cost and KL."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.learners.net_actor_critic.objective import (
    actor_objective,
    combine_objective,
    net_estimate,
    objective_terms,
)
from nacre.policies.policy import Policy
from nacre.policies.tabular import TabularPolicy
from nacre.training.critics import Critics
from tests.support.learners import (
    change,
    in_double,
    leaves_of,
    make_config,
    set_up_away,
    shift_critics,
    silence,
)
from tests.support.policies import expect

KINDS = ("discrete", "vectors")
EVERYTHING = {
    "states": "mixture",
    "start_share": 0.3,
    "discounted_states": True,
    "kl_weight": 0.1,
    "sampling": "quasi",
}
compiled_terms = eqx.filter_jit(objective_terms)


@pytest.mark.parametrize("kind", KINDS)
def test_the_actors_gradient_agrees_with_finite_differences_and_ignores_constants(
    kind: str,
) -> None:
    """All terms of the objective at once, in float64 and with fixed noise."""
    config = make_config(EVERYTHING)
    pieces = set_up_away(kind, config)
    with jax.enable_x64(True):
        source, problem, state = in_double(pieces)
        rows = jax.tree.map(lambda column: jnp.asarray(column[:16]), source.rows)
        policy, critics = state.policy, state.critics.online

        def price(policy: Policy) -> jax.Array:
            return problem.charge(policy, rows.observations, jax.random.key(0))

        @eqx.filter_jit
        @eqx.filter_value_and_grad
        def evaluate(policy: Policy, critics: Critics) -> jax.Array:
            return actor_objective(problem, policy, critics, rows, price, jax.random.key(7))[0]

        _, slopes = evaluate(policy, critics)
        rng, size = np.random.default_rng(0), 1e-6
        for _ in range(6):
            direction = change(policy, lambda leaf: rng.normal(size=leaf.shape))
            ahead = evaluate(go(policy, direction, size), critics)[0]
            behind = evaluate(go(policy, direction, -size), critics)[0]
            slope = sum(map(np.vdot, leaves_of(slopes), leaves_of(direction)))
            np.testing.assert_allclose(
                slope, float(ahead - behind) / (2 * size), rtol=1e-5, atol=1e-8
            )
        # Critics of the net form differ by the constant C.
        _, net_slopes = evaluate(policy, shift_critics(critics, 0.7))
        for mine, theirs in zip(leaves_of(slopes), leaves_of(net_slopes), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)
        assert max(np.abs(leaf).max() for leaf in leaves_of(slopes)) > 1e-3


def go(policy: Policy, direction: Policy, size: float) -> Policy:
    steps = iter(leaves_of(direction))
    gone: Policy = change(policy, lambda leaf: leaf + size * next(steps))
    return gone


@pytest.mark.parametrize(("weight", "behaviour"), [(2.0, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("kind", KINDS)
def test_cost_and_kl_weight_both_pull_towards_the_old_policy(
    kind: str, weight: float, behaviour: float
) -> None:
    """Plain ascent of the objective with critics that say nothing."""
    config = make_config({"states": "log", "kl_weight": behaviour})
    source, problem, state = set_up_away(kind, config, weight=weight)
    critics = silence(state, config).critics.online
    rows = jax.tree.map(lambda column: jnp.asarray(column[:64]), source.rows)

    @eqx.filter_jit
    @eqx.filter_value_and_grad(has_aux=True)
    def evaluate(policy: Policy) -> Any:
        def price(policy: Policy) -> jax.Array:
            return problem.charge(policy, rows.observations, jax.random.key(0))

        return actor_objective(problem, policy, critics, rows, price, jax.random.key(7))

    policy, distances = state.policy, []
    for _ in range(200):
        (_, (_, cost, divergence)), slopes = evaluate(policy)
        distances.append(float(cost if weight else divergence))
        policy = go(policy, slopes, 0.1)
    assert distances[0] > 0
    assert distances[-1] < 0.5 * distances[0]


def test_terms_of_the_objective_by_hand() -> None:
    config = make_config(EVERYTHING)
    source, problem, state = set_up_away("discrete", config)
    batch = source.take(jnp.arange(5))
    value, gain, divergence = compiled_terms(
        problem, state.policy, state.critics.online, batch, jax.random.key(0)
    )
    lowest = np.asarray(state.critics.online(jnp.arange(4))).min(axis=0)
    table, old = (
        np.asarray(expect(TabularPolicy, policy).table)
        for policy in (state.policy, problem.old_policy)
    )
    expected = (table * lowest).sum(axis=-1)
    kl = (table * np.log(table / old)).sum(axis=-1)
    rows, weights = np.asarray(batch.observations), np.asarray(batch.weights)
    assert weights.std() > 0.01
    np.testing.assert_allclose(value, expected[int(problem.start[0])], rtol=1e-5)
    np.testing.assert_allclose(gain, np.mean(weights * expected[rows]), rtol=1e-5)
    np.testing.assert_allclose(divergence, np.mean(weights * kl[rows]), rtol=1e-4)


@pytest.mark.parametrize(
    ("actor", "asked"),
    [
        ({"states": "start"}, (True, False, False)),
        ({"states": "log"}, (False, True, False)),
        ({"states": "start", "kl_weight": 1.0}, (True, False, True)),
    ],
)
def test_terms_that_are_not_asked_for_are_zero(
    actor: dict[str, Any], asked: tuple[bool, bool, bool]
) -> None:
    config = make_config(actor)
    source, problem, state = set_up_away("discrete", config)
    batch = source.take(jnp.arange(5))
    terms = compiled_terms(problem, state.policy, state.critics.online, batch, jax.random.key(0))
    assert tuple(float(term) != 0.0 for term in terms) == asked


def test_few_of_many_start_states_are_drawn_and_all_of_few_are_used() -> None:
    config = make_config({"n_start_states": 3})
    source, problem, state = set_up_away("discrete", config)
    batch = source.take(jnp.arange(5))

    def count_values(starts: list[int]) -> int:
        started = eqx.tree_at(lambda p: p.start, problem, jnp.asarray(starts))
        critics = state.critics.online
        terms = [
            compiled_terms(started, state.policy, critics, batch, jax.random.key(i))
            for i in range(5)
        ]
        return len({float(value) for value, _, _ in terms})

    assert count_values([0, 1, 3]) == 1
    assert count_values([0, 1, 2, 3]) > 1


def test_what_the_actor_maximises_by_hand() -> None:
    value, gain, divergence, cost, length, spread = map(jnp.asarray, (5.0, 7.0, 0.5, 3.0, 4.0, 2.0))
    expected = {
        "start": 5.0 - 3.0,
        "log": 7.0 - 3.0 / 4.0,
        "mixture": 0.25 * (5.0 - 3.0) + 0.75 * (7.0 - 3.0 / 4.0),
    }
    for states, objective in expected.items():
        for weight in (0.0, 0.1):
            config = make_config({"states": states, "start_share": 0.25, "kl_weight": weight})
            found = combine_objective(
                config, value, gain, divergence, cost, length, spread, jnp.asarray(weight)
            )
            np.testing.assert_allclose(found, objective - weight * 2.0 * 0.5, rtol=1e-6)


def test_net_values_subtract_the_cost_once() -> None:
    value, cost = jnp.asarray(5.0), jnp.asarray(3.0)
    assert float(net_estimate(make_config(), value, cost)) == 2.0
    assert float(net_estimate(make_config(form="net"), value, cost)) == 5.0
