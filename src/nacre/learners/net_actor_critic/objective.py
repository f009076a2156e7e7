"""What the actor of Net Actor-Critic maximises."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.errors import InputError
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.learners.net_actor_critic.problem import SwitchingProblem
from nacre.policies.distributions import ActionDistribution, Categorical, Gaussian
from nacre.policies.policy import Policy
from nacre.training.batches import Batch
from nacre.training.critics import Critics
from nacre.training.noise import draw_uniforms


def actor_objective(
    problem: SwitchingProblem,
    policy: Policy,
    critics: Critics,
    batch: Batch,
    price: Callable[[Policy], Float[Array, ""]],
    key: PRNGKeyArray,
) -> tuple[Float[Array, ""], tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]]:
    """What line 6 of Algorithm 1 ascends, with its value at the start, cost and divergence."""
    cost = price(policy)
    value, gain, divergence = objective_terms(problem, policy, critics, batch, key)
    terms, weight = (value, gain, divergence, cost), problem.kl_weight
    objective = combine_objective(problem.config, *terms, problem.length, critics.spread, weight)
    return objective, (value, cost, divergence)


def objective_terms(
    problem: SwitchingProblem,
    policy: Policy,
    critics: Critics,
    batch: Batch,
    key: PRNGKeyArray,
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
    """Expected Q at the start, expected Q at the log's states, and KL(new ‖ old) there.

    Terms that the configuration does not ask for are zero and cost nothing.
    """
    actor = problem.config.actor
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
    if actor.states != "start" or actor.kl_weight > 0:
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
    if actor.kl_weight > 0:
        old = batch.old_actions
        if old is None:
            old = problem.old_policy(batch.observations)
        divergence = jnp.mean(batch.weights * measure_divergence(distribution, old))
    return value, gain, divergence


def combine_objective(
    config: LearnerConfig,
    value: Float[Array, ""],
    gain: Float[Array, ""],
    divergence: Float[Array, ""],
    cost: Float[Array, ""],
    length: Float[Array, ""],
    spread: Float[Array, ""],
    kl_weight: Float[Array, ""],
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
    held = kl_weight * jax.lax.stop_gradient(spread) * divergence
    return share * at_start + (1.0 - share) * at_log - held


def net_estimate(
    config: LearnerConfig, value: Float[Array, ""], cost: Float[Array, ""]
) -> Float[Array, ""]:
    """Net value from the critics' estimate at the start: net critics have the cost in them."""
    return value if config.form == "net" else value - cost


def value_at_start(
    problem: SwitchingProblem,
    policy: Policy,
    critics: Critics,
    key: PRNGKeyArray,
) -> Float[Array, ""]:
    """What the critics say of a policy at the start, by many actions."""
    distribution = policy(problem.start)
    config = problem.config
    n = max(1, config.evaluation.n_actions // problem.start.shape[0])
    uniforms = draw_uniforms(key, n, problem.start.shape[0], distribution.noise_size, "quasi")
    return jnp.mean(
        critics.expectation(problem.start, distribution, uniforms, config.actor.combine)
    )


def measure_divergence(new: ActionDistribution, old: ActionDistribution) -> Float[Array, " rows"]:
    """KL(new ‖ old) at each row."""
    if isinstance(new, Categorical) and isinstance(old, Categorical):
        return new.kl(old)
    if isinstance(new, Gaussian) and isinstance(old, Gaussian):
        return new.kl(old)
    raise InputError(
        f"actor.kl_weight: KL between a {type(new).__name__} and a {type(old).__name__} has "
        "no closed form; set it to 0"
    )
