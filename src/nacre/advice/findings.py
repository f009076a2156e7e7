"""What is found out about the policy in force and about candidates before there is a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from nacre.advice.result import Assessment, Estimate
from nacre.diagnostics.action_support import Support
from nacre.diagnostics.on_policy import Behaviour
from nacre.learners.net_actor_critic.run import Learned
from nacre.policies.policy import Policy
from nacre.training.fitted_evaluation import Evaluation


@dataclass(frozen=True)
class Incumbent:
    """The policy in force, and what the critics say of it.

    `missed` is how far they miss its returns; only a log that is its own, `on_policy`, can be
    weighted by how likely others are to act so.
    """

    policy: Policy
    evaluation: Evaluation
    missed: float
    on_policy: bool


@dataclass(frozen=True)
class Doubted:
    """How far the log supports a candidate, and what the worst of the critics says of it.

    `share` is how far towards the worst its gain still has to be one; nobody asks the worst, and it
    is None, where that is no way at all. Where it is `checked`, the worst is no worse than what
    weighted episodes prove.
    """

    support: Support
    share: float
    worst: Evaluation | None
    checked: bool = False


@dataclass(frozen=True)
class Judged:
    """A candidate, what is known of it, and the critics that said so.

    `old` is what the same critics say of the policy in force.
    """

    assessment: Assessment
    new: Evaluation
    old: Evaluation
    doubted: Doubted

    @property
    def worst(self) -> Evaluation | None:
        """The worst of the critics, where it counts."""
        return None if self.assessment.gain.pessimistic is None else self.doubted.worst

    def convinces(self, confidence: float) -> bool:
        """Whether the candidate would be switched to."""
        return self.assessment.trusted and self.assessment.gain.bound(confidence) > 0


class Heard(NamedTuple):
    """Whose log it is, the policy in force and its value, what was learned, candidates."""

    behaviour: Behaviour
    incumbent: Incumbent
    old_value: Estimate
    learned: dict[str, Learned]
    judged: list[Judged]
