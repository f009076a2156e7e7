"""What a policy is worth, from a log: by its returns where the policy made it, and as fitted."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import ArrayLike
from numpy.typing import NDArray
from scipy import special

from nacre.advice.config import find_discount, find_discounted
from nacre.advice.inputs import LogSource, PolicySource
from nacre.advice.record import BY_RETURNS, Value, finite
from nacre.costs.fit import check_log_fits
from nacre.diagnostics.on_policy import Behaviour, examine_behaviour
from nacre.errors import InputError, check_arguments
from nacre.logs import Log, read_log
from nacre.policies import Policy, fingerprint, read_policy
from nacre.training.fitted_evaluation import (
    CriticConfig,
    Evaluation,
    EvaluationConfig,
    evaluate_policy,
)
from nacre.training.progress import NoProgress, Progress
from nacre.training.returns import value_from_returns
from nacre.versions import find_versions


def default_evaluation() -> EvaluationConfig:
    """Eight members, each on its own resample of the episodes, from the log's returns on."""
    return EvaluationConfig(
        critics=CriticConfig.normalised(8, hidden=(64, 64), polyak=0.95, backup="own"),
        epochs=40,
        steps_per_epoch=400,
        prefit_steps=1000,
        combine="mean",
        averaged=True,
        bootstrap=True,
        asked_once=True,
        clip_targets=True,
    )


@dataclass(frozen=True)
class Question:
    """What is asked of a log.

    Args:
        start: The state or states that episodes start from; the log's own if not given.
        discount: γ; 1 where every episode of the log ends.
        confidence: Probability with which intervals hold the value.
        config: The critics that evaluate the policy.
        seed: Everything random follows from it.
        near_one: The critics' discount, where it stands for γ = 1.
        room: What that takes away from an episode; fitted intervals are wider by it.
    """

    start: ArrayLike | None
    discount: float
    confidence: float
    config: EvaluationConfig
    seed: int
    near_one: float | None = None
    room: float = 0.0

    def __post_init__(self) -> None:
        problems = []
        if not 0.0 < self.confidence < 1.0:
            problems.append(f"confidence = {self.confidence}: must lie between 0 and 1")
        if not 0.0 <= self.discount <= 1.0:
            problems.append(f"discount = {self.discount}: must lie in [0, 1]")
        if problems:
            raise InputError(problems)

    def about(self, log: Log) -> Question:
        """With a discount near one for critics, where none is wanted."""
        if self.discount < 1.0:
            return self
        near_one = find_discount(self.discount, log)
        return dataclasses.replace(self, near_one=near_one, room=find_discounted(log, near_one))


@dataclass(frozen=True)
class Valuation:
    """What a policy is worth by a log.

    Args:
        fitted: By critics that were fitted to the log (Algorithm 2), each to its own resample of
            the episodes; the interval is that of their spread.
        returns: By the returns of the policy's own episodes, where most of the log is that.
        behaviour: Whose actions the log holds.
        old: The same of the old policy as fitted, if one was given.
        difference: How much more the policy is worth than the old one; paired,
            with the same critics.
        healthy: Whether no critic broke down.
        notes: What to know beside the numbers.
        record: Hashes, configuration, seed and versions.
    """

    fitted: Value
    returns: Value | None
    behaviour: Behaviour
    old: Value | None
    difference: Value | None
    healthy: bool
    notes: tuple[str, ...]
    record: Mapping[str, Any]

    @property
    def value(self) -> Value:
        """The better of the two: returns where there are some."""
        return self.fitted if self.returns is None else self.returns

    def as_json(self) -> dict[str, Any]:
        """Plain data; what is not known is null."""
        optional = {"returns": self.returns, "old_value": self.old, "difference": self.difference}
        return {
            "value": self.value.model_dump(),
            "fitted": self.fitted.model_dump(),
            **{name: one and one.model_dump() for name, one in optional.items()},
            "on_policy": self.behaviour.on_policy,
            "own_share": finite(self.behaviour.share),
            "healthy": self.healthy,
            "notes": list(self.notes),
            **self.record,
        }


@check_arguments
def evaluate(
    log: LogSource,
    policy: PolicySource,
    *,
    old_policy: PolicySource | None = None,
    start: ArrayLike | None = None,
    discount: float = 0.99,
    confidence: float = 0.95,
    config: EvaluationConfig | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Valuation:
    """What is a policy worth, and how much more than the old one?

    Args:
        log: Of any policy, or its file; what it says is surest of the one that made it.
        policy: The policy, its file, or "clone" or "columns" to take it from the log.
        old_policy: One to compare it with, given likewise.
        start: The state or states that episodes start from; the log's own if not given.
        discount: γ; 1 where every episode of the log ends.
        confidence: Probability with which intervals hold the value.
        config: The critics that evaluate the policy; those of the fitted-Q estimator if not given.
        seed: Everything random follows from it.
        progress: Hears of every epoch.
    """
    began = time.perf_counter()
    question = Question(start, discount, confidence, config or default_evaluation(), seed)
    episodes = log if isinstance(log, Log) else read_log(log)
    question = question.about(episodes)
    evaluated = _read(policy, episodes, seed, "the policy")
    reference = None
    if old_policy is not None:
        reference = _read(old_policy, episodes, seed, "the old policy")
    report = progress or NoProgress()
    behaviour = examine_behaviour(episodes, evaluated)
    new = _fit(episodes, evaluated, question, "evaluating the policy", report)
    old = None
    if reference is not None:
        old = _fit(episodes, reference, question, "evaluating the old policy", report)
    return Valuation(
        _summarise(new.per_critic, question, "fitted"),
        _read_returns(episodes, behaviour, question),
        behaviour,
        None if old is None else _summarise(old.per_critic, question, "fitted"),
        None if old is None else _compare(new, old, question),
        new.healthy and (old is None or old.healthy),
        _remark(behaviour, question, new, old),
        {
            **_describe_inputs(episodes, evaluated, reference),
            "discount": discount,
            "confidence_level": confidence,
            "config": dataclasses.asdict(question.config),
            "seed": seed,
            "versions": find_versions(),
            "wall_seconds": time.perf_counter() - began,
        },
    )


def _read(source: PolicySource, log: Log, seed: int, name: str) -> Policy:
    """A policy that acts in the spaces of the log."""
    policy = source if isinstance(source, Policy) else read_policy(source, log=log, seed=seed)
    check_log_fits(log, policy, name)
    return policy


def _describe_inputs(log: Log, policy: Policy, old_policy: Policy | None) -> dict[str, Any]:
    return {
        "log": log.identify(),
        "policy": {"sha256": fingerprint(policy)},
        "old_policy": old_policy and {"sha256": fingerprint(old_policy)},
    }


def _remark(
    behaviour: Behaviour, question: Question, new: Evaluation, old: Evaluation | None
) -> tuple[str, ...]:
    """What to know beside the numbers."""
    notes = [_describe_origin(behaviour)]
    if question.room > 0.0:
        notes.append(
            f"critics take a discount of {question.near_one:.6g} for 1; what that changes in the "
            "log widens the intervals of fitted values, those of a difference twice"
        )
    if question.start is not None and behaviour.on_policy:
        notes.append("its returns are those of the log's own starts and say nothing of this one")
    for evaluation in filter(None, (new, old)):
        if not evaluation.healthy:
            notes.append(
                f"the critics broke down: {evaluation.reason}; do not rely on the fitted value"
            )
    return tuple(notes)


def _fit(log: Log, policy: Policy, question: Question, stage: str, report: Progress) -> Evaluation:
    return evaluate_policy(
        policy,
        log,
        log.starts if question.start is None else question.start,
        question.config,
        discount=question.discount if question.near_one is None else question.near_one,
        seed=question.seed,
        on_epoch=lambda epoch: report(epoch.at(stage)),
    )


def _compare(new: Evaluation, old: Evaluation, question: Question) -> Value:
    """How much more the new one is worth, member by member; each policy has its own room."""
    members = new.per_critic - old.per_critic
    return _summarise(members, dataclasses.replace(question, room=2 * question.room), "paired")


def _summarise(members: NDArray[Any], question: Question, method: str) -> Value:
    """Mean of the members and an interval by their spread, with Student's t."""
    values = np.asarray(members, np.float64)
    mean = float(values.mean())
    if len(values) < 2:
        return Value.of(mean, method=method)
    place = float(special.stdtrit(len(values) - 1, (1 + question.confidence) / 2))
    half = place * float(np.std(values, ddof=1)) + question.room
    return Value.of(mean, mean - half, mean + half, method=method)


def _read_returns(log: Log, behaviour: Behaviour, question: Question) -> Value | None:
    """From the policy's own episodes; none where they are not most of the log."""
    if not behaviour.on_policy or question.start is not None:
        return None
    own = log if behaviour.own.all() else log.select(np.flatnonzero(behaviour.own))
    found = value_from_returns(
        own, question.discount, confidence=question.confidence, seed=question.seed
    )
    return Value.of(found.mean, found.low, found.high, method=BY_RETURNS)


def _describe_origin(behaviour: Behaviour) -> str:
    """Whether the log is the policy's own, in words that do not call it the old one."""
    foreign, n = int((~behaviour.own).sum()), len(behaviour.own)
    if not behaviour.on_policy:
        return "the log was not made by this policy: its value is an estimate by critics alone"
    if foreign:
        return f"{foreign} of {n} episodes were not made by this policy; its returns leave them out"
    return "every episode of the log looks like this policy's own"
