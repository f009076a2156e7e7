"""Command line and Python, from paths and from objects: the same record."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

import nacre
from nacre.advice import config as advice_config
from nacre.advice import pipeline
from nacre.advice.config import AdviceConfig
from nacre.cli import app as cli
from nacre.cli import waiting
from nacre.logs import Log, write_log
from nacre.policies import CloneConfig
from nacre.policies.cloning import fitting, log_cloning
from tests.support.rooms import CONFIG, make_rooms_log

COST = """
kind = "transport"
learning_weight = 4.0
transaction_weight = 0.5
[groups]
kind = "halves"
names = ["stay", "change rooms"]
[value]
unit = "€"
episodes_per_day = 10
horizon_days = 30
"""
SEED = 102


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A log and a cost; what a log calls for is little here."""

    def suggest(log: Log, discount: float = 0.99) -> AdviceConfig:
        return CONFIG

    for module in (advice_config, pipeline):
        monkeypatch.setattr(module, "suggest_config", suggest)
    for module in (fitting, log_cloning, waiting):
        monkeypatch.setattr(module, "CloneConfig", functools.partial(CloneConfig, n_steps=200))
    log, cost = tmp_path / "log.parquet", tmp_path / "cost.toml"
    write_log(make_rooms_log(), log)
    cost.write_text(COST, encoding="utf-8")
    return log, cost


def _strip(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "wall_seconds"}


def test_all_ways_lead_to_the_same_record(
    files: tuple[Path, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    path, cost = files
    words = ["advise", "--log", path, "--policy", "clone", "--cost", cost, "--json"]
    with pytest.raises(SystemExit) as ended:
        cli.run([*map(str, words), "--seed", str(SEED), "--quiet"])
    assert ended.value.code == 0
    by_command = _strip(json.loads(capfd.readouterr().out))
    by_paths = nacre.advise(path, "clone", cost, seed=SEED)
    log = nacre.read_log(path)
    policy = nacre.read_policy("clone", log=log, seed=SEED)
    by_objects = nacre.advise(log, policy, nacre.read_cost(cost), seed=SEED)
    assert by_command["policy"]["uncertainty"] > 0
    assert by_command["value"]["unit"] == "€"
    assert _strip(by_paths.as_json()) == by_command
    assert _strip(by_objects.as_json()) == by_command
    assert capfd.readouterr().err == ""
    assert "<h3>" in by_objects._repr_html_()
