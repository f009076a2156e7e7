"""An experiment that takes a moment: a pole on a cart, small critics, few episodes of truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import PRNGKeyArray
from safetensors.numpy import save_file

from nacre.advice.config import AdviceConfig
from nacre.estimators.base import Estimate, Problem, Report, abstain
from nacre.experiments.run import Plan
from nacre.experiments.shared import Truth
from nacre.experiments.tables import RANDOM, Published, Row
from nacre.learners.net_actor_critic.config import ActorConfig, LearnerConfig
from nacre.learners.scale_noise import ScaleNoise
from nacre.policies.policy import Policy
from nacre.training.backup import CriticConfig
from nacre.training.critics import Critics
from nacre.training.fitted_evaluation import EvaluationConfig

CRITICS = CriticConfig(hidden=(8,), batch_size=16)
LEARNER = LearnerConfig(
    critics=CRITICS,
    actor=ActorConfig(n_action_samples=4),
    evaluation=EvaluationConfig(CRITICS, epochs=2, steps_per_epoch=3, n_actions=16),
    stopping=None,
    epochs=3,
    steps_per_epoch=3,
    n_cost_states=4,
    n_cost_states_evaluation=64,
    warm_critics=True,
    form="net",
    reevaluate=False,
)


@dataclass(frozen=True)
class Stated:
    """An estimator that says what it was told, or that it does not know."""

    gain: float | None = 3.0
    name: str = "stated"
    extrapolates: bool = False

    def applies(self, problem: Problem) -> str:
        return ""

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> None:
        return

    def estimate(
        self, key: PRNGKeyArray, problem: Problem, prepared: Any, candidate: Policy, report: Report
    ) -> Estimate:
        if self.gain is None:
            return abstain(self.name, "data", "nothing was stated")
        return Estimate(self.name, self.gain, 0.1, "data", diagnostics={"old_value": 20.0})


def make_advice_config(gain: float | None = 3.0) -> AdviceConfig:
    """The old policy with less noise, and an estimator that states what it gains."""
    return AdviceConfig(learners=(ScaleNoise(),), estimators=(Stated(gain),))


TRUTH = Truth(episodes=4, steps=20)
CHEAP = Row("poles", "pole-cheap", "CartPole-v1", RANDOM, 0.5, 0.1, Published(1.0, 1.0))
COSTLY = Row("poles", "pole-costly", "CartPole-v1", RANDOM, 50.0, 10.0, Published(0.0, 1.0))


def make_plan(out: Path, *rows: Row, **options: Any) -> Plan:
    """A plan with a small log."""
    settings: dict[str, Any] = {
        "configs": ("paper",),
        "seeds": (4,),
        "old_policies": out / "policies",
        "steps": 1000,
        "truth": TRUTH,
    }
    return Plan(rows=rows or (CHEAP,), out=out, **(settings | options))


def make_record(seed: int, true: float, **changed: Any) -> dict[str, Any]:
    """What a summary reads of a record: by default a right switch.

    The old policy is worth 21, the cost is 2, and the fitted old value is the seed.
    """
    return {
        "seed": seed,
        "improvement": {"true": true, "estimated": changed.pop("estimated", true + 1.0)},
        "decision": "switch",
        "truth_decision": "switch" if true > 0 else "keep",
        "tie": False,
        "old_value": {"returns": {"mean": 20.0}, "fitted": {"value": seed}, "true": {"mean": 21.0}},
        "new_value": {"true": {"mean": true + 23.0}},
        "switching_cost": {"evaluation": {"total": 2.0}},
    } | changed


TWO = [make_record(4, 60.0), make_record(5, 80.0, estimated=75.0)]
MIXED = [
    make_record(4, 2.0, decision="keep"),
    make_record(5, -3.0),
    make_record(6, -0.1, tie=True),
    make_record(7, -5.0, decision="undecided"),
]


def write_critics(critics: Critics, path: Path) -> None:
    """Write critics as the published files keep them."""
    tensors = {}
    for layer, (weights, biases) in enumerate(zip(critics.weights, critics.biases, strict=True)):
        for member in range(critics.n_critics):
            name = f"q{member + 1}.q.{2 * layer}"
            tensors[f"{name}.weight"] = np.ascontiguousarray(np.asarray(weights[member]).T)
            tensors[f"{name}.bias"] = np.asarray(biases[member][0])
    save_file(tensors, path)
