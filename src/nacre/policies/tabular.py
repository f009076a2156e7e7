"""Policies on finitely many states: a table."""

from __future__ import annotations

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from nacre.errors import InputError, check_arguments
from nacre.policies.distributions import Categorical
from nacre.policies.policy import Policy, Signature


@check_arguments
class TabularPolicy(Policy):
    """A row of logits for each of finitely many states; -inf means never.

    Where states have actions of their own, what is not allowed is never taken, whatever its logit.
    """

    logits: Float[Array, "states actions"]
    signature: Signature = eqx.field(static=True)

    @classmethod
    @check_arguments
    def from_probabilities(
        cls, table: ArrayLike, signature: Signature | None = None
    ) -> TabularPolicy:
        """The policy with these rows of probabilities (states, actions); spaces of their sizes."""
        rows = np.asarray(table)
        if (
            rows.ndim != 2
            or rows.size == 0
            or not np.all(rows >= 0)
            or not np.all(np.abs(rows.sum(axis=-1) - 1.0) <= 1e-5)
        ):
            raise InputError(
                f"a policy table of shape {rows.shape} is not a matrix of probabilities: every row "
                "is a state, its entries must be non-negative and add up to one"
            )
        plain = Signature(
            gymnasium.spaces.Discrete(rows.shape[0]), gymnasium.spaces.Discrete(rows.shape[1])
        )
        return cls(jnp.log(jnp.asarray(rows)), signature or plain)

    @property
    def table(self) -> Float[Array, "states actions"]:
        """Probabilities of all actions in all states."""
        return jax.nn.softmax(self.masked_logits, axis=-1)

    @property
    def masked_logits(self) -> Float[Array, "states actions"]:
        """Logits of all actions in all states, -inf where one is not allowed."""
        return self.signature.mask_outputs(self.logits, jnp.arange(len(self.logits)))

    def __call__(self, observations: Array) -> Categorical:
        """The rows of the observed states."""
        outputs = self.logits[observations]
        return Categorical(self.signature.mask_outputs(outputs, jnp.asarray(observations)))
