"""The page of results: from records alone, the same bytes every time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nacre.errors import InputError
from nacre.experiments.pages import INTRODUCTION, draw_table, format_markdown, write_page
from nacre.experiments.records import Place, add_record
from nacre.experiments.summary import HEADER, OLD_HEADER, summarise, tabulate, tabulate_old
from nacre.experiments.tables import TABLES
from tests.support.experiments import MIXED, TWO

ANT, ANT_OPTIMAL, *_ = TABLES["gymnasium"]
TRAFFIC = TABLES["sumo"][0]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    out = tmp_path / "results"
    for row, config, records in (
        (ANT, "paper", TWO),
        (ANT, "default", TWO),
        (ANT_OPTIMAL, "default", MIXED),
        (TRAFFIC, "default", TWO[:1]),
    ):
        for record in records:
            add_record(Place.of(out, row, config, record["seed"]), record)
    return out


def test_written_twice_it_is_the_same_to_the_byte(results: Path, tmp_path: Path) -> None:
    first, again = (write_page(results, tmp_path / name) for name in ("a", "b"))
    names = ["results.md", "results-gymnasium.svg", "results-sumo.svg"]
    assert [path.name for path in first] == [path.name for path in again] == names
    for mine, other in zip(first, again, strict=True):
        assert mine.read_bytes() == other.read_bytes()


def test_the_page_holds_every_table_that_has_records(results: Path, tmp_path: Path) -> None:
    page = write_page(results, tmp_path / "docs")[0].read_text(encoding="utf-8")
    assert page.startswith(INTRODUCTION)
    assert "## Gymnasium\n" in page
    assert "## Traffic lights in SUMO\n" in page
    assert "with a transaction cost" not in page
    assert "![True net improvement of every run](results-gymnasium.svg)" in page
    for table in ("gymnasium", "sumo"):
        summaries = summarise(table, results)
        assert format_markdown(HEADER, tabulate(summaries)) in page
        assert format_markdown(OLD_HEADER, tabulate_old(summaries)) in page


def test_the_table_in_markdown(results: Path) -> None:
    summaries = summarise("gymnasium", results)
    lines = format_markdown(HEADER, tabulate(summaries)).splitlines()
    assert lines[0] == "| " + " | ".join(HEADER) + " |"
    assert lines[1] == "| --- | --- | --- | --- | --- | --- | --- | --- |"
    assert lines[2:] == ["| " + " | ".join(line) + " |" for line in tabulate(summaries)]
    assert (
        lines[3] == "|  | ours, paper | 2 | 70.0 ± 14.1 [-57.1, 197.1] | 68.0 | 100% | 100% | 0 |"
    )


def test_the_figure_shows_every_run(results: Path, tmp_path: Path) -> None:
    """Points are uses of a marker: 2 + 2 runs of one row, 4 of the other, 4 in the legend."""
    path = tmp_path / "figure.svg"
    draw_table(summarise("gymnasium", results), path)
    drawn = path.read_text()
    assert drawn.startswith("<?xml")
    collections = drawn.split('<g id="PathCollection_')[1:]
    assert sum(part.split("<g id=")[0].count("<use ") for part in collections) >= 8
    assert "<dc:date>" not in drawn


def test_without_records_there_is_an_introduction_alone(tmp_path: Path) -> None:
    written = write_page(tmp_path / "none", tmp_path / "docs")
    assert [path.name for path in written] == ["results.md"]
    assert written[0].read_text(encoding="utf-8") == INTRODUCTION


def test_without_matplotlib_the_remedy_is_named(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"pip install 'nacre\[figures\]'"):
        draw_table(summarise("gymnasium", results), tmp_path / "figure.svg")
