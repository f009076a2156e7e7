"""Policies of thresholds: the first box that holds the observation decides."""

from __future__ import annotations

import equinox as eqx
import gymnasium
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from nacre.policies.answers import WIDEST_LOG_STD
from nacre.policies.distributions import ActionDistribution
from nacre.policies.heads import Head, digest_outputs, make_distribution
from nacre.policies.policy import Policy, Signature


class RulePolicy(Policy):
    """The first box [lower, upper] that holds the observation decides, the last entry if none does.

    Attributes:
        lower: (rules, size), -inf where there is no bound.
        upper: (rules, size).
        outputs: (rules + 1, outputs), what the head reads.
    """

    lower: Float[Array, "rules size"]
    upper: Float[Array, "rules size"]
    outputs: Float[Array, "entries outputs"]
    signature: Signature = eqx.field(static=True)
    head: Head = eqx.field(static=True)

    def __call__(self, observations: Array) -> ActionDistribution:
        """The distribution of the rule that decides at each observation."""
        outputs = self.outputs[self.decide(observations)]
        masked = self.signature.mask_outputs(outputs, jnp.asarray(observations))
        return make_distribution(self.head, masked, self.signature, WIDEST_LOG_STD)

    def decide(self, observations: Array) -> Int[Array, "..."]:
        """Which entry decides at each observation."""
        rows = jnp.asarray(observations, jnp.float32)
        if isinstance(self.observation_space, gymnasium.spaces.Discrete):
            rows = rows[..., None]
        inside = (rows[..., None, :] >= self.lower) & (rows[..., None, :] <= self.upper)
        holds = jnp.all(inside, axis=-1)
        # What is left over holds everywhere, and there may be nothing before it.
        last = jnp.ones((*holds.shape[:-1], 1), bool)
        return jnp.argmax(jnp.concatenate([holds, last], axis=-1), axis=-1)

    def outputs_at(self, observations: np.ndarray) -> np.ndarray:
        """Parameters (n, outputs) of its distributions, in the order of its head."""
        return np.asarray(self.outputs[self.decide(jnp.asarray(observations))])

    @property
    def digest(self) -> str:
        """SHA-256 of its boxes and answers."""
        return digest_outputs(self.head, self.lower, self.upper, self.outputs)
