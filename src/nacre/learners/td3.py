"""A learner in the manner of TD3, net of the cost: what is learned is where the actions lie.

The policy's noise is small and held where it is; it only smooths the targets. The KL term is then a
squared distance between the centres of new and old, and a small weight of it is enough.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

import jax.numpy as jnp
import numpy as np

from nacre.errors import InputError
from nacre.learners.base import LearningProblem
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.learners.net_actor_critic.learner import NetActorCritic, default_settings
from nacre.policies.distributions import Gaussian
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, ask

SMOOTHING = 0.2
"""Noise while there is learning, in units of the old policy's."""
LOOKED_AT = 2_000
"""States at which the old policy's noise is measured."""


def td3_settings() -> LearnerConfig:
    """Two critics of 128 units with slower targets; the actor climbs their mean."""
    settings = default_settings()
    return dataclasses.replace(
        settings,
        critics=dataclasses.replace(settings.critics, n_critics=2, hidden=(128, 128), polyak=0.99),
        actor=dataclasses.replace(settings.actor, combine="mean"),
    )


@dataclass(frozen=True)
class TD3(NetActorCritic):
    """Net Actor-Critic of a policy whose noise is small and stays as it is.

    Args:
        kl_weight: Weight of KL(new ‖ old), here of the squared distance between their centres, in
            units of the old policy's noise.
        noise: What is learned is proposed with its noise times this.
        settings: Critics, actor, epochs.
    """

    kl_weight: float = 0.0003
    noise: float = 0.25
    settings: LearnerConfig = field(default_factory=td3_settings)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.settings.actor.warm_start:
            raise InputError(
                "settings.actor.warm_start = False: TD3 starts from the old policy; set it to true"
            )

    @property
    def name(self) -> str:
        """With what tells it from others."""
        name = f"td3-{self.kl_weight:g}"
        return name if self.cost_factor == 1.0 else f"{name}-cost{self.cost_factor:g}"

    def applies(self, problem: LearningProblem) -> str:
        """To action vectors of an old policy with noise."""
        if problem.old_policy.signature.discrete_actions:
            return "actions are discrete"
        if self._begin(problem) is None:
            return "no network with noise stands for the old policy"
        return super().applies(problem)

    def _begin(self, problem: LearningProblem) -> Policy | None:
        """A copy of the old policy whose noise is held at what smooths the targets."""
        first = problem.first_policy or problem.old_policy
        if not isinstance(first, MLPPolicy):
            return None
        log = problem.log
        rows = jnp.asarray(log.observations[:: max(1, len(log) // LOOKED_AT)])
        said = ask(first, rows)
        if not isinstance(said, Gaussian):
            return None
        # Where coordinates have units of their own, the least noise is too much for none of them.
        least = float(np.mean(np.asarray(said.log_std, np.float64), axis=0).min())
        return _hold_noise(first, least + math.log(SMOOTHING))

    def _propose(self, policy: Policy) -> tuple[Policy, str]:
        """What was learned, with less noise still."""
        origin = f"a learner in the manner of TD3 with KL weight {self.kl_weight:g}"
        if isinstance(policy, MLPPolicy):
            policy = _hold_noise(policy, policy.log_std_bounds[0] + math.log(self.noise))
        return policy, origin


def _hold_noise(policy: MLPPolicy, log_std: float) -> MLPPolicy:
    """The same policy with one standard deviation everywhere."""
    return dataclasses.replace(policy, log_std_bounds=(log_std, log_std))
