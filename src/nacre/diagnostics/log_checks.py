"""All checks of a log before anything is estimated, and what they mean for the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.diagnostics.duplicates import Duplicates, find_duplicates
from nacre.diagnostics.exploration import Exploration, find_exploration
from nacre.diagnostics.on_policy import Behaviour, examine_behaviours
from nacre.diagnostics.stationarity import LEVEL, Drift, find_drift
from nacre.diagnostics.units import LEAST_BLOCK_ROWS, LEAST_UNITS
from nacre.errors import InputError
from nacre.logs import Log
from nacre.logs.acting import find_acting, select_own
from nacre.policies.policy import Policy

LEAST_EPISODES = 10
"""Different episodes: five to learn from and five to test on."""


@dataclass(frozen=True)
class LogCheckConfig:
    """How a log is checked.

    Args:
        level: Probability that drift is found where there is none.
        least_episodes: Different episodes that a switch needs.
        epsilon: ε of uniform exploration on top of the given old policy; estimated if None.
    """

    level: float = LEVEL
    least_episodes: int = LEAST_EPISODES
    epsilon: float | None = None

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        if not 0.0 < self.level < 1.0:
            raise InputError(f"level {self.level}: not between 0 and 1; give 0.01, say")
        if self.least_episodes < 2:
            raise InputError(
                f"least_episodes {self.least_episodes}: a log is split in two; give at least 2"
            )
        if self.epsilon is not None and not 0.0 <= self.epsilon <= 1.0:
            raise InputError(f"epsilon {self.epsilon}: no probability; give a number from 0 to 1")


DEFAULT = LogCheckConfig()


@dataclass(frozen=True)
class LogChecks:
    """What is wrong with a log, with its numbers.

    Args:
        duplicates: Repeated episodes; each counts once.
        drift: Whether earlier and later episodes differ; asked of the different episodes, its
            numbers are those of the whole log.
        behaviour: Whose actions they are, exploration included in the old policy.
        exploration: What the log explores on top of the given old policy.
        old_policy: The given old policy with that exploration: the one to compare with.
        config: How it was checked.
    """

    duplicates: Duplicates
    drift: Drift
    behaviour: Behaviour
    exploration: Exploration
    old_policy: Policy
    config: LogCheckConfig

    @property
    def n_different(self) -> int:
        """Episodes that count."""
        return len(self.find_usable())

    @property
    def has_too_few(self) -> bool:
        """Whether there are fewer different episodes than a switch needs."""
        return self.n_different < self.config.least_episodes

    def find_usable(self) -> NDArray[np.int64]:
        """Numbers of the episodes that count: of repeated ones the first, and no foreign ones."""
        keep = np.asarray(self.duplicates.keep, np.int64)
        if not self.behaviour.on_policy:
            return keep
        return keep[self.behaviour.own[keep]]

    @property
    def hides_drift(self) -> bool:
        """Whether there are enough episodes to learn from, but too few to see drift in them."""
        return not self.drift.tested and not self.has_too_few

    @property
    def reason(self) -> str:
        """Why this log can support no switch; empty where it can."""
        reasons = []
        if self.drift.found:
            reasons.append(f"the log drifts ({', '.join(self.drift.found)})")
        if self.has_too_few:
            reasons.append(
                f"only {self.n_different} different episodes, at least "
                f"{self.config.least_episodes} are needed"
            )
        if self.hides_drift:
            reasons.append(f"{self.n_different} short episodes are too few to test for drift")
        if not self.behaviour.on_policy:
            reasons.append("most of the log was not made by the given old policy")
        if self.exploration.contradicted:
            reasons.append("the log's exploration is not the given one")
        return "; ".join(reasons)

    @property
    def forbids_switch(self) -> bool:
        """Whether no switch may be advised from this log."""
        return self.reason != ""

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences for people, each with its remedy."""
        candidates = (
            self._tell_few(),
            self._tell_hidden_drift(),
            self._tell_drift(),
            self._tell_foreign(),
            self._tell_exploration(),
            self._tell_duplicates(),
        )
        return tuple(sentence for sentence in candidates if sentence)

    def as_json(self) -> dict[str, Any]:
        """Numbers and sentences for the record."""
        own = self.behaviour.own
        score = self.behaviour.overall_score
        return {
            "duplicates": self.duplicates.as_json(),
            "drift": self.drift.as_json(),
            "on_policy": {
                "episodes": len(own),
                "foreign_episodes": int((~own).sum()),
                "own_share": self.behaviour.share,
                "overall_score": score if np.isfinite(score) else None,
                "consistent": self.behaviour.consistent,
                "on_policy": self.behaviour.on_policy,
            },
            "exploration": self.exploration.as_json(),
            "episodes": {"different": self.n_different, "least": self.config.least_episodes},
            "problems": list(self.problems),
            "forbids_switch": self.forbids_switch,
            "reason": self.reason,
        }

    def _tell_few(self) -> str:
        if not self.has_too_few:
            return ""
        return (
            f"Too few episodes: {self.n_different} different ones, a switch needs at least "
            f"{self.config.least_episodes}. Collect more episodes with the old policy, or cut a "
            "long one where the world starts anew."
        )

    def _tell_hidden_drift(self) -> str:
        if not self.hides_drift:
            return ""
        return (
            f"Too few episodes to test for drift: {self.n_different} different ones, a switch "
            f"needs at least {LEAST_UNITS}, or {LEAST_UNITS * LEAST_BLOCK_ROWS} rows in long ones. "
            "Collect more episodes with the old policy."
        )

    def _tell_drift(self) -> str:
        if not self.drift.found:
            return ""
        if self.drift.since == 0:
            return (
                f"Drift: {self.drift.describe()}. Good and poor times take turns: make what tells "
                "them apart a part of the state, or use the episodes of one kind of time."
            )
        return (
            f"Drift: {self.drift.describe()}. Use the episodes since the change: "
            f"--since {self.drift.since}. If they drift too, collect a new log."
        )

    def _tell_foreign(self) -> str:
        if self.behaviour.on_policy and self.behaviour.own.all():
            return ""
        remedy = (
            "They are left out."
            if self.behaviour.on_policy
            else "Give the policy that made the log, or clone it from the log."
        )
        return f"Foreign episodes: {self.behaviour.describe()}. {remedy}"

    def _tell_exploration(self) -> str:
        if self.exploration.contradicted:
            return (
                f"Exploration: {self.exploration.describe()}. Leave --epsilon out, so that it is "
                "found in the log, or give the policy that made the log."
            )
        if self.exploration.given or not self.exploration.impossible:
            return ""
        remedy = (
            "It is taken for a part of the old policy. Give --epsilon if you know it exactly."
            if self.exploration.found
            else "Give the policy that made the log, or --epsilon if it does explore."
        )
        return f"Exploration: {self.exploration.describe()}. {remedy}"

    def _tell_duplicates(self) -> str:
        if not self.duplicates.n_repeated:
            return ""
        return (
            f"Repeated episodes: {self.duplicates.describe()}. If the file was put together from "
            "overlapping parts, join them again without the overlap."
        )


def check_log(
    log: Log,
    old_policy: Policy,
    config: LogCheckConfig = DEFAULT,
    *,
    seed: int = 0,
    acting: Sequence[Policy] = (),
    uncertainty: float = 0.0,
) -> LogChecks:
    """Run all checks of a log.

    Args:
        log: The log, episodes in the order in which they happened.
        old_policy: The policy that is said to have made it.
        config: Levels, and ε where it is known.
        seed: The same seed gives the same answer.
        acting: Further policies that acted in the log; its column `acting_policy` says where.
            Drift and exploration are looked for in the old policy's own episodes: they go through
            all times, and what others do, foreign episodes too, is no change of the world.
        uncertainty: Of a clone: share of its probability that may lie on the wrong actions.
    """
    duplicates = find_duplicates(log)
    own = select_own(log)
    exploration = find_exploration(own, old_policy, config.epsilon)
    exploring = exploration.include(old_policy)
    behaviour = examine_behaviours(log, (exploring, *acting), uncertainty)
    keep = np.asarray(duplicates.keep, np.int64)
    keep = keep[find_acting(log)[keep] == 0]
    if behaviour.on_policy:
        keep = keep[behaviour.own[keep]]
    different = log if len(keep) == log.n_episodes else log.select(keep)
    drift = find_drift(different, exploring, level=config.level, seed=seed, whole=own)
    return LogChecks(duplicates, drift.renumber(keep), behaviour, exploration, exploring, config)
