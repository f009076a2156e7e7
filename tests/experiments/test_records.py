"""Records: whole or not at all, read back as written, and never overwritten by others."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InputError
from nacre.experiments.manifest import check_manifest
from nacre.experiments.records import (
    SETTINGS,
    Place,
    add_record,
    append_line,
    is_done,
    read_lines,
    read_record,
    read_records,
    record_path,
    write_lines,
    write_record,
)
from nacre.experiments.tables import TABLES, find_row
from nacre.learners.net_actor_critic.config import ActorConfig, LearnerConfig
from nacre.training.backup import CriticConfig
from tests.support.experiments import CHEAP, COSTLY

EXAMPLE: dict[str, Any] = dict.fromkeys(SETTINGS, 1) | {
    "row": CHEAP.name,
    "seed": 4,
    "learner": {"hidden": (8, 8)},
    "value": 0.1,
}


def place(out: Path, seed: int = 4, row: str = CHEAP.name) -> Place:
    return Place(out, "poles", "paper", row, seed)


def test_records_lie_by_table_and_configuration() -> None:
    found = Place.of(Path("results"), CHEAP, "default", 7)
    assert found.file == Path("results/poles/default.jsonl")
    assert str(found) == f"{found.file}: pole-cheap, seed 7"
    assert found.as_json() == {"file": str(found.file), "row": "pole-cheap", "seed": 7}


def test_records_are_read_back_sorted(tmp_path: Path) -> None:
    assert read_records(tmp_path, "poles", "paper") == {}
    for row, seed in ((COSTLY.name, 4), (CHEAP.name, 10), (CHEAP.name, 9)):
        add_record(place(tmp_path, seed, row), EXAMPLE | {"row": row, "seed": seed})
    found = read_records(tmp_path, "poles", "paper")
    assert list(found) == [(CHEAP.name, 9), (CHEAP.name, 10), (COSTLY.name, 4)]
    lines = read_lines(place(tmp_path).file)
    assert lines == list(found.values())
    assert lines[0] == {"format": 1, **EXAMPLE, "seed": 9, "learner": {"hidden": [8, 8]}}
    check_manifest(tmp_path / "poles")
    assert not list(tmp_path.glob("**/*.part"))


def test_a_record_has_one_line(tmp_path: Path) -> None:
    add_record(place(tmp_path), EXAMPLE)
    add_record(place(tmp_path), EXAMPLE | {"value": 0.2})
    (line,) = read_lines(place(tmp_path).file)
    assert line["value"] == 0.2


def add_several(out: Path, first: int) -> None:
    """What one of two processes does."""
    for seed in range(first, first + 8):
        add_record(place(out, seed), EXAMPLE | {"seed": seed})


def test_two_processes_lose_no_line(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=add_several, args=(tmp_path, first)) for first in (0, 100)]
    for other in others:
        other.start()
    for other in others:
        other.join(timeout=60)
        assert other.exitcode == 0
    found = read_records(tmp_path, "poles", "paper")
    assert [seed for _, seed in found] == [*range(8), *range(100, 108)]
    check_manifest(tmp_path / "poles")


def test_what_cannot_be_written_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_record(place(tmp_path), EXAMPLE)

    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(InputError, match=r"poles: cannot be written .No space left"):
            add_record(place(tmp_path, 5), EXAMPLE)
    with pytest.raises(ValueError, match="JSON"):
        add_record(place(tmp_path, 5), EXAMPLE | {"value": float("nan")})
    assert list(read_records(tmp_path, "poles", "paper")) == [(CHEAP.name, 4)]
    check_manifest(tmp_path / "poles")


def test_a_line_that_was_cut_off_is_left_out_and_goes(tmp_path: Path) -> None:
    """As a kill leaves it: at every length the records before it stand."""
    add_record(place(tmp_path, 4), EXAMPLE)
    file = place(tmp_path).file
    before = file.read_bytes()
    for length in (1, 20, len(before) - 2):
        file.write_bytes(before + before[:length])
        with pytest.warns(UserWarning, match=r"paper.jsonl, line 2: cut off in the middle"):
            assert len(read_records(tmp_path, "poles", "paper")) == 1
    with pytest.warns(UserWarning, match="cut off"):
        add_record(place(tmp_path, 5), EXAMPLE)
    assert [line["seed"] for line in read_lines(file)] == [4, 5]
    # Only the end of the line is missing, nothing of the record.
    file.write_bytes(file.read_bytes()[:-1])
    assert [line["seed"] for line in read_lines(file)] == [4, 5]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"format": 1', "not a readable record"),
        ("", "not a readable record"),
        ("[1]", "not a readable record"),
        ('{"format": 0}', "not a record of this version"),
        ('{"format": 1, "row": "pole-cheap"}', "needs a row and a seed"),
    ],
)
def test_damaged_lines_are_named(tmp_path: Path, line: str, problem: str) -> None:
    add_record(place(tmp_path), EXAMPLE)
    file = place(tmp_path).file
    file.write_text(file.read_text() + line + "\n")
    with pytest.raises(InputError, match=f"paper.jsonl, line 2: .*{problem}.*; delete the line"):
        read_records(tmp_path, "poles", "paper")


def test_records_of_earlier_versions_are_read(tmp_path: Path) -> None:
    path = record_path(tmp_path, CHEAP, "paper", 7)
    assert path == tmp_path / "poles/paper/pole-cheap/seed-007.json"
    write_record(path, EXAMPLE | {"seed": 7})
    add_record(place(tmp_path, 8), EXAMPLE | {"seed": 8})
    assert is_done(place(tmp_path, 7), EXAMPLE | {"seed": 7})
    assert [seed for _, seed in read_records(tmp_path, "poles", "paper")] == [7, 8]
    # Where there are both, the line counts.
    add_record(place(tmp_path, 7), EXAMPLE | {"seed": 7, "value": 0.2})
    assert read_records(tmp_path, "poles", "paper")[CHEAP.name, 7]["value"] == 0.2
    path.rename(path.with_name("seed-seven.json"))
    with pytest.raises(InputError, match=r"seed-seven.json: .*ends in its seed.*; rename it"):
        read_records(tmp_path, "poles", "paper")


def test_single_records(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"
    with pytest.raises(InputError, match=r"b.json: not a readable record"):
        read_record(path)
    write_record(path, EXAMPLE)
    assert read_record(path)["learner"] == {"hidden": [8, 8]}
    assert [file.name for file in path.parent.iterdir()] == ["b.json"]
    for text in ('{"format": 1', "[1]", '{"format": 0}', "{}"):
        path.write_text(text)
        with pytest.raises(InputError, match=r"b.json: not a .*record.*; delete it"):
            read_record(path)


def test_done_is_what_has_the_same_settings(tmp_path: Path) -> None:
    where = place(tmp_path)
    assert not is_done(where, EXAMPLE)
    add_record(where, EXAMPLE)
    assert is_done(where, EXAMPLE | {"value": 0.3})
    for name in SETTINGS:
        with pytest.raises(
            InputError, match=f"seed 4: made with another {name}; delete the line, or choose"
        ):
            is_done(where, EXAMPLE | {name: "other"})


def test_what_a_record_does_not_know_of_has_its_default(tmp_path: Path) -> None:
    config = LearnerConfig(critics=CriticConfig(hidden=(8,)))
    known = config.as_json()
    del known["actor"]["averaging"]
    where = place(tmp_path)
    add_record(where, EXAMPLE | {"learner": known})
    assert is_done(where, EXAMPLE | {"learner": config.as_json()}, config)
    averaged = dataclasses.replace(config, actor=ActorConfig(averaging=0.9))
    wider = LearnerConfig(critics=CriticConfig(hidden=(9,)))
    for other in (averaged, wider):
        with pytest.raises(InputError, match="made with another learner"):
            is_done(where, EXAMPLE | {"learner": other.as_json()}, other)


def test_older_names_of_options_are_read(tmp_path: Path) -> None:
    where, config = place(tmp_path), LearnerConfig()
    recorded = config.as_json()
    recorded["actor"]["behaviour_weight"] = recorded["actor"].pop("kl_weight")
    add_record(where, EXAMPLE | {"learner": recorded})
    assert is_done(where, EXAMPLE | {"learner": config.as_json()}, config)


def test_records_of_studies_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "study.jsonl"
    assert read_lines(path) == []
    append_line(path, {"seed": 2})
    append_line(path, {"seed": 1})
    assert path.read_text() == '{"seed": 2}\n{"seed": 1}\n'
    write_lines(path, reversed(read_lines(path)))
    assert read_lines(path) == [{"seed": 1}, {"seed": 2}]


ROOT = Path(__file__).resolve().parents[2]
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
FILES = [path for table in TABLES for path in sorted((ROOT / "results" / table).glob("*.jsonl"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_records_that_are_kept_fit_together(path: Path) -> None:
    records = read_records(ROOT / "results", path.parent.name, path.stem)
    assert list(records.values()) == read_lines(path)
    for (name, seed), record in records.items():
        assert record.keys() >= {*SETTINGS, *WHAT_FOLLOWS}, (name, seed)
        assert (record["table"], record["config"]) == (path.parent.name, path.stem)
        assert find_row(name).table == record["table"]
        old, new = (record[value]["true"] for value in ("old_value", "new_value"))
        assert min(old["episodes"], new["episodes"]) >= 200
        price = record["switching_cost"]["evaluation"]["total"]
        net = new["mean"] - price
        assert record["net_value"]["true"] == pytest.approx(net)
        assert record["improvement"]["true"] == pytest.approx(net - old["mean"])
        assert (record["truth_decision"] == "switch") == (record["improvement"]["true"] > 0)


@pytest.mark.parametrize("table", TABLES)
def test_the_papers_settings_are_still_those_of_the_records(table: str) -> None:
    """So `nacre reproduce` goes on from them."""
    out = ROOT / "results"
    for (name, seed), record in read_records(out, table, "paper").items():
        if seed == 4:
            row = find_row(name)
            learner = row.paper.learner
            settings = {field: record[field] for field in SETTINGS} | {"learner": learner.as_json()}
            assert is_done(Place.of(out, row, "paper", seed), settings, learner)


@pytest.mark.parametrize("line", [b"\xff\xfe", b"5", b"[" * 5000, b'{"a": ', b"[1]"])
def test_lines_that_are_no_records_are_told(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b'{"a": 1}\n' + line + b"\n")
    with pytest.raises(InputError, match=r"records.jsonl, line 2: not a readable record \("):
        read_lines(path)
    path.write_bytes(line)
    with pytest.raises(InputError, match="not a readable record"):
        read_record(path)
