"""Records of our own configuration: the advice that users get, with the truth beside it."""

from __future__ import annotations

from typing import Any

import numpy as np

from nacre.advice.config import AdviceConfig
from nacre.advice.pipeline import advise
from nacre.advice.result import Advice
from nacre.costs.family import SwitchingCost
from nacre.experiments.shared import Shared, Truth
from nacre.logs import Log
from nacre.training.progress import Progress


def run_advice(
    shared: Shared,
    log: Log,
    cost: SwitchingCost,
    config: AdviceConfig,
    truth: Truth,
    report: Progress,
) -> tuple[Advice, dict[str, Any]]:
    """Advice on a log, and its part of the record: estimates, decision, truth."""
    advice = advise(
        log,
        shared.old_policy,
        cost,
        shared.start(log),
        config=config,
        seed=shared.seed,
        progress=report,
    )
    discount = config.discount
    old_truth = shared.truth(shared.old_policy, truth, discount)
    new_truth = shared.truth(advice.new_policy, truth, discount)
    price, estimated = advice.chosen.cost.total, advice.chosen.value.mean
    return advice, {
        "old_value": {
            "returns": shared.log_value(log, discount),
            "fitted": advice.record.old_value.model_dump(),
            "true": old_truth,
        },
        "new_value": {"estimated": advice.chosen.value.mean, "true": new_truth},
        "decision": advice.verdict,
        "probability": advice.probability,
        "candidates": [one.model_dump(mode="json") for one in advice.record.candidates],
        "chosen": advice.chosen.name,
        "net_value": {
            "estimated": None if estimated is None else estimated - price,
            "true": new_truth["mean"] - price,
        },
        **compare(advice.net_gain.mean, price, old_truth, new_truth),
        "stop_reason": advice.record.reason,
        "healthy": bool(advice.record.basis),
    }


def compare(
    estimated_gain: float | None, price: float, old_truth: dict[str, Any], new_truth: dict[str, Any]
) -> dict[str, Any]:
    """Net gains estimated and true, the truth's own decision, and whether it is a tie."""
    gain = new_truth["mean"] - price - old_truth["mean"]
    error = float(np.hypot(old_truth["standard_error"], new_truth["standard_error"]))
    return {
        "improvement": {"estimated": estimated_gain, "true": gain, "standard_error": error},
        "truth_decision": "switch" if gain > 0 else "keep",
        "tie": bool(abs(gain) < 2 * error),
    }
