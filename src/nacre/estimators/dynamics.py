"""An ensemble of models of a world with vector states: next state, reward and end of the episode.

Each member is a linear map plus a multilayer perceptron, fitted to episodes drawn with replacement.
The ensemble is one batched pytree; training is one compiled loop that keeps, for each member, what
predicted the held-out episodes best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from gymnasium.spaces import Discrete
from jaxtyping import Array, Float, Int, PRNGKeyArray

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.networks import Scaling, draw_weights

HELD_OUT_ROWS = 2_000
RIDGE = 1e-3


@dataclass(frozen=True)
class DynamicsConfig:
    """How the ensemble is made and fitted.

    Args:
        members: Number of models.
        hidden: Units of each hidden layer.
        batch_size: Rows of a gradient step.
        learning_rate: Of Adam; falls to zero along a cosine.
        epochs: Passes over the log at most.
        most_steps: Gradient steps at most.
        most_rows: Rows at most; a larger log is sampled.
        held_out: Share of episodes that only say when to stop.
        checks: How often the held-out loss is looked at.
        patience: Looks without any improvement after which fitting stops.
    """

    members: int = 5
    hidden: tuple[int, ...] = (64, 64)
    batch_size: int = 256
    learning_rate: float = 1e-3
    epochs: int = 40
    most_steps: int = 6_000
    most_rows: int = 200_000
    held_out: float = 0.1
    checks: int = 20
    patience: int = 4

    def __post_init__(self) -> None:
        problems = [
            f"{name} = {getattr(self, name)}: give at least {least}"
            for name, least in (("members", 2), ("batch_size", 1), ("epochs", 1), ("checks", 1))
            if getattr(self, name) < least
        ]
        if not 0.0 < self.held_out < 1.0:
            problems.append(f"held_out = {self.held_out}: give a share between 0 and 1")
        if problems:
            raise InputError(problems)


class Sample(eqx.Module):
    """Rows of a log, standardised as the ensemble reads and predicts them."""

    inputs: Float[Array, "rows inputs"]
    targets: Float[Array, "rows outputs"]
    ends: Float[Array, " rows"]
    episodes: Int[Array, " rows"]


class Network(eqx.Module):
    """M linear maps plus M perceptrons: Δstate and reward (standardised), logit of the end."""

    skip: Float[Array, "members inputs outputs"]
    weights: tuple[Float[Array, "members inputs outputs"], ...]
    biases: tuple[Float[Array, "members 1 outputs"], ...]

    @classmethod
    def init(cls, key: PRNGKeyArray, members: int, sizes: tuple[int, ...]) -> Network:
        """Hidden layers uniform in ±1/√inputs; the last layer and the linear map start at zero."""
        weights, biases = [], []
        for layer, fan_in, fan_out in zip(
            jax.random.split(key, len(sizes) - 2), sizes, sizes[1:-1], strict=False
        ):
            bound = 1.0 / math.sqrt(fan_in)
            weights.append(draw_weights(layer, (members, fan_in, fan_out), bound))
            biases.append(jnp.zeros((members, 1, fan_out)))
        weights.append(jnp.zeros((members, sizes[-2], sizes[-1])))
        biases.append(jnp.zeros((members, 1, sizes[-1])))
        skip = jnp.zeros((members, sizes[0], sizes[-1]))
        return cls(skip, tuple(weights), tuple(biases))

    def __call__(
        self, inputs: Float[Array, "members rows inputs"]
    ) -> Float[Array, "members rows outputs"]:
        """Raw outputs."""
        x = inputs
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = jnp.einsum("mbi,mio->mbo", x, weight) + bias
            if i < last:
                x = jax.nn.silu(x)
        return x + jnp.einsum("mbi,mio->mbo", inputs, self.skip)


class Dynamics(eqx.Module):
    """A fitted ensemble, in the log's own units.

    Attributes:
        network: The members.
        inputs: Scaling of state and action.
        targets: Scaling of Δstate and reward.
        noise: (M, d) standard deviation of what is left of the held-out next states.
        lowest: (d,) least coordinates in the log, and
        highest: (d,) largest: predicted states are clipped to them.
        rewards: Least and largest reward in the log: predicted ones are clipped to them.
        ends: Whether any episode of the log terminated.
        n_actions: Number of discrete actions, or 0 for action vectors.
    """

    network: Network
    inputs: Scaling
    targets: Scaling
    noise: Float[Array, "members size"]
    lowest: Float[Array, " size"]
    highest: Float[Array, " size"]
    rewards: tuple[float, float] = eqx.field(static=True)
    ends: bool = eqx.field(static=True)
    n_actions: int = eqx.field(static=True)

    @property
    def n_members(self) -> int:
        """M."""
        return int(self.network.skip.shape[0])

    def step(
        self,
        states: Float[Array, "members rows size"],
        actions: Array,
        normals: Float[Array, "rows size"],
    ) -> tuple[Float[Array, "members rows size"], Array, Array]:
        """Next states, rewards (M, N) and probabilities (M, N) that the episode ends here."""
        joined = jnp.concatenate([states, encode_actions(actions, self.n_actions)], axis=-1)
        outputs = self.network(self.inputs(joined))
        predicted = outputs[..., :-1] * self.targets.scale + self.targets.shift
        moved = predicted[..., :-1] + self.noise[:, None] * normals
        ahead = jnp.clip(states + moved, self.lowest, self.highest)
        ending = jax.nn.sigmoid(outputs[..., -1]) if self.ends else jnp.zeros(outputs.shape[:-1])
        return ahead, jnp.clip(predicted[..., -1], *self.rewards), ending


def encode_actions(actions: Array, n_actions: int) -> Array:
    """Action vectors as they are, discrete actions one-hot."""
    return jax.nn.one_hot(actions, n_actions) if n_actions else actions


def fit_dynamics(
    key: PRNGKeyArray, config: DynamicsConfig, log: Log
) -> tuple[Dynamics, dict[str, float]]:
    """Fit an ensemble to a log with vector states.

    Returns:
        The ensemble, and by name the gradient steps done and the share of the held-out variance of
        Δstate and of the reward that the median member leaves unexplained.
    """
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
    sample, scalings, bounds = _read_sample(log, config, rng)
    n_held = min(max(round(config.held_out * log.n_episodes), 1), log.n_episodes - 1)
    held = np.zeros(log.n_episodes, bool)
    held[rng.permutation(log.n_episodes)[:n_held]] = True
    drawn = rng.choice(np.flatnonzero(~held), (config.members, log.n_episodes - n_held))
    counts = np.stack([np.bincount(one, minlength=log.n_episodes) for one in drawn])
    is_held = held[np.asarray(sample.episodes)]
    test = rng.permutation(np.flatnonzero(is_held))[:HELD_OUT_ROWS]
    train = np.flatnonzero(~is_held)
    sizes = (sample.inputs.shape[1], *config.hidden, sample.targets.shape[1] + 1)
    network = Network.init(jax.random.fold_in(key, 1), config.members, sizes)
    # The linear part starts at its least-squares solution: near-linear worlds are nearly done.
    linear = _solve_linear(np.asarray(sample.inputs)[train], np.asarray(sample.targets)[train])
    network = eqx.tree_at(lambda net: net.skip, network, network.skip.at[..., :-1].set(linear))
    n_steps = min(config.epochs * -(-len(train) // config.batch_size), config.most_steps)
    per_check = max(n_steps // config.checks, 1)
    network, checks, left = _train(
        network,
        jax.tree.map(lambda column: column[train], sample),
        jax.tree.map(lambda column: column[test], sample),
        jnp.asarray(counts, jnp.float32),
        jax.random.fold_in(key, 2),
        (config, per_check),
    )
    unexplained = np.median(np.asarray(left), axis=0)
    size = int(log.observations.shape[1])
    space: Any = log.action_space
    dynamics = Dynamics(
        network,
        *scalings,
        noise=jnp.sqrt(left[:, :size]) * scalings[1].scale[:size],
        lowest=bounds[0],
        highest=bounds[1],
        rewards=(float(log.rewards.min()), float(log.rewards.max())),
        ends=bool(np.any(log.terminated)),
        n_actions=int(space.n) if isinstance(space, Discrete) else 0,
    )
    return dynamics, {
        "steps": float(int(checks) * per_check),
        "unexplained_state": float(unexplained[:size].mean()),
        "unexplained_reward": float(unexplained[size]),
    }


def _read_sample(
    log: Log, config: DynamicsConfig, rng: np.random.Generator
) -> tuple[Sample, tuple[Scaling, Scaling], tuple[Array, Array]]:
    """Rows in memory, the scalings of inputs and targets, and the least and largest states."""
    rows = np.arange(len(log))
    if len(log) > config.most_rows:
        rows = np.sort(rng.choice(len(log), config.most_rows, replace=False))
    space: Any = log.action_space
    actions = np.asarray(log.actions[rows])
    if isinstance(space, Discrete):
        actions = np.eye(int(space.n), dtype=np.float32)[actions]
    states = np.asarray(log.observations[rows])
    inputs = np.concatenate([states, actions], axis=1)
    moved = np.asarray(log.next_observations[rows]) - states
    targets = np.concatenate([moved, log.rewards[rows][:, None]], axis=1)
    scalings = Scaling.fit(inputs), Scaling.fit(targets)
    episodes = np.searchsorted(log.offsets, rows, side="right") - 1
    sample = Sample(
        scalings[0](jnp.asarray(inputs)),
        scalings[1](jnp.asarray(targets)),
        jnp.asarray(log.terminated[rows], jnp.float32),
        jnp.asarray(episodes, jnp.int32),
    )
    return sample, scalings, (jnp.asarray(states.min(axis=0)), jnp.asarray(states.max(axis=0)))


def _solve_linear(inputs: np.ndarray, targets: np.ndarray) -> Array:
    square = inputs.T @ inputs + RIDGE * len(inputs) * np.eye(inputs.shape[1])
    return jnp.asarray(np.linalg.solve(square, inputs.T @ targets), jnp.float32)


def _losses(network: Network, rows: Sample) -> Float[Array, "members rows"]:
    """Mean squared error of Δstate, squared error of the reward, and cross-entropy of the end."""
    members = network.skip.shape[0]
    outputs = network(jnp.broadcast_to(rows.inputs, (members, *rows.inputs.shape)))
    squares = (outputs[..., :-1] - rows.targets) ** 2
    ends = optax.sigmoid_binary_cross_entropy(outputs[..., -1], rows.ends)
    losses: Array = jnp.mean(squares[..., :-1], axis=-1) + squares[..., -1] + ends
    return losses


@eqx.filter_jit
def _train(
    network: Network,
    train: Sample,
    test: Sample,
    counts: Float[Array, "members episodes"],
    key: PRNGKeyArray,
    plan: tuple[DynamicsConfig, int],
) -> tuple[Network, Int[Array, ""], Float[Array, "members outputs"]]:
    """The best members by held-out loss, the looks taken, and the held-out squares left by each."""
    config, per_check = plan
    schedule = optax.cosine_decay_schedule(config.learning_rate, per_check * config.checks)
    optimizer = optax.flatten(optax.adam(schedule))

    def loss(network: Network, rows: Sample) -> Float[Array, ""]:
        weights = counts[:, rows.episodes]
        # The sum over members: none of them sees the others' gradients.
        return jnp.sum(jnp.mean(weights * _losses(network, rows), axis=1))

    def advance(i: Array, carry: Any) -> Any:
        network, memory, key = carry
        picked = jax.random.randint(
            jax.random.fold_in(key, i), (config.batch_size,), 0, train.ends.shape[0]
        )
        slopes = jax.grad(loss)(network, jax.tree.map(lambda column: column[picked], train))
        updates, memory = optimizer.update(slopes, memory)
        return optax.apply_updates(network, updates), memory, key

    def look(carry: Any) -> Any:
        network, memory, best, least, n, stale = carry
        network, memory, _ = jax.lax.fori_loop(
            0, per_check, advance, (network, memory, jax.random.fold_in(key, n))
        )
        now = jnp.mean(_losses(network, test), axis=1)
        better = now < least
        best = jax.tree.map(
            lambda new, old: jnp.where(better[:, None, None], new, old), network, best
        )
        stale = jnp.where(jnp.any(better), 0, stale + 1)
        return network, memory, best, jnp.minimum(now, least), n + 1, stale

    first = jnp.mean(_losses(network, test), axis=1)
    state = (network, optimizer.init(network), network, first, jnp.asarray(0), jnp.asarray(0))
    state = jax.lax.while_loop(
        lambda carry: (carry[4] < config.checks) & (carry[5] < config.patience), look, state
    )
    best = state[2]
    outputs = best(jnp.broadcast_to(test.inputs, (counts.shape[0], *test.inputs.shape)))
    return best, state[4], jnp.mean((outputs[..., :-1] - test.targets) ** 2, axis=1)
