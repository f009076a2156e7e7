"""The net gain of partial switches, from the log: along mixtures, and in regions.

A partial switch is a policy like any other, so that its cost is of the same family and its gain is
estimated by the same estimators, on the part of the log that the candidate was not learned from.
Small steps keep ratios small: what is not proven of the whole may be proven of a part.

Along the mixtures a fixed sequence is tested, from the smallest step up: a step counts as proven
only if all smaller ones are, so that each is tested at the whole level. Regions share another half
of the error among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium

from nacre.advice import tasks
from nacre.advice.charges import charge_finalists
from nacre.advice.guardrails import open_outcome
from nacre.advice.own_terms import scale_estimate
from nacre.advice.record import Interval
from nacre.advice.setting import Setting, Split
from nacre.diagnostics.log_checks import LogChecks
from nacre.errors import InputError
from nacre.estimators.base import Estimate, Estimator
from nacre.inference.evidence import Evidence
from nacre.inference.guardrails import GuardrailEvidence
from nacre.inference.multiplicity import split_level
from nacre.learners.base import Candidate
from nacre.policies.mixture import mix_policies
from nacre.policies.policy import Policy
from nacre.policies.region import Region, switch_region
from nacre.rollout.gaining_states import find_gaining_states
from nacre.rollout.plan_record import CurvePoint
from nacre.rollout.regions import find_region
from nacre.rollout.waiting import Worlds

GAINING = "gaining"
"""What is written for the states that gain most."""
SHARES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class NetCurve:
    """Partial switches in the order in which they are tested: mixtures first, then regions.

    Args:
        points: What is known of each.
        policies: The policy of each, as far as they were kept.
        worlds: Gains of the largest mixture in the worlds that an estimator fitted to the log.
    """

    points: tuple[CurvePoint, ...]
    policies: tuple[Policy, ...] = ()
    worlds: Worlds | None = None

    @property
    def proven(self) -> CurvePoint | None:
        """The largest mixture that is proven; else the region with the largest lower bound."""
        mixtures = [one for one in self.points if one.proven and not one.is_region]
        regions = [one for one in self.points if one.proven and one.is_region]
        if mixtures:
            return mixtures[-1]
        return max(regions, key=lambda one: one.net_gain.low or 0.0, default=None)

    @property
    def best(self) -> CurvePoint | None:
        """The one with the largest estimated net gain."""
        known = [one for one in self.points if one.net_gain.mean is not None]
        return max(known, key=lambda one: one.net_gain.mean or 0.0, default=None)


def find_net_curve(
    setting: Setting,
    new_policy: Policy,
    regions: Sequence[Region | str] = (),
    shares: Sequence[float] = SHARES,
    report: Callable[[str], None] = lambda text: None,
) -> NetCurve:
    """The net gain of mixtures of the old and the new policy, and of switches by region.

    For tables the states that gain most, by the learning part, are a further region; for vectors
    where `gaining` is asked for.

    The log is split as the advice did, by the setting's seed. This is a second look at the test
    part: the level of the bounds counts that.

    Args:
        setting: Log, old policy, cost and configuration of the advice.
        new_policy: Its candidate.
        regions: Regions to look at as well; what is written is found on the learning part.
        shares: Of the new policy, in growing order.
        report: Hears what is done.
    """
    report("checking the log")
    checks = tasks.check_log(setting, report=None)
    split = tasks.split_log(setting, checks=checks, report=None)
    old = split.old_policy
    places = _find_regions(setting, split, new_policy, regions)
    candidates = [
        Candidate(f"{share:.0%} of the way", mix_policies(old, new_policy, share), "mixture")
        for share in shares
    ]
    candidates += [
        Candidate(f"where {region.name}", switch_region(old, new_policy, region), "region")
        for region in places
    ]
    evidence, worlds = _gather(setting, split, checks, tuple(candidates), len(shares) - 1, report)
    halves = 2 if places else 1
    path_level, region_level = (
        split_level(setting.config.confidence, count, setting.config.look + 1, 2)
        for count in (halves, 2 * max(1, len(places)))
    )
    points = []
    holds = not checks.forbids_switch
    for share, candidate, one in zip(shares, candidates, evidence, strict=False):
        point = _describe(candidate.name, share, one, path_level, holds)
        holds = point.proven
        points.append(point)
    for candidate, one in zip(candidates[len(shares) :], evidence[len(shares) :], strict=True):
        allowed = not checks.forbids_switch
        points.append(_describe(candidate.name, 1.0, one, region_level, allowed))
    policies = tuple(candidate.policy for candidate in candidates)
    return NetCurve(tuple(points), policies, worlds)


def _find_regions(
    setting: Setting, split: Split, new_policy: Policy, regions: Sequence[Region | str]
) -> list[Region]:
    """All regions, those that are written found on the learning part."""
    written = [one for one in regions if one != GAINING]
    found = [
        find_region(one, split.learning, setting.seed) if isinstance(one, str) else one
        for one in written
    ]
    asked = len(written) < len(regions)
    if asked or isinstance(split.learning.observation_space, gymnasium.spaces.Discrete):
        gaining = find_gaining_states(setting, split.learning, split.old_policy, new_policy)
        if gaining is None and asked:
            raise InputError(
                f"region {GAINING!r}: by the learning part the switch pays in all states or in "
                "none; leave it out"
            )
        found += [] if gaining is None else [gaining]
    return found


def _gather(
    setting: Setting,
    split: Split,
    checks: LogChecks,
    candidates: tuple[Candidate, ...],
    whole: int,
    report: Callable[[str], None],
) -> tuple[list[Evidence], Worlds | None]:
    """What every estimator says of every candidate, and the worlds that one of them fitted."""
    places = range(len(candidates))
    quiet: dict[str, Any] = {"report": lambda event: None}
    charges = charge_finalists(setting, split=split, finalists=candidates, **quiet)
    worlds: list[Worlds] = []

    def see(estimator: Estimator, prepared: Any, place: int, found: Estimate) -> None:
        """The worlds of the first informative estimator that has some."""
        if place == whole and found.informative and not worlds:
            gains = tasks.draw_gains(
                setting, estimator, candidates[place], split=split, prepared=prepared
            )
            if gains is not None:
                worlds.append(Worlds.of(estimator.name, gains, found.standard_error))

    meter = tasks.prepare_overlap(setting, split=split, **quiet)
    overlaps = [meter.measure(candidate.policy) for candidate in candidates]
    estimates = tasks.estimate_candidates(
        setting, split, candidates, overlaps, tell=report, see=see
    )
    guardrails: list[list[GuardrailEvidence]] = [[] for _ in places]
    for terms in setting.cost.terms.guardrails:
        report(f"guardrail {terms.column}")
        outcome = open_outcome(setting, terms, split=split, checks=checks, **quiet)
        adapted = [outcome.adapt(overlap) for overlap in overlaps]
        found = tasks.estimate_candidates(setting, outcome, candidates, adapted, tell=report)
        for place in places:
            guardrails[place].append(outcome.as_evidence(found[place]))
    episodes = setting.cost.terms.episodes
    evidence = [
        Evidence(
            tuple(scale_estimate(one, episodes) for one in estimates[place]),
            charges[place].price,
            tuple(guardrails[place]),
        )
        for place in places
    ]
    return evidence, worlds[0] if worlds else None


def _describe(
    name: str, share: float, evidence: Evidence, level: float, allowed: bool
) -> CurvePoint:
    low, high = evidence.bounds(level)
    return CurvePoint(
        name=name,
        share=share,
        cost=evidence.price.total,
        net_gain=Interval.of(evidence.net_gain, low, high),
        proven=bool(allowed and low > 0 and not evidence.find_unproven(level)),
        informative=bool(evidence.basis),
    )
