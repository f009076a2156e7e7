"""The whole way: log → old value → candidates → evaluation → decision → advice."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import ArrayLike
from scipy import special

from nacre.advice import Advice, Assessment, Estimate
from nacre.advice_config import AdviceConfig, suggest_config
from nacre.costs.description import describe_cost
from nacre.costs.family import CostBreakdown, SwitchingCost, check_same_spaces
from nacre.decision.break_even import Price, find_break_even, find_price
from nacre.decision.gain import Gain
from nacre.decision.rule import decide
from nacre.decision.verdict import Judgement, judge
from nacre.errors import InputError
from nacre.evaluation.behaviour import Behaviour, examine_behaviour
from nacre.evaluation.critics import Critics
from nacre.evaluation.fitted import (
    EpochReport,
    Evaluation,
    EvaluationConfig,
    as_rows,
    evaluate_policy,
    read_values,
)
from nacre.evaluation.returns import value_from_returns
from nacre.evaluation.support import Support, examine_support
from nacre.learning.progress import Reporter, Silent, Tick
from nacre.learning.proposals import Candidate, calm_policy
from nacre.learning.run import check_fit, learn
from nacre.log import Log
from nacre.policies.files import fingerprint
from nacre.policies.policy import Policy
from nacre.versions import find_versions

LEAST_EPISODES = 4


def advise(
    log: Log,
    old_policy: Policy,
    cost: SwitchingCost,
    start: ArrayLike | None = None,
    *,
    config: AdviceConfig | None = None,
    candidates: Sequence[Candidate] = (),
    seed: int = 0,
    reporter: Reporter | None = None,
) -> Advice:
    """Should we replace the old policy, by what, and how sure is that?

    Args:
        log: Episodes of the old policy.
        old_policy: The policy in force.
        cost: The price of leaving it.
        start: The state or states that the next episode starts from; the log's own if not given.
        config: How advice is found.
        candidates: Policies of your own to be judged with the others.
        seed: Everything random follows from it.
        reporter: Hears of every epoch of every stage.
    """
    began = time.perf_counter()
    config = config or suggest_config(log)
    check_fit(log, old_policy, cost)
    if log.n_episodes < LEAST_EPISODES:
        raise InputError(
            f"the log has {log.n_episodes} episodes; advice needs at least {LEAST_EPISODES}, some "
            "to learn from and others to judge by"
        )
    _check_candidates(candidates, old_policy)
    report = reporter or Silent()
    behaviour = examine_behaviour(log, old_policy)
    learning_log, judging_log = log.split(config.learning_share, seed=seed)
    rows = np.asarray(as_rows(log.starts if start is None else start, old_policy.signature))
    proposed = [
        *candidates,
        *_calm(old_policy, config),
        *_learn(learning_log, old_policy, cost, rows, config, seed, report),
    ]
    if not proposed:
        raise InputError("there is no candidate: give one, or let one be learned")
    court = _Court(judging_log, rows, config, seed, report)
    old_fitted = court.evaluate(old_policy, "judging the old policy")
    old_value, doubt = _value_old(log, behaviour, old_policy, old_fitted, court)
    assessments = []
    for candidate in proposed:
        breakdown = cost.evaluate(old_policy, candidate.policy, log, seed=seed)
        price = find_price(cost, breakdown, old_policy, candidate.policy, log, seed=seed)
        support = examine_support(log, old_policy, candidate.policy, seed=seed)
        assessments.append(court.assess(candidate, old_fitted, breakdown, price, support, doubt))
    fitted_old = court.describe(old_fitted)
    judgement = _decide(assessments, fitted_old, behaviour, config, log.n_episodes)
    record = {
        "log": {
            "sha256": log.fingerprint(),
            "transitions": len(log),
            "episodes": log.n_episodes,
        },
        "policy": {"sha256": fingerprint(old_policy)},
        "cost_model": describe_cost(cost),
        "config": config.as_json(),
        "confidence_level": config.confidence,
        "seed": seed,
        "versions": find_versions(),
        "wall_seconds": time.perf_counter() - began,
    }
    return Advice(
        judgement,
        tuple(assessments),
        old_policy,
        old_value,
        fitted_old,
        behaviour,
        config.confidence,
        record,
        (behaviour.describe(),),
    )


def _check_candidates(candidates: Sequence[Candidate], old_policy: Policy) -> None:
    """Before anything is learned: what the user brings has to fit."""
    problems = []
    for candidate in candidates:
        try:
            check_same_spaces(old_policy, candidate.policy)
        except InputError as error:
            problems += [f"candidate {candidate.name}: {problem}" for problem in error.problems]
    if problems:
        raise InputError(problems)


def _calm(old_policy: Policy, config: AdviceConfig) -> list[Candidate]:
    """The old policy with less noise, where it has some."""
    found = []
    for factor in config.calm_factors:
        calmer = calm_policy(old_policy, factor)
        if calmer is not None:
            found.append(
                Candidate(
                    f"calm-{factor:g}", calmer, f"the old policy with {factor:g} of its noise"
                )
            )
    return found


def _learn(
    log: Log,
    old_policy: Policy,
    cost: SwitchingCost,
    start: np.ndarray,
    config: AdviceConfig,
    seed: int,
    report: Reporter,
) -> list[Candidate]:
    """One candidate for each behaviour weight; those that break down are not proposed."""
    found = []
    old_value = float(np.mean(log.returns(config.learner.discount)))
    for index, weight in enumerate(config.behaviour_weights):
        actor = dataclasses.replace(config.learner.actor, behaviour_weight=weight)
        learner = dataclasses.replace(config.learner, actor=actor)
        name = f"learned-{weight:g}"

        def renamed(tick: Tick, name: str = name) -> None:
            report(dataclasses.replace(tick, stage=f"learning {name}"))

        learned = learn(
            log,
            old_policy,
            cost,
            start,
            learner,
            old_value=old_value,
            seed=seed + index,
            reporter=renamed,
        )
        if not learned.complete:
            raise KeyboardInterrupt
        if learned.healthy:
            origin = f"Net Actor-Critic with behaviour weight {weight:g}"
            found.append(Candidate(name, learned.policy, origin))
    return found


@dataclass(frozen=True)
class _Court:
    """Held-out episodes and the fresh critics that judge by them."""

    log: Log
    start: np.ndarray
    config: AdviceConfig
    seed: int
    report: Reporter

    def evaluate(
        self, policy: Policy, stage: str, config: EvaluationConfig | None = None
    ) -> Evaluation:
        """The same networks, batches and resampled episodes for every policy."""

        def heard(epoch: EpochReport) -> None:
            self.report(
                Tick(stage, epoch.epoch, epoch.epochs, epoch.steps, epoch.loss, epoch.value)
            )

        return evaluate_policy(
            policy,
            self.log,
            self.start,
            config or self.config.judges,
            discount=self.config.learner.discount,
            seed=self.seed,
            on_epoch=heard,
        )

    def assess(
        self,
        candidate: Candidate,
        old: Evaluation,
        cost: CostBreakdown,
        price: Price,
        support: Support,
        doubt: float,
    ) -> Assessment:
        """What the critics say of a candidate, compared with the old policy."""
        new = self.evaluate(candidate.policy, f"judging {candidate.name}")
        healthy = new.healthy and old.healthy
        notes = []
        pessimistic = None
        if not support.supported:
            notes.append(
                "leaves the actions that the log holds: judged by the worst of the critics"
            )
            worst = self.evaluate(candidate.policy, f"doubting {candidate.name}", self._worst())
            healthy = healthy and worst.healthy
            pessimistic = worst.value - float(np.mean(old.per_critic))
        gain = Gain(
            np.asarray(new.per_critic, float) - np.asarray(old.per_critic, float),
            cost.total,
            cost.standard_error,
            doubt,
            pessimistic,
            self.config.spread_scale,
        )
        return Assessment(
            candidate,
            self.describe(new),
            gain,
            cost,
            support,
            find_break_even(gain, price, self.config.confidence),
            healthy,
            tuple(notes),
        )

    def _worst(self) -> EvaluationConfig:
        """The same critics with the minimum over the ensemble in the backup."""
        critics = dataclasses.replace(self.config.judges.critics, backup="min")
        return dataclasses.replace(self.config.judges, critics=critics)

    def read(self, policy: Policy, critics: Critics, start: np.ndarray) -> np.ndarray:
        """(K,) what critics say of a policy at other states than the start."""
        rows = as_rows(start, policy.signature)
        return np.asarray(
            read_values(self.config.judges, critics, policy, rows, jax.random.key(self.seed))[1],
            float,
        )

    def spread(self, values: np.ndarray) -> float:
        """Standard deviation of the members, calibrated."""
        return float(np.std(values, ddof=1)) * self.config.spread_scale

    def reach(self, values: np.ndarray) -> float:
        """Half of the interval by the members' spread."""
        place = float(special.stdtrit(len(values) - 1, (1 + self.config.confidence) / 2))
        return place * self.spread(values)

    def describe(self, evaluation: Evaluation) -> Estimate:
        """Mean and interval by the members' spread."""
        values = np.asarray(evaluation.per_critic, float)
        mean, half = float(values.mean()), self.reach(values)
        return Estimate(mean, mean - half, mean + half, "fitted")


def _value_old(
    log: Log, behaviour: Behaviour, old_policy: Policy, fitted: Evaluation, court: _Court
) -> tuple[Estimate, float]:
    """The old policy's value and how far the critics miss it.

    From the returns of its own episodes where the log is on-policy, else as fitted. Returns are
    those from the log's own starts: there the critics are compared with them, and from there to
    another start, if one is given, it is their difference that is added.
    """
    if not behaviour.on_policy:
        return court.describe(fitted), 0.0
    own = log if behaviour.own.all() else log.select(np.flatnonzero(behaviour.own))
    config = court.config
    returns = value_from_returns(
        own, config.learner.discount, confidence=config.confidence, seed=court.seed
    )
    there = np.asarray(fitted.per_critic, float)
    here, method = there, "returns of the log"
    if not _start_alike(court.start, own.starts):
        here = court.read(old_policy, fitted.critics, own.starts)
        method = "returns of the log, moved to the start by critics"
    mean, reach = returns.mean + float(np.mean(there - here)), court.reach(there - here)
    estimate = Estimate(
        mean,
        mean - float(np.hypot(returns.mean - returns.low, reach)),
        mean + float(np.hypot(returns.high - returns.mean, reach)),
        method,
    )
    chance = 2.0 * float(np.hypot(court.spread(here), returns.standard_error))
    missed = abs(float(np.mean(here)) - returns.mean) - chance
    return estimate, math.inf if math.isnan(missed) else max(0.0, missed)


def _start_alike(start: np.ndarray, starts: np.ndarray) -> bool:
    """Whether a start is that of a log's episodes: the same states, as often."""
    found = [np.unique(rows, axis=0, return_counts=True) for rows in (start, starts)]
    (states, counts), (others, times) = found
    return np.array_equal(states, others) and np.allclose(counts / len(start), times / len(starts))


def _decide(
    assessments: Sequence[Assessment],
    fitted_old: Estimate,
    behaviour: Behaviour,
    config: AdviceConfig,
    n_episodes: int,
) -> Judgement:
    gains = [one.gain for one in assessments]
    trusted = [one.trusted for one in assessments]
    found = judge(gains, confidence=config.confidence, n_episodes=n_episodes, trusted=trusted)
    if config.rule == "paper":
        best = max(
            range(len(gains)),
            key=lambda i: gains[i].mean if trusted[i] and gains[i].sound else -math.inf,
        )
        net = assessments[best].value.mean - gains[best].cost
        # Both as fitted: what the same critics get wrong of both is no gain.
        choice = decide(fitted_old.mean, net, trusted=trusted[best])
        found = Judgement(
            choice,
            best,
            gains[best].confidence,
            f"point estimates: {net:.4g} after the cost against {fitted_old.mean:.4g}",
        )
    if behaviour.on_policy:
        return found
    if found.verdict == "switch" and config.rule == "bounds":
        return dataclasses.replace(
            found, verdict="undecided", reason=f"a gain is expected, but {behaviour.describe()}"
        )
    return dataclasses.replace(found, reason=f"{found.reason}; and {behaviour.describe()}")
