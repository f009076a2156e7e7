"""nacre reproduce --summary: the rows that were asked for, from the records that are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nacre.cli import app as cli
from nacre.experiments.tables import TABLES
from tests.support.commands import write_right_switch

CHEAP, CHEAP_OPTIMAL, MIDDLE, *_ = TABLES["sumo"]


@pytest.fixture(autouse=True)
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for row, gain in ((CHEAP, 2.0), (MIDDLE, 1.0)):
        write_right_switch(tmp_path / "results", row, gain)
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.run(["reproduce", "sumo", "--summary", *arguments])
    return int(str(ended.value.code))


def test_all_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["row"] for one in found] == [CHEAP.name, MIDDLE.name]
    assert [one["improvement_mean"] for one in found] == [2.0, 1.0]


def test_rows_that_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--rows", "sumo-cl5*", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["row"], found["seeds"]) == (MIDDLE.name, [4])
    # The page has all rows, whichever are printed.
    assert CHEAP.name in Path("docs/results.md").read_text(encoding="utf-8")


def test_quiet_prints_the_table_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    loud = capsys.readouterr()
    assert "written: docs/results.md" in loud.err.splitlines()
    assert run("--quiet") == 0
    quiet = capsys.readouterr()
    assert (quiet.out, quiet.err) == (loud.out, "")


def test_rows_without_records_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--rows", CHEAP_OPTIMAL.name) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(
        f"no records of {CHEAP_OPTIMAL.name} there; run nacre reproduce sumo first"
    )
    assert run("--out", "elsewhere") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("no records there; run nacre reproduce sumo first")
