"""Features of a state with an action: fixed functions that critics are linear in.

For vectors a constant, the scaled coordinates, their products, and random tanh units of many
widths; for discrete actions the same features of the state, once for each action. Critics that are
linear in them are found by solving equations instead of by gradient descent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

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
Arrays = tuple[Any, Any, Any, Any]
"""Shift, scale, slopes and offsets of `StateActionFeatures`, of NumPy or JAX."""
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
            rows = np.asarray(actions).reshape(len(actions), -1)
            return self._see(np.concatenate([states, rows], axis=1))
        seen = self._see(states)
        spread = np.zeros((*seen.shape, self.n_actions), np.float32)
        spread[np.arange(len(seen)), :, actions.astype(np.int64)] = seen
        return spread.reshape(len(seen), -1)

    def expect(self, states: NDArray[Any], drawn: Drawn) -> Features:
        """(n, size) mean features of states with what a policy does there."""
        if self.n_actions:
            seen, n = self._see(states), len(states)
            chances = np.asarray(drawn.shares, np.float32)
            return np.asarray((seen[:, :, None] * chances[:, None, :]).reshape(n, -1), np.float32)
        found: Features = np.asarray(
            _average(self.arrays, fill_up(states), drawn.actions, drawn.shares)
        )
        return found[: len(states)]

    def _see(self, inputs: NDArray[Any]) -> Features:
        """(n, features) of what goes in, by a program that serves many n."""
        found: Features = np.asarray(_see(self.arrays, fill_up(inputs)))
        return found[: len(inputs)]

    @property
    def arrays(self) -> Arrays:
        """What `see` reads."""
        return self.shift, self.scale, self.slopes, self.offsets


class Drawn(NamedTuple):
    """What a policy does at some states: actions with their shares, or probabilities of all.

    Args:
        actions: (k, rows, …) actions at each state, of as many rows as programs share; none where
            actions are discrete.
        shares: (k,) of these, or (n, actions) probabilities.
    """

    actions: Features | None
    shares: Features


def draw_actions(policy: Policy, states: NDArray[Any], first: int = 0) -> Drawn:
    """What a policy does at states (n, d).

    Args:
        policy: What acts.
        states: Where.
        first: Of the block's rows: the same rows see the same noise, whatever the policy.
    """
    if isinstance(policy, MixturePolicy):
        one, other = (draw_actions(part, states, first) for part in (policy.first, policy.second))
        second = np.float32(policy.share)
        share_of_one, share_of_other = (1 - second) * one.shares, second * other.shares
        if one.actions is None or other.actions is None:
            return Drawn(None, share_of_one + share_of_other)
        return Drawn(
            np.concatenate([one.actions, other.actions]),
            np.concatenate([share_of_one, share_of_other]),
        )
    filled = fill_up(states)
    said = ask(policy, jnp.asarray(filled))
    if policy.signature.discrete_actions:
        chances: Features = np.asarray(said.probabilities, np.float32)  # type: ignore[attr-defined]
        return Drawn(None, chances[: len(states)])
    uniforms = draw_shifted(first, len(filled), said.noise_size)
    actions = np.asarray(_transform(policy.signature, said, jnp.asarray(uniforms)))
    shares = np.full(len(actions), 1.0 / len(actions), np.float32)
    return Drawn(actions.reshape(*actions.shape[:2], -1), shares)


def fill_up(rows: NDArray[Any]) -> Features:
    """The rows and as many copies of the first as programs for many sizes want."""
    rows = np.asarray(rows, np.float32)
    return np.concatenate([rows, np.repeat(rows[:1], round_up(len(rows)) - len(rows), axis=0)])


def see(arrays: Arrays, inputs: Any) -> Float[Array, "n features"]:
    """(n, features) of what goes in: states, or states and actions beside each other."""
    shift, scale, slopes, offsets = arrays
    scaled = jnp.clip((jnp.asarray(inputs, jnp.float32) - shift) / scale, -FARTHEST, FARTHEST)
    first, second = _pair(scaled.shape[1])
    return jnp.concatenate(
        [
            jnp.ones((len(scaled), 1), jnp.float32),
            scaled,
            scaled[:, first] * scaled[:, second] / FARTHEST,
            jnp.tanh(scaled @ slopes + offsets),
        ],
        axis=1,
    )


_see = eqx.filter_jit(see)


@eqx.filter_jit
def _average(
    arrays: Arrays,
    states: Features,  # (n, d)
    actions: Features | None,  # (k, n, a)
    shares: Features,  # (k,)
) -> Float[Array, "n features"]:
    """Mean features over the actions at each state."""
    total = jnp.zeros(())
    for some, share in zip(jnp.asarray(actions), jnp.asarray(shares), strict=True):
        total = total + share * see(arrays, jnp.concatenate([states, some], axis=1))
    return total


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
