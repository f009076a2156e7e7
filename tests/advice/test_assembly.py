"""From the results of the graph to a record, by hand."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest

from nacre.advice import tasks
from nacre.advice.assembly import build_advice
from nacre.advice.charges import charge_finalists
from nacre.advice.result import Advice
from nacre.advice.setting import Setting
from nacre.estimators.base import Estimate, Problem, abstain
from nacre.training.progress import NoProgress
from tests.support.estimates import make_estimate
from tests.support.rooms import (
    BEST,
    CONFIG,
    WORSE,
    find_value,
    make_candidate,
    make_rooms_log,
    make_setting,
    sample_rooms,
)


@dataclasses.dataclass(frozen=True)
class Named:
    """Stands for an estimator whose estimates are there already."""

    name: str
    extrapolates: bool = False

    def applies(self, problem: Problem) -> str:
        return ""

    def prepare(self, *given: Any) -> Any:
        raise AssertionError("nothing is estimated here")

    def estimate(self, *given: Any) -> Estimate:
        raise AssertionError("nothing is estimated here")


def build(
    *estimates: tuple[Estimate, ...],
    extrapolates: bool = False,
    penalty: float = 0.0,
    given_start: bool = False,
    setting: Setting | None = None,
) -> Advice:
    """An advice about as many finalists as there are tuples; all estimators are stated."""
    names = [one.estimator for one in estimates[0]]
    parts = tuple(Named(name, extrapolates) for name in names)
    setting = setting or make_setting(dataclasses.replace(CONFIG, estimators=parts))
    setting = dataclasses.replace(
        setting,
        config=dataclasses.replace(setting.config, estimators=parts),
        given_start=given_start,
    )
    tables = (BEST, WORSE)[: len(estimates)]
    finalists = tuple(make_candidate(f"number {i}", table) for i, table in enumerate(tables))
    checks = tasks.check_log(setting, report=NoProgress())
    split = tasks.split_log(setting, checks=checks, report=NoProgress())
    chosen: dict[str, Any] = {"split": split, "finalists": finalists, "report": NoProgress()}
    results: dict[str, Any] = {"log checks": checks, "split": split, "finalists": finalists}
    results["given"] = finalists
    results["costs"] = charge_finalists(setting, **chosen)
    results["learn noise-0.3"] = (finalists[0],)
    meter = tasks.prepare_overlap(setting, split=split, report=NoProgress())
    for place, some in enumerate(estimates):
        overlap = tasks.find_overlap(
            setting, place, finalists=finalists, meter=meter, report=NoProgress()
        )
        assert overlap is not None
        changes: dict[str, Any]
        if penalty == 0:
            changes = {"excess": 0.0}
        elif math.isinf(penalty):
            changes = {"excess": 0.5, "least": 1.0, "most": 1.0}
        else:
            # Half of it lies outside, where it may be worth nothing instead of twice the penalty.
            worth = 2 * penalty
            changes = {
                "excess": 0.5,
                "least": 0.0,
                "most": 2 * worth,
                "old_value": worth - some[0].gain,
            }
        results[f"overlap {place}"] = dataclasses.replace(overlap, **changes)
        results |= {f"estimate {one.estimator} {place}": one for one in some}
    return build_advice(setting, results, {}, began=0.0)


def test_the_interval_is_the_hull_that_decides() -> None:
    pair = make_estimate(3.0, 0.5, estimator="a"), make_estimate(2.0, 0.1, 0.2, estimator="b")
    advice = build(pair)
    entry = advice.chosen
    cost, error = entry.price.as_price().total, entry.price.error
    assert error is not None
    reach = 1.6448536
    lows = 3.0 - reach * 0.5, 2.0 - 0.2 - reach * 0.1
    assert entry.net_gain.low == pytest.approx(min(lows) - cost - reach * error, rel=1e-6)
    highs = 3.0 + reach * 0.5, 2.0 + 0.2 + reach * 0.1
    assert entry.net_gain.high == pytest.approx(max(highs) - cost + reach * error, rel=1e-6)
    weights = np.array([1 / 0.25, 1 / (0.01 + 0.04)])
    centre = float(weights @ [3.0, 2.0] / weights.sum())
    assert entry.net_gain.mean == pytest.approx(centre - cost, rel=1e-6)
    assert advice.record.net_gain == entry.net_gain
    assert advice.record.interval_level == 0.95
    assert advice.record.basis == ("a (model)", "b (model)")
    assert advice.verdict == "switch"
    # The value of the candidate is the old one plus the gain, before the cost.
    old = advice.record.old_value.mean
    assert old is not None
    assert advice.record.new_value.mean == pytest.approx(old + centre)
    assert advice.record.new_value.low == pytest.approx(old + min(lows))


def test_the_penalty_of_the_overlap_is_charged_where_it_has_to_be() -> None:
    estimate = (make_estimate(3.0, 0.5),)
    plain, charged = (build(estimate, extrapolates=one, penalty=10.0) for one in (False, True))
    assert plain.chosen.estimates[0].overlap_penalty == 0.0
    assert charged.chosen.estimates[0].overlap_penalty == 10.0
    assert (plain.verdict, charged.verdict) == ("switch", "undecided")
    assert charged.record.reason.startswith("this log cannot tell")
    infinite = build(estimate, extrapolates=True, penalty=math.inf)
    assert infinite.verdict == "undecided"
    assert infinite.chosen.estimates[0].overlap_penalty is None
    json.dumps(infinite.as_json(), allow_nan=False)


def test_two_finalists_share_the_level_and_the_proven_one_is_chosen() -> None:
    advice = build((make_estimate(1.0, 0.1),), (make_estimate(5.0, 100.0),))
    assert advice.index == 0
    assert advice.record.chosen == "number 0"
    assert advice.record.interval_level == pytest.approx(0.975)
    assert [one.name for one in advice.record.candidates] == ["number 0", "number 1"]
    assert advice.learned == (advice.finalists[0],)


def test_the_old_value_from_another_start_is_an_estimator_s() -> None:
    silent = abstain("a", "data", "says nothing")
    knows = make_estimate(1.0, estimator="b", diagnostics={"old_value": 7.5})
    advice = build((silent, knows), given_start=True)
    assert advice.record.old_value.model_dump() == {
        "mean": 7.5,
        "low": None,
        "high": None,
        "method": "b",
    }
    assert advice.record.new_value.mean == pytest.approx(8.5)
    unknown = build((silent,), given_start=True).record
    assert unknown.old_value.method == "not known"
    assert unknown.new_value.mean is None


def test_the_old_value_from_the_log_s_own_start_is_that_of_its_returns() -> None:
    value = build((make_estimate(1.0),)).record.old_value
    assert value.method == "returns of the log"
    assert value.low is not None
    assert value.high is not None
    assert value.low < find_value(np.full((2, 2), 0.5)) < value.high


def test_notes_say_what_the_log_and_the_policy_are() -> None:
    assert build((make_estimate(1.0),)).record.notes == ()
    unsure = build((make_estimate(1.0),), setting=make_setting(uncertainty=0.2)).record
    assert len(unsure.notes) == 1
    assert "20.0% of its probability" in unsure.notes[0]
    assert unsure.policy["uncertainty"] == 0.2
    foreign = build(
        (make_estimate(5.0, 0.1),), setting=make_setting(log=sample_rooms(0.5 * WORSE + 0.25))
    )
    assert foreign.record.forbidden
    assert foreign.verdict == "undecided"
    assert foreign.record.notes


def test_what_the_record_rests_on_is_written_down() -> None:
    record = build((make_estimate(1.0),)).record
    assert record.log["sha256"] == make_rooms_log().fingerprint()
    assert record.cost_model["kind"] == "transport"
    assert record.wall_seconds is not None
    assert record.candidates[0].overlap["value_range"] > 0
    assert record.seed == 103
