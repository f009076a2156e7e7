"""An experiment that takes a moment: a pole on a cart, small critics, few episodes of truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nacre.experiments.run import Plan
from nacre.experiments.shared import Truth
from nacre.experiments.tables import RANDOM, Published, Row
from nacre.learners.net_actor_critic.config import ActorConfig, LearnerConfig
from nacre.training.backup import CriticConfig
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
    """What a summary reads of a record: by default a right switch."""
    return {
        "seed": seed,
        "improvement": {"true": true, "estimated": changed.pop("estimated", true + 1.0)},
        "decision": "switch",
        "truth_decision": "switch" if true > 0 else "keep",
        "tie": False,
        "old_value": {"returns": {"mean": 20.0}, "fitted": {"value": seed}, "true": {"mean": 21.0}},
    } | changed


TWO = [make_record(4, 60.0), make_record(5, 80.0, estimated=75.0)]
MIXED = [
    make_record(4, 2.0, decision="keep"),
    make_record(5, -3.0),
    make_record(6, -0.1, tie=True),
    make_record(7, -5.0, decision="undecided"),
]
