"""Smaller steps towards a candidate: policies between it and the old one."""

from __future__ import annotations

from nacre.learners.base import Candidate
from nacre.policies.blackbox import BlackBox
from nacre.policies.mixture import mix_policies
from nacre.policies.policy import Policy
from nacre.policies.records import RecordedPolicy

STEPS = (0.5, 0.2)
"""Shares of the steps towards a candidate."""


def make_steps(candidate: Candidate, old_policy: Policy) -> list[Candidate]:
    """Policies between the old one and a candidate, where both can be asked anywhere."""
    if any(isinstance(one, BlackBox | RecordedPolicy) for one in (candidate.policy, old_policy)):
        return []
    return [
        Candidate(
            _name_step(candidate, share),
            mix_policies(old_policy, candidate.policy, share),
            f"{candidate.origin}; in {100 * share:g} % of all steps, else the old policy",
        )
        for share in STEPS
    ]


def is_step(one: Candidate, candidate: Candidate) -> bool:
    """Whether one is a smaller step towards a candidate."""
    named = one.name in [_name_step(candidate, share) for share in STEPS]
    return named and one.origin.startswith(f"{candidate.origin}; ")


def _name_step(candidate: Candidate, share: float) -> str:
    return f"{candidate.name}-step{share:g}"
