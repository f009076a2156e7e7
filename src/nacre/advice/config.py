"""How advice is found: learners, estimators, a rule, and little else."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np

from nacre.diagnostics.log_checks import LogCheckConfig
from nacre.errors import InputError, check_arguments
from nacre.estimators import ESTIMATORS, Estimator
from nacre.inference.rule import BoundsRule, Rule
from nacre.learners import LEARNERS, Learner
from nacre.learners.net_actor_critic.learner import NetActorCritic
from nacre.learners.scale_noise import ScaleNoise
from nacre.learners.tabular_planner import TabularPlanner
from nacre.logs import Log

KL_WEIGHT = 0.03
ANY_DISCOUNT = 0.99
"""Stands for γ = 1 where no discount changes a value."""
LARGEST_LOSS = 0.02
"""Share of the log's rewards that the discount which stands for γ = 1 may take away."""


@check_arguments
@dataclass(frozen=True)
class AdviceConfig:
    """How advice is found. What else is needed belongs to the part that needs it.

    Args:
        learners: Each makes candidates from the learning part.
        estimators: Each says what a finalist gains, on the test part; all that are informative have
            to prove it.
        rule: From estimates to a decision.
        confidence: Probability with which the decision has to be right.
        learning_share: Share of the episodes that candidates are learned from; the others test.
        discount: γ; 1 only where every episode ends, see `settle_discount`.
        look: Which look at a growing log this is; later looks have to prove more.
        looks: 1 if no other look was or will be taken.
        checks: How the log is checked before anything else.
    """

    learners: tuple[Learner, ...] = field(default_factory=lambda: default_learners())
    estimators: tuple[Estimator, ...] = field(default_factory=lambda: default_estimators())
    rule: Rule = field(default_factory=BoundsRule)
    confidence: float = 0.95
    learning_share: float = 0.5
    discount: float = 0.99
    look: int = 1
    looks: int = 1
    checks: LogCheckConfig = field(default_factory=LogCheckConfig)

    def __post_init__(self) -> None:
        problems = []
        if not 0.5 < self.confidence < 1.0:
            problems.append(
                f"confidence = {self.confidence}: must lie between 0.5 and 1, as 0.95 for 95 %"
            )
        if not 0.0 < self.learning_share < 1.0:
            problems.append(f"learning_share = {self.learning_share}: must lie between 0 and 1")
        if not 0.0 <= self.discount <= 1.0:
            problems.append(f"discount = {self.discount}: must lie in [0, 1]")
        if self.look < 1 or self.looks < 1:
            problems.append(f"look = {self.look} of {self.looks}: the first look at a log is 1")
        for kind in ("learners", "estimators"):
            names = [one.name for one in getattr(self, kind)]
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                problems.append(f"{kind}: {sorted(twice)[0]!r} is there twice; each needs a name")
        if not self.estimators:
            problems.append("estimators: at least one is needed")
        if problems:
            raise InputError(problems)

    @classmethod
    @check_arguments
    def from_toml(
        cls, path: str | os.PathLike[str], base: AdviceConfig | None = None
    ) -> AdviceConfig:
        """The configuration in a TOML file.

        Args:
            path: The file.
            base: What holds where the file says nothing; the default if not given.

        Raises:
            InputError: One line for each problem: the file, the place, the value and the remedy.
        """
        from nacre.advice.config_file import read_changes

        return dataclasses.replace(base or cls(), **read_changes(path))

    def as_toml(self) -> str:
        """The text of a TOML file that `from_toml` reads to an equal configuration.

        Raises:
            InputError: If a part is not registered, or holds what TOML has no form for.
        """
        from nacre.advice.config_file import format_config

        return format_config(self)

    def as_json(self) -> dict[str, Any]:
        """All values as plain data, for records, by the names that a TOML file has."""
        from nacre.advice.config_file import describe_config

        return describe_config(self)


def default_learners() -> tuple[Learner, ...]:
    """For vectors: two ways to learn, bandit logs by a third, and the old policy with less noise.

    Each says itself whether it applies to a log.
    """
    further = (LEARNERS.find(name)() for name in ("policy_iteration", "one_step"))
    return (NetActorCritic(KL_WEIGHT), *further, ScaleNoise(), *_find_foreign())


def _find_foreign() -> tuple[Learner, ...]:
    """Learners of other packages, each with its own defaults."""
    return tuple(LEARNERS.find(name)() for name in LEARNERS.foreign_names)


def default_estimators() -> tuple[Estimator, ...]:
    """Of different kinds: they err differently. Each says itself whether it applies to a log."""
    return tuple(estimator() for estimator in ESTIMATORS)


def suggest_config(log: Log, discount: float = 0.99) -> AdviceConfig:
    """A configuration that fits the log: tables for numbered states, networks for vectors."""
    if not isinstance(log.observation_space, gymnasium.spaces.Discrete):
        return AdviceConfig(discount=discount)
    learners: tuple[Learner, ...] = (TabularPlanner(), ScaleNoise(), *_find_foreign())
    return AdviceConfig(learners=learners, discount=discount)


def add_cost_factors(config: AdviceConfig, factors: Sequence[float]) -> AdviceConfig:
    """The same with learners that learn as if the switch cost so many times as much."""
    further = tuple(
        dataclasses.replace(learner, cost_factor=factor)
        for factor in factors
        if factor != 1.0
        for learner in config.learners
        if isinstance(learner, NetActorCritic)
    )
    return dataclasses.replace(config, learners=(*config.learners, *further))


def settle_discount(config: AdviceConfig, log: Log) -> AdviceConfig:
    """The configuration with a discount below one, see `find_discount`."""
    return dataclasses.replace(config, discount=find_discount(config.discount, log))


def find_discount(discount: float, log: Log) -> float:
    """Without a discount, values exist where episodes end; a discount near one stands for it.

    What follows a step that ends an episode is nothing, whatever its discount: after episodes of
    one step every γ gives the same values. Where they are longer, see `stand_for_one`.

    Raises:
        InputError: If γ is 1 and an episode was cut off before it ended.
    """
    if discount < 1.0:
        return discount
    cut = np.flatnonzero(~np.asarray(log.terminated)[log.offsets[1:] - 1])
    if len(cut):
        raise InputError(
            f"discount = 1: {len(cut):,} of {log.n_episodes:,} episodes do not end but are cut "
            f"off, the first is episode {cut[0]}; give a discount below 1, such as 0.999, or only "
            "episodes that end"
        )
    return stand_for_one(log)


def stand_for_one(log: Log) -> float:
    """A discount so near one that it takes little of the log's rewards away.

    Estimators need one below 1: it is what bounds a policy that never ends. The share that it takes
    away, Σ |r_t| (1 - γ^t) / Σ |r_t| over N rows, is charged (see `charge_discount`); what lies
    outside of the log may be worth 1 / (1 - γ) rewards, with the weight of one row in N. Both
    together are least at a share of about √(t / 2N), t the mean step of a reward.
    """
    if int(log.episode_lengths.max()) == 1:
        return ANY_DISCOUNT
    steps = np.arange(len(log)) - np.repeat(log.offsets[:-1], log.episode_lengths)
    sizes = np.abs(np.asarray(log.rewards, np.float64))
    if not sizes.any():
        return ANY_DISCOUNT
    step = max(1.0, float(np.average(steps, weights=sizes)))
    # 1 - γ^t ≤ t (1 - γ), so it is never more than this share.
    return 1.0 - min(LARGEST_LOSS, math.sqrt(step / (2.0 * len(log)))) / step


def find_discounted(log: Log, discount: float) -> float:
    """What a discount takes away from an episode of the log: the mean of Σ |r_t| (1 - γ^t)."""
    sizes = dataclasses.replace(log, rewards=np.abs(log.rewards))
    return float(np.mean(sizes.returns(1.0) - sizes.returns(discount)))
