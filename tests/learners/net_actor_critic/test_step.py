"""One step of Net Actor-Critic: pure, the right gradient, the cost in it, one code for all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.costs import WeightedStates
from nacre.errors import InputError
from nacre.learners import LearnerConfig, OccupancyConfig
from nacre.learners.net_actor_critic.objective import (
    SwitchingProblem,
    actor_objective,
    combine_objective,
    net_estimate,
    objective_terms,
)
from nacre.learners.net_actor_critic.step import (
    Info,
    State,
    init_state,
    is_believable,
    learn_epoch,
    step,
)
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy
from nacre.training.critics import Critics
from tests.support.learners import (
    by_sign,
    make_config,
    make_finite,
    make_vectors,
    set_up,
    singletons,
)

KINDS = ("discrete", "vectors")
EVERYTHING = {
    "states": "mixture",
    "start_share": 0.3,
    "discounted_states": True,
    "behaviour_weight": 0.1,
    "sampling": "quasi",
}
compiled_step = eqx.filter_jit(step)
compiled_terms = eqx.filter_jit(objective_terms)


def make(
    kind: str, config: LearnerConfig, *, weight: float = 0.5
) -> tuple[SwitchingProblem, State]:
    """A problem of this kind whose learning starts away from the old policy."""
    if kind == "discrete":
        finite = make_finite(3)
        return set_up(config, finite.log, finite.policy, singletons(weight), move(finite.policy))
    log, policy = make_vectors(3)
    return set_up(config, log, policy, by_sign(weight), move(policy))


# Arrays are changed by NumPy where it can be done: every operation of JAX outside a compiled
# function is compiled on its own.
def change(tree: Any, into: Callable[[np.ndarray], np.ndarray]) -> Any:
    """A tree with other floating-point arrays."""
    return jax.tree.map(
        lambda leaf: jnp.asarray(into(np.asarray(leaf))) if eqx.is_inexact_array(leaf) else leaf,
        tree,
    )


def move(policy: Policy, size: float = 0.3) -> Policy:
    """Another policy of the same form."""
    rng = np.random.default_rng(11)
    moved: Policy = change(
        policy, lambda leaf: leaf + (size * rng.normal(size=leaf.shape)).astype(leaf.dtype)
    )
    return moved


def in_double(tree: Any) -> Any:
    return change(tree, lambda leaf: leaf.astype(np.float64))


def leaves_of(tree: Any) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_array))]


def same_bits(mine: Any, theirs: Any) -> bool:
    return all(map(np.array_equal, leaves_of(mine), leaves_of(theirs)))


THREE_STEPS = make_config(steps_per_epoch=3)


def test_compiled_equals_eager_and_the_same_key_gives_the_same_bits() -> None:
    config = THREE_STEPS
    problem, state = make("discrete", config)
    before = leaves_of((problem, state))
    eager = step(config, problem, jax.random.key(0), state)
    first = compiled_step(config, problem, jax.random.key(0), state)
    again = compiled_step(config, problem, jax.random.key(0), state)
    other = compiled_step(config, problem, jax.random.key(1), state)
    for mine, theirs in zip(leaves_of(first), leaves_of(eager), strict=True):
        # Adam divides by the root of the second moment, which makes roundings of tiny gradients
        # visible: up to a hundredth of a step of 0.02.
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-4)
    assert same_bits(first, again)
    assert not same_bits(first[0].critics, other[0].critics)
    assert not same_bits(first[0].policy, state.policy)
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves_of(first))
    assert all(map(np.array_equal, before, leaves_of((problem, state))))


def test_an_epoch_is_its_steps_and_reports_their_averages() -> None:
    config = THREE_STEPS
    problem, state = make("discrete", config)
    after, info, count, ok = learn_epoch(
        config, problem, state, jax.random.key(5), jnp.asarray(1e3)
    )
    infos = []
    for i in range(3):
        key = jax.random.fold_in(jax.random.key(5), i)
        state, one = compiled_step(config, problem, key, state)
        infos.append(one)
    assert (int(count), bool(ok)) == (3, True)
    for mine, theirs in zip(leaves_of(after.policy), leaves_of(state.policy), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-4)
    for name in vars(info):
        mean = np.mean([float(getattr(one, name)) for one in infos])
        np.testing.assert_allclose(float(getattr(info, name)), mean, rtol=1e-4, atol=1e-5)


def test_the_average_follows_the_weights() -> None:
    config = make_config({"averaging": 0.75}, steps_per_epoch=3)
    problem, state = make("discrete", config)
    assert same_bits(state.outcome, state.policy)
    key = jax.random.key(0)
    after, _ = compiled_step(config, problem, key, state)
    without = dataclasses.replace(state, average=None)
    plain, _ = compiled_step(THREE_STEPS, problem, key, without)
    # Learning itself does not see the average.
    assert same_bits(after.policy, plain.policy)
    assert plain.outcome is plain.policy
    for mean, old, new in zip(
        *(leaves_of(one) for one in (after.outcome, state.policy, after.policy)), strict=True
    ):
        np.testing.assert_allclose(mean, 0.75 * old + 0.25 * new, rtol=1e-5, atol=1e-6)


def test_an_epoch_ends_with_the_first_step_that_is_not_believable() -> None:
    config = THREE_STEPS
    problem, state = make("discrete", config)
    *_, count, ok = learn_epoch(config, problem, state, jax.random.key(5), jnp.asarray(1e-6))
    assert (int(count), bool(ok)) == (1, False)


def test_the_end_of_an_epoch_reads_the_start_and_looks_at_the_last_update() -> None:
    config = make_config(
        {"states": "log", "discounted_states": True},
        form="net",
        steps_per_epoch=1,
        occupancy=OccupancyConfig(hidden=(), learning_rate=0.05),
    )
    problem, state = make("discrete", config)
    run = (jax.random.key(0), jnp.asarray(1e3))
    after, info, _, ok = learn_epoch(config, problem, state, *run)
    lowest = np.asarray(after.critics.online(problem.start)).min(axis=0)[0]
    value = float(np.asarray(after.policy.table)[int(problem.start[0])] @ lowest)
    assert bool(ok)
    np.testing.assert_allclose(info.value, value, rtol=1e-4)
    np.testing.assert_allclose(info.net_value, value, rtol=1e-4)  # the cost is in net critics
    # The visits are learned along.
    assert state.occupancy is not None
    assert after.occupancy is not None
    before, learned = (s.occupancy.online(jnp.arange(4)) for s in (state, after))
    np.testing.assert_array_equal(before, np.ones(4))
    assert np.any(np.asarray(learned) != 1.0)

    # Adam's memory makes the next update overflow; the step's own numbers are from before it.
    loud = change(state.optimizer[0].mu, lambda leaf: np.full_like(leaf, 1e38))
    broken = eqx.tree_at(lambda s: s.optimizer[0].mu, state, loud)
    after, info, count, ok = learn_epoch(config, problem, broken, *run)
    assert np.isfinite(float(info.critic_loss))
    assert np.isfinite(float(info.actor_gradient_norm))
    assert not np.all(np.isfinite(after.policy.logits))
    assert (int(count), bool(ok)) == (1, False)


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


@pytest.mark.parametrize("kind", KINDS)
def test_the_actors_gradient_agrees_with_finite_differences_and_ignores_constants(
    kind: str,
) -> None:
    """All terms of the objective at once, in float64 and with fixed noise."""
    config = make_config(EVERYTHING)
    pieces = make(kind, config)
    with jax.enable_x64(True):
        problem, state = in_double(pieces)
        rows = jax.tree.map(lambda column: jnp.asarray(column[:16]), problem.transitions.rows)
        policy, critics = state.policy, state.critics.online

        def price(policy: Policy) -> jax.Array:
            return problem.cost.at(problem.old_policy, policy, rows.observations, jax.random.key(0))

        @eqx.filter_jit
        @eqx.filter_value_and_grad
        def evaluate(policy: Policy, critics: Critics) -> jax.Array:
            return actor_objective(
                config, problem, policy, critics, rows, price, jax.random.key(7)
            )[0]

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
        _, net_slopes = evaluate(policy, shift(critics, 0.7))
        for mine, theirs in zip(leaves_of(slopes), leaves_of(net_slopes), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11)
        assert max(np.abs(leaf).max() for leaf in leaves_of(slopes)) > 1e-3


def go(policy: Policy, direction: Policy, size: float) -> Policy:
    steps = iter(leaves_of(direction))
    gone: Policy = change(policy, lambda leaf: leaf + size * next(steps))
    return gone


def shift(critics: Critics, amount: jax.Array | float) -> Critics:
    """Critics that say this much less everywhere."""
    lower = jnp.asarray(np.asarray(critics.biases[-1]) - np.asarray(amount))
    return eqx.tree_at(lambda c: c.biases[-1], critics, lower)


def test_net_critics_stay_the_cost_below_the_others_step_by_step() -> None:
    """In float64, terminated rows included; the policy hardly moves, so C is a constant."""
    finite = make_finite(3)
    assert finite.log.terminated.any()
    cost = dataclasses.replace(singletons(10.0), state_measure=WeightedStates([2]))
    apart = make_config({"learning_rate": 1e-14})
    net = dataclasses.replace(apart, form="net")
    pieces = set_up(apart, finite.log, finite.policy, cost, move(finite.policy))
    with jax.enable_x64(True):
        problem, state = in_double(pieces)
        price = cost.at(problem.old_policy, state.policy, jnp.asarray([2]), jax.random.key(0))
        assert float(price) > 0.1
        lower = shift(state.critics.online, price)
        below = init_state(net, state.policy, lower, jax.random.key(0))
        for i in range(20):
            state, info = compiled_step(apart, problem, jax.random.key(i), state)
            below, net_info = compiled_step(net, problem, jax.random.key(i), below)
            np.testing.assert_allclose(info.net_value, net_info.net_value, atol=1e-8)
            np.testing.assert_allclose(info.value - price, net_info.value, atol=1e-8)
        for mine, theirs in (
            (state.critics.online, below.critics.online),
            (state.critics.target, below.critics.target),
        ):
            states = jnp.arange(4)
            np.testing.assert_allclose(mine(states) - price, theirs(states), atol=1e-8)


def silence(state: State, config: LearnerConfig) -> State:
    """The state with critics that say zero everywhere."""
    critics = change(state.critics.online, np.zeros_like)
    critics = eqx.tree_at(lambda c: c.spread, critics, state.critics.online.spread)
    return init_state(config, state.policy, critics, jax.random.key(0))


def forget_rewards(problem: SwitchingProblem) -> SwitchingProblem:
    rewards = jnp.asarray(np.zeros(len(problem.transitions), np.float32))
    return eqx.tree_at(lambda p: p.transitions.rows.rewards, problem, rewards)


def test_with_nothing_to_gain_the_cost_brings_the_policy_back() -> None:
    config = make_config({"learning_rate": 0.01}, n_cost_states=64)
    problem, state = make("discrete", config, weight=2.0)
    problem, after = forget_rewards(problem), silence(state, config)
    for i in range(150):
        after, info = compiled_step(config, problem, jax.random.key(i), after)
        assert float(info.critic_loss) == 0.0
    old = np.asarray(problem.old_policy.table)
    ahead, behind = (np.abs(np.asarray(s.policy.table) - old).sum() for s in (state, after))
    assert behind < 0.2 * ahead


@pytest.mark.parametrize(("weight", "behaviour"), [(2.0, 0.0), (0.0, 1.0)])
@pytest.mark.parametrize("kind", KINDS)
def test_cost_and_behaviour_weight_both_pull_towards_the_old_policy(
    kind: str, weight: float, behaviour: float
) -> None:
    """Plain ascent of the objective with critics that say nothing."""
    config = make_config({"states": "log", "behaviour_weight": behaviour})
    problem, state = make(kind, config, weight=weight)
    critics = silence(state, config).critics.online
    rows = jax.tree.map(lambda column: jnp.asarray(column[:64]), problem.transitions.rows)

    @eqx.filter_jit
    @eqx.filter_value_and_grad(has_aux=True)
    def evaluate(policy: Policy) -> Any:
        def price(policy: Policy) -> jax.Array:
            return problem.cost.at(problem.old_policy, policy, rows.observations, jax.random.key(0))

        return actor_objective(config, problem, policy, critics, rows, price, jax.random.key(7))

    policy, distances = state.policy, []
    for _ in range(200):
        (_, (_, cost, divergence)), slopes = evaluate(policy)
        distances.append(float(cost if weight else divergence))
        policy = go(policy, slopes, 0.1)
    assert distances[0] > 0
    assert distances[-1] < 0.5 * distances[0]


def test_terms_of_the_objective_by_hand() -> None:
    config = make_config(EVERYTHING)
    problem, state = make("discrete", config)
    batch = problem.transitions.take(jnp.arange(5))
    value, gain, divergence = compiled_terms(
        config, problem, state.policy, state.critics.online, batch, jax.random.key(0)
    )
    lowest = np.asarray(state.critics.online(jnp.arange(4))).min(axis=0)
    table, old = np.asarray(state.policy.table), np.asarray(problem.old_policy.table)
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
        ({"states": "start", "behaviour_weight": 1.0}, (True, False, True)),
    ],
)
def test_terms_that_are_not_asked_for_are_zero(
    actor: dict[str, Any], asked: tuple[bool, bool, bool]
) -> None:
    config = make_config(actor)
    problem, state = make("discrete", config)
    batch = problem.transitions.take(jnp.arange(5))
    terms = compiled_terms(
        config, problem, state.policy, state.critics.online, batch, jax.random.key(0)
    )
    assert tuple(float(term) != 0.0 for term in terms) == asked


def test_few_of_many_start_states_are_drawn_and_all_of_few_are_used() -> None:
    config = make_config({"n_start_states": 3})
    problem, state = make("discrete", config)
    batch = problem.transitions.take(jnp.arange(5))

    def count_values(starts: list[int]) -> int:
        started = eqx.tree_at(lambda p: p.start, problem, jnp.asarray(starts))
        critics = state.critics.online
        terms = [
            compiled_terms(config, started, state.policy, critics, batch, jax.random.key(i))
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
            config = make_config(
                {"states": states, "start_share": 0.25, "behaviour_weight": weight}
            )
            found = combine_objective(
                config, value, gain, divergence, cost, length, spread, jnp.asarray(weight)
            )
            np.testing.assert_allclose(found, objective - weight * 2.0 * 0.5, rtol=1e-6)


def test_net_values_subtract_the_cost_once() -> None:
    value, cost = jnp.asarray(5.0), jnp.asarray(3.0)
    assert float(net_estimate(make_config(), value, cost)) == 2.0
    assert float(net_estimate(make_config(form="net"), value, cost)) == 5.0


def test_a_deterministic_policy_has_no_divergence() -> None:
    log, policy = make_vectors()
    old = MLPPolicy.init(jax.random.key(0), policy.signature, head="deterministic", hidden=(8,))

    def trace(weight: float) -> Any:
        config = make_config({"states": "log", "behaviour_weight": weight})
        problem, state = set_up(config, log, old, by_sign(0.0))
        return eqx.filter_eval_shape(step, config, problem, jax.random.key(0), state)

    after, _ = trace(0.0)
    assert after.policy.network.weights[0].shape == (2, 8)
    with pytest.raises(InputError, match=r"behaviour_weight.*Deterministic.*set it to 0"):
        trace(0.1)
