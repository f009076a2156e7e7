"""The published measure of a record, by hand and on every record that is committed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacre.experiments.measures import PublishedStyle
from nacre.experiments.records import read_records
from nacre.experiments.summary import CONFIGS, summarise
from nacre.experiments.tables import TABLES
from tests.support.experiments import make_record

RESULTS = Path(__file__).resolve().parents[2] / "results"


def test_simulated_new_policy_minus_cost_minus_fitted_old_policy() -> None:
    """33 - 2 - 4; the true improvement of 10 and 21 - 4 that the old policy is valued too low."""
    found = PublishedStyle.of(make_record(4, 10.0))
    assert (found.improvement, found.new_value, found.missing) == (27.0, "simulated", "")
    assert (found.old_part, found.new_part) == (17.0, None)


def test_a_refitted_value_is_taken_first() -> None:
    values = {"true": {"mean": 33.0}, "refitted": {"value": 30.0}}
    found = PublishedStyle.of(make_record(4, 10.0, new_value=values))
    assert (found.improvement, found.new_value) == (24.0, "refitted")
    assert (found.old_part, found.new_part) == (17.0, -3.0)


@pytest.mark.parametrize(
    ("changed", "missing"),
    [
        ({"new_value": {}}, "no value of the new policy"),
        ({"switching_cost": {"evaluation": None}}, "no cost"),
        ({"old_value": {"fitted": {"mean": None}}}, "no fitted value of the old policy"),
        ({"old_value": {"fitted": {"value": True}}}, "no fitted value of the old policy"),
        (
            {"new_value": {"true": {"mean": float("nan")}}, "switching_cost": {}},
            "no value of the new policy, no cost",
        ),
    ],
)
def test_what_a_record_lacks_is_named(changed: dict[str, Any], missing: str) -> None:
    found = PublishedStyle.of(make_record(4, 10.0, **changed))
    assert (found.improvement, found.new_value, found.missing) == (None, None, missing)


@pytest.mark.parametrize("table", TABLES)
def test_every_committed_record_has_all_three_measures(table: str) -> None:
    """Published style is the true measure and what both old and new policy add to it."""
    n_records = 0
    for config in CONFIGS:
        for record in read_records(RESULTS, table, config).values():
            found = PublishedStyle.of(record)
            assert found.missing == ""
            assert found.improvement is not None
            assert found.old_part is not None
            parts = record["improvement"]["true"] + found.old_part + (found.new_part or 0.0)
            assert found.improvement == pytest.approx(parts, abs=1e-9)
            n_records += 1
    assert n_records >= 6
    for summary in summarise(table, RESULTS):
        assert summary.as_json()["published_style_mean"] is not None


def test_the_figures_that_explain_the_published_ones() -> None:
    """HalfCheetah 18.5 ± 19.5 and traffic 7.0, 6.2, 6.4 are published."""
    found = {
        summary.row.name: summary.as_json()
        for table in ("gymnasium", "sumo")
        for summary in summarise(table, RESULTS)
        if summary.config == "paper"
    }
    cheetah = found["halfcheetah-suboptimal"]
    spread = cheetah["published_style_mean"], cheetah["published_style_std"]
    assert spread == pytest.approx((16.9, 17.0), abs=0.05)
    traffic = [found[f"sumo-cl{pair}-suboptimal"] for pair in ("0.5-ct0.01", "5-ct0.1", "10-ct1")]
    means = [one["published_style_mean"] for one in traffic]
    assert means == pytest.approx([8.4, 7.6, 6.8], abs=0.05)
