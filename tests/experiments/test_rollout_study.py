"""The study of errors and power: few streams, and what its tables say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacre.experiments import rollout_study
from nacre.experiments.records import read_lines
from nacre.rollout.design import choose_design

RECORDS = read_lines(Path(__file__).resolve().parents[2] / "results" / "studies" / "rollout.jsonl")


def test_what_was_recorded_keeps_what_is_promised() -> None:
    """All of it by one commit and one seed: errors, speed and budgets."""
    assert len(RECORDS) == len(rollout_study.list_runs([0]))
    assert len({(one["seed"], one["commit"]) for one in RECORDS}) == 1
    for one in RECORDS:
        assert one["streams"] == 10_000
        if one["part"] == "errors":
            assert max(one["false_next_stage"], one["false_step_back"]) <= one["risk"]
        else:
            assert one["ratio"] <= 2.0
            assert one["within_budget"] >= 0.95


def test_every_shape_is_there_at_two_shares() -> None:
    runs = rollout_study.list_runs([7])
    assert len(runs) == 2 * (2 * len(rollout_study.SHAPES) + 1)
    assert {run["share"] for run in runs} == {0.5, 0.1}


@pytest.mark.parametrize("measure", [rollout_study.measure_errors, rollout_study.bet_on_errors])
def test_errors_are_shares_of_streams(measure: object) -> None:
    setting = rollout_study.Setting("bounded", choose_design(0.5, "episode"))
    found = measure(setting, np.random.default_rng(100), 500)  # type: ignore[operator]
    assert 0.0 <= found["false_next_stage"] <= 0.08
    table = rollout_study.write_errors(
        [{"part": "errors", "shape": "bounded", "share": 0.5, "method": "betting", **found}]
    )
    assert table.splitlines()[-1].startswith("| bounded | 50% | betting | ")


def test_power_is_told_against_the_fixed_size() -> None:
    setting = rollout_study.Setting("normal", choose_design(0.5, "episode"))
    found = rollout_study.measure_power(setting, np.random.default_rng(100), 100, 500)
    assert found["ratio"] < 2.0
    assert found["within_budget"] > 0.9
    row = {"part": "power", "shape": "normal", "share": 0.5, **found}
    assert "| normal | 50% |" in rollout_study.write_power([row])
