"""Did the old policy make this log? Looked at, not assumed.

Every action of the policy's own is an unpredictable draw: its place u in the policy's distribution
is uniform on [0, 1], whatever the state. For discrete actions the surprise -log π(a|s) minus its
expectation has mean zero. Both are summed over each episode and compared with the spread that they
would have; an episode whose sum lies further out than chance allows was made by something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from nacre.log import Log
from nacre.policies.distributions import Gaussian
from nacre.policies.distributions.interface import ContinuousDistribution, DiscreteDistribution
from nacre.policies.policy import Policy

LARGEST_SCORE = 5.0
"""Standard deviations beyond which an episode is not the policy's own: chance gives one in 10⁶."""
TOLERANCE = 1e-3
"""A deterministic policy's actions may differ from the log's by this share of their range."""
CHUNK = 65_536


@dataclass(frozen=True)
class Behaviour:
    """Whose actions a log holds.

    `scores` (E,) are standard deviations from what the policy's own episodes would show; `own` (E,)
    marks those that look like its own. `share` is the share of transitions in them.
    """

    scores: NDArray[np.float64]
    own: NDArray[np.bool_]
    share: float
    overall_score: float

    @property
    def on_policy(self) -> bool:
        """Whether most of the log is the policy's own."""
        return self.share >= 0.5

    def describe(self) -> str:
        """One sentence for people."""
        foreign = int((~self.own).sum())
        if not foreign:
            return "every episode looks like the old policy's own"
        if self.on_policy:
            return (
                f"{foreign} of {len(self.own)} episodes were not made by the old policy and are "
                "left out of its value"
            )
        return (
            f"the log was not made by the given old policy: {foreign} of {len(self.own)} episodes "
            "hold actions that it would not choose"
        )


def examine_behaviour(log: Log, policy: Policy) -> Behaviour:
    """Compare the log's actions with what the policy would do at the same states."""
    sums = np.zeros((len(log), 2))
    for first in range(0, len(log), CHUNK):
        rows = slice(first, first + CHUNK)
        deviation, variance = _deviations(
            policy, jnp.asarray(log.observations[rows]), jnp.asarray(log.actions[rows])
        )
        sums[rows, 0], sums[rows, 1] = np.asarray(deviation), np.asarray(variance)
    impossible = ~np.isfinite(sums[:, 0])
    sums[impossible] = 0.0
    firsts = log.offsets[:-1]
    deviations, variances = (np.add.reduceat(sums[:, i], firsts) for i in range(2))
    scores = np.divide(
        np.abs(deviations), np.sqrt(variances), out=np.zeros_like(deviations), where=variances > 0
    )
    scores[np.add.reduceat(impossible, firsts) > 0] = np.inf
    own = scores <= LARGEST_SCORE
    lengths = log.episode_lengths
    share = float(lengths[own].sum() / lengths.sum())
    kept = variances[own].sum()
    overall = float(abs(deviations[own].sum()) / np.sqrt(kept)) if kept > 0 else 0.0
    return Behaviour(scores, own, share, overall)


@eqx.filter_jit
def _deviations(
    policy: Policy, observations: Array, actions: Array
) -> tuple[Float[Array, " rows"], Float[Array, " rows"]]:
    """Of each row a number of mean zero under the policy, and its variance; NaN if impossible."""
    distribution = policy(observations)
    if isinstance(distribution, DiscreteDistribution):
        return _surprise(distribution.probabilities, actions)
    if isinstance(distribution, Gaussian):
        return _places(distribution, actions)
    return _distances(distribution, actions, policy)


def _surprise(
    probabilities: Float[Array, "rows n"], actions: Array
) -> tuple[Float[Array, " rows"], Float[Array, " rows"]]:
    logs = jnp.log(jnp.maximum(probabilities, 1e-30))
    taken = jnp.take_along_axis(logs, actions[:, None], axis=-1)[:, 0]
    expected = jnp.sum(probabilities * logs, axis=-1)
    variance = jnp.sum(probabilities * (logs - expected[:, None]) ** 2, axis=-1)
    possible = jnp.take_along_axis(probabilities, actions[:, None], axis=-1)[:, 0] > 0
    return jnp.where(possible, taken - expected, jnp.nan), variance


def _places(
    distribution: Gaussian, actions: Float[Array, "rows size"]
) -> tuple[Float[Array, " rows"], Float[Array, " rows"]]:
    """(2u - 1)² - 1/3 summed over coordinates: too far out or too far in both show.

    Where actions saturate only an interval of u is known; its middle would count as too far in, so
    such coordinates are left out.
    """
    latent = distribution._unsquash(actions)
    z = (latent - distribution.location) / distribution.std
    known = jnp.abs(_unit(distribution, actions)) < 1.0 - 1e-4
    centred = jax.scipy.special.erf(z / np.sqrt(2.0))
    each = jnp.where(known, centred**2 - 1.0 / 3.0, 0.0)
    # Var[(2u - 1)²] = 1/5 - 1/9.
    variance = jnp.sum(known, axis=-1) * (1.0 / 5.0 - 1.0 / 9.0)
    return jnp.sum(each, axis=-1), variance


def _unit(distribution: Gaussian, actions: Array) -> Array:
    """Actions as shares of the box that a squashed distribution fills; zero if it has none."""
    half = getattr(distribution, "_half", None)
    if half is None:
        return jnp.zeros_like(actions)
    centre: Any = distribution._centre  # type: ignore[attr-defined]
    return (actions - jnp.asarray(centre)) / jnp.asarray(half)


def _distances(
    distribution: Any, actions: Array, policy: Policy
) -> tuple[Float[Array, " rows"], Float[Array, " rows"]]:
    """A deterministic policy's actions have to be the log's; anything else must be possible."""
    if isinstance(distribution, ContinuousDistribution) and distribution.noise_size == 0:
        low, high = (jnp.asarray(bound) for bound in policy.signature.action_limits)
        reach = jnp.where(jnp.isfinite(high - low), high - low, 1.0)
        near = jnp.all(jnp.abs(actions - distribution.mode()) <= TOLERANCE * reach, axis=-1)
    else:
        near = jnp.isfinite(distribution.log_prob(actions))
    zeros = jnp.zeros(actions.shape[:1])
    return jnp.where(near, zeros, jnp.nan), zeros
