"""The old policy with less noise: the simplest candidate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from nacre.errors import InputError
from nacre.learners.base import Candidate, LearningProblem
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy
from nacre.policies.tabular import TabularPolicy
from nacre.training.progress import Progress

LEAST_LOG_STD = -40.0
"""The least log standard deviation that policies may have."""


@dataclass(frozen=True)
class ScaleNoise:
    """The old policy with its noise times a factor.

    Args:
        factor: Between 0 and 1.
    """

    factor: float = 0.3

    def __post_init__(self) -> None:
        if not 0 < self.factor < 1:
            raise InputError(f"factor = {self.factor}: must lie between 0 and 1")

    @property
    def name(self) -> str:
        """With the factor."""
        return f"noise-{self.factor:g}"

    def applies(self, problem: LearningProblem) -> str:
        """To old policies that have noise of ours."""
        scaled = scale_noise(problem.old_policy, self.factor)
        return "the old policy has no noise to take away" if scaled is None else ""

    def learn(
        self, key: PRNGKeyArray, problem: LearningProblem, report: Progress
    ) -> Sequence[Candidate]:
        """Nothing is learned; one candidate."""
        scaled = scale_noise(problem.old_policy, self.factor)
        if scaled is None:
            return []
        return [Candidate(self.name, scaled, f"the old policy with {self.factor:g} of its noise")]


def scale_noise(policy: Policy, factor: float) -> Policy | None:
    """The same policy with less noise: standard deviations times a factor, or sharper choices.

    Returns:
        None for policies that have no noise to take away, or whose noise is not ours to change.
    """
    if isinstance(policy, TabularPolicy):
        if np.all(np.isin(policy.table, (0.0, 1.0))):
            return None
        return TabularPolicy(policy.logits / factor, policy.signature)
    if not isinstance(policy, MLPPolicy):
        return None
    network, size, bounds = policy.network, policy.signature.action_size, policy.log_std_bounds
    if policy.head == "categorical":
        weight, bias = network.weights[-1] / factor, network.biases[-1] / factor
    elif policy.head.endswith("gaussian"):
        # The last outputs are log standard deviations, and those at a bound become less too.
        shift = math.log(factor)
        bounds = (max(bounds[0] + shift, LEAST_LOG_STD), bounds[1] + shift)
        shifts = jnp.where(jnp.arange(2 * size) >= size, shift, 0.0)
        weight, bias = network.weights[-1], network.biases[-1] + shifts
    else:
        return None
    scaled = eqx.tree_at(lambda net: (net.weights[-1], net.biases[-1]), network, (weight, bias))
    return MLPPolicy(scaled, policy.scaling, policy.signature, policy.head, bounds)
