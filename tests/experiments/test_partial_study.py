"""The study of partial switches: a recorded world is found again, and its table adds up."""

from __future__ import annotations

from pathlib import Path

from nacre.experiments import partial_study
from nacre.experiments.records import read_lines

ROOT = Path(__file__).resolve().parents[2]
RECORDS = read_lines(ROOT / "results" / "studies" / "partial.jsonl")


def test_a_recorded_world_is_found_again() -> None:
    (recorded,) = (one for one in RECORDS if (one["seed"], one["world"]) == (10201, 0))
    found = partial_study.run_one({"seed": 10201, "world": 0}, Path(), Path())
    assert found.items() <= recorded.items()


def test_the_table_counts_worlds() -> None:
    assert len(RECORDS) == 200
    row = partial_study.write_table(RECORDS).splitlines()[-1]
    undecided = [one for one in RECORDS if one["undecided"]]
    helped = sum(one["proven"] > 0 for one in undecided)
    assert row.endswith(f"| {len(undecided)} | {helped} | 0 |")
    # From ten undecided ones at least five get a part that is proven.
    assert helped >= len(undecided) / 2
    assert len(partial_study.list_runs([1, 2])) == 4
