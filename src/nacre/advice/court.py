"""Held-out episodes and the fresh critics that judge policies by them."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import numpy as np
from jaxtyping import ArrayLike
from numpy.typing import NDArray
from scipy import special

from nacre.advice.config import AdviceConfig
from nacre.advice.findings import Doubted, Incumbent, Judged
from nacre.advice.result import Assessment, Estimate
from nacre.costs.family import SwitchingCost
from nacre.diagnostics.action_support import examine_support
from nacre.diagnostics.on_policy import Behaviour
from nacre.estimators.advantage import read_advantage
from nacre.estimators.doubly_robust import SecondOpinion, weigh_episodes
from nacre.inference.break_even import find_break_even, find_price
from nacre.inference.gain import Gain
from nacre.learners.scale_noise import Candidate
from nacre.logs import Log
from nacre.policies.policy import Policy, Signature
from nacre.training.critics import Critics
from nacre.training.fitted_evaluation import (
    EpochReport,
    Evaluation,
    EvaluationConfig,
    Preparation,
    as_rows,
    evaluate_policy,
    prepare_evaluation,
    read_values,
)
from nacre.training.progress import Agenda, ProgressEvent
from nacre.training.returns import value_from_returns

Numbers = NDArray[np.float64]
JUDGING_OLD = "judging the old policy"


@dataclass(frozen=True)
class Court:
    """The same networks, batches and resampled episodes for every policy.

    Args:
        log: Episodes that no candidate was learned from.
        start: (N, …) states that the next episode starts from.
        config: How advice is found.
        seed: Everything random follows from it.
        report: Hears of every epoch.
        uncertainty: Share of the old policy's probability that may lie on the wrong actions.
    """

    log: Log
    start: NDArray[np.generic]
    config: AdviceConfig
    seed: int
    report: Agenda
    uncertainty: float = 0.0
    _prepared: dict[Signature, Preparation] = field(default_factory=dict, repr=False)

    def evaluate(
        self, policy: Policy, stage: str, config: EvaluationConfig | None = None
    ) -> Evaluation:
        """What fresh critics say of a policy."""
        config = config or self.config.judges
        self.report.begin(stage, config.epochs)

        def heard(epoch: EpochReport) -> None:
            self.report(
                ProgressEvent(
                    stage, epoch.epoch, epoch.epochs, epoch.steps, epoch.loss, epoch.value
                )
            )

        return evaluate_policy(
            policy,
            self.log,
            self.start,
            config,
            discount=self.config.learner.discount,
            seed=self.seed,
            prepared=self.prepare(policy),
            on_epoch=heard,
        )

    def find_panel(self, number: int) -> Court:
        """As many other critics, for the same episodes resampled otherwise; this is panel 1."""
        state = np.random.SeedSequence([self.seed, number]).generate_state(1)
        return dataclasses.replace(self, seed=int(state[0] >> 1), _prepared={})

    def prepare(self, policy: Policy) -> Preparation:
        """The same for all policies of the same spaces, and for either way of judging them."""
        signature = policy.signature
        if signature not in self._prepared:
            self._prepared[signature] = prepare_evaluation(
                self.log,
                signature,
                self.config.judges,
                discount=self.config.learner.discount,
                seed=self.seed,
            )
        return self._prepared[signature]

    def doubt(self, candidate: Candidate, old_policy: Policy, log: Log) -> Doubted:
        """How far the log supports a candidate, and the worst of the critics where it counts."""
        support = examine_support(log, old_policy, candidate.policy, seed=self.seed)
        share = self._find_share(candidate, supported=support.supported)
        worst = None
        if share > 0:
            critics = dataclasses.replace(self.config.judges.critics, backup="min")
            judges = dataclasses.replace(self.config.judges, critics=critics)
            worst = self.evaluate(candidate.policy, f"doubting {candidate.name}", judges)
        return Doubted(support, share, worst)

    def assess(
        self,
        candidate: Candidate,
        new: Evaluation,
        incumbent: Incumbent,
        doubted: Doubted,
        cost: SwitchingCost,
        log: Log,
    ) -> Judged:
        """What a candidate adds to the old policy and what the switch costs.

        Args:
            candidate: The policy proposed.
            new: What the critics say of it.
            incumbent: The policy in force, and what they say of that.
            doubted: What the worst of the critics says of the candidate.
            cost: The price of the switch.
            log: The whole log: the cost needs no held-out part.
        """
        old_policy, old = incumbent.policy, incumbent.evaluation
        breakdown = cost.evaluate(old_policy, candidate.policy, log, seed=self.seed)
        price = find_price(cost, breakdown, old_policy, candidate.policy, log, seed=self.seed)
        second = self._ask_again(candidate, old_policy, old, new) if incumbent.on_policy else None
        healthy = new.healthy and old.healthy
        contradicted, proof, proven = 0.0, None, -math.inf
        if second is not None and second.usable:
            there = self._compare_at_starts(candidate, old_policy, old, new)
            contradicted = second.contradicts(float(np.mean(there)), self._spread(there))
            if doubted.checked:
                proof = self._ask_again(candidate, old_policy, old, new, by_state=True)
                # What holds at the log's starts is moved to ours by the critics.
                moved = _differences(new.per_critic, old.per_critic) - there
                proven = proof.bound(self.config.confidence) + float(np.mean(moved))
        gain = Gain(
            _differences(new.per_critic, old.per_critic),
            breakdown.total,
            math.hypot(
                breakdown.standard_error,
                price.error(cost.weight_errors),
                price.shift(self.uncertainty, breakdown.learning_mass),
            ),
            max(incumbent.missed, contradicted),
            scale=self.config.spread_scale,
        )
        gain, notes = self._lower(gain, new, old, doubted, proven)
        if gain.pessimistic is not None and doubted.worst is not None:
            # Whether the worst broke down matters only where it counts.
            healthy = healthy and doubted.worst.healthy
        if second is not None and contradicted > 0:
            notes.append(f"weighted episodes say otherwise: {second.gain:.4g} before the cost")
        return Judged(
            Assessment(
                candidate,
                self.describe(new),
                gain,
                breakdown,
                doubted.support,
                find_break_even(gain, price, self.config.confidence),
                healthy,
                tuple(notes),
                second,
                proof,
            ),
            new,
            old,
            doubted,
        )

    def _find_share(self, candidate: Candidate, *, supported: bool) -> float:
        """How far towards the worst of the critics the gain of a candidate has to be one."""
        if not supported:
            return 1.0
        return self.config.doubt_share if candidate.searched else 0.0

    def _lower(
        self, gain: Gain, new: Evaluation, old: Evaluation, doubted: Doubted, proven: float
    ) -> tuple[Gain, list[str]]:
        """The gain that is left some way towards the worst of the critics; all the way outside.

        Within the log's actions the worst is no worse than what is `proven` otherwise.
        """
        share, notes = doubted.share, []
        if share == 1.0:
            notes.append(
                "leaves the actions that the log holds: judged by the worst of the critics"
            )
        # At whatever price: who gains nothing before the cost need not be doubted.
        if doubted.worst is None or (share < 1.0 and gain.mean + gain.cost <= 0):
            return gain, notes
        known, worst = float(np.mean(old.per_critic)), doubted.worst.value
        if share < 1.0:
            worst = max(worst, known + proven)
        left = _move(new.per_critic, worst, share) - known
        gain = dataclasses.replace(gain, pessimistic=left)
        if share < 1.0 and not gain.bound(self.config.confidence) > 0:
            notes.append(
                f"gains nothing for certain {share:.0%} of the way from the critics' mean to the "
                "worst of them"
            )
        return gain, notes

    def _ask_again(
        self,
        candidate: Candidate,
        old_policy: Policy,
        old: Evaluation,
        new: Evaluation,
        *,
        by_state: bool = False,
    ) -> SecondOpinion:
        return weigh_episodes(
            self.log,
            old_policy,
            candidate.policy,
            old.critics,
            new.critics,
            discount=self.config.learner.discount,
            seed=self.seed,
            by_state=by_state,
        )

    def _compare_at_starts(
        self, candidate: Candidate, old_policy: Policy, old: Evaluation, new: Evaluation
    ) -> Numbers:
        """(K,) gains by the critics at the log's own starts, where weighted episodes begin."""
        starts = self.log.starts
        return _differences(
            self.read(candidate.policy, new.critics, starts),
            self.read(old_policy, old.critics, starts),
        )

    def gain_at(self, state: NDArray[np.generic], judged: Judged, old_policy: Policy) -> Gain:
        """The net gain of a candidate if the next episode starts from one certain state.

        Weighted episodes say nothing of single starts: there the worst of the critics counts.
        """
        policy = judged.assessment.candidate.policy
        known = self.read(old_policy, judged.old.critics, state)
        new = self.read(policy, judged.new.critics, state)
        pessimistic = None
        if judged.worst is not None:
            worst = float(np.mean(self.read(policy, judged.worst.critics, state)))
            pessimistic = _move(new, worst, judged.doubted.share) - float(np.mean(known))
        return dataclasses.replace(
            judged.assessment.gain,
            differences=_differences(new, known),
            pessimistic=pessimistic,
        )

    def advantage(
        self, new_policy: Policy, old_policy: Policy, old: Evaluation
    ) -> Callable[[NDArray[np.generic]], Numbers]:
        """How much the new policy's first action gains at states, the old policy going on."""
        return functools.partial(
            read_advantage, old.critics, new_policy, old_policy, seed=self.seed
        )

    def read(self, policy: Policy, critics: Critics, start: NDArray[np.generic]) -> Numbers:
        """(K,) what critics say of a policy at other states than the start."""
        rows = as_rows(start, policy.signature)
        key = jax.random.key(self.seed)
        return np.asarray(read_values(self.config.judges, critics, policy, rows, key)[1], float)

    def describe(self, evaluation: Evaluation) -> Estimate:
        """Mean and interval by the members' spread."""
        values = np.asarray(evaluation.per_critic, float)
        mean, half = float(values.mean()), self._reach(values)
        return Estimate(mean, mean - half, mean + half, "fitted")

    def value_old(
        self, log: Log, behaviour: Behaviour, old_policy: Policy, fitted: Evaluation
    ) -> tuple[Estimate, float]:
        """The old policy's value and how far the critics miss it.

        From the returns of its own episodes where the log is on-policy, else as fitted. Returns are
        those from the log's own starts: there the critics are compared with them, and from there to
        another start, if one is given, it is their difference that is added.
        """
        if not behaviour.on_policy:
            return self.describe(fitted), 0.0
        own = log if behaviour.own.all() else log.select(np.flatnonzero(behaviour.own))
        config = self.config
        returns = value_from_returns(
            own, config.learner.discount, confidence=config.confidence, seed=self.seed
        )
        there = np.asarray(fitted.per_critic, float)
        here, method = there, "returns of the log"
        if not _start_alike(self.start, own.starts):
            here = self.read(old_policy, fitted.critics, own.starts)
            method = "returns of the log, moved to the start by critics"
        mean, reach = returns.mean + float(np.mean(there - here)), self._reach(there - here)
        estimate = Estimate(
            mean,
            mean - float(np.hypot(returns.mean - returns.low, reach)),
            mean + float(np.hypot(returns.high - returns.mean, reach)),
            method,
        )
        chance = 2.0 * float(np.hypot(self._spread(here), returns.standard_error))
        missed = abs(float(np.mean(here)) - returns.mean) - chance
        return estimate, math.inf if math.isnan(missed) else max(0.0, missed)

    def _spread(self, values: Numbers) -> float:
        """Standard deviation of the members, calibrated."""
        return float(np.std(values, ddof=1)) * self.config.spread_scale

    def _reach(self, values: Numbers) -> float:
        """Half of the interval by the members' spread."""
        place = float(special.stdtrit(len(values) - 1, (1 + self.config.confidence) / 2))
        return place * self._spread(values)


def _move(members: ArrayLike, worst: float, share: float) -> float:
    """A value between the mean of the critics and the worst of them."""
    mean = float(np.mean(np.asarray(members, float)))
    return worst if share == 1.0 else mean + share * (worst - mean)


def _differences(new: Numbers, old: Numbers) -> Numbers:
    """(K,) by the same critic each."""
    found: Numbers = np.asarray(new, np.float64) - np.asarray(old, np.float64)
    return found


def _start_alike(start: NDArray[np.generic], starts: NDArray[np.generic]) -> bool:
    """Whether a start is that of a log's episodes: the same states, as often."""
    found = [np.unique(rows, axis=0, return_counts=True) for rows in (start, starts)]
    (states, counts), (others, times) = found
    return np.array_equal(states, others) and np.allclose(counts / len(start), times / len(starts))
