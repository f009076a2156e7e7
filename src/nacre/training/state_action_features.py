"""Features of a state with an action: fixed functions that critics are linear in.

For vectors a constant, the scaled coordinates, their products, and random tanh units of many
widths; for discrete actions the same features of the state, once for each action. Critics that are
linear in them are found by solving equations instead of by gradient descent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from nacre.logs import Log
from nacre.policies.distributions import ActionDistribution
from nacre.policies.mixture import MixturePolicy
from nacre.policies.policy import Policy, Signature, ask
from nacre.policies.sizes import round_up
from nacre.training.noise import lattice_points

Features = NDArray[np.float32]
N_ACTIONS = 4
"""Actions drawn at each state for what a policy with action vectors does there."""
FARTHEST = 5.0
"""In standard deviations: coordinates beyond are taken to be there."""
WIDTHS = (0.3, 3.0)
"""Range of the slopes of random units, in standard deviations of what goes in."""
SCALED_ROWS = 20_000
"""Rows of a log that say how coordinates are scaled."""
MOST_PRODUCTS = 12
"""Coordinates up to which all products are features; of more of them the squares only."""


@dataclass(frozen=True)
class StateActionFeatures:
    """φ(s, a), and its mean over the actions of a policy.

    Args:
        shift: Mean of what goes in: the state, and the action where it is a vector.
        scale: Its standard deviation.
        slopes: (inputs, units) and
        offsets: (units,) of the random units.
        n_actions: Of a discrete action; 0 where it is a vector.
    """

    shift: Features
    scale: Features
    slopes: Features
    offsets: Features
    n_actions: int

    @classmethod
    def draw(
        cls, log: Log, signature: Signature, size: int, rng: np.random.Generator
    ) -> StateActionFeatures:
        """About `size` features in all, scaled by the rows of a log."""
        some = slice(None, None, max(1, len(log) // SCALED_ROWS))
        inputs, n_actions = np.asarray(log.observations[some], np.float64), 0
        if signature.discrete_actions:
            n_actions = signature.action_size
        else:
            actions = np.asarray(log.actions[some], np.float64)
            inputs = np.concatenate([inputs, actions.reshape(len(actions), -1)], axis=1)
        shift, spread = inputs.mean(axis=0), inputs.std(axis=0)
        scale = np.where(spread > 1e-6 * np.abs(shift) + 1e-12, spread, 1.0)
        width = inputs.shape[1]
        units = max(8, size // max(1, n_actions) - 1 - width - _count_products(width))
        slopes = rng.normal(size=(width, units)) / np.sqrt(width)
        slopes *= np.exp(rng.uniform(math.log(WIDTHS[0]), math.log(WIDTHS[1]), units))
        offsets = rng.uniform(-2.0, 2.0, units)
        shift, scale, slopes, offsets = (
            np.asarray(one, np.float32) for one in (shift, scale, slopes, offsets)
        )
        return cls(shift, scale, slopes, offsets, n_actions)

    @property
    def size(self) -> int:
        """Number of features of a state with an action."""
        width, units = self.slopes.shape
        return int(1 + width + _count_products(width) + units) * max(1, self.n_actions)

    def at(self, states: NDArray[Any], actions: NDArray[Any]) -> Features:
        """(n, size) features of states with actions."""
        if not self.n_actions:
            rows = actions.reshape(len(actions), -1)
            seen: Features = self.see(np.concatenate([states, rows], axis=1))
            return seen
        seen = self.see(states)
        spread = np.zeros((*seen.shape, self.n_actions), np.float32)
        spread[np.arange(len(seen)), :, actions.astype(np.int64)] = seen
        return spread.reshape(len(seen), -1)

    def expect(self, states: NDArray[Any], policy: Policy, first: int = 0) -> Features:
        """(n, size) mean features of states with the actions of a policy.

        Args:
            states: (n, d).
            policy: What acts there.
            first: Of the block's rows: the same rows see the same noise, whatever the policy.
        """
        if isinstance(policy, MixturePolicy):
            share = np.float32(policy.share)
            parts = (self.expect(states, one, first) for one in (policy.first, policy.second))
            return (1.0 - share) * next(parts) + share * next(parts)
        n = len(states)
        filled = np.concatenate([states, np.repeat(states[:1], round_up(n) - n, axis=0)])
        said = ask(policy, jnp.asarray(filled, jnp.float32))
        if self.n_actions:
            chances = np.asarray(said.probabilities, np.float32)[:n]  # type: ignore[attr-defined]
            seen = self.see(states)
            return np.asarray((seen[:, :, None] * chances[:, None, :]).reshape(n, -1), np.float32)
        uniforms = draw_shifted(first, len(filled), said.noise_size)
        actions = np.asarray(_transform(policy.signature, said, jnp.asarray(uniforms)))[:, :n]
        total = np.zeros((n, self.size), np.float32)
        for some in actions:
            total += self.at(states, some)
        return np.asarray(total / len(actions), np.float32)

    def see(self, inputs: Any, library: Any = np) -> Any:
        """(n, features) of what goes in; with `jax.numpy` as the library they have a gradient."""
        scaled = (library.asarray(inputs, np.float32) - self.shift) / self.scale
        scaled = library.clip(scaled, -FARTHEST, FARTHEST)
        first, second = _pair(scaled.shape[1])
        return library.concatenate(
            [
                library.ones((len(scaled), 1), np.float32),
                scaled,
                scaled[:, first] * scaled[:, second] / FARTHEST,
                library.tanh(scaled @ self.slopes + self.offsets),
            ],
            axis=1,
        )


def _pair(width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which coordinates are multiplied."""
    if width > MOST_PRODUCTS:
        return np.arange(width), np.arange(width)
    first, second = np.triu_indices(width)
    return first, second


def _count_products(width: int) -> int:
    return len(_pair(width)[0])


def draw_shifted(first: int, n: int, size: int) -> Float[np.ndarray, "actions n size"]:
    """A lattice in (0, 1)^size, shifted by one random vector for each row of a log."""
    shifts = np.random.default_rng([first, size]).random((n, size))
    points = (lattice_points(N_ACTIONS, size)[:, None, :] + shifts) % 1.0
    edge = np.finfo(np.float32).epsneg
    return np.clip(points, edge, 1.0 - edge).astype(np.float32)


@eqx.filter_jit
def _transform(
    signature: Signature, said: ActionDistribution, uniforms: Float[Array, "actions n size"]
) -> Float[Array, "actions n *size"] | Int[Array, "actions n"]:
    low, high = signature.action_limits
    actions = said.transform(uniforms)
    return jnp.clip(actions, jnp.asarray(low), jnp.asarray(high))
