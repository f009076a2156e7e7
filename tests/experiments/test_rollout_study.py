"""The study of errors and power: few streams, and what its tables say."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.experiments import rollout_study
from nacre.rollout.design import choose_design


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
