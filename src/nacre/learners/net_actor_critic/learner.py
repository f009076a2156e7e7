"""Net Actor-Critic as a learner: one candidate for one weight of staying near the old policy."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from nacre.errors import InputError
from nacre.learners.base import Candidate, LearningProblem
from nacre.learners.net_actor_critic.config import LearnerConfig, default
from nacre.learners.net_actor_critic.run import learn
from nacre.learners.net_actor_critic.stopping import Plateau
from nacre.learners.scale_noise import scale_noise
from nacre.policies.policy import Policy
from nacre.training.progress import Progress


def default_settings() -> LearnerConfig:
    """Small critics, the pessimistic backup, fast targets: the most true value per second.

    Learning ends where an epoch adds next to nothing. The weights go on moving when the estimate
    does not any more: their average is better than they are.
    """
    settings = default()
    return dataclasses.replace(
        settings,
        critics=dataclasses.replace(settings.critics, hidden=(64, 64), polyak=0.95),
        actor=dataclasses.replace(settings.actor, averaging=0.999),
        stopping=Plateau(least_epochs=8, share=0.005),
        epochs=24,
        prefit_steps=1000,
    )


@dataclass(frozen=True)
class NetActorCritic:
    """The learner of the paper, with our settings.

    Args:
        kl_weight: Weight of KL(new ‖ old) at the log's states.
        noise: What is learned is proposed with its noise times this: noise that was good to explore
            with, or that the KL term held on to, costs value afterwards.
        cost_factor: Learn as if the switch cost so many times as much.
        settings: Critics, actor, epochs.
    """

    kl_weight: float = 0.03
    noise: float = 0.5
    cost_factor: float = 1.0
    settings: LearnerConfig = field(default_factory=default_settings)

    def __post_init__(self) -> None:
        problems = []
        for name in ("kl_weight", "cost_factor"):
            if not 0 <= getattr(self, name) < math.inf:
                problems.append(f"{name} = {getattr(self, name)}: must be finite and not negative")
        if not 0 < self.noise <= 1:
            problems.append(f"noise = {self.noise}: must lie in (0, 1]")
        if self.settings.warm_critics:
            problems.append(
                "settings.warm_critics: candidates are learned from other episodes than the old "
                "policy is evaluated on; set it to false"
            )
        if problems:
            raise InputError(problems)

    @property
    def name(self) -> str:
        """With the weights that tell it from others."""
        name = f"nac-{self.kl_weight:g}"
        return name if self.cost_factor == 1.0 else f"{name}-cost{self.cost_factor:g}"

    def applies(self, problem: LearningProblem) -> str:
        """To every log."""
        return ""

    def learn(
        self, key: PRNGKeyArray, problem: LearningProblem, report: Progress
    ) -> Sequence[Candidate]:
        """One candidate; none if learning broke down."""
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
        cost, settings = problem.cost, self.settings
        learning, transaction = (self.cost_factor * weight for weight in cost.prices)
        actor = dataclasses.replace(settings.actor, kl_weight=self.kl_weight)
        learned = learn(
            problem.log,
            problem.old_policy,
            dataclasses.replace(cost, learning_weight=learning, transaction_weight=transaction),
            problem.start,
            dataclasses.replace(settings, actor=actor, discount=problem.discount),
            old_value=float(np.mean(problem.log.returns(problem.discount))),
            first=problem.first_policy if settings.actor.warm_start else None,
            seed=seed,
            progress=report,
        )
        if not learned.complete:
            raise KeyboardInterrupt
        if not learned.healthy:
            return []
        curve = tuple(epoch.net_value for epoch in learned.history)
        return [
            Candidate(
                self.name,
                *self._propose(learned.policy),
                curve=curve,
                stop_reason=learned.stop_reason,
            )
        ]

    def _propose(self, policy: Policy) -> tuple[Policy, str]:
        """The learned policy with less noise, where it has some, and how it came about."""
        origin = f"Net Actor-Critic with KL weight {self.kl_weight:g}"
        if self.cost_factor != 1.0:
            origin += f", as if the switch cost {self.cost_factor:g} times as much"
        scaled = None if self.noise == 1.0 else scale_noise(policy, self.noise)
        if scaled is None:
            return policy, origin
        return scaled, f"{origin}, with {self.noise:g} of its noise"
