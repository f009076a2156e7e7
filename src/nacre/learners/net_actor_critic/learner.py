"""Net Actor-Critic as a learner: one candidate for one weight of staying near the old policy."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import gymnasium
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from nacre.errors import InputError
from nacre.learners.base import Candidate, LearningProblem
from nacre.learners.linear_look import LinearLook
from nacre.learners.net_actor_critic.config import LearnerConfig, default
from nacre.learners.net_actor_critic.journal import Learned
from nacre.learners.net_actor_critic.run import learn
from nacre.learners.net_actor_critic.stopping import Plateau
from nacre.learners.scale_noise import scale_noise
from nacre.learners.soundness import (
    find_collapse,
    find_departure,
    find_disagreement,
    find_saturation,
)
from nacre.policies.policy import Policy
from nacre.training.progress import Progress

SAFER = 10.0
"""After a collapse steps are so many times smaller and the KL weight so many times larger."""
SAFE_RATE = 3e-4
SAFE_KL_WEIGHT = 0.1
LEAST_STEPS = 200
ROWS_PER_STEP = 8
"""Updates of an epoch grow with the rows, up to what the settings say."""


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
        examine: Whether a collapse is looked for: in the course of learning, in the actions, and
            by linear critics, which must not find a loss where states are vectors.
    """

    kl_weight: float = 0.03
    noise: float = 0.5
    cost_factor: float = 1.0
    settings: LearnerConfig = field(default_factory=default_settings)
    examine: bool = True

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
        """To every log but those of one step with discrete actions, which are learned directly."""
        discrete = isinstance(problem.log.action_space, gymnasium.spaces.Discrete)
        if discrete and problem.log.episode_lengths.max() == 1:
            return "episodes of one step are learned from directly"
        return problem.cost.untraceable(problem.old_policy)

    def learn(
        self, key: PRNGKeyArray, problem: LearningProblem, report: Progress
    ) -> Sequence[Candidate]:
        """One candidate. If learning collapses it is begun once more, with safer settings."""
        candidate = self._learn_once(key, problem, report)
        if not candidate.problem:
            return [candidate]
        safer = dataclasses.replace(
            self, kl_weight=max(SAFER * self.kl_weight, SAFE_KL_WEIGHT), settings=self._make_safer()
        )
        second = safer._learn_once(key, problem, report)
        begun = f"begun again with KL weight {safer.kl_weight:g} and smaller steps"
        if not second.problem:
            origin = f"{second.origin}, {begun}: {candidate.problem}"
            return [dataclasses.replace(second, name=self.name, origin=origin)]
        sentence = f"{candidate.problem} It was {begun}, and dropped: {second.problem}"
        return [dataclasses.replace(second, name=self.name, problem=sentence)]

    def _make_safer(self) -> LearnerConfig:
        """Smaller steps of critics and actor, gradients cut off."""
        critics, actor = self.settings.critics, self.settings.actor
        return dataclasses.replace(
            self.settings,
            critics=dataclasses.replace(
                critics,
                learning_rate=min(critics.learning_rate / SAFER, SAFE_RATE),
                max_gradient_norm=1.0,
            ),
            actor=dataclasses.replace(
                actor,
                learning_rate=min(actor.learning_rate / SAFER, SAFE_RATE),
                max_gradient_norm=1.0,
            ),
        )

    def _learn_once(
        self, key: PRNGKeyArray, problem: LearningProblem, report: Progress
    ) -> Candidate:
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
        cost, settings = problem.cost, self.settings
        learning, transaction = (self.cost_factor * weight for weight in cost.prices)
        actor = dataclasses.replace(settings.actor, kl_weight=self.kl_weight)
        old_value = float(np.mean(problem.log.returns(problem.discount)))
        learned = learn(
            problem.log,
            problem.old_policy,
            dataclasses.replace(cost, learning_weight=learning, transaction_weight=transaction),
            problem.start,
            dataclasses.replace(
                settings,
                actor=actor,
                discount=problem.discount,
                steps_per_epoch=count_steps(settings.steps_per_epoch, len(problem.log)),
            ),
            old_value=old_value,
            first=self._begin(problem),
            seed=seed,
            progress=report,
        )
        if not learned.complete:
            raise KeyboardInterrupt
        policy, origin = self._propose(learned.policy)
        curve = tuple(epoch.net_value for epoch in learned.history)
        complaint = self._examine(key, problem, learned, policy)
        return Candidate(self.name, policy, origin, curve, learned.stop_reason, complaint)

    def _begin(self, problem: LearningProblem) -> Policy | None:
        """The policy that learning starts from; None for the settings to say."""
        return problem.first_policy if self.settings.actor.warm_start else None

    def _examine(
        self, key: PRNGKeyArray, problem: LearningProblem, learned: Learned, policy: Policy
    ) -> str:
        """Why what was learned is not proposed, or nothing."""
        if not learned.healthy:
            return f"Learning {learned.stop_reason.split(';')[0]}."
        if not self.examine:
            return ""
        curve = [epoch.net_value for epoch in learned.history]
        scaled = self.settings.critics.scale_returns
        loss = learned.history[-1].critic_loss if scaled else 0.0
        span = float(np.ptp(problem.log.returns(problem.discount)))
        complaint = find_collapse(curve, loss, span) or find_saturation(policy, problem)
        complaint = complaint or find_departure(policy, problem)
        if complaint or problem.log.observations.ndim != 2:
            return complaint
        look = LinearLook.take(key, problem, problem.log)
        claimed = curve[-1] - look.old_value
        return find_disagreement(claimed, look.find_net_gain(policy))

    def _propose(self, policy: Policy) -> tuple[Policy, str]:
        """The learned policy with less noise, where it has some, and how it came about."""
        origin = f"Net Actor-Critic with KL weight {self.kl_weight:g}"
        if self.cost_factor != 1.0:
            origin += f", as if the switch cost {self.cost_factor:g} times as much"
        scaled = None if self.noise == 1.0 else scale_noise(policy, self.noise)
        if scaled is None:
            return policy, origin
        return scaled, f"{origin}, with {self.noise:g} of its noise"


def count_steps(most: int, rows: int) -> int:
    """Updates of an epoch: few rows are soon seen often enough."""
    return min(most, max(LEAST_STEPS, rows // ROWS_PER_STEP))
