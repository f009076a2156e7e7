"""Net Actor-Critic (Algorithm 1): one pure step, and an epoch of them in one compiled loop."""

from __future__ import annotations

from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from gymnasium import Space
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from nacre.costs.family import SwitchingCost
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.learners.net_actor_critic.objective import (
    SwitchingProblem,
    actor_objective,
    net_estimate,
    value_at_start,
)
from nacre.learners.net_actor_critic.occupancy import OccupancyState, init_occupancy, step_occupancy
from nacre.policies.optimisers import clipped_adam, init_memory
from nacre.policies.policy import Policy
from nacre.training.backup import (
    CriticState,
    bootstrap_targets,
    next_state_values,
    polyak_average,
    step_critics,
)
from nacre.training.critics import Critics
from nacre.training.loop import is_finite, measure_norm, run_epoch, within_bounds
from nacre.training.transitions import Batch, Transitions


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
        value = value_at_start(config, problem, state.policy, state.critics.online, read_key)
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


def _actor_optimizer(config: LearnerConfig) -> optax.GradientTransformation:
    return clipped_adam(config.actor.learning_rate, config.actor.max_gradient_norm)
