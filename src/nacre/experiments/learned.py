"""Records of Net Actor-Critic: as the paper prints it, or as the published code runs it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from nacre.advice.paper_algorithm import Outcome, net_actor_critic
from nacre.costs.family import SwitchingCost
from nacre.experiments.advised import compare
from nacre.experiments.authors import AuthorsConfig, refit_online
from nacre.experiments.shared import Shared, Truth
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.logs import Log
from nacre.training.critics import Critics
from nacre.training.fitted_evaluation import Evaluation
from nacre.training.progress import Progress


class Clock:
    """Seconds between laps."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """End a lap."""
        now = time.perf_counter()
        self.laps[name], self._last = round(now - self._last, 1), now


def run_learner(
    shared: Shared,
    log: Log,
    cost: SwitchingCost,
    settings: LearnerConfig | AuthorsConfig,
    truth: Truth,
    report: Progress,
    begin: Critics | None,
    checkpoint: Path,
    clock: Clock,
) -> tuple[Outcome, dict[str, Any]]:
    """Net Actor-Critic with the paper's decision, and its part of the record.

    The evaluation of the old policy begins with the critics given, or with fresh ones.
    """
    authors = settings if isinstance(settings, AuthorsConfig) else None
    learner = settings.learner if isinstance(settings, AuthorsConfig) else settings
    old_evaluation = shared.evaluation(log, learner, report, begin)
    clock.lap("evaluate_old")
    outcome = net_actor_critic(
        log,
        shared.old_policy,
        cost,
        shared.start(log),
        learner,
        seed=shared.seed,
        old_evaluation=old_evaluation,
        progress=report,
        checkpoint=checkpoint,
    )
    if not outcome.complete:
        raise KeyboardInterrupt
    clock.lap("learn_and_decide")
    old_truth = shared.truth(shared.old_policy, truth, learner.discount)
    new_truth = shared.truth(outcome.new_policy, truth, learner.discount)
    clock.lap("truth")
    price = outcome.cost.total
    new_value: dict[str, Any] = {"estimated": outcome.new_value, "true": new_truth}
    if authors is not None:
        start = shared.start(log)
        new_value["refitted"] = refit_online(shared, authors, outcome, start, report)
        clock.lap("refit")
    return outcome, {
        "old_value": {
            "returns": shared.log_value(log, learner.discount),
            "fitted": _fitted(old_evaluation),
            "true": old_truth,
        },
        "new_value": new_value,
        "decision": outcome.choice,
        "net_value": {"estimated": outcome.net_value, "true": new_truth["mean"] - price},
        **compare(outcome.net_value - outcome.old_value, price, old_truth, new_truth),
        "stop_reason": outcome.learned.stop_reason,
        "healthy": outcome.learned.healthy,
        "epochs": [_brief(epoch) for epoch in outcome.learned.history],
    }


def _fitted(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "value": evaluation.value,
        "per_critic": evaluation.per_critic.tolist(),
        "settled": bool(evaluation.settled),
        "healthy": bool(evaluation.healthy),
        "reason": evaluation.reason,
    }


def _brief(epoch: Any) -> list[float]:
    """Critic loss, value, cost and net value of an epoch."""
    return [
        float(f"{number:.6g}")
        for number in (epoch.critic_loss, epoch.value, epoch.cost, epoch.net_value)
    ]
