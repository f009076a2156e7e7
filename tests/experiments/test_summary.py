"""Tables from records: two seeds, ties and a wrong switch, with figures worked by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InputError
from nacre.experiments.records import Place, add_record
from nacre.experiments.summary import Summary, summarise
from nacre.experiments.tables import TABLES
from tests.support.experiments import MIXED, TWO, make_record

ANT, ANT_OPTIMAL, *_ = TABLES["gymnasium"]
T975 = 12.7062047
"""97.5 % of Student's t of one degree of freedom lie below."""


def summary(records: list[dict[str, Any]], config: str = "default") -> Summary:
    return Summary.from_records(ANT, config, records)


def test_two_seeds_by_hand() -> None:
    """60 and 80: mean 70, standard deviation √200, standard error 10."""
    found = summary(TWO)
    assert found.seeds == (4, 5)
    assert found.switch_proportion == 1.0
    assert found.responsible_rate == 1.0
    assert found.wrong_switches == 0
    low, high = found.interval or (0.0, 0.0)
    assert (low, high) == pytest.approx((70 - 10 * T975, 70 + 10 * T975), abs=1e-5)
    plain = found.as_json()
    assert plain["improvement_mean"] == 70.0
    assert plain["improvement_std"] == pytest.approx(math.sqrt(200), rel=1e-12)
    assert plain["estimated_improvement_mean"] == 68.0
    assert plain["published"]["improvement_mean"] == 58.2
    assert plain["old_value"] == {"returns": 20.0, "fitted": 4.5, "true": 21.0}
    # 60 + 21 - 4 and 80 + 21 - 5: the fitted old value in place of the true one.
    assert plain["published_style_mean"] == 86.5
    assert plain["published_style_std"] == pytest.approx(math.sqrt(180.5), rel=1e-12)
    assert plain["published_style_responsible_rate"] == 1.0
    assert plain["published_style_new_value"] == "simulated"
    assert plain["published_style_missing"] is None
    assert (plain["table"], plain["row"], plain["config"]) == (
        "gymnasium",
        "ant-suboptimal",
        "default",
    )


def test_ties_wrong_switches_and_undecided_runs_by_hand() -> None:
    """A missed switch and a wrong one, a tie left out, and an undecided run that kept rightly."""
    found = summary(MIXED)
    assert found.switch_proportion == 0.5
    assert found.responsible_rate == pytest.approx(1 / 3)
    # The tie switched at a loss too: it is left out of the rate, not of this count.
    assert found.wrong_switches == 2
    assert found.as_json()["ties"] == 1
    assert found.as_json()["improvement_mean"] == pytest.approx((2 - 3 - 0.1 - 5) / 4)


def test_a_single_seed_has_no_spread() -> None:
    found = summary(TWO[:1])
    assert found.interval is None
    plain = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert plain["improvement_std"] is plain["improvement_interval"] is None
    assert plain["published_style_std"] is None


def test_what_is_not_known_is_left_out_of_means() -> None:
    old = {"returns": {"mean": 20.0}, "fitted": {"mean": None}, "true": {"mean": 21.0}}
    unknown = make_record(5, 80.0, old_value=old) | {
        "improvement": {"true": 80.0, "estimated": None}
    }
    both, alone = summary([TWO[0], unknown]), summary([unknown])
    assert both.as_json()["estimated_improvement_mean"] == 61.0
    assert both.old_value["fitted"] == 4.0
    assert alone.as_json()["estimated_improvement_mean"] is alone.old_value["fitted"] is None
    missing = "seed 5: no fitted value of the old policy"
    assert both.as_json()["published_style_mean"] == 77.0
    assert both.as_json()["published_style_missing"] == missing
    plain = alone.as_json()
    assert plain["published_style_mean"] is plain["published_style_std"] is None
    assert plain["published_style_responsible_rate"] is plain["published_style_new_value"] is None
    assert plain["published_style_missing"] == missing


def test_equal_seeds_have_an_interval_of_no_width() -> None:
    assert summary([make_record(4, 7.0), make_record(5, 7.0)]).interval == (7.0, 7.0)


def test_only_ties_have_no_responsible_rate() -> None:
    found = summary([make_record(4, 0.1, tie=True), make_record(5, -0.1, tie=True)])
    assert found.responsible_rate is None


def test_published_style_rates_count_ties_and_agree_with_the_sign_by_hand() -> None:
    """2 + 17, -3 + 16, -0.1 + 15 and -5 + 14 are all above zero: only switches agree."""
    found = summary(MIXED)
    assert found.published_improvements == pytest.approx((19.0, 13.0, 14.9, 9.0))
    assert found.published_style_responsible_rate == 0.5


def test_records_are_found_by_row_and_configuration(tmp_path: Path) -> None:
    assert summarise("gymnasium", tmp_path) == []
    for seed, record in ((10, make_record(10, 1.0)), (9, make_record(9, 2.0))):
        add_record(Place.of(tmp_path, ANT_OPTIMAL, "default", seed), record)
    add_record(Place.of(tmp_path, ANT, "paper", 4), TWO[0])
    add_record(Place.of(tmp_path, ANT, "default", 4), TWO[0])
    found = summarise("gymnasium", tmp_path)
    assert [(one.row.name, one.config) for one in found] == [
        ("ant-suboptimal", "paper"),
        ("ant-suboptimal", "default"),
        ("ant-optimal", "default"),
    ]
    assert found[2].seeds == (9, 10)
    assert found[2].improvements == (2.0, 1.0)
    assert summarise("sumo", tmp_path) == []


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"old_value": {"returns": {"mean": 1.0}}}, "KeyError: 'fitted'"),
        ({"improvement": {"true": None, "estimated": 1.0}}, "TypeError"),
        ({"improvement": [1.0]}, "TypeError"),
    ],
)
def test_records_that_are_not_whole_are_named(
    changed: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    add_record(Place.of(tmp_path, ANT, "paper", 4), make_record(4, 1.0) | changed)
    with pytest.raises(InputError, match=f"seed 4: not a whole record .{reason}.*delete it"):
        summarise("gymnasium", tmp_path)
