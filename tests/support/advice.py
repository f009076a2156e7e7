"""Advice with a few updates: its figures mean nothing, its way is the same."""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import pytest

from nacre.advice import config as advice_config
from nacre.advice.config import AdviceConfig
from nacre.cli import app as cli
from nacre.logs import Log
from nacre.policies import CloneConfig
from nacre.policies.cloning import fitting as cloning
from nacre.policies.cloning import log_cloning

VERDICTS = ("switch", "keep", "undecided")


def suggest_quick(log: Log, discount: float = 0.99) -> AdviceConfig:
    """One learned candidate, three small critics, a handful of updates."""
    config = AdviceConfig(kl_weights=(), calm_factors=(0.3,))
    small = dataclasses.replace(
        config.learner.critics, hidden=(8,), n_critics=2, batch_size=16, layer_norm=False
    )
    learner = dataclasses.replace(
        config.learner,
        discount=discount,
        critics=small,
        epochs=1,
        steps_per_epoch=4,
        prefit_steps=4,
        n_cost_states=8,
    )
    judges = dataclasses.replace(
        config.judges,
        critics=dataclasses.replace(small, n_critics=3, backup="own"),
        epochs=1,
        steps_per_epoch=4,
        prefit_steps=4,
        n_actions=64,
    )
    return dataclasses.replace(config, learner=learner, judges=judges)


def advise_quickly(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *arguments: str | Path,
    **settings: Any,
) -> dict[str, Any]:
    """What `nacre advise --json` prints."""

    def suggest(*given: Any) -> AdviceConfig:
        return dataclasses.replace(suggest_quick(*given), **settings)

    monkeypatch.setattr(advice_config, "suggest_config", suggest)
    for module in (cloning, log_cloning):
        monkeypatch.setattr(module, "CloneConfig", functools.partial(CloneConfig, n_steps=40))
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.run(["advise", *map(str, arguments), "--json", "--quiet"])
    printed = capsys.readouterr()
    assert ended.value.code == 0, printed.err
    document: dict[str, Any] = json.loads(printed.out)
    assert document["verdict"] in VERDICTS
    return document
