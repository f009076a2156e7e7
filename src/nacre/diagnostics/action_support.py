"""How far a candidate leaves what the log has seen.

No estimate from a log knows anything about actions that the log does not hold. For action vectors
the old policy's central 99 % is what it holds at a state; the excess is how far a candidate's
action lies outside of it, as a share of the action's range. For discrete actions an action counts
as held by how often the log would show it at such a state.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.distributions import Mixture
from nacre.policies.distributions.interface import ActionDistribution, DiscreteDistribution
from nacre.policies.policy import Policy, ask

N_STATES = 4096
N_DRAWS = 32
N_OLD_DRAWS = 256
CENTRAL = 0.99
LARGEST_EXCESS = 0.02
"""Mean excess up to which the log supports a candidate's action vectors."""
LEAST_PROBABILITY = 0.01
"""Probability under the old policy from which on the log is taken to hold a discrete action."""
LARGEST_RARE = 0.02
"""Mass that a candidate may put on actions rarer than that."""


@dataclass(frozen=True)
class Support:
    """How far a candidate leaves the log's actions, at the log's states.

    Args:
        excess: Mean distance outside of what the log holds (share of the range), or mass on actions
            that it hardly holds.
        limit: The excess up to which the candidate is supported.
        divergence: Mean KL(candidate ‖ old), where it has a closed form; else None.
    """

    excess: float
    limit: float
    divergence: float | None

    @property
    def supported(self) -> bool:
        """Whether the log says enough about what the candidate does."""
        return self.excess <= self.limit


def examine_support(log: Log, old_policy: Policy, candidate: Policy, *, seed: int = 0) -> Support:
    """Compare a candidate's actions with the old policy's at states of the log."""
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(log), min(N_STATES, len(log)), replace=False)
    states = jnp.asarray(log.observations[np.sort(rows)])
    signature = candidate.signature
    limits = None if signature.discrete_actions else signature.action_limits
    said = ask(old_policy, states), ask(candidate, states)
    excess, divergence = _compare(*said, limits, jax.random.key(seed))
    return Support(
        # What is no number lies outside of everything.
        float(jnp.nan_to_num(excess, nan=1.0, posinf=1.0)),
        LARGEST_RARE if limits is None else LARGEST_EXCESS,
        None if divergence is None else float(divergence),
    )


@eqx.filter_jit
def _compare(
    old: ActionDistribution,
    new: ActionDistribution,
    limits: tuple[tuple[float, ...], tuple[float, ...]] | None,
    key: PRNGKeyArray,
) -> tuple[Float[Array, ""], Float[Array, ""] | None]:
    """Of what two policies said: compiled once for all that say it in the same way."""
    divergence = _divergence(new, old)
    if isinstance(old, DiscreteDistribution) and isinstance(new, DiscreteDistribution):
        rare = old.probabilities < LEAST_PROBABILITY
        return jnp.mean(jnp.sum(jnp.where(rare, new.probabilities, 0.0), axis=-1)), divergence
    low, high = (jnp.asarray(bound) for bound in limits or ())
    draws = new.sample(key, (N_DRAWS,))
    lowest, highest = _held(old, jax.random.fold_in(key, 1))
    reach = jnp.where(jnp.isfinite(high - low), high - low, highest - lowest + 1e-6)
    outside = jnp.maximum(lowest - draws, 0.0) + jnp.maximum(draws - highest, 0.0)
    return jnp.mean(outside / reach), divergence


def _held(old: Any, key: PRNGKeyArray) -> tuple[Array, Array]:
    """Ends of the central part of each coordinate."""
    edge = (1.0 - CENTRAL) / 2
    if isinstance(old, Mixture):
        # Its first number chooses the part: ends of the noise are not ends of the action.
        draws = old.sample(key, (N_OLD_DRAWS,))
        return jnp.quantile(draws, edge, axis=0), jnp.quantile(draws, 1.0 - edge, axis=0)
    # The same place in every coordinate at once: they are independent.
    shape = (1, *old.batch_shape, old.noise_size)
    return old.transform(jnp.full(shape, edge)), old.transform(jnp.full(shape, 1.0 - edge))


def _divergence(new: Any, old: Any) -> Float[Array, ""] | None:
    if not hasattr(new, "kl") or type(new) is not type(old):
        return None
    try:
        return jnp.mean(new.kl(old))
    except InputError:
        return None
