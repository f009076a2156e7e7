"""The study of times: both configurations on one log, and the table of their records."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from nacre.experiments import tables, timing_study
from nacre.experiments.shared import Truth
from nacre.experiments.tables import Row
from nacre.learners import paper
from tests.support.experiments import CHEAP, LEARNER, make_advice_config


def timed(seconds: float, decision: str, gain: float) -> dict[str, Any]:
    improvement = {"estimated": 0.0, "true": gain, "standard_error": 0.4}
    return {"seconds": seconds, "decision": decision, "improvement": improvement}


def test_times_of_decisions_become_a_table() -> None:
    line = {
        "row": "hopper-suboptimal",
        "seed": 100,
        "default": timed(100.0, "switch", 101.26),
        "paper": timed(250.0, "switch", 99.0),
        "ratio": 2.5,
    }
    assert timing_study.write_table([line]).splitlines()[2:] == [
        "| hopper-suboptimal | 100 | `paper` | 250 s | switch | 99.0 ± 0.4 |",
        "| hopper-suboptimal | 100 | `default` | 100 s | switch | 101.3 ± 0.4 |",
        "",
        "Times faster: 2.5.",
    ]


def test_a_run_times_both_on_the_same_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = dataclasses.replace(paper("sumo"), learner=LEARNER)
    monkeypatch.setattr(Row, "paper", settings)
    monkeypatch.setitem(tables.TABLES, "poles", (CHEAP,))
    monkeypatch.setattr(timing_study, "suggest_config", lambda log: make_advice_config())
    monkeypatch.setattr(timing_study, "Truth", lambda: Truth(4, 20))
    run = {"row": CHEAP.name, "transitions": 1000, "seed": 100}
    record = timing_study.run_one(run, tmp_path, tmp_path)
    assert run.items() <= record.items()
    assert record["ratio"] == record["paper"]["seconds"] / record["default"]["seconds"]
    assert record["epochs_of_paper"] == LEARNER.epochs
    assert len(timing_study.write_table([record]).splitlines()) == 6
