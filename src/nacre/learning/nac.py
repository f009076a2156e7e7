"""Net Actor-Critic (Algorithm 1): one pure step, and an epoch of them in one compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from gymnasium import Space
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from nacre.costs.family import SwitchingCost
from nacre.errors import InputError
from nacre.evaluation.backup import (
    CriticState,
    bootstrap_targets,
    next_state_values,
    polyak_average,
    step_critics,
)
from nacre.evaluation.critics import Critics
from nacre.evaluation.feeds import Chunk
from nacre.evaluation.loop import is_finite, measure_norm, run_epoch, within_bounds
from nacre.evaluation.noise import draw_uniforms
from nacre.evaluation.transitions import Batch, MappedTransitions, Transitions
from nacre.learning.config import LearnerConfig
from nacre.learning.occupancy import OccupancyState, init_occupancy, step_occupancy
from nacre.policies.distributions import ActionDistribution, Categorical, Gaussian
from nacre.policies.optimisers import clipped_adam, init_memory
from nacre.policies.policy import Policy


class SwitchingProblem(eqx.Module):
    """What is given: the log, the old policy, the price of leaving it, and the start.

    `price_share` of the cost is charged while learning; less than all of it only during a ramp.
    `prices` and `behaviour_weight`, where given, stand in for those of cost and configuration: as
    arrays they do not make the compiled epoch another one.
    """

    transitions: Transitions | Chunk | MappedTransitions
    old_policy: Policy
    start: Float[Array, "starts ..."]
    cost: SwitchingCost = eqx.field(static=True)
    price_share: Float[Array, ""] = eqx.field(default_factory=lambda: jnp.ones(()))
    prices: Float[Array, "2"] | None = None
    behaviour_weight: Float[Array, ""] | None = None


class State(eqx.Module):
    """What is learned: the new policy, the critics, and their optimisers' memories.

    `average` is that of the policy's weights over the last steps, where one is kept.
    """

    policy: Policy
    critics: CriticState
    optimizer: optax.OptState
    occupancy: OccupancyState | None
    average: Policy | None = None

    @property
    def outcome(self) -> Policy:
        """The policy to propose."""
        return self.policy if self.average is None else self.average


class Info(eqx.Module):
    """What one step saw; the epoch reports the averages.

    `value` is what the critics say at the start, `net_value` that minus the cost; critics of the
    net form have the cost in them, there the two are equal. Where the actor does not look at the
    start, `value` is zero here and read off once at the end of the epoch.
    """

    critic_loss: Float[Array, ""]
    q: Float[Array, ""]
    critic_gradient_norm: Float[Array, ""]
    value: Float[Array, ""]
    cost: Float[Array, ""]
    net_value: Float[Array, ""]
    divergence: Float[Array, ""]
    actor_gradient_norm: Float[Array, ""]


def init_state(config: LearnerConfig, policy: Policy, critics: Critics, key: PRNGKeyArray) -> State:
    """The state before the first step.

    Args:
        config: The learner.
        policy: Where learning starts; its arrays must be finite.
        critics: The ensemble.
        key: Key of the occupancy's network, where there is one.
    """
    occupancy = None
    if config.occupancy is not None:
        occupancy = init_occupancy(config.occupancy, key, policy.signature, critics.scaling)
    arrays = eqx.filter(policy, eqx.is_inexact_array)
    memory = init_memory(_actor_optimizer(config), arrays)
    average = None if config.actor.averaging is None else policy
    return State(policy, CriticState.init(config.critics, critics), memory, occupancy, average)


def step(
    config: LearnerConfig, problem: SwitchingProblem, key: PRNGKeyArray, state: State
) -> tuple[State, Info]:
    """One pass through lines 3 to 7 of Algorithm 1."""
    _, next_key, _, action_key, actor_key, start_key = jax.random.split(key, 6)
    space, rows = state.policy.observation_space, cast(Transitions, problem.transitions)
    batch, cost_states = draw_rows(config, problem.cost, space, rows, key)

    def price(policy: Policy) -> Float[Array, ""]:
        full = problem.cost.at(
            problem.old_policy, policy, cost_states, action_key, prices=problem.prices
        )
        return problem.price_share * full

    next_values = next_state_values(
        config.critics, state.critics.target, state.policy, batch, next_key
    )
    current_price = price(state.policy) if config.form == "net" else 0.0
    targets = bootstrap_targets(
        batch.rewards, batch.terminated, next_values, config.discount, current_price, config.form
    )
    critics, critic_info = step_critics(config.critics, state.critics, batch, targets)
    occupancy = state.occupancy
    if config.occupancy is not None and occupancy is not None:
        occupancy = step_occupancy(
            config.occupancy,
            occupancy,
            rows,
            batch,
            state.policy,
            problem.old_policy,
            config.discount,
            start_key,
        )
        visits = jax.lax.stop_gradient(occupancy.online(batch.observations))
        batch = eqx.tree_at(lambda b: b.weights, batch, batch.weights * visits)

    def loss(policy: Policy) -> tuple[Array, tuple[Array, Array, Array]]:
        objective, terms = actor_objective(
            config, problem, policy, critics.online, batch, price, actor_key
        )
        return -objective, terms

    (_, (value, cost, divergence)), gradient = eqx.filter_value_and_grad(loss, has_aux=True)(
        state.policy
    )
    updates, memory = _actor_optimizer(config).update(gradient, state.optimizer)
    policy = eqx.apply_updates(state.policy, updates)
    info = Info(
        critic_info.loss,
        critic_info.q,
        critic_info.gradient_norm,
        value,
        cost,
        net_estimate(config, value, cost),
        divergence,
        measure_norm(gradient),
    )
    average = state.average
    if average is not None and config.actor.averaging is not None:
        average = polyak_average(average, policy, config.actor.averaging)
    return State(policy, critics, memory, occupancy, average), info


def draw_rows(
    config: LearnerConfig, cost: SwitchingCost, space: Space[Any], transitions: Any, key: Array
) -> tuple[Batch, Array]:
    """The mini-batch and the cost states of the step with this key."""
    batch_key, _, state_key, *_ = jax.random.split(key, 6)
    batch = transitions.sample(batch_key, config.critics.batch_size)
    n, observations = config.n_cost_states, transitions.observations
    return batch, cost.state_measure.draw(state_key, n, observations, space)


def actor_objective(
    config: LearnerConfig,
    problem: SwitchingProblem,
    policy: Policy,
    critics: Critics,
    batch: Batch,
    price: Callable[[Policy], Float[Array, ""]],
    key: PRNGKeyArray,
) -> tuple[Float[Array, ""], tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]]:
    """What line 6 of Algorithm 1 ascends, with its value at the start, cost and divergence."""
    cost = price(policy)
    value, gain, divergence = objective_terms(config, problem, policy, critics, batch, key)
    length = problem.transitions.discounted_length
    weight = problem.behaviour_weight
    if weight is None:
        weight = jnp.asarray(config.actor.behaviour_weight, float)
    terms = value, gain, divergence, cost
    objective = combine_objective(config, *terms, length, critics.spread, weight)
    return objective, (value, cost, divergence)


def objective_terms(
    config: LearnerConfig,
    problem: SwitchingProblem,
    policy: Policy,
    critics: Critics,
    batch: Batch,
    key: PRNGKeyArray,
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """Expected Q at the start, expected Q at the log's states, and KL(new ‖ old) there.

    Terms that the configuration does not ask for are zero and cost nothing.
    """
    actor = config.actor
    start_key, noise_key, log_key = jax.random.split(key, 3)
    value = gain = divergence = jnp.zeros(())
    if actor.states != "log":
        rows = problem.start
        if rows.shape[0] > actor.n_start_states:
            rows = rows[jax.random.randint(start_key, (actor.n_start_states,), 0, rows.shape[0])]
        distribution = policy(rows)
        uniforms = draw_uniforms(
            noise_key,
            actor.n_action_samples,
            rows.shape[0],
            distribution.noise_size,
            actor.sampling,
        )
        value = jnp.mean(critics.expectation(rows, distribution, uniforms, actor.combine))
    if actor.states != "start" or actor.behaviour_weight > 0:
        distribution = policy(batch.observations)
    if actor.states != "start":
        uniforms = draw_uniforms(
            log_key,
            actor.n_log_action_samples,
            batch.rewards.shape[0],
            distribution.noise_size,
            actor.sampling,
        )
        expected = critics.expectation(batch.observations, distribution, uniforms, actor.combine)
        gain = jnp.mean(batch.weights * expected)
    if actor.behaviour_weight > 0:
        old = batch.old_actions
        if old is None:
            old = problem.old_policy(batch.observations)
        divergence = jnp.mean(batch.weights * _divergence(distribution, old))
    return value, gain, divergence


def combine_objective(
    config: LearnerConfig,
    value: Float[Array, ""],
    gain: Float[Array, ""],
    divergence: Float[Array, ""],
    cost: Float[Array, ""],
    length: Float[Array, ""],
    spread: Float[Array, ""],
    behaviour_weight: Float[Array, ""],
) -> Float[Array, ""]:
    """What the actor maximises.

    At the start it is the paper's E Q(s₀, a) - C. Critics of the net form have a C in them already,
    but as a constant: only the C subtracted here has a gradient, which is the same in both forms.
    At the log's states it is the policy gradient of
    the net value divided by the mean discounted length of an episode: the gain is earned at every
    step, the cost is paid once, so it counts for a step as cost / length (1 - γ for episodes
    without end). The divergence is measured against Q in units of the critics' spread.
    """
    actor = config.actor
    share = {"start": 1.0, "log": 0.0, "mixture": actor.start_share}[actor.states]
    at_start = value - cost
    at_log = gain - cost / length
    held = behaviour_weight * jax.lax.stop_gradient(spread) * divergence
    return share * at_start + (1.0 - share) * at_log - held


def net_estimate(
    config: LearnerConfig, value: Float[Array, ""], cost: Float[Array, ""]
) -> Float[Array, ""]:
    """Net value from the critics' estimate at the start: net critics have the cost in them."""
    return value if config.form == "net" else value - cost


@eqx.filter_jit
def learn_epoch(
    config: LearnerConfig,
    problem: SwitchingProblem,
    state: State,
    key: PRNGKeyArray,
    largest: Float[Array, ""],
) -> tuple[State, Info, Array, Bool[Array, ""]]:
    """One epoch: `steps_per_epoch` steps, or fewer when one of them is not healthy.

    Returns:
        The state, the averages of the infos, the number of steps done, whether all were healthy.
    """
    dynamic, static = eqx.partition(state, eqx.is_array)

    def advance(key: PRNGKeyArray, dynamic: Any) -> tuple[Any, Info]:
        after, info = step(config, problem, key, eqx.combine(dynamic, static))
        return eqx.filter(after, eqx.is_array), info

    def healthy(info: Info) -> Bool[Array, ""]:
        return is_believable(config, info, largest)

    dynamic, info, count, ok = run_epoch(advance, dynamic, key, config.steps_per_epoch, healthy)
    state = eqx.combine(dynamic, static)
    info, ok = finish_epoch(config, problem, state, info, key, largest, ok)
    return state, info, count, ok


def finish_epoch(
    config: LearnerConfig,
    problem: SwitchingProblem,
    state: State,
    info: Info,
    key: PRNGKeyArray,
    largest: Float[Array, ""],
    ok: Bool[Array, ""],
) -> tuple[Info, Bool[Array, ""]]:
    """What an epoch still has to say after its last step: its value, and whether it is sound."""
    if config.actor.states == "log":
        # No step has this number, so the noise is not that of any of them.
        read_key = jax.random.fold_in(key, config.steps_per_epoch)
        value = _value_at_start(config, problem, state, read_key)
        info = eqx.tree_at(
            lambda i: (i.value, i.net_value), info, (value, net_estimate(config, value, info.cost))
        )
    # The last step's update has had no step after it to show what it did.
    sound = is_finite(eqx.filter(state, eqx.is_array))
    return info, ok & is_believable(config, info, largest) & sound


def is_believable(config: LearnerConfig, info: Info, largest: Float[Array, ""]) -> Bool[Array, ""]:
    """Whether nothing is infinite or has exploded; net critics may be off by the cost."""
    bound = largest + jnp.abs(info.cost) if config.form == "net" else largest
    finite = jnp.isfinite(info.cost + info.divergence + info.actor_gradient_norm)
    return within_bounds(info.critic_loss, info.q, bound) & (jnp.abs(info.value) <= bound) & finite


def _divergence(new: ActionDistribution, old: ActionDistribution) -> Float[Array, " rows"]:
    if isinstance(new, Categorical) and isinstance(old, Categorical):
        return new.kl(old)
    if isinstance(new, Gaussian) and isinstance(old, Gaussian):
        return new.kl(old)
    raise InputError(
        f"actor.behaviour_weight: KL between a {type(new).__name__} and a {type(old).__name__} has "
        "no closed form; set it to 0"
    )


def _value_at_start(
    config: LearnerConfig, problem: SwitchingProblem, state: State, key: PRNGKeyArray
) -> Float[Array, ""]:
    distribution = state.policy(problem.start)
    n = max(1, config.evaluation.n_actions // problem.start.shape[0])
    uniforms = draw_uniforms(key, n, problem.start.shape[0], distribution.noise_size, "quasi")
    return jnp.mean(
        state.critics.online.expectation(
            problem.start, distribution, uniforms, config.actor.combine
        )
    )


def _actor_optimizer(config: LearnerConfig) -> optax.GradientTransformation:
    return clipped_adam(config.actor.learning_rate, config.actor.max_gradient_norm)
