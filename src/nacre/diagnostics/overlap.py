"""How much of what a candidate does lies outside of the log, and what that may be worth.

Walkers start where the next episode starts. Each acts by the policy and then moves as the log moved
from the nearest states with the nearest actions. No model is fitted. A walker that is wholly
outside has nothing to follow any more: it is lost, and stays outside. What counts is the discounted
share of all steps that lie outside. The old policy walks with the same noise: it shows how far even
the policy that made the log leaves what such walks can follow, and only the excess counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from nacre.diagnostics.log_index import Floats, LogIndex
from nacre.diagnostics.walks import N_WALKERS, Walk, step_once, walk_through
from nacre.logs import Log
from nacre.logs.acting import select_own
from nacre.policies.policy import Policy

MOST_MISSING = 3
MOST_COMPARED = 500
EXTREMES = (0.005, 0.995)


@dataclass(frozen=True)
class Missing:
    """A typical state and action that the log does not hold.

    Args:
        state: The state's coordinates, or its number.
        action: The action's coordinates, or its number.
        share: Share of what lies outside that is like it.
    """

    state: tuple[float, ...] | int
    action: tuple[float, ...] | int
    share: float


@dataclass(frozen=True)
class Overlap:
    """How far a candidate leaves the log, relative to the old policy.

    Args:
        outside: Discounted share of the candidate's steps that lie outside of the log.
        outside_old: The same of the old policy.
        standard_error: Of their difference, over walkers.
        excess: 1 - (1 - outside) / (1 - outside_old), at least 0: of what the old policy's walks
            can follow, the share that the candidate leaves.
        least: Least of the discounted returns-to-go, or 0, and
        most: the largest of them, or 0.
        old_value: Mean return of the old policy's episodes, those that were cut continued.
        forms: The excess by other measures, for comparison: "since_leaving", E[γ^τ], τ the step at
            which a walker first leaves; "one_step", the candidate's actions at the log's states.
    """

    outside: float
    outside_old: float
    standard_error: float
    excess: float
    least: float
    most: float
    old_value: float
    saw_ends: bool
    missing: tuple[Missing, ...] = ()
    forms: Mapping[str, float] = field(default_factory=dict)

    @property
    def value_range(self) -> float:
        """Range of discounted returns-to-go, with 0 in it."""
        return self.most - self.least

    @property
    def penalty(self) -> float:
        """How far it moves the two bounds apart; infinite where outcomes are all alike."""
        if self.value_range > 0:
            return self.excess * self.value_range
        return math.inf if self.excess > 0 else 0.0

    def charge(self, gain: float) -> tuple[float, float]:
        """How much less, and how much more, than its estimate a candidate may gain.

        What lies outside of the log is worth at least the least and at most the most that the log
        has ever had to go, instead of what the estimate says: V - excess · (V - least) and
        V + excess · (most - V), V = old value + gain.
        """
        if not math.isfinite(self.penalty):
            return math.inf, math.inf
        value = self.old_value + gain
        return (
            self.excess * max(value - self.least, 0.0),
            self.excess * max(self.most - value, 0.0),
        )

    @property
    def note(self) -> str:
        """One sentence on what protects where the log has shown no failure, or nothing at all."""
        if self.value_range == 0.0:
            return (
                "All outcomes in the log are zero: it cannot tell what leaving it is worth, so "
                "that no candidate that leaves it can be proven."
            )
        if not self.saw_ends:
            return (
                "No episode of the log ended by itself: what a failure costs is not in it. Leaving "
                "the log is charged with all that the log has ever earned."
            )
        return ""

    def as_json(self) -> dict[str, Any]:
        """Plain numbers for a record; null for an infinite penalty."""
        return {
            "outside": self.outside,
            "outside_old": self.outside_old,
            "standard_error": self.standard_error,
            "excess": self.excess,
            "least": self.least,
            "most": self.most,
            "old_value": self.old_value,
            "value_range": self.value_range,
            "penalty": self.penalty if math.isfinite(self.penalty) else None,
            "saw_ends": self.saw_ends,
            "note": self.note,
            "forms": dict(self.forms),
            "missing": [
                {"state": case.state, "action": case.action, "share": case.share}
                for case in self.missing
            ],
        }


def _find_excess(old: float, new: float) -> float:
    """Of what the old policy keeps inside, the share that the candidate does not.

    Where even the old policy leaves at once there is nothing to compare with.
    """
    return float(np.clip((new - old) / max(1.0 - old, 0.05), 0.0, 1.0))


def measure_value_range(log: Log, discount: float) -> float:
    """Range of discounted returns-to-go: between their 0.5 % and 99.5 % quantiles, and 0."""
    least, most = bound_returns(continue_returns(log, discount))
    return most - least


def bound_returns(to_go: Floats) -> tuple[float, float]:
    """The 0.5 % and 99.5 % quantiles of returns-to-go, with 0 between them.

    Zero belongs to it because nothing is earned after an end, whether or not the log has seen one.
    """
    lowest, highest = np.quantile(to_go, EXTREMES)
    return min(float(lowest), 0.0), max(float(highest), 0.0)


def continue_returns(log: Log, discount: float) -> Floats:
    """(N,) discounted returns-to-go.

    A truncated episode stops being watched but goes on: it is taken to earn from then on what the
    last quarters of truncated episodes earn a step.
    """
    to_go = np.asarray(log.returns_to_go(discount), np.float64)
    lengths = log.episode_lengths
    truncated = ~log.terminated[log.offsets[1:] - 1]
    if np.any(truncated) and discount < 1.0:
        left = np.repeat(log.offsets[1:], lengths) - np.arange(len(log))
        going_on = np.repeat(truncated, lengths)
        late = going_on & (4 * left <= np.repeat(lengths + 3, lengths))
        rate = float(log.rewards[late].mean(dtype=np.float64))
        to_go = to_go + going_on * discount**left * rate / (1.0 - discount)
    return to_go


@dataclass(frozen=True)
class OverlapMeter:
    """What all candidates share: an index of the log, and how the old policy walks through it.

    Args:
        log: Episodes of the old policy.
        start: (N, …) states that the next episode starts from.
        discount: γ.
        seed: Everything random follows from it.
        index: The log's states and actions, by distance.
        old_walk: The old policy's walkers.
        old_steps: How far outside the old policy's actions are at the log's own states.
        to_go: (N,) discounted returns-to-go.
        old_value: Mean return of the old policy's own episodes.
    """

    log: Log
    start: NDArray[Any]
    discount: float
    seed: tuple[int, ...]
    index: LogIndex
    old_walk: Walk
    old_steps: float
    to_go: Floats
    old_value: float

    @classmethod
    def prepare(
        cls, key: PRNGKeyArray, log: Log, old_policy: Policy, start: NDArray[Any], discount: float
    ) -> OverlapMeter:
        """Build the index, and let the old policy walk."""
        seed = tuple(np.asarray(jax.random.key_data(key)).ravel().tolist())
        index = LogIndex(log, np.random.default_rng(seed))
        walk = walk_through(
            index, log, old_policy, np.asarray(start), discount, np.random.default_rng(seed)
        )
        steps = step_once(index, log, old_policy, np.random.default_rng(seed))
        to_go, own = continue_returns(log, discount), select_own(log)
        returns = to_go if own is log else continue_returns(own, discount)
        value = float(returns[own.offsets[:-1]].mean())
        outside = float(steps.mean())
        return cls(log, np.asarray(start), discount, seed, index, walk, outside, to_go, value)

    def measure(self, candidate: Policy) -> Overlap:
        """How much of a candidate lies outside of the log, and what that may be worth."""
        log, index = self.log, self.index
        walk = walk_through(
            index, log, candidate, self.start, self.discount, np.random.default_rng(self.seed)
        )
        steps = step_once(index, log, candidate, np.random.default_rng(self.seed))
        old, new = float(self.old_walk.outside.mean()), float(walk.outside.mean())
        excess = _find_excess(old, new)
        least, most = bound_returns(self.to_go)
        differences = walk.outside - self.old_walk.outside
        left = float(self.old_walk.left.mean()), float(walk.left.mean())
        return Overlap(
            outside=new,
            outside_old=old,
            standard_error=float(differences.std(ddof=1) / math.sqrt(N_WALKERS)),
            excess=excess,
            least=least,
            most=most,
            old_value=self.old_value,
            saw_ends=bool(np.any(log.terminated)),
            missing=_summarise(index, walk) if excess > 0 else (),
            forms={
                "since_leaving": _find_excess(*left),
                "one_step": _find_excess(self.old_steps, float(steps.mean())),
            },
        )


def _summarise(index: LogIndex, walk: Walk) -> tuple[Missing, ...]:
    """Those with the most like them: within one standard deviation, and the same action."""
    heaviest = np.argsort(-walk.weights, kind="stable")[:MOST_COMPARED]
    states, actions = walk.states[heaviest], walk.actions[heaviest]
    weights, total = walk.weights[heaviest].copy(), float(walk.weights.sum())
    groups, vectors = index.describe(states, actions)
    apart = np.linalg.norm(vectors[:, None] - vectors[None], axis=-1)
    alike = (groups[:, None] == groups[None]) & (apart <= 1.0)
    cases: list[Missing] = []
    while len(cases) < MOST_MISSING and weights.sum() > 0.05 * total:
        mass = alike @ weights
        centre = int(np.argmax(mass))
        cases.append(
            Missing(_plain(states[centre]), _plain(actions[centre]), float(mass[centre] / total))
        )
        weights[alike[centre]] = 0.0
    return tuple(cases)


def _plain(value: Any) -> tuple[float, ...] | int:
    return int(value) if np.ndim(value) == 0 else tuple(float(part) for part in value)
