"""A policy with exploration on top: now and then any action at all."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from nacre.errors import InputError
from nacre.policies.distributions import ActionDistribution, Categorical, Uniform
from nacre.policies.distributions.interface import DiscreteDistribution
from nacre.policies.mixture import mix, mix_policies
from nacre.policies.policy import Policy, Signature
from nacre.policies.tabular import TabularPolicy


class ExploringPolicy(Policy):
    """With probability ε a uniform action, else what the policy does: (1 - ε) π(a|s) + ε u(a).

    For a greedy policy that is ε-greedy. The uniform draw may hit the greedy action, too.

    Attributes:
        policy: What it does without exploration.
        epsilon: ε in [0, 1].
    """

    policy: Policy
    epsilon: Float[Array, ""]

    @property
    def signature(self) -> Signature:
        """The spaces of the policy without exploration."""
        return self.policy.signature

    def __call__(self, observations: Array) -> ActionDistribution:
        """The mixture at each observation."""
        said = self.policy(observations)
        if isinstance(said, DiscreteDistribution):
            alike = jnp.zeros_like(said.probabilities)
            masked = self.signature.mask_outputs(alike, observations)
            uniform: ActionDistribution = Categorical(masked)
        else:
            shape = (*said.batch_shape, self.signature.action_size)
            uniform = Uniform(
                *(
                    jnp.broadcast_to(jnp.asarray(limit, jnp.float32), shape)
                    for limit in self.signature.action_limits
                )
            )
        return mix(said, uniform, self.epsilon)


def add_exploration(policy: Policy, epsilon: float) -> Policy:
    """The policy with uniform exploration on top; itself if ε is zero, a table if it is one.

    Args:
        policy: Any policy; action vectors need finite bounds.
        epsilon: ε in [0, 1].

    Raises:
        InputError: If ε is no probability, or there is no uniform action.
    """
    if not 0.0 <= epsilon <= 1.0:
        raise InputError(f"epsilon {epsilon}: no probability; give a number from 0 to 1")
    if epsilon == 0.0:
        return policy
    if not policy.signature.discrete_actions:
        low, high = (np.asarray(limit) for limit in policy.signature.action_limits)
        if not np.all(np.isfinite([low, high])) or np.any(low >= high):
            raise InputError(
                f"epsilon {epsilon}: there is no uniform action between {low.tolist()} and "
                f"{high.tolist()}; give the action space finite bounds"
            )
    if isinstance(policy, TabularPolicy):
        uniform = TabularPolicy(jnp.zeros_like(policy.logits), policy.signature)
        return mix_policies(policy, uniform, epsilon)
    return ExploringPolicy(policy, jnp.asarray(epsilon, jnp.float32))
