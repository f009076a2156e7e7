"""Configurations with a few updates: their figures mean nothing, their way is the same."""

from __future__ import annotations

import dataclasses
from typing import Any

from nacre.advice_config import AdviceConfig


def few_updates(*_: Any) -> AdviceConfig:
    """The old policy with less noise as the only candidate, three critics, whatever the log."""
    config = AdviceConfig(behaviour_weights=(), calm_factors=(0.3,))
    small = dataclasses.replace(config.learner.critics, hidden=(8,), n_critics=2, batch_size=16)
    few = {"epochs": 1, "steps_per_epoch": 4, "prefit_steps": 4}
    learner = dataclasses.replace(config.learner, critics=small, n_cost_states=8, **few)
    judging = dataclasses.replace(small, n_critics=3, backup="own")
    judges = dataclasses.replace(config.judges, critics=judging, n_actions=64, **few)
    return dataclasses.replace(config, learner=learner, judges=judges)
