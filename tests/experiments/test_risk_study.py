"""The study of risk: what is counted, its table, and one small run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.experiments import risk_study
from nacre.experiments.calibration.control import KINDS, WORLDS


def test_every_world_takes_turns_with_the_kinds() -> None:
    runs = risk_study.list_runs(range(100, 107))
    assert len(runs) == 7 * len(WORLDS)
    pairs = {(run["world"], run["kind"]) for run in runs}
    assert len(pairs) == len(WORLDS) * len(KINDS)


def test_truth_is_that_of_the_sorted_returns() -> None:
    truth = risk_study.find_truth(np.arange(100.0)[::-1])
    assert truth["median"] == 49.5
    assert truth["quantile"] == pytest.approx(9.9)
    assert truth["tail_mean"] == np.arange(10.0).mean()


def test_bounds_on_the_right_side_are_counted() -> None:
    figure = {"mean": 1.0, "low": 0.0, "high": 2.0}
    unknown = {"mean": None, "low": None, "high": None}
    part = dict.fromkeys(risk_study.FIGURES, figure)
    unknown_part = dict.fromkeys(risk_study.FIGURES, unknown)
    found: list[dict[str, Any]] = [{"old": part}, {"old": unknown_part}, {}]
    for truth, low, high in ((1.0, 1, 1), (-1.0, 0, 1), (3.0, 1, 0), (2.00001, 1, 1)):
        truths = dict.fromkeys(risk_study.FIGURES, truth)
        counted = risk_study.count_covered(found, "old", truths)["tail_mean"]
        assert (counted["logs"], counted["low"], counted["high"]) == (1, low, high)


def test_the_table_names_the_worst_world() -> None:
    def record(world: str, low: int) -> dict[str, Any]:
        figure = {"truth": 1.0, "logs": 10, "low": low, "high": 9}
        return {"world": world, "old": dict.fromkeys(risk_study.FIGURES, figure)}

    table = risk_study.write_table([record("stock", 10), record("cart_pole", 8)])
    assert "| CVaR at 0.1 | old | 20 | 90.0% | 90.0% | 80.0% (cart pole) |" in table
    assert "| new |" not in table


def test_one_small_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in (("LOGS", 2), ("EPISODES", 100), ("TRUTH", 500), ("LENGTHS", 20)):
        monkeypatch.setattr(risk_study, name, value)
    run = {"world": "junction", "kind": "medium", "seed": 100}
    record = risk_study.run_one(run, tmp_path, tmp_path)
    assert run.items() <= record.items()
    for policy in ("old", "new"):
        counted = record[policy]["median"]
        assert 0 <= counted["low"] <= counted["logs"] <= 2
    assert record["old"]["median"]["logs"] == 2
