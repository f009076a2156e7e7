"""Soft actor-critic: reward plus entropy, one pure step for action vectors and discrete actions."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from nacre.errors import InputError
from nacre.policies.distributions import ActionDistribution, DiscreteDistribution, Gaussian
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import check_hidden
from nacre.policies.policy import Signature
from nacre.training.backup import CriticConfig, CriticState, bootstrap_targets, step_critics
from nacre.training.batches import Batch
from nacre.training.loop import is_finite
from nacre.training.noise import draw_uniforms


def _default_critics() -> CriticConfig:
    return CriticConfig(
        n_critics=2, layer_norm=True, scale_returns=True, learning_rate=1e-3, batch_size=128
    )


@dataclass(frozen=True)
class OnlineConfig:
    """How a policy is trained in a simulated world.

    Args:
        discount: γ.
        critics: The ensemble, its fitting and its backup. With `scale_returns` its outputs are
            scaled by how far the returns of the first, uniform steps spread.
        hidden: Hidden layers of the policy.
        actor_learning_rate: Adam's, for the policy.
        temperature_learning_rate: Adam's, for the logarithm of the temperature.
        first_temperature: α before the first update, in units of reward.
        entropy_per_coordinate: Entropy that the temperature aims at, for action vectors: nats a
            coordinate when the actions are scaled to [-1, 1].
        entropy_share: The same for discrete actions: share of the entropy of uniform actions.
        uniform_steps: Steps with uniform actions before the first update; the world's own if None.
        epochs: Most epochs after those.
        epoch_steps: Steps of the world in each epoch, over all simulations; ten episodes of full
            length if None.
        round_steps: Steps of the world between two rounds of updates.
        updates_per_step: Updates for each step of the world.
        stop_value: Stop after an epoch with a mean discounted return of at least this.
    """

    discount: float = 0.99
    critics: CriticConfig = field(default_factory=_default_critics)
    hidden: tuple[int, ...] = (256, 256)
    actor_learning_rate: float = 3e-4
    temperature_learning_rate: float = 3e-4
    first_temperature: float = 0.1
    entropy_per_coordinate: float = -1.0
    entropy_share: float = 0.1
    uniform_steps: int | None = None
    epochs: int = 50
    epoch_steps: int | None = None
    round_steps: int = 50
    updates_per_step: float = 0.5
    stop_value: float | None = None

    def __post_init__(self) -> None:
        problems = []
        if not 0.0 <= self.discount < 1.0:
            problems.append(f"discount = {self.discount}: must lie in [0, 1)")
        for name in ("actor_learning_rate", "temperature_learning_rate", "first_temperature"):
            if not 0.0 < getattr(self, name) < math.inf:
                problems.append(f"{name} = {getattr(self, name)}: must be positive")
        for name in ("epochs", "round_steps", "uniform_steps", "epoch_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                problems.append(f"{name} = {value}: at least 1 is needed")
        if not 0.0 < self.updates_per_step < math.inf:
            problems.append(f"updates_per_step = {self.updates_per_step}: must be positive")
        if not 0.0 <= self.entropy_share <= 1.0:
            problems.append(f"entropy_share = {self.entropy_share}: must lie in [0, 1]")
        problems += check_hidden("hidden", self.hidden)
        if problems:
            raise InputError(problems)

    def as_json(self) -> dict[str, Any]:
        """All values as plain data, for records."""
        return dataclasses.asdict(self)


class SoftState(eqx.Module):
    """What is learned: policy, critics, temperature, and their optimisers' memories."""

    policy: MLPPolicy
    critics: CriticState
    log_temperature: Float[Array, ""]
    policy_optimizer: optax.OptState
    temperature_optimizer: optax.OptState


class SoftInfo(eqx.Module):
    """What one step saw; `entropy` is the policy's at the batch's states."""

    critic_loss: Float[Array, ""]
    q: Float[Array, ""]
    entropy: Float[Array, ""]
    temperature: Float[Array, ""]


def init_soft(config: OnlineConfig, key: PRNGKeyArray, signature: Signature) -> SoftState:
    """A random policy and random critics, not yet scaled."""
    policy_key, critic_key = jax.random.split(key)
    policy = MLPPolicy.init(policy_key, signature, hidden=config.hidden)
    log_temperature = jnp.asarray(math.log(config.first_temperature), float)
    return SoftState(
        policy,
        CriticState.init(config.critics, config.critics.init(critic_key, signature)),
        log_temperature,
        optax.adam(config.actor_learning_rate).init(eqx.filter(policy, eqx.is_inexact_array)),
        optax.adam(config.temperature_learning_rate).init(log_temperature),
    )


def scale_critics(config: OnlineConfig, state: SoftState, rewards: np.ndarray) -> SoftState:
    """Let the critics' outputs be of the size that returns have.

    Independent rewards of standard deviation σ have returns of σ / √(1 - γ²); that is the unit.
    """
    spread = float(np.std(rewards, dtype=np.float64)) / math.sqrt(1.0 - config.discount**2)
    if not config.critics.scale_returns or not spread > 0.0:
        return state
    unit = jnp.asarray(spread, float)
    scaled: SoftState = eqx.tree_at(
        lambda s: (s.critics.online.spread, s.critics.target.spread), state, (unit, unit)
    )
    return scaled


def entropy_of(
    distribution: ActionDistribution, uniforms: Float[Array, "n rows noise"]
) -> Float[Array, " rows"]:
    """Entropy at rows of states, in nats.

    Exact for discrete actions. For a squashed normal it is the normal's own, exact, plus the mean
    log slope of the squashing at the actions that the noise turns into, taken before they are
    squashed: from the actions themselves it could not be told near the bounds.
    """
    if isinstance(distribution, DiscreteDistribution):
        probabilities = distribution.probabilities
        logs = jnp.log(jnp.maximum(probabilities, np.finfo(np.float32).tiny))
        return -jnp.sum(probabilities * logs, axis=-1)
    if not isinstance(distribution, Gaussian):
        raise InputError(f"a {type(distribution).__name__} has no entropy; use a Gaussian head")
    latent = Gaussian(distribution.location, distribution.log_std).transform(uniforms)
    normal = jnp.sum(distribution.log_std + 0.5 * math.log(2.0 * math.pi * math.e), axis=-1)
    return normal + jnp.mean(jnp.sum(distribution._log_slope(latent), axis=-1), axis=0)


def target_entropy(config: OnlineConfig, signature: Signature) -> float:
    """The entropy that the temperature aims at."""
    if signature.discrete_actions:
        return config.entropy_share * math.log(signature.action_size)
    low, high = signature.action_limits
    halves = np.subtract(high, low) / 2.0
    return float(np.sum(np.log(halves) + config.entropy_per_coordinate))


def step_soft(
    config: OnlineConfig, batch: Batch, key: PRNGKeyArray, state: SoftState
) -> tuple[SoftState, SoftInfo]:
    """One update of critics, policy and temperature.

    Critics:      y = r + γ (1 - terminated) [min_i Q'_i(s', a') + α H(π(·|s'))].
    Policy:       ascends E_s [E_{a ~ π} min_i Q_i(s, a) + α H(π(·|s))].
    Temperature:  d log α ∝ target entropy - E_s H(π(·|s)).
    """
    next_key, actor_key = jax.random.split(key)
    temperature = jnp.exp(state.log_temperature)
    rows = batch.rewards.shape[0]
    after = state.policy(batch.next_observations)
    noise = draw_uniforms(next_key, config.critics.n_next_actions, rows, after.noise_size)
    combine = None if config.critics.backup == "own" else config.critics.backup
    next_values = state.critics.target.expectation(batch.next_observations, after, noise, combine)
    next_values += temperature * entropy_of(after, noise)
    targets = bootstrap_targets(batch.rewards, batch.terminated, next_values, config.discount)
    critics, critic_info = step_critics(config.critics, state.critics, batch, targets)

    def loss(policy: MLPPolicy) -> tuple[Array, Array]:
        distribution = policy(batch.observations)
        uniforms = draw_uniforms(actor_key, 1, rows, distribution.noise_size)
        values = critics.online.expectation(batch.observations, distribution, uniforms, "min")
        entropy = jnp.mean(entropy_of(distribution, uniforms))
        return -jnp.mean(values) - temperature * entropy, entropy

    (_, entropy), gradient = eqx.filter_value_and_grad(loss, has_aux=True)(state.policy)
    updates, policy_memory = optax.adam(config.actor_learning_rate).update(
        gradient, state.policy_optimizer
    )
    policy: MLPPolicy = eqx.apply_updates(state.policy, updates)
    excess = entropy - target_entropy(config, state.policy.signature)
    update, temperature_memory = optax.adam(config.temperature_learning_rate).update(
        excess, state.temperature_optimizer
    )
    state = SoftState(
        policy, critics, state.log_temperature + update, policy_memory, temperature_memory
    )
    return state, SoftInfo(critic_info.loss, critic_info.q, entropy, temperature)


class Step(Protocol):
    """One update: a pytree, so that a loop over it is compiled once."""

    def __call__(
        self, batch: Batch, key: PRNGKeyArray, state: SoftState
    ) -> tuple[SoftState, SoftInfo]:
        """The state after it, and what it saw."""


class SoftStep(eqx.Module):
    """One update of soft actor-critic."""

    config: OnlineConfig = eqx.field(static=True)

    def __call__(
        self, batch: Batch, key: PRNGKeyArray, state: SoftState
    ) -> tuple[SoftState, SoftInfo]:
        """`step_soft` with this configuration."""
        return step_soft(self.config, batch, key, state)


@eqx.filter_jit
def run_round(
    step: Step, state: SoftState, batches: Batch, key: PRNGKeyArray
) -> tuple[SoftState, SoftInfo, Bool[Array, ""]]:
    """An update for each of several mini-batches, in one compiled loop.

    Returns:
        The state, the averages of the infos, and whether all of it is finite.
    """
    dynamic, static = eqx.partition(state, eqx.is_array)

    def advance(dynamic: Any, inputs: tuple[Batch, PRNGKeyArray]) -> tuple[Any, SoftInfo]:
        batch, step_key = inputs
        after, info = step(batch, step_key, eqx.combine(dynamic, static))
        return eqx.filter(after, eqx.is_array), info

    keys = jax.random.split(key, batches.rewards.shape[0])
    dynamic, infos = jax.lax.scan(advance, dynamic, (batches, keys))
    info: SoftInfo = jax.tree.map(jnp.mean, infos)
    return eqx.combine(dynamic, static), info, is_finite(dynamic) & is_finite(info)
