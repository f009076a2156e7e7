"""Configurations with a few updates and records of made-up runs: figures that mean nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from nacre.advice.config import AdviceConfig
from nacre.experiments.records import record_path, write_record
from nacre.experiments.tables import Row


def few_updates(*_: Any) -> AdviceConfig:
    """The old policy with less noise as the only candidate, three critics, whatever the log."""
    config = AdviceConfig(kl_weights=(), calm_factors=(0.3,))
    small = dataclasses.replace(config.learner.critics, hidden=(8,), n_critics=2, batch_size=16)
    few = {"epochs": 1, "steps_per_epoch": 4, "prefit_steps": 4}
    learner = dataclasses.replace(config.learner, critics=small, n_cost_states=8, **few)
    judging = dataclasses.replace(small, n_critics=3, backup="own")
    judges = dataclasses.replace(config.judges, critics=judging, n_actions=64, **few)
    return dataclasses.replace(config, learner=learner, judges=judges)


def write_right_switch(out: Path, row: Row, gain: float) -> None:
    """What a summary reads of a record: a switch that was right."""
    record = {
        "seed": 4,
        "improvement": {"true": gain, "estimated": 1.0},
        "decision": "switch",
        "truth_decision": "switch",
        "tie": False,
        "old_value": {name: {"mean": 1.0} for name in ("returns", "fitted", "true")},
    }
    write_record(record_path(out, row, "paper", 4), record)
