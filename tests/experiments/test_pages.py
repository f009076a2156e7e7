"""The page of results: from records alone, the same bytes every time."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from nacre.experiments import ablation
from nacre.experiments.listing import (
    HEADER,
    OLD_HEADER,
    PARTS_HEADER,
    format_markdown,
    tabulate,
    tabulate_old,
    tabulate_parts,
)
from nacre.experiments.pages import INTRODUCTION, write_page
from nacre.experiments.records import Place, add_record, read_records
from nacre.experiments.summary import summarise
from nacre.experiments.tables import TABLES
from tests.support.experiments import MIXED, TWO

ANT, ANT_OPTIMAL, *_ = TABLES["gymnasium"]
TRAFFIC, COSTLIER = TABLES["sumo"][0], TABLES["sumo"][2]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    out = tmp_path / "results"
    for row, config, records in (
        (ANT, "paper", TWO),
        (ANT, "default", TWO),
        (ANT_OPTIMAL, "default", MIXED),
        (TRAFFIC, "default", TWO[:1]),
        (COSTLIER, "default", TWO[:1]),
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
    assert "![True and published-style improvement of every run](results-gymnasium.svg)" in page
    for table in ("gymnasium", "sumo"):
        summaries = summarise(table, results)
        assert format_markdown(HEADER, tabulate(summaries)) in page
        assert format_markdown(OLD_HEADER, tabulate_old(summaries)) in page
        assert format_markdown(PARTS_HEADER, tabulate_parts(summaries)) in page
    pairs = ablation.compare_costs("sumo", results)
    assert page.count("Ablation: ") == 1
    assert format_markdown(ablation.HEADER, ablation.tabulate_comparisons(pairs)) in page
    assert ablation.conclude(pairs) in page


def test_without_records_there_is_an_introduction_alone(tmp_path: Path) -> None:
    written = write_page(tmp_path / "none", tmp_path / "docs")
    assert [path.name for path in written] == ["results.md"]
    assert written[0].read_text(encoding="utf-8") == INTRODUCTION


def test_the_committed_page_is_what_the_committed_records_say(tmp_path: Path) -> None:
    for path in write_page(ROOT / "results", tmp_path):
        assert path.read_bytes() == (ROOT / "docs" / path.name).read_bytes(), path.name


def test_tables_of_the_departures_are_made_from_the_records() -> None:
    page = (ROOT / "docs" / "deviations.md").read_text(encoding="utf-8")
    found = [one for table in TABLES for one in summarise(table, ROOT / "results")]
    paper = [summary for summary in found if summary.config == "paper"]
    assert format_markdown(PARTS_HEADER, tabulate_parts(paper)) in page
    text = (ROOT / "results" / "studies" / "stored_critics.json").read_text(encoding="utf-8")
    lines = [
        [f"`{one['policy']}`", *(f"{one[name]:.1f}" for name in ("stored", "fitted", "simulated"))]
        for one in json.loads(text)["critics"]
    ]
    assert format_markdown(("old policy", "stored critics", "fitted", "simulated"), lines) in page
    for one in json.loads(text)["critics"]:
        (summary, *_) = [s for s in paper if s.row.old_policy == one["policy"]]
        assert one["simulated"] == pytest.approx(summary.old_value["true"], abs=0.06)


def test_the_guess_about_hopper_is_what_the_records_say() -> None:
    """Estimated net value after ten epochs minus the fitted old value, at twenty epochs each."""
    records = read_records(ROOT / "results", "gymnasium", "paper")
    hopper = [record for (row, _), record in records.items() if row == "hopper-suboptimal"]
    assert all(len(record["epochs"]) == 20 for record in hopper)
    gains = [record["epochs"][9][3] - record["old_value"]["fitted"]["value"] for record in hopper]
    page = (ROOT / "docs" / "deviations.md").read_text(encoding="utf-8")
    assert f"improvement at {np.mean(gains):.1f} ± {np.std(gains, ddof=1):.1f}" in page
    # Twice the old value is the bound of Algorithm 3, passed in two epochs long before.
    for record in hopper:
        bound = 2.0 * record["old_value"]["fitted"]["value"]
        values = [epoch[3] for epoch in record["epochs"]]
        assert any(min(pair) > bound for pair in itertools.pairwise(values[:9]))
