"""Records of experiments: the same to the bit, resumable anywhere, honest about the truth."""

from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nacre.advice.config import AdviceConfig
from nacre.errors import InputError
from nacre.experiments import learned, run, shared
from nacre.experiments.advised import compare
from nacre.experiments.authors import AuthorsConfig
from nacre.experiments.records import Place, read_records
from nacre.experiments.run import list_places, parse_seeds, plan_groups, run_plan
from nacre.experiments.summary import Summary
from nacre.experiments.tables import TABLES, find_rows
from nacre.training.progress import ProgressEvent
from nacre.training.progress_display import PlainLines
from tests.support.experiments import CHEAP, COSTLY, LEARNER, make_advice_config, make_plan


@pytest.fixture(autouse=True)
def small_configs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both configurations are the small one; `default` judges with fresh critics."""
    other = dataclasses.replace(LEARNER, reevaluate=True)
    monkeypatch.setattr(run, "CONFIGS", {"paper": lambda _: LEARNER, "default": lambda _: other})


def read_whole(place: Place) -> dict[str, Any]:
    return read_records(place.out, place.table, place.config)[place.key]


def read(place: Place) -> dict[str, Any]:
    """A record without its times."""
    record = read_whole(place)
    assert set(record.pop("seconds")) == {"evaluate_old", "learn_and_decide", "truth", "rest"}
    return record


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The record of the cheap row, made without interruption."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "CONFIGS", {"paper": lambda _: LEARNER})
        ((place,),) = run_plan(make_plan(tmp_path_factory.mktemp("whole")))
    return read(place)


def test_a_record_has_everything(whole: dict[str, Any]) -> None:
    assert (whole["table"], whole["row"], whole["config"]) == ("poles", "pole-cheap", "paper")
    assert (whole["seed"], whole["steps"], whole["log"]["transitions"]) == (4, 1000, 1000)
    assert whole["learner"] == json.loads(json.dumps(LEARNER.as_json()))
    assert whole["truth"] == {"episodes": 4, "steps": 20}
    assert whole["old_policy"]["name"] == "random"
    assert whole["cost"]["learning_weight"] == 0.5
    assert len(whole["epochs"]) == 3
    assert whole["healthy"] is True
    assert whole["versions"]["jax"]


def test_the_figures_of_a_record_fit_together(whole: dict[str, Any]) -> None:
    price = whole["switching_cost"]["evaluation"]["total"]
    # c_t ≤ F ≤ c_l at every state.
    assert 0.1 - 1e-6 <= price <= 0.5 + 1e-6
    assert 0.1 - 1e-6 <= whole["switching_cost"]["log_states"]["total"] <= 0.5 + 1e-6
    old, new = whole["old_value"]["true"]["mean"], whole["new_value"]["true"]["mean"]
    assert whole["net_value"]["true"] == new - price
    assert whole["improvement"]["true"] == pytest.approx(new - price - old)
    estimated = whole["net_value"]["estimated"] - whole["old_value"]["fitted"]["value"]
    assert whole["improvement"]["estimated"] == pytest.approx(estimated)
    assert whole["decision"] == ("switch" if estimated > 0 else "keep")
    assert whole["truth_decision"] == ("switch" if whole["improvement"]["true"] > 0 else "keep")


def test_a_record_is_the_same_to_the_bit(tmp_path: Path, whole: dict[str, Any]) -> None:
    ((place,),) = run_plan(make_plan(tmp_path))
    assert read(place) == whole


STAGES = {
    "collecting": (shared, "write_log", 1),
    "evaluating": (shared, "write_checkpoint", 1),
    "learning": (run.Prefixed, "__call__", 4),
    "first truth": (shared, "simulate_value", 1),
    "second truth": (shared, "simulate_value", 2),
    "recording": (run, "add_record", 1),
}


@pytest.mark.parametrize("stage", STAGES)
def test_a_run_stopped_anywhere_ends_with_the_same_record(
    tmp_path: Path, whole: dict[str, Any], stage: str
) -> None:
    owner, name, call = STAGES[stage]
    function, calls = getattr(owner, name), []

    def stop(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return function(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, stop)
        with pytest.raises(KeyboardInterrupt):
            list(run_plan(make_plan(tmp_path)))
    place = Place.of(tmp_path, CHEAP, "paper", 4)
    assert not place.file.exists()
    assert list(run_plan(make_plan(tmp_path))) == [[place]]
    assert read(place) == whole


def test_learning_goes_on_from_its_last_epoch(tmp_path: Path) -> None:
    learned: list[int] = []

    def count(self: Any, event: ProgressEvent) -> None:
        if not event.learns:
            return
        learned.append(event.epoch)
        if len(learned) == 4:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run.Prefixed, "__call__", count)
        with pytest.raises(KeyboardInterrupt):
            list(run_plan(make_plan(tmp_path)))
        before = list(learned)
        list(run_plan(make_plan(tmp_path)))
    # Two epochs of evaluation, then of learning; an epoch that was heard of is not done again.
    assert before == [0, 1, 0, 1]
    assert learned[4:] == [2]


def test_done_records_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(tmp_path)
    ((place,),) = run_plan(plan)
    text = place.file.read_bytes()

    def refuse(*arguments: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(run, "run_record", refuse)
    assert list(run_plan(plan)) == [[place]]
    assert place.file.read_bytes() == text


def test_records_of_other_settings_are_refused(tmp_path: Path) -> None:
    list(run_plan(make_plan(tmp_path)))
    for options, name in (
        ({"steps": 1001}, "steps"),
        ({"truth": shared.Truth(5, 20)}, "truth"),
    ):
        with pytest.raises(InputError, match=f"seed 4: made with another {name}; delete the"):
            list(run_plan(make_plan(tmp_path, **options)))


def test_rows_that_differ_in_the_price_share_log_and_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: dict[str, Any]
) -> None:
    calls: list[str] = []

    def count(name: str) -> None:
        function = getattr(shared, name)

        def counted(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            return function(*arguments, **options)

        monkeypatch.setattr(shared, name, counted)

    count("collect_log")
    count("evaluate_old")
    plan = make_plan(tmp_path, CHEAP, COSTLY, configs=("paper", "default"))
    (places,) = run_plan(plan)
    assert len(places) == len(set(places)) == 4
    assert set(places) == set(list_places(plan))
    assert calls == ["collect_log", "evaluate_old"]
    records = [read(place) for place in places]
    assert len({record["log"]["sha256"] for record in records}) == 1
    assert len({record["old_value"]["fitted"]["value"] for record in records}) == 1
    # The order and the company change nothing.
    assert whole in records
    assert max(record["switching_cost"]["evaluation"]["total"] for record in records) >= 10


@pytest.mark.parametrize(
    ("table", "row"), [("gymnasium", "hopper-suboptimal"), ("sumo", "sumo-cl5-ct0.1-suboptimal")]
)
def test_rows_of_the_paper_run(tmp_path: Path, table: str, row: str) -> None:
    (wanted,) = find_rows(table, [row])
    steps = 1000 if table == "gymnasium" else 1200
    ((place,),) = run_plan(make_plan(tmp_path, wanted, steps=steps))
    record = read(place)
    assert record["row"] == row
    assert record["cost"]["states"]["limit"] == 100
    assert record["old_value"]["true"]["mean"] > 0
    weights = record["cost"]["transaction_weight"], record["cost"]["learning_weight"]
    assert weights[0] <= record["switching_cost"]["evaluation"]["total"] <= weights[1]


@pytest.mark.parametrize(("gain", "decision"), [(3.0, "switch"), (None, "undecided")])
def test_a_record_of_advice_fits_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gain: float | None, decision: str
) -> None:
    config = make_advice_config(gain)
    monkeypatch.setattr(run, "CONFIGS", {"default": lambda _: config})
    ((place,),) = run_plan(make_plan(tmp_path, configs=("default",)))
    record = read_whole(place)
    price = record["switching_cost"]["evaluation"]["total"]
    new, old = record["new_value"], record["old_value"]
    assert record["net_value"]["true"] == new["true"]["mean"] - price
    improvement = record["net_value"]["true"] - old["true"]["mean"]
    assert record["improvement"]["true"] == pytest.approx(improvement)
    if gain is None:
        assert record["net_value"]["estimated"] is record["improvement"]["estimated"] is None
    else:
        assert record["net_value"]["estimated"] == pytest.approx(
            old["fitted"]["mean"] + gain - price
        )
        assert record["improvement"]["estimated"] == pytest.approx(gain - price)
    assert record["chosen"] in [candidate["name"] for candidate in record["candidates"]]
    assert record["decision"] == decision
    assert record["switching_cost"]["training"] is None
    # A summary reads it, whatever is known.
    summary = Summary.from_records(CHEAP, "default", [record]).as_json()
    assert summary["estimated_improvement_mean"] == record["improvement"]["estimated"]


def test_interrupted_learning_makes_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = SimpleNamespace(complete=False)
    monkeypatch.setattr(learned, "net_actor_critic", lambda *arguments, **options: outcome)
    with pytest.raises(KeyboardInterrupt):
        list(run_plan(make_plan(tmp_path)))
    assert read_records(tmp_path, CHEAP.table, "paper") == {}


def test_progress_says_what_it_is_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list(run_plan(make_plan(tmp_path, open_reporter=functools.partial(PlainLines, interval=30.0))))
    assert "pole-cheap paper seed 4: " in capsys.readouterr().err


def test_groups_are_worlds_old_policies_and_seeds(tmp_path: Path) -> None:
    rows = TABLES["sumo"]
    plan = make_plan(tmp_path, *rows, seeds=(4, 5))
    groups = plan_groups(plan)
    assert [(group.seed, group.rows[0].old_policy) for group in groups] == [
        (4, "random"),
        (4, "sumo_optimal"),
        (5, "random"),
        (5, "sumo_optimal"),
    ]
    assert sorted(row.name for group in groups[:2] for row in group.rows) == sorted(
        row.name for row in rows
    )


@pytest.mark.parametrize(
    ("new", "error", "decision", "tie"),
    [(12.0, 0.5, "switch", False), (12.0, 1.5, "switch", True), (8.0, 0.5, "keep", False)],
)
def test_comparison_with_the_truth_by_hand(
    new: float, error: float, decision: str, tie: bool
) -> None:
    found = compare(
        1.0,
        0.5,
        {"mean": 10.0, "standard_error": error * 0.6},
        {"mean": new, "standard_error": error * 0.8},
    )
    assert found["improvement"]["estimated"] == 1.0
    assert found["improvement"]["true"] == new - 10.5
    assert found["improvement"]["standard_error"] == pytest.approx(error)
    assert (found["truth_decision"], found["tie"]) == (decision, tie)


def test_seeds_as_text() -> None:
    assert parse_seeds("4-6") == (4, 5, 6)
    assert parse_seeds("9, 4,5-6,5") == (9, 4, 5, 6)
    for text in ("", "a", "4-", "6-4", "-1", "4-9999999"):
        with pytest.raises(InputError, match="--seeds"):
            parse_seeds(text)


def test_wrong_plans_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no configuration is called 'ours': known are paper"):
        make_plan(tmp_path, configs=("paper", "ours"))
    with pytest.raises(InputError, match="--steps 999: a log has at least 1000"):
        make_plan(tmp_path, steps=999)


def test_configurations_are_the_papers_and_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    (row,) = find_rows("gymnasium", ["hopper-optimal"])
    assert run.CONFIGS["paper"](row) == row.paper.learner
    assert run.CONFIGS["authors"](row) == AuthorsConfig.of(row)
    assert run.CONFIGS["default"](row) == AdviceConfig()


def test_missing_files_are_named_before_anything_runs(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, CHEAP, dataclasses.replace(COSTLY, old_policy="pole"))
    with pytest.raises(InputError, match=r"pole.safetensors: the old policy of row pole-costly"):
        list(run_plan(plan))
    assert list(tmp_path.iterdir()) == []
