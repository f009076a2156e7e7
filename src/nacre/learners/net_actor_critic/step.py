"""Net Actor-Critic (Algorithm 1): one pure step."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.learners.net_actor_critic.objective import actor_objective, net_estimate
from nacre.learners.net_actor_critic.occupancy import OccupancyState, init_occupancy, step_occupancy
from nacre.learners.net_actor_critic.problem import SwitchingProblem
from nacre.policies.optimisers import clipped_adam, init_memory
from nacre.policies.policy import Policy
from nacre.training.backup import (
    CriticState,
    bootstrap_targets,
    next_state_values,
    polyak_average,
    step_critics,
)
from nacre.training.batches import Batch, Drawable, Rows
from nacre.training.critics import Critics
from nacre.training.loop import measure_norm, within_bounds


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
    problem: SwitchingProblem, rows: Rows, key: PRNGKeyArray, state: State
) -> tuple[State, Info]:
    """One pass through lines 3 to 7 of Algorithm 1.

    Args:
        problem: What is given.
        rows: The log's rows for this step.
        key: All that is random in the step follows from it.
        state: What is learned so far.
    """
    _, next_key, _, action_key, actor_key, start_key = jax.random.split(key, 6)
    config = problem.config
    batch, cost_states = draw_rows(problem, rows, key)

    def price(policy: Policy) -> Float[Array, ""]:
        return problem.charge(policy, cost_states, action_key)

    next_values = next_state_values(
        config.critics, state.critics.target, state.policy, batch, next_key
    )
    current_price = price(state.policy) if config.form == "net" else 0.0
    targets = bootstrap_targets(
        batch.rewards, batch.terminated, next_values, config.discount, current_price, config.form
    )
    if config.clip_targets:
        targets = jnp.clip(targets, problem.limits[0] - current_price, problem.limits[1])
    critics, critic_info = step_critics(config.critics, state.critics, batch, targets)
    occupancy, batch = _weigh_visits(problem, rows, batch, state, start_key)

    def loss(policy: Policy) -> tuple[Array, tuple[Array, Array, Array]]:
        objective, terms = actor_objective(problem, policy, critics.online, batch, price, actor_key)
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


def _weigh_visits(
    problem: SwitchingProblem, rows: Rows, batch: Batch, state: State, key: PRNGKeyArray
) -> tuple[OccupancyState | None, Batch]:
    """One step of the occupancy, and the batch weighed by it; as they are where there is none."""
    config, occupancy = problem.config, state.occupancy
    if config.occupancy is None or occupancy is None:
        return occupancy, batch
    occupancy = step_occupancy(
        config.occupancy,
        occupancy,
        rows,
        batch,
        state.policy,
        problem.old_policy,
        config.discount,
        key,
    )
    visits = jax.lax.stop_gradient(occupancy.online(batch.observations))
    return occupancy, eqx.tree_at(lambda b: b.weights, batch, batch.weights * visits)


def draw_rows(problem: SwitchingProblem, rows: Drawable, key: PRNGKeyArray) -> tuple[Batch, Array]:
    """The mini-batch and the cost states of the step with this key."""
    batch_key, _, state_key, *_ = jax.random.split(key, 6)
    config, space = problem.config, problem.old_policy.observation_space
    batch = rows.sample(batch_key, config.critics.batch_size)
    measure = problem.cost.state_measure
    return batch, measure.draw(state_key, config.n_cost_states, rows.observations, space)


def is_believable(config: LearnerConfig, info: Info, largest: Float[Array, ""]) -> Bool[Array, ""]:
    """Whether nothing is infinite or has exploded; net critics may be off by the cost."""
    bound = largest + jnp.abs(info.cost) if config.form == "net" else largest
    finite = jnp.isfinite(info.cost + info.divergence + info.actor_gradient_norm)
    return within_bounds(info.critic_loss, info.q, bound) & (jnp.abs(info.value) <= bound) & finite


def _actor_optimizer(config: LearnerConfig) -> optax.GradientTransformation:
    return clipped_adam(config.actor.learning_rate, config.actor.max_gradient_norm)
