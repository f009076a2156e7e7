"""The runner: whole small advices, lines that resume, mixtures that are refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.experiments.calibration import advised, finite, plain_fitted_q, run
from nacre.experiments.calibration.advised import Answer, Finalist
from nacre.experiments.calibration.baselines import (
    estimate_by_counts,
    estimate_by_fitted_q,
    estimate_by_weights,
)
from nacre.experiments.calibration.case import LEVELS, Case
from nacre.experiments.calibration.records import append_line, read_suite
from nacre.experiments.calibration.run import Clock, Plan, describe, run_plan
from nacre.experiments.calibration.summary import summarise
from nacre.experiments.calibration.tables import find_best
from nacre.policies.tabular import TabularPolicy
from tests.support.advice import suggest_quick


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finite, "ROWS", (1_000, 2_000))
    monkeypatch.setattr(advised, "suggest_config", suggest_quick)
    monkeypatch.setattr(run, "find_code", lambda: "abc")


def make_plan(tmp_path: Path, *seeds: int, **changes: Any) -> Plan:
    plan = Plan("finite", seeds, tmp_path, ("contexts",), ("soft",), baselines=False)
    return dataclasses.replace(plan, **changes)


def test_a_line_has_estimates_and_the_truth_of_every_finalist(tmp_path: Path) -> None:
    (line,) = run_plan(make_plan(tmp_path, 101))
    assert line["verdict"] in ("switch", "keep", "undecided")
    assert line["commit"] == "abc"
    assert line["chosen"] in line["finalists"]
    for finalist in line["finalists"]:
        assert set(finalist["intervals"]) == {f"{level:g}" for level in LEVELS}
        net = finalist["true_gain"] - finalist["cost"]
        assert finalist["true_net_gain"] == pytest.approx(net)
        assert finalist["oracle_width"] > 0
        assert finalist["estimates"]
    (kept,) = read_suite(make_plan(tmp_path).path, "finite")
    assert json.loads(json.dumps(line)) == {name: kept[name] for name in line}
    assert summarise([kept])["decisions"] == 1


def test_a_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def pretend(task: run.Task) -> dict[str, Any]:
        asked.append(task.case.seed)
        return {**dataclasses.asdict(task.case), "verdict": "keep"}

    monkeypatch.setattr(run, "run_task", pretend)
    list(run_plan(make_plan(tmp_path, 100, 101)))
    list(run_plan(make_plan(tmp_path, 100, 101, 102)))
    assert asked == [100, 101, 102]
    assert [line["seed"] for line in read_suite(make_plan(tmp_path).path, "finite")] == asked


@pytest.mark.parametrize("name", ["commit", "configuration"])
def test_lines_of_another_rule_are_refused(tmp_path: Path, name: str) -> None:
    line = {
        "suite": "finite",
        "world": "contexts",
        "kind": "soft",
        "seed": 1,
        "commit": "abc",
        "configuration": advised.digest_configuration(),
    }
    plan = make_plan(tmp_path, 1)
    append_line(plan.path, {**line, name: "other"})
    with pytest.raises(InputError, match=f"lines of {name} other.*not mixed"):
        list(run_plan(plan))


def test_what_was_refused_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(problem: Any) -> Any:
        raise InputError("too few episodes")

    monkeypatch.setattr(run, "run_advice", refuse)
    (line,) = run_plan(make_plan(tmp_path, 101))
    assert (line["verdict"], line["reason"], line["chosen"]) == (
        "refused",
        "too few episodes",
        None,
    )


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no suite is called 'games'"):
        Plan("games", (1,), tmp_path)
    with pytest.raises(InputError, match="no world of the suite finite is called 'moon'"):
        Plan("finite", (1,), tmp_path, ("moon",))
    with pytest.raises(InputError, match=r"no kind of old policy .* 'wild'"):
        Plan("control", (1,), tmp_path, (), ("wild",))


def test_baselines_estimate_and_decide_on_the_finalists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finite, "ROWS", (20_000, 20_001))
    monkeypatch.setattr(plain_fitted_q, "STEPS", 500)
    problem = finite.build(Case("finite", "contexts", "random", 100))
    best = TabularPolicy.from_probabilities(find_best(finite.make_world(problem.case)))
    truth = problem.find_truth(best).gain
    for estimate in (estimate_by_counts, estimate_by_weights, estimate_by_fitted_q):
        gains = estimate(problem, {"best": best, "same": problem.old_policy})
        assert gains["best"] == pytest.approx(truth, rel=0.25)
        assert gains["same"] == pytest.approx(0.0, abs=0.05 * truth)
    everywhere = dict.fromkeys(LEVELS, (-np.inf, np.inf))
    answer = Answer("keep", 0, None, "", (Finalist("best", best, 0.0, everywhere),))
    line = describe(problem, answer, Clock())
    net = line["chosen"]["true_net_gain"]
    for plain in line["baselines"].values():
        assert plain["true_net_gain"] == pytest.approx(net)
        assert plain["chosen"] == "best"
    assert line["chosen"]["intervals"]["0.9"] == [None, None]
