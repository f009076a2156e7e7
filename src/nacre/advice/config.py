"""How advice is found: its configuration, and the one that fits a log."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Literal

import gymnasium

from nacre.errors import InputError
from nacre.learners.net_actor_critic.config import ActorConfig, LearnerConfig, default
from nacre.learners.net_actor_critic.occupancy import OccupancyConfig
from nacre.learners.net_actor_critic.stopping import Plateau
from nacre.logs import Log
from nacre.policies.cloning.full_support import LARGEST_DIVERGENCE
from nacre.training.backup import CriticConfig
from nacre.training.fitted_evaluation import EvaluationConfig

SMALL_LOG = 100_000
"""Transitions below which fewer updates do."""
MODEST: dict[str, Any] = {
    "learned_noise": 1.0,
    "calm_factors": (0.3,),
    "sparing": False,
    "copy_divergence": LARGEST_DIVERGENCE,
    "panels": 1,
    "thrift": None,
}
"""Small logs and tables: all is learned, from the policy itself, nothing is calmed further, and
judges who disagree are believed."""


@dataclass(frozen=True)
class Lesson:
    """What one learned candidate is taught."""

    kl_weight: float
    cost_factor: float = 1.0

    @property
    def name(self) -> str:
        """What the candidate is called."""
        name = f"learned-{self.kl_weight:g}"
        return name if self.cost_factor == 1.0 else f"{name}-cost{self.cost_factor:g}"

    @property
    def origin(self) -> str:
        """How the candidate came about, for people."""
        text = f"Net Actor-Critic with KL weight {self.kl_weight:g}"
        if self.cost_factor == 1.0:
            return text
        return f"{text}, as if the switch cost {self.cost_factor:g} times as much"


@dataclass(frozen=True)
class AdviceConfig:
    """How advice is found.

    Args:
        learner: Net Actor-Critic, for the learned candidates.
        kl_weights: One learned candidate for each: how strongly it is held to the old
            policy's actions.
        cost_factors: Candidates are learned as if the switch cost each of these times as much: more
            of them make a frontier of value against moved mass, for other prices than today's.
        sparing: Learn with a further KL weight only where none of those before it has led to
            a candidate that would be switched to.
        learned_noise: What is learned is proposed with its noise times this: noise that was good to
            explore with, or that the behaviour term held on to, costs value afterwards.
        calm_factors: The old policy with its noise times each of these is a candidate too.
        learning_share: Share of the episodes that candidates are learned from; the others judge.
        judges: Fresh critics that judge old and new policy on the held-out episodes.
        confidence: Probability with which the gain of a switch has to be positive.
        rule: "bounds" for the interval of the net gain, "paper" for its point estimates.
        spread_scale: The critics' resampled spread is multiplied by this; calibrated, frozen. Large
            networks that saw the same log err together by more than resampling shows.
        doubt_share: How far from the mean of the critics to the worst of them (the minimum at every
            step) a gain still has to be one, for candidates that were searched for and that the
            log supports; all the way for those it does not support. Calibrated, frozen. On a narrow
            log critics agree and are wrong where learning looked for it, but their worst is far
            away.
        copy_divergence: Learning starts from a small copy of the old policy that is no further from
            it than this, in nats; else from the policy itself, where it has weights.
        panels: Hear up to this many panels of judges where nothing is settled and only their
            spread, which few of them know only so well, stands against a switch.
        thrift: A last lesson where only the price stands against every candidate: one for a policy
            that moves less. It begins as the old policy and is proposed with all of its noise. None
            for no such lesson.
        patience: Judges of what comes of it go on for this many times as long: before a high price
            all of a gain has to have arrived.
    """

    learner: LearnerConfig = field(default_factory=lambda: _default_learner())
    kl_weights: tuple[float, ...] = (0.01, 0.1)
    cost_factors: tuple[float, ...] = (1.0,)
    sparing: bool = True
    learned_noise: float = 0.5
    calm_factors: tuple[float, ...] = (0.1,)
    learning_share: float = 0.5
    judges: EvaluationConfig = field(default_factory=lambda: _default_judges())
    confidence: float = 0.95
    rule: Literal["bounds", "paper"] = "bounds"
    spread_scale: float = 2.0
    doubt_share: float = 0.4
    copy_divergence: float = 0.1
    panels: int = 4
    thrift: Lesson | None = Lesson(0.03)
    patience: int = 3

    def __post_init__(self) -> None:
        problems = []
        if not 0.5 < self.confidence < 1.0:
            problems.append(f"confidence = {self.confidence}: must lie between 0.5 and 1")
        if not 0.0 < self.learning_share < 1.0:
            problems.append(f"learning_share = {self.learning_share}: must lie between 0 and 1")
        if self.rule not in ("bounds", "paper"):
            problems.append(f"rule = {self.rule!r}: known are bounds, paper")
        if not self.judges.bootstrap or self.judges.critics.n_critics < 3:
            problems.append("judges: at least 3 bootstrapped critics are needed for an interval")
        if any(not 0 <= weight < math.inf for weight in self.kl_weights):
            problems.append(f"kl_weights = {self.kl_weights}: must be finite and not negative")
        factors = self.cost_factors
        if any(not 0 <= factor < math.inf for factor in factors) or len({*factors}) < len(factors):
            problems.append(f"cost_factors = {factors}: must be finite, not negative and different")
        if not 0 < self.learned_noise <= 1:
            problems.append(f"learned_noise = {self.learned_noise}: must lie in (0, 1]")
        if any(not 0 < factor < 1 for factor in self.calm_factors):
            problems.append(f"calm_factors = {self.calm_factors}: must lie between 0 and 1")
        if not 0 < self.spread_scale < math.inf:
            problems.append(f"spread_scale = {self.spread_scale}: must be finite and positive")
        if not 0 <= self.doubt_share < 1:
            problems.append(f"doubt_share = {self.doubt_share}: must lie in [0, 1)")
        if self.panels < 1:
            problems.append(f"panels = {self.panels}: at least 1 has to judge")
        if self.thrift is not None and not 0 <= self.thrift.kl_weight < math.inf:
            problems.append(
                f"thrift.kl_weight = {self.thrift.kl_weight}: must be finite and not negative"
            )
        if self.patience < 1:
            problems.append(f"patience = {self.patience}: judges go on for their epochs at least")
        if not self.copy_divergence >= 0:
            problems.append(f"copy_divergence = {self.copy_divergence}: cannot be negative")
        if self.learner.warm_critics:
            problems.append(
                "learner.warm_critics: candidates are learned from other episodes than the old "
                "policy is judged by; set it to false"
            )
        if problems:
            raise InputError(problems)

    @property
    def lessons(self) -> tuple[Lesson, ...]:
        """One for each learned candidate."""
        return tuple(
            Lesson(weight, factor) for factor in self.cost_factors for weight in self.kl_weights
        )

    def find_earlier(self, lesson: Lesson) -> tuple[Lesson, ...]:
        """The lessons that may make this one unnecessary."""
        if not self.sparing:
            return ()
        same = [one for one in self.lessons if one.cost_factor == lesson.cost_factor]
        return tuple(same[: same.index(lesson)])

    def as_json(self) -> dict[str, Any]:
        """All values as plain data, for records."""
        return dataclasses.asdict(self)


def suggest_config(log: Log, discount: float = 0.99) -> AdviceConfig:
    """A configuration that fits the log: tables for numbered states, networks for vectors."""
    if isinstance(log.observation_space, gymnasium.spaces.Discrete):
        return _suggest_tables(discount)
    if len(log) < SMALL_LOG:
        return _suggest_few(discount)
    return AdviceConfig(learner=dataclasses.replace(_default_learner(), discount=discount))


def _suggest_few(discount: float) -> AdviceConfig:
    """What little there is to learn is learned sooner, and by larger critics without haste."""
    learner = dataclasses.replace(default(), discount=discount, epochs=3, prefit_steps=500)
    critics = dataclasses.replace(learner.evaluation.critics, n_critics=8, polyak=0.9)
    judges = dataclasses.replace(
        learner.evaluation, critics=critics, epochs=2, prefit_steps=1000, bootstrap=True
    )
    return AdviceConfig(learner, kl_weights=(0.03, 0.3), judges=judges, **MODEST)


def _suggest_tables(discount: float) -> AdviceConfig:
    critics = CriticConfig(
        hidden=(), scale_returns=True, learning_rate=0.01, polyak=0.98, backup="mean"
    )
    judging = dataclasses.replace(critics, n_critics=10, backup="own", polyak=0.9, batch_size=512)
    learner = LearnerConfig(
        discount=discount,
        critics=critics,
        actor=ActorConfig(states="log", discounted_states=True, combine="mean", learning_rate=0.03),
        occupancy=OccupancyConfig(hidden=(), learning_rate=0.02, polyak=0.9, largest_ratio=100.0),
        stopping=None,
        epochs=20,
        ramp_epochs=8,
        steps_per_epoch=300,
        prefit_steps=500,
        n_cost_states=256,
    )
    judges = EvaluationConfig(
        judging,
        epochs=8,
        steps_per_epoch=300,
        prefit_steps=500,
        combine="mean",
        averaged=True,
        bootstrap=True,
    )
    # Tables do not reach beyond what they saw: calibrated without widening and doubt.
    return AdviceConfig(
        learner,
        kl_weights=(0.02, 0.3),
        judges=judges,
        spread_scale=1.0,
        doubt_share=0.0,
        **MODEST,
    )


def _default_learner() -> LearnerConfig:
    """Small critics, the minimum of the ensemble, fast targets: the most true value per second.

    Learning ends where an epoch adds next to nothing, at the latest with the twenty-fourth. The
    weights go on moving when the estimate does not any more: their average is better than they are.
    """
    learner = default()
    return dataclasses.replace(
        learner,
        critics=dataclasses.replace(learner.critics, hidden=(64, 64), polyak=0.95),
        actor=dataclasses.replace(learner.actor, averaging=0.999),
        stopping=Plateau(least_epochs=8, share=0.005),
        epochs=24,
        prefit_steps=1000,
    )


def _default_judges() -> EvaluationConfig:
    learner = default()
    return dataclasses.replace(
        learner.evaluation,
        # Targets follow fast: what lies far ahead must have arrived before the reading.
        critics=dataclasses.replace(
            learner.evaluation.critics, n_critics=8, hidden=(64, 64), polyak=0.95
        ),
        epochs=5,
        prefit_steps=1000,
        bootstrap=True,
        asked_once=True,
    )
