"""Distributions over finitely many actions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int

from nacre.policies.distributions.interface import DiscreteDistribution, choose


class Categorical(DiscreteDistribution):
    """Any distribution over finitely many actions; logits of -inf mean never."""

    logits: Float[Array, "... n"]

    @classmethod
    def from_probabilities(cls, probabilities: ArrayLike) -> Categorical:
        """The distribution with these probabilities, which must add up to one."""
        return cls(jnp.log(jnp.asarray(probabilities)))

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the states it was evaluated at."""
        return self.logits.shape[:-1]

    @property
    def noise_size(self) -> int:
        """One uniform number."""
        return 1

    @property
    def n_actions(self) -> int:
        """Number of actions."""
        return int(self.logits.shape[-1])

    @property
    def probabilities(self) -> Float[Array, "... n"]:
        """Softmax of the logits."""
        return jax.nn.softmax(self.logits, axis=-1)

    def transform(self, uniforms: Array) -> Int[Array, "..."]:
        """Inverse of the cumulative distribution; has no gradient."""
        return choose(uniforms, self.probabilities)

    def log_prob(self, actions: Array) -> Array:
        """Log probability of the actions taken; -inf for numbers that are no action."""
        shape = jnp.broadcast_shapes(jnp.shape(actions), self.batch_shape)
        actions = jnp.broadcast_to(jnp.asarray(actions), shape)
        exists = (actions >= 0) & (actions < self.n_actions)
        logs = jnp.broadcast_to(jax.nn.log_softmax(self.logits), (*shape, self.n_actions))
        taken = jnp.take_along_axis(logs, jnp.where(exists, actions, 0)[..., None], axis=-1)
        return jnp.where(exists, taken[..., 0], -jnp.inf)

    def mode(self) -> Int[Array, "..."]:
        """The most probable action, the first of them if several are."""
        return jnp.argmax(self.logits, axis=-1)

    def kl(self, other: Categorical) -> Float[Array, "..."]:
        """KL(self ‖ other); actions that self never takes add nothing."""
        probabilities = self.probabilities
        used = probabilities > 0
        own = jnp.where(used, jax.nn.log_softmax(self.logits), 0.0)
        others = jnp.where(used, jax.nn.log_softmax(other.logits), 0.0)
        return jnp.sum(probabilities * (own - others), axis=-1)


def deterministic_choice(actions: Int[Array, "..."], n_actions: int) -> Categorical:
    """One action of n for sure, as a categorical distribution."""
    return Categorical(jnp.where(jax.nn.one_hot(actions, n_actions, dtype=bool), 0.0, -jnp.inf))
