"""The study of undecided advices: a recorded one is found again, and its table adds up."""

from __future__ import annotations

from pathlib import Path

from nacre.experiments import undecided_study
from nacre.experiments.records import read_lines

ROOT = Path(__file__).resolve().parents[2]
RECORDS = read_lines(ROOT / "results" / "studies" / "undecided.jsonl")


def test_a_recorded_advice_is_found_again() -> None:
    (recorded,) = (one for one in RECORDS if (one["seed"], one["world"]) == (10303, 0))
    found = undecided_study.run_one({"seed": 10303, "world": 0}, Path(), Path())
    assert found["step"] == recorded["step"] == undecided_study.PROVEN
    assert found["part"] == recorded["part"]
    assert abs(found["truth"] - recorded["truth"]) < 1e-3


def test_of_ten_undecided_advices_at_least_five_begin_with_a_proven_part() -> None:
    undecided = [one for one in RECORDS if one["verdict"] == "undecided"]
    proven = [one for one in undecided if one["step"] == undecided_study.PROVEN]
    assert len(undecided) >= 10
    assert len(proven) >= len(undecided) / 2
    assert all(one["truth"] > 0 for one in RECORDS if "truth" in one)
    row = undecided_study.write_table(RECORDS).splitlines()[-1]
    assert row.endswith(f"| {len(undecided)} | {len(proven)} | 0 |")
    assert len(undecided_study.list_runs([1, 2])) == 4
