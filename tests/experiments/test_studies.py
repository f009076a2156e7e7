"""Studies: what is there is not run again, and a study goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InputError
from nacre.experiments import studies
from nacre.experiments.records import Record, read_lines
from nacre.experiments.studies import STUDIES, Study, run_study
from nacre.versions import find_commit, find_versions

ROOT = Path(__file__).resolve().parents[2]


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    return [{"world": world, "seed": seed} for seed in seeds for world in ("a", "b")]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    if run["seed"] == 102:
        raise KeyboardInterrupt
    return {**run, "values": [1.0], "cache": str(cache)}


def count(records: Sequence[Record]) -> str:
    return f"| {len(records)} |"


STUDY = Study("counting", list_runs, run_one, {"counting": count})


def test_a_study_goes_on_where_it_was(tmp_path: Path) -> None:
    first = run_study(STUDY, (100,), tmp_path, tmp_path)
    assert [record["world"] for record in first] == ["a", "b"]
    assert first[0]["cache"] == str(tmp_path / ".cache" / "studies" / "counting")
    assert first[0]["commit"] == find_commit()
    assert first[0]["versions"] == find_versions()
    with pytest.raises(KeyboardInterrupt):
        run_study(STUDY, (100, 101, 102), tmp_path, tmp_path)
    lines = read_lines(tmp_path / "studies" / "counting.jsonl")
    assert [(line["seed"], line["world"]) for line in lines] == [
        (100, "a"),
        (100, "b"),
        (101, "a"),
        (101, "b"),
    ]
    assert run_study(STUDY, (100, 101), tmp_path, tmp_path) == []


def test_part_of_a_study(tmp_path: Path) -> None:
    (record,) = run_study(STUDY, (100,), tmp_path, tmp_path, {"world": "b"})
    assert record["world"] == "b"
    with pytest.raises(InputError, match="--only world=c: study counting has no such run"):
        run_study(STUDY, (100,), tmp_path, tmp_path, {"world": "c"})


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(studies.STUDIES, "counting", STUDY)
    options = ["counting", "--out", str(tmp_path)]
    studies.main([*options, "--seeds", "100-101", "--only", "world=a"])
    assert capsys.readouterr().out.startswith("2 records made")
    studies.main([*options, "--table"])
    assert capsys.readouterr().out == "| 2 |\n"


@pytest.mark.parametrize("name", STUDIES)
def test_records_that_are_kept_are_those_of_the_runs(name: str) -> None:
    """Of tuning seeds or of those for reports, every run once."""
    study = STUDIES[name]
    records = read_lines(study.find_file(ROOT / "results"))
    runs = study.list_runs(tuple(sorted({record["seed"] for record in records})))
    about = [{field: record[field] for field in runs[0]} for record in records]
    assert about
    assert all(100 <= record["seed"] < 200 or record["seed"] >= 1000 for record in records)
    for run in about:
        assert run in runs
        assert about.count(run) == 1
