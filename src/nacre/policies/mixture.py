"""Two policies in one: with a given probability at each step the second, else the first."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from nacre.errors import InputError
from nacre.policies.distributions import ActionDistribution, Categorical, Mixture
from nacre.policies.distributions.interface import ContinuousDistribution, DiscreteDistribution
from nacre.policies.policy import Policy, Signature
from nacre.policies.tabular import TabularPolicy


class MixturePolicy(Policy):
    """A step from one policy to another: π_λ(a|s) = (1 - λ) π(a|s) + λ π'(a|s).

    Attributes:
        first: What it does at λ = 0.
        second: What it does at λ = 1.
        share: λ in [0, 1].
    """

    first: Policy
    second: Policy
    share: Float[Array, ""]

    @property
    def signature(self) -> Signature:
        """The spaces of the first; those of the second are the same."""
        return self.first.signature

    def __call__(self, observations: Array) -> ActionDistribution:
        """The mixture at each observation."""
        return mix(self.first(observations), self.second(observations), self.share)


def mix(
    first: ActionDistribution, second: ActionDistribution, share: Float[Array, ""]
) -> ActionDistribution:
    """The second distribution with probability `share`, else the first."""
    if isinstance(first, DiscreteDistribution) and isinstance(second, DiscreteDistribution):
        return Categorical.from_probabilities(
            (1.0 - share) * first.probabilities + share * second.probabilities
        )
    if isinstance(first, ContinuousDistribution) and isinstance(second, ContinuousDistribution):
        weights = jnp.broadcast_to(jnp.stack([1.0 - share, share]), (*first.batch_shape, 2))
        return Mixture(weights, (first, second))
    raise TypeError(f"no mixture of a {type(first).__name__} and a {type(second).__name__}")


def mix_policies(first: Policy, second: Policy, share: float) -> Policy:
    """The first policy with a step towards the second; a table if both are tables.

    Args:
        first: What it does at a share of 0.
        second: What it does at a share of 1; between the same spaces.
        share: λ in [0, 1].

    Raises:
        InputError: If the share is no probability, or the spaces differ.
    """
    if not 0.0 <= share <= 1.0:
        raise InputError(f"share {share}: no probability; give a number from 0 to 1")
    if first.signature != second.signature:
        raise InputError(
            "no mixture of policies between different spaces; give both the same signature"
        )
    if share in (0.0, 1.0):
        return second if share else first
    if isinstance(first, TabularPolicy) and isinstance(second, TabularPolicy):
        table = (1.0 - share) * first.table + share * second.table
        return TabularPolicy(jnp.log(table), first.signature)
    return MixturePolicy(first, second, jnp.asarray(share, jnp.float32))
