"""Records: whole or not at all, read back as written, and never overwritten by others."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nacre.inference.gain import Gain

from nacre.advice.config import AdviceConfig
from nacre.errors import InputError
from nacre.experiments.records import (
    SETTINGS,
    is_done,
    read_lines,
    read_record,
    record_path,
    write_record,
)
from nacre.experiments.tables import TABLES, find_row
from nacre.learners.net_actor_critic.config import ActorConfig, LearnerConfig
from nacre.training.backup import CriticConfig
from tests.support.experiments import CHEAP

EXAMPLE: dict[str, Any] = dict.fromkeys(SETTINGS, 1) | {"learner": {"hidden": (8, 8)}, "value": 0.1}


def test_records_lie_by_table_configuration_and_row() -> None:
    path = record_path(Path("results"), CHEAP, "default", 7)
    assert path == Path("results/poles/default/pole-cheap/seed-007.json")


def test_records_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"
    write_record(path, EXAMPLE)
    assert read_record(path)["value"] == 0.1
    assert read_record(path)["learner"] == {"hidden": [8, 8]}
    assert [file.name for file in path.parent.iterdir()] == ["b.json"]


def test_what_cannot_be_written_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    write_record(path, EXAMPLE)

    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match=r"a.json: cannot be written .No space left on device"):
        write_record(path, EXAMPLE | {"value": 0.2})
    assert read_record(path)["value"] == 0.1
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
    with pytest.raises(ValueError, match="JSON"):
        write_record(path, EXAMPLE | {"value": float("nan")})
    assert read_record(path)["value"] == 0.1


def test_damaged_records_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(InputError, match=r"a.json: not a readable record"):
        read_record(path)
    for text in ('{"format": 1', "[1]", '{"format": 0}', "{}"):
        path.write_text(text)
        with pytest.raises(InputError, match=r"a.json: not a .*record.*; delete it"):
            read_record(path)


def test_done_is_what_has_the_same_settings(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert not is_done(path, EXAMPLE)
    write_record(path, EXAMPLE)
    assert is_done(path, EXAMPLE | {"value": 0.3})
    for name in SETTINGS:
        with pytest.raises(InputError, match=f"made with another {name}; delete it, or choose"):
            is_done(path, EXAMPLE | {name: "other"})


def test_what_a_record_does_not_know_of_has_its_default(tmp_path: Path) -> None:
    config = LearnerConfig(critics=CriticConfig(hidden=(8,)))
    known = config.as_json()
    del known["actor"]["averaging"]
    path = tmp_path / "a.json"
    write_record(path, EXAMPLE | {"learner": known})
    assert is_done(path, EXAMPLE | {"learner": config.as_json()}, config)
    averaged = dataclasses.replace(config, actor=ActorConfig(averaging=0.9))
    wider = LearnerConfig(critics=CriticConfig(hidden=(9,)))
    for other in (averaged, wider):
        with pytest.raises(InputError, match="made with another learner"):
            is_done(path, EXAMPLE | {"learner": other.as_json()}, other)


def test_older_names_of_options_are_read(tmp_path: Path) -> None:
    path, config = tmp_path / "a.json", LearnerConfig()
    recorded = config.as_json()
    recorded["actor"]["behaviour_weight"] = recorded["actor"].pop("kl_weight")
    write_record(path, EXAMPLE | {"learner": recorded})
    assert is_done(path, EXAMPLE | {"learner": config.as_json()}, config)


def test_records_of_studies_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    assert read_lines(path) == []
    path.write_text('{"seed": 1}\n{"seed": 2}\n')
    assert read_lines(path) == [{"seed": 1}, {"seed": 2}]
    path.write_text('{"seed": 1}\n{"se')
    with pytest.raises(InputError, match=r"study.jsonl: not a readable record"):
        read_lines(path)


ROOT = Path(__file__).resolve().parents[2]
KEPT = [
    path
    for path in sorted((ROOT / "results").glob("*/default/*/seed-*.json"))
    if read_record(path)["decision"] != "switch"
]


WHAT_FOLLOWS = [
    "old_value",
    "new_value",
    "net_value",
    "switching_cost",
    "improvement",
    "decision",
    "truth_decision",
    "tie",
    "stop_reason",
    "healthy",
    "log",
    "new_policy",
    "versions",
    "commit",
    "seconds",
]


FOLDERS = [path for table in TABLES for path in sorted((ROOT / "results" / table).glob("*/*"))]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_records_that_are_kept_fit_together(folder: Path) -> None:
    paths = sorted(folder.iterdir())
    assert paths
    for path in paths:
        record = read_record(path)
        assert record.keys() >= {*SETTINGS, *WHAT_FOLLOWS}, path
        row, config = find_row(record["row"]), record["config"]
        assert path == record_path(ROOT / "results", row, config, record["seed"])
        old, new = (record[name]["true"] for name in ("old_value", "new_value"))
        assert min(old["episodes"], new["episodes"]) >= 200
        price = record["switching_cost"]["evaluation"]["total"]
        net = new["mean"] - price
        assert record["net_value"]["true"] == pytest.approx(net)
        assert record["improvement"]["true"] == pytest.approx(net - old["mean"])
        assert (record["truth_decision"] == "switch") == (record["improvement"]["true"] > 0)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_records_of_one_panel_are_those_of_several(path: Path) -> None:
    """Who was not switched to by the first panel was not within reach of a further one.

    So records that were made before there were further panels say what they would say today.
    """
    config = AdviceConfig()
    for one in read_record(path)["candidates"]:
        gain = Gain(
            np.array(one["differences"]),
            one["cost"]["total"],
            one["cost_error"],
            one["doubt"],
            one["pessimistic"],
            config.spread_scale,
        )
        heard = len(gain.differences) // config.judges.critics.n_critics
        within = one["trusted"] and gain.is_within_reach(config.confidence)
        assert not within or heard == config.panels


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_records_without_a_last_lesson_are_those_with_one(path: Path) -> None:
    """It is taught where nobody is expected to gain; elsewhere records from before it hold."""
    lesson, found = AdviceConfig().thrift, read_record(path)["candidates"]
    assert lesson is not None
    last = [one for one in found if one["name"] == lesson.name]
    others = [one["net_gain"]["mean"] for one in found if one not in last and one["trusted"]]
    assert bool(last) == all(mean <= 0 for mean in others)
