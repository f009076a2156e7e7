"""One step of policy evaluation: targets, loss, gradient step, polyak average.

Shared by the evaluation of a fixed policy (Algorithm 2) and the off-policy evaluation inside Net
Actor-Critic (Algorithm 1, lines 3-5 and 7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.errors import InputError
from nacre.policies.networks import Scaling, check_hidden
from nacre.policies.optimisers import check_adam, clipped_adam, init_memory
from nacre.policies.policy import Policy, Signature
from nacre.training.batches import Batch
from nacre.training.critics import Chosen, Critics
from nacre.training.loop import measure_norm
from nacre.training.noise import draw_uniforms

Backup = Literal["min", "mean", "own"]
Form = Literal["apart", "net"]
T = TypeVar("T")


@dataclass(frozen=True)
class CriticConfig:
    """How critics are built and fitted.

    Args:
        n_critics: M, the size of the ensemble.
        hidden: Widths of the hidden layers; none makes the critics linear, i.e. tables for discrete
            observations.
        layer_norm: Normalise the hidden layers.
        scale_observations: Scale observations by the log's mean and spread.
        scale_returns: Shift and scale the outputs by the mean and spread of the log's
            returns-to-go, and divide the loss by that spread squared.
        learning_rate: Adam's.
        max_gradient_norm: Gradients, of all members together, longer than this are shortened to
            it; None for never.
        polyak: ρ_stb, the share that the target networks keep at each step.
        backup: What the target is built from: "min", the minimum over the members (the paper's
            pessimistic backup), "mean", their mean, or "own", each member's own target network.
        n_next_actions: Actions drawn at each next state (action vectors only).
        batch_size: Rows in a mini-batch.
    """

    n_critics: int = 2
    hidden: tuple[int, ...] = (256, 256)
    layer_norm: bool = False
    scale_observations: bool = False
    scale_returns: bool = False
    learning_rate: float = 3e-4
    max_gradient_norm: float | None = None
    polyak: float = 0.995
    backup: Backup = "min"
    n_next_actions: int = 1
    batch_size: int = 256

    def __post_init__(self) -> None:
        problems = []
        for name in ("n_critics", "n_next_actions", "batch_size"):
            if getattr(self, name) < 1:
                problems.append(f"critics.{name} = {getattr(self, name)}: at least 1 is needed")
        if not 0.0 <= self.polyak < 1.0:
            problems.append(f"critics.polyak = {self.polyak}: must lie in [0, 1)")
        problems += check_adam("critics", self.learning_rate, self.max_gradient_norm)
        problems += check_hidden("critics.hidden", self.hidden)
        if self.backup not in ("min", "mean", "own"):
            problems.append(f"critics.backup = {self.backup!r}: known are min, mean, own")
        if problems:
            raise InputError(problems)

    @classmethod
    def normalised(
        cls, n_critics: int, *, hidden: tuple[int, ...], polyak: float, backup: Backup = "min"
    ) -> CriticConfig:
        """Critics that scale all they see and say, and can therefore take large steps."""
        return cls(
            n_critics=n_critics,
            hidden=hidden,
            layer_norm=True,
            scale_observations=True,
            scale_returns=True,
            learning_rate=1e-3,
            polyak=polyak,
            backup=backup,
        )

    def alike(self, other: CriticConfig) -> bool:
        """Whether critics of the other configuration can be gone on with in this one."""
        built = ("n_critics", "hidden", "layer_norm", "scale_observations", "scale_returns")
        return all(getattr(self, name) == getattr(other, name) for name in built)

    def optimizer(self) -> optax.GradientTransformation:
        """Adam, with the gradient's norm clipped where asked for."""
        return clipped_adam(self.learning_rate, self.max_gradient_norm)

    def init(
        self,
        key: PRNGKeyArray,
        signature: Signature,
        *,
        scaling: Scaling | None = None,
        shift: float = 0.0,
        spread: float = 1.0,
    ) -> Critics:
        """A fresh ensemble; scaling, shift and spread are used only where configured."""
        return Critics.init(
            key,
            signature,
            n_critics=self.n_critics,
            hidden=self.hidden,
            layer_norm=self.layer_norm,
            scaling=scaling if self.scale_observations else None,
            shift=shift if self.scale_returns else 0.0,
            spread=spread if self.scale_returns else 1.0,
        )


class CriticState(eqx.Module):
    """An ensemble in training: online and target networks and the optimiser's memory."""

    online: Critics
    target: Critics
    optimizer: optax.OptState

    @classmethod
    def init(cls, config: CriticConfig, critics: Critics) -> CriticState:
        """Targets start as copies of the online networks."""
        memory = init_memory(config.optimizer(), eqx.filter(critics, eqx.is_array))
        return cls(critics, critics, memory)


class CriticInfo(eqx.Module):
    """What one step saw before its update: mean loss over members, mean Q, norm of the gradient.

    The loss is in units of the critics' spread squared, the gradient is that of the sum over
    members before any clipping.
    """

    loss: Float[Array, ""]
    q: Float[Array, ""]
    gradient_norm: Float[Array, ""]


def bootstrap_targets(
    rewards: Float[Array, " rows"],
    terminated: Float[Array, " rows"],
    next_values: Float[Array, "*members rows"],
    discount: float,
    switching_cost: Float[Array, ""] | float = 0.0,
    form: Form = "apart",
) -> Float[Array, "*members rows"]:
    """Regression targets from the values of the next states.

    Apart (Q and C kept apart):  y = r + γ (1 - terminated) V(s').
    Net (equation "comp_tar"):   y = r - (1 - γ) C + γ [(1 - terminated) V_N(s') - terminated C].
    The last term gives the absorbing state the net value -C, so that the C add up to exactly one C
    on every path, terminated or not, and y_net = y_apart - C whenever V_N = V - C.
    """
    if form == "apart":
        return rewards + discount * (1.0 - terminated) * next_values
    bootstrapped = (1.0 - terminated) * next_values - terminated * switching_cost
    return rewards - (1.0 - discount) * switching_cost + discount * bootstrapped


def next_state_values(
    config: CriticConfig,
    target: Critics,
    policy: Policy | None,
    batch: Batch,
    key: PRNGKeyArray,
    combine: Chosen | None = None,
) -> Float[Array, "*members rows"]:
    """V(s') under the policy by the target networks, combined as the configuration says.

    Without a policy, under the one that the batch tells of. `combine`, where given, stands in for
    the configuration's.
    """
    distribution = batch.next_actions if policy is None else policy(batch.next_observations)
    if distribution is None:
        raise InputError("neither a policy nor what it does at the next states; give one of them")
    uniforms = draw_uniforms(
        key, config.n_next_actions, batch.rewards.shape[0], distribution.noise_size
    )
    if combine is None and config.backup != "own":
        combine = config.backup
    return target.expectation(batch.next_observations, distribution, uniforms, combine)


def critic_loss(
    critics: Critics, batch: Batch, targets: Float[Array, "*members rows"]
) -> tuple[Float[Array, ""], tuple[Array, Array]]:
    """Σ over members of the mean squared error (J_{Q_N,i}), in units of the critics' spread."""
    values = critics.values_at(batch.observations, batch.actions)
    errors = (values - targets) / jax.lax.stop_gradient(critics.spread)
    squares = errors**2
    if batch.resampling is not None:
        squares = squares * batch.resampling
    losses = jnp.mean(squares, axis=-1)
    return jnp.sum(losses), (jnp.mean(losses), jnp.mean(values))


def step_critics(
    config: CriticConfig,
    state: CriticState,
    batch: Batch,
    targets: Float[Array, "*members rows"],
) -> tuple[CriticState, CriticInfo]:
    """One gradient step towards the targets, then the polyak average of the target networks."""
    (_, (loss, q)), gradient = eqx.filter_value_and_grad(critic_loss, has_aux=True)(
        state.online, batch, jax.lax.stop_gradient(targets)
    )
    updates, memory = config.optimizer().update(gradient, state.optimizer)
    online = eqx.apply_updates(state.online, updates)
    target = polyak_average(state.target, online, config.polyak)
    return CriticState(online, target, memory), CriticInfo(loss, q, measure_norm(gradient))


def polyak_average(target: T, online: T, polyak: float) -> T:
    """φ' ← ρ φ' + (1 - ρ) φ (Algorithm 1, line 7).

    Written as a step towards φ: what is equal in both, such as the scalings, stays as it is to the
    bit, where a weighted sum would drift by its rounding.
    """
    averaged: T = jax.tree.map(
        lambda slow, fast: slow + (1.0 - polyak) * (fast - slow), target, online
    )
    return averaged
