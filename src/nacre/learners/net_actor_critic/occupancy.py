"""How much more often the new policy visits a state than the log does.

The discounted value of a policy counts its own states, a log holds the old policy's. Because the
old policy is known, the ratio w(s) = d_π(s) / d_log(s) can be learned by walking along the log:
whoever arrives at s' from s with action a brings the weight of s, corrected by how much more
likely the new policy is to act so,

    w(s') = E[w(s) π(a|s) / π_o(a|s) | s'],    w = 1 at the start,

a temporal-difference equation that runs forward in time (Hallak and Mannor, 2017). Both visits
are discounted, so rows have to weigh γ^t, and both begin where the log's episodes begin.
"""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.errors import InputError, check_arguments
from nacre.policies.networks import MLP, Scaling, check_hidden
from nacre.policies.optimisers import check_adam, clipped_adam, init_memory
from nacre.policies.policy import Policy, Signature
from nacre.training.batches import Batch, Rows


@check_arguments
@dataclass(frozen=True)
class OccupancyConfig:
    """How the ratio is learned.

    Args:
        hidden: Hidden layers; none makes a table for discrete observations.
        learning_rate: Adam's.
        polyak: The share that the target network keeps at each step.
        largest_ratio: Action ratios π/π_o are cut here: a bias that keeps the variance finite.
    """

    hidden: tuple[int, ...] = (64, 64)
    learning_rate: float = 3e-4
    polyak: float = 0.99
    largest_ratio: float = 10.0

    def __post_init__(self) -> None:
        problems = check_hidden("occupancy.hidden", self.hidden)
        problems += check_adam("occupancy", self.learning_rate)
        if not 0.0 <= self.polyak < 1.0:
            problems.append(f"occupancy.polyak = {self.polyak}: must lie in [0, 1)")
        if not self.largest_ratio >= 1.0:
            problems.append(f"occupancy.largest_ratio = {self.largest_ratio}: at least 1 is needed")
        if problems:
            raise InputError(problems)


class Ratio(eqx.Module):
    """w(s): a positive function of the state, 1 everywhere before it has learned anything."""

    network: MLP
    scaling: Scaling | None
    signature: Signature = eqx.field(static=True)

    def __call__(self, observations: Array) -> Float[Array, " rows"]:
        """The ratio at rows of states."""
        if not self.signature.observation_space.shape:
            encoded = jax.nn.one_hot(observations, self.signature.observation_size)
        else:
            encoded = observations if self.scaling is None else self.scaling(observations)
        return jax.nn.softplus(self.network(encoded)[..., 0]) / jnp.log(2.0)


class OccupancyState(eqx.Module):
    """The ratio in training."""

    online: Ratio
    target: Ratio
    optimizer: optax.OptState


def init_occupancy(
    config: OccupancyConfig, key: PRNGKeyArray, signature: Signature, scaling: Scaling | None
) -> OccupancyState:
    """A ratio of exactly one everywhere: the last layer starts at zero."""
    network = MLP.init(key, (signature.observation_size, *config.hidden, 1))
    last = (jnp.zeros_like(network.weights[-1]), jnp.zeros_like(network.biases[-1]))
    network = eqx.tree_at(lambda n: (n.weights[-1], n.biases[-1]), network, last)
    ratio = Ratio(network, scaling, signature)
    memory = init_memory(_optimizer(config), eqx.filter(ratio, eqx.is_array))
    return OccupancyState(ratio, ratio, memory)


def occupancy_loss(
    ratio: Ratio,
    target: Ratio,
    action_ratios: Float[Array, " rows"],
    batch: Batch,
    starts: Array,
    discount: float,
    length: Float[Array, ""],
) -> Float[Array, ""]:
    """Squared error of w at the starts (1) and at the next states of the batch.

    Args:
        ratio: The ratio to be fitted.
        target: A slower copy of it.
        action_ratios: π(a|s) / π_o(a|s) of the batch.
        batch: Rows, weighing γ^t over their mean.
        starts: First states of episodes.
        discount: γ.
        length: Mean discounted length of an episode: how many steps there are to each start.
    """
    arriving = jax.lax.stop_gradient(action_ratios * target(batch.observations))
    errors = (ratio(batch.next_observations) - arriving) ** 2
    walked = jnp.mean(batch.weights * (1.0 - batch.terminated) * errors)
    begun = jnp.mean((ratio(starts) - 1.0) ** 2)
    return begun / length + discount * walked


def step_occupancy(
    config: OccupancyConfig,
    state: OccupancyState,
    rows: Rows,
    batch: Batch,
    policy: Policy,
    old_policy: Policy,
    discount: float,
    key: PRNGKeyArray,
) -> OccupancyState:
    """One gradient step for the ratio."""
    ahead = policy(batch.observations).log_prob(batch.actions)
    behind = old_policy(batch.observations).log_prob(batch.actions)
    action_ratios = jnp.exp(jnp.minimum(ahead - behind, jnp.log(config.largest_ratio)))
    starts = rows.sample_starts(key, batch.rewards.shape[0])
    gradient = eqx.filter_grad(occupancy_loss)(
        state.online,
        state.target,
        action_ratios,
        batch,
        starts,
        discount,
        rows.discounted_length,
    )
    updates, memory = _optimizer(config).update(gradient, state.optimizer)
    online = eqx.apply_updates(state.online, updates)
    target = optax.incremental_update(
        eqx.filter(online, eqx.is_array),
        eqx.filter(state.target, eqx.is_array),
        1.0 - config.polyak,
    )
    return OccupancyState(online, eqx.combine(target, state.target), memory)


def _optimizer(config: OccupancyConfig) -> optax.GradientTransformation:
    return clipped_adam(config.learning_rate, None)
