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
from nacre.estimators.doubly_robust import DoublyRobust
from nacre.estimators.fitted_q import FittedQ
from nacre.estimators.one_step import OneStep
from nacre.estimators.tabular import Tabular
from nacre.learners.net_actor_critic.learner import NetActorCritic
from nacre.learners.scale_noise import ScaleNoise
from nacre.logs import Log
from nacre.policies import CloneConfig
from nacre.policies.cloning import fitting as cloning
from nacre.policies.cloning import log_cloning
from nacre.training.backup import CriticConfig
from nacre.training.evaluation_config import EvaluationConfig

VERDICTS = ("switch", "keep", "undecided")


def make_quick_learner(kl_weight: float = 0.03, **changes: Any) -> NetActorCritic:
    """Net Actor-Critic with two small critics and a handful of updates, as far as it comes."""
    plain = NetActorCritic(kl_weight, examine=False)
    settings = dataclasses.replace(
        plain.settings,
        critics=dataclasses.replace(
            plain.settings.critics, hidden=(8,), n_critics=2, batch_size=16, layer_norm=False
        ),
        stopping=None,
        epochs=1,
        steps_per_epoch=4,
        prefit_steps=4,
        n_cost_states=8,
    )
    return dataclasses.replace(plain, settings=settings, **changes)


def make_quick_evaluation(**changes: Any) -> EvaluationConfig:
    """Three small critics and a handful of updates."""
    critics = CriticConfig(
        n_critics=3, hidden=(8,), scale_returns=True, batch_size=16, backup="own"
    )
    plain = EvaluationConfig(
        critics,
        epochs=8,
        steps_per_epoch=4,
        prefit_steps=4,
        combine="mean",
        n_actions=64,
        averaged=True,
        bootstrap=True,
    )
    return dataclasses.replace(plain, **changes)


def suggest_quick(log: Log | None = None, discount: float = 0.99) -> AdviceConfig:
    """The old policy with less noise as the only candidate, small critics, few replicates."""
    return AdviceConfig(
        learners=(ScaleNoise(),),
        estimators=(
            Tabular(replicates=100),
            OneStep(folds=2),
            FittedQ(sets=2, groups=4, sizes=(32,)),
            DoublyRobust(sets=1, size=32),
        ),
        discount=discount,
    )


def advise_quickly(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *arguments: str | Path,
    **settings: Any,
) -> dict[str, Any]:
    """What `nacre advise --json` prints; `settings` are fields of the configuration."""

    def suggest(log: Log, discount: float = 0.99) -> AdviceConfig:
        return dataclasses.replace(suggest_quick(log, discount), **settings)

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
