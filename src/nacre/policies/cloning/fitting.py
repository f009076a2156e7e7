"""Cloning: a network of ours fitted to what another policy says, or did."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray
from scipy import special

from nacre.errors import InputError
from nacre.policies.answers import WIDEST_LOG_STD
from nacre.policies.blackbox import as_batch
from nacre.policies.cloning.rows import Rows
from nacre.policies.distributions import Categorical, Gaussian
from nacre.policies.heads import Head
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import MLP, Activation, Scaling
from nacre.policies.optimisers import falling_adam, init_memory
from nacre.policies.policy import Signature

Loss = Callable[[Float[Array, "rows outputs"], Array], Float[Array, " rows"]]


WATCHED_SHARE = 0.1
LEAST_WATCHED = 10
N_STRETCHES = 20


@dataclass(frozen=True)
class CloneConfig:
    """How a clone is fitted: Adam with a learning rate that falls to zero along a cosine.

    `on_steps` hears how many steps are done, and of how many.
    """

    hidden: tuple[int, ...] = (64, 64)
    activation: Activation = "tanh"
    n_steps: int = 4000
    batch_size: int = 256
    learning_rate: float = 3e-3
    held_out: float = 0.1
    on_steps: Callable[[int, int], None] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.n_steps < 20 or self.batch_size < 1 or not self.learning_rate > 0:
            raise InputError(
                f"{self}: give at least 20 steps, a positive batch size and learning rate"
            )
        if not 0 < self.held_out < 1:
            raise InputError(f"held_out = {self.held_out}: give a share between 0 and 1")

    def as_part(self, before: int, total: int) -> CloneConfig:
        """The same for one fit of several: what is heard counts the steps of all of them."""
        heard = self.on_steps
        if heard is None:
            return self
        return dataclasses.replace(self, on_steps=lambda done, _: heard(before + done, total))


@dataclass(frozen=True)
class CloneMatch:
    """How well a clone says what its model says, at observations that it was not fitted to.

    Attributes:
        n_rows: Observations fitted to.
        n_held_out: Observations compared at.
        divergence: Mean of KL(model ‖ clone) in nats. For a certain action vector half the mean
            squared distance, coordinates in units of their spread.
        largest_difference: Largest difference of a probability: of an action, or of an interval
            (-∞, a] of an action coordinate. For a certain action vector the largest distance of a
            coordinate, in units of its spread.
        agreement: Share of observations at which the actions without noise agree, within a
            hundredth of the spread for action vectors.
    """

    n_rows: int
    n_held_out: int
    divergence: float
    largest_difference: float
    agreement: float

    def as_json(self) -> dict[str, float]:
        """For the record."""
        return dataclasses.asdict(self)


class ParametricPolicy(Protocol):
    """A policy whose distributions can be had as parameters: a black box, a rule."""

    @property
    def signature(self) -> Signature:
        """The spaces between which it acts."""
        ...

    @property
    def head(self) -> Head:
        """The head that makes its outputs a distribution."""
        ...

    def outputs_at(self, observations: np.ndarray) -> np.ndarray:
        """Parameters (n, outputs) of its distributions, in the order of its head."""
        ...


def clone_policy(
    policy: ParametricPolicy,
    observations: np.ndarray,
    key: PRNGKeyArray,
    config: CloneConfig | None = None,
) -> tuple[MLPPolicy, CloneMatch]:
    """Fit a network to a policy's own distributions at given observations.

    Args:
        policy: The policy to clone; asked once at each observation.
        observations: (n, size), or (n,) if discrete.
        key: Key of the initial weights, the batches and the rows held out.
        config: How to fit.

    Returns:
        The clone, which has the same head, and how well it matches.
    """
    rows = as_batch(observations, policy.signature)
    return clone_outputs(policy.head, policy.outputs_at(rows), rows, policy.signature, key, config)


def clone_outputs(
    head: Head,
    outputs: np.ndarray,
    observations: np.ndarray,
    signature: Signature,
    key: PRNGKeyArray,
    config: CloneConfig | None = None,
) -> tuple[MLPPolicy, CloneMatch]:
    """Fit a network to known distributions: rows (n, outputs) that the head reads."""
    config = config or CloneConfig()
    outputs = np.asarray(signature.mask_outputs(jnp.asarray(outputs), jnp.asarray(observations)))
    split_key, fit_key = jax.random.split(key)
    kept, tested = split_rows(len(observations), config.held_out, split_key)
    spread = np.maximum(np.std(outputs[kept], axis=0), 1e-6) if head == "deterministic" else None
    start = init_clone(signature, head, observations[kept], fit_key, config)
    if spread is not None:
        start = scale_last(start, outputs[kept].mean(axis=0), spread)
    loss = _find_loss(head, spread)
    clone = fit(start, observations[kept], outputs[kept], loss, fit_key, config)
    return clone, _compare(head, clone, outputs[tested], observations[tested], len(kept), spread)


def split_rows(n: int, held_out: float, key: PRNGKeyArray) -> tuple[np.ndarray, np.ndarray]:
    """Rows to fit to and rows held out, both at least one."""
    if n < 2:
        raise InputError("cannot clone from fewer than 2 observations; give more")
    order = np.asarray(jax.random.permutation(key, n))
    first = min(max(round(held_out * n), 1), n - 1)
    return np.sort(order[first:]), np.sort(order[:first])


def init_clone(
    signature: Signature,
    head: Head,
    observations: np.ndarray,
    key: PRNGKeyArray,
    config: CloneConfig,
) -> MLPPolicy:
    """A random network for these observations."""
    scaling = Scaling.fit(observations) if observations.ndim == 2 else None
    activations: tuple[Activation, ...] = (*[config.activation] * len(config.hidden), "identity")
    policy = MLPPolicy.init(
        key,
        signature,
        head=head,
        hidden=config.hidden,
        activations=activations,
        scaling=scaling,
    )
    return dataclasses.replace(policy, log_std_bounds=WIDEST_LOG_STD)


def fit(
    policy: MLPPolicy,
    observations: np.ndarray,
    targets: np.ndarray,
    loss: Loss,
    key: PRNGKeyArray,
    config: CloneConfig,
) -> MLPPolicy:
    """Minimise the mean loss of the network's outputs against the targets, in one compiled loop.

    A tenth of the rows only watches: the network at which its loss was lowest is kept, so that few
    rows are not learned by heart.
    """
    split_key, step_key = jax.random.split(key)
    fitted = watched = np.arange(len(observations))
    if len(observations) >= LEAST_WATCHED:
        fitted, watched = split_rows(len(observations), WATCHED_SHARE, split_key)
    rows = tuple(Rows.fill_up(observations[part], targets[part]) for part in (fitted, watched))
    network = _descend(_Task(config, loss, policy, rows[0], rows[1]), step_key)
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(network)):
        raise InputError("cloning diverged; lower learning_rate in CloneConfig")
    return dataclasses.replace(policy, network=network)


class _Task(NamedTuple):
    """What is fitted to what: rows to fit to, and such to watch."""

    config: CloneConfig
    loss: Loss
    policy: MLPPolicy
    fitted: Rows
    watched: Rows


def _descend(task: _Task, key: PRNGKeyArray) -> MLP:
    config, network = task.config, task.policy.network
    optimizer = falling_adam(config.learning_rate, config.n_steps)
    memory = init_memory(optimizer, eqx.filter(network, eqx.is_array))
    length = config.n_steps // N_STRETCHES
    carry = (network, memory, network, jnp.asarray(jnp.inf, jnp.float32))
    for index in range(N_STRETCHES):
        carry = _stretch(task, carry, key, jnp.asarray(index))
        if config.on_steps is not None:
            jax.block_until_ready(carry[-1])
            config.on_steps((index + 1) * length, config.n_steps)
    return carry[2]


@eqx.filter_jit
def _stretch(
    task: _Task,
    carry: tuple[MLP, optax.OptState, MLP, Array],
    key: PRNGKeyArray,
    index: Int[Array, ""],
) -> tuple[MLP, optax.OptState, MLP, Array]:
    """Some steps, and a look: network, optimizer, best network so far, its loss."""
    config, loss, policy, fitted, watched = task
    optimizer = falling_adam(config.learning_rate, config.n_steps)

    def compare(network: MLP, observations: Array, targets: Array) -> Float[Array, " rows"]:
        said = dataclasses.replace(policy, network=network).outputs_at(observations)
        return loss(said, targets)

    def objective(network: MLP, observations: Array, targets: Array) -> Float[Array, ""]:
        return jnp.mean(compare(network, observations, targets))

    def step(carry: tuple[MLP, optax.OptState], key: PRNGKeyArray) -> tuple[Any, None]:
        network, memory = carry
        rows = jax.random.randint(key, (config.batch_size,), 0, fitted.n_rows)
        observations, targets = fitted.observations[rows], fitted.targets[rows]
        gradient = eqx.filter_grad(objective)(network, observations, targets)
        updates, memory = optimizer.update(gradient, memory)
        return (eqx.apply_updates(network, updates), memory), None

    network, memory, best, lowest = carry
    keys = jax.random.split(key, (N_STRETCHES, config.n_steps // N_STRETCHES))[index]
    (network, memory), _ = jax.lax.scan(step, (network, memory), keys)
    seen = jnp.sum(watched.weights * compare(network, watched.observations, watched.targets))
    best = jax.tree.map(lambda new, old: jnp.where(seen < lowest, new, old), network, best)
    return network, memory, best, jnp.minimum(seen, lowest)


def _find_loss(head: Head, spread: np.ndarray | None) -> Loss:
    """KL(model ‖ clone) up to a constant, in terms of the head's outputs."""
    if head == "deterministic":
        assert spread is not None  # noqa: S101 - given with this head
        return _Distance(tuple(spread.tolist()))
    if head.endswith("gaussian"):
        return _gaussian_loss
    return _categorical_loss


@dataclass(frozen=True)
class _Distance:
    """Half the mean squared distance in units of the spread."""

    spread: tuple[float, ...]

    def __call__(self, outputs: Array, targets: Array) -> Array:
        return 0.5 * jnp.mean(((outputs - targets) / jnp.asarray(self.spread)) ** 2, axis=-1)


def _gaussian_loss(outputs: Array, targets: Array) -> Array:
    location, log_std = jnp.split(outputs, 2, axis=-1)
    clone = Gaussian(location, jnp.clip(log_std, *WIDEST_LOG_STD))
    location, log_std = jnp.split(targets, 2, axis=-1)
    return Gaussian(location, log_std).kl(clone)


def _categorical_loss(outputs: Array, targets: Array) -> Array:
    return Categorical(targets).kl(Categorical(outputs))


def scale_last(policy: MLPPolicy, mean: np.ndarray, spread: np.ndarray) -> MLPPolicy:
    """Let the last layer start at the targets' mean and scale."""
    weight = policy.network.weights[-1] * jnp.asarray(spread, jnp.float32)
    network = policy.network.with_last(weight, jnp.asarray(mean, jnp.float32))
    return dataclasses.replace(policy, network=network)


def _compare(
    head: Head,
    clone: MLPPolicy,
    outputs: np.ndarray,
    observations: np.ndarray,
    n_rows: int,
    spread: np.ndarray | None,
) -> CloneMatch:
    said = np.asarray(clone.outputs_at(jnp.asarray(observations)))
    if head == "deterministic":
        assert spread is not None  # noqa: S101 - given with this head
        away = np.abs(said - outputs) / spread
        divergence, largest = 0.5 * np.mean(away**2), np.max(away)
        agree = np.all(away <= 0.01, axis=-1)
    elif head.endswith("gaussian"):
        divergence = np.mean(_gaussian_loss(jnp.asarray(said), jnp.asarray(outputs)))
        largest = _kolmogorov(said, outputs)
        k = outputs.shape[-1] // 2
        scale = np.maximum(np.std(outputs[:, :k], axis=0), np.exp(outputs[:, k:]))
        agree = np.all(np.abs(said[:, :k] - outputs[:, :k]) <= 0.01 * scale, axis=-1)
    else:
        mine, others = Categorical(jnp.asarray(outputs)), Categorical(jnp.asarray(said))
        divergence = np.mean(mine.kl(others))
        largest = np.max(np.abs(mine.probabilities - others.probabilities))
        agree = np.argmax(outputs, axis=-1) == np.argmax(said, axis=-1)
    return CloneMatch(
        n_rows, len(outputs), float(divergence), float(largest), float(np.mean(agree))
    )


def _kolmogorov(said: np.ndarray, outputs: np.ndarray) -> float:
    """Largest difference of two normal distribution functions, on a grid around the first."""
    mean, log_std = np.split(outputs.astype(np.float64), 2, axis=-1)
    other, other_log = np.split(said.astype(np.float64), 2, axis=-1)
    grid = np.linspace(-4.0, 4.0, 33)[:, None, None]
    edges = mean + grid * np.exp(log_std)
    there = (edges - other) / np.exp(np.clip(other_log, *WIDEST_LOG_STD))
    return float(np.max(np.abs(special.ndtr(grid) - special.ndtr(there))))
