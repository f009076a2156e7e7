"""The net gain of partial switches against exact truth."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacre.costs import GuardrailTerms, ValueTerms, describe_cost
from nacre.errors import InputError
from nacre.policies.region import parse_region
from nacre.rollout.net_curve import NetCurve, find_net_curve
from nacre.rollout.setting import rebuild_setting
from tests.support.rollout import make_record
from tests.support.rooms import (
    BEST,
    GIVEN_ALONE,
    LOW_PRICE,
    OLD,
    find_value,
    make_cost,
    make_policy,
    make_rooms_log,
    make_setting,
)

SHARES = (0.1, 0.4, 1.0)


@pytest.fixture(scope="module")
def curve() -> NetCurve:
    setting = make_setting(GIVEN_ALONE)
    return find_net_curve(setting, make_policy(BEST), [parse_region("states 1")], SHARES)


def find_truth(table: np.ndarray) -> float:
    moved = np.abs(table - OLD).sum(axis=1) / 2
    states, counts = np.unique(make_rooms_log().observations, return_counts=True)
    cost = LOW_PRICE * float(moved[states] @ counts) / counts.sum()
    return float(find_value(table) - find_value(OLD) - cost)


def test_the_truth_lies_within_the_band(curve: NetCurve) -> None:
    tables = [(1 - share) * OLD + share * BEST for share in SHARES]
    tables.append(np.stack([OLD[0], BEST[1]]))
    for point, table in zip(curve.points[:4], tables, strict=True):
        assert point.net_gain.low is not None
        assert point.net_gain.high is not None
        assert point.net_gain.low < find_truth(table) < point.net_gain.high


def test_steps_are_proven_from_the_smallest_up(curve: NetCurve) -> None:
    names = [point.name for point in curve.points[:4]]
    assert names == ["10% of the way", "40% of the way", "100% of the way", "where states 1"]
    assert curve.best is not None
    assert curve.best.name == "100% of the way"
    assert curve.proven is not None
    assert curve.proven.name == "100% of the way"
    # A step that is not proven hides all larger ones.
    hidden = find_net_curve(
        make_setting(GIVEN_ALONE, weight=50.0), make_policy(BEST), (), (0.2, 1.0)
    )
    assert hidden.proven is None


def test_another_log_than_the_advice_had_is_refused() -> None:
    log = make_rooms_log()
    cost = make_cost(1.0)
    record = make_record(log={"sha256": log.fingerprint()}, cost_model=describe_cost(cost))
    found = rebuild_setting(record, log, make_policy(OLD), cost)
    assert found.config.discount == 0.8
    with pytest.raises(InputError, match="is not the cost of this advice"):
        rebuild_setting(record, log, make_policy(OLD), make_cost(2.0))
    with pytest.raises(InputError, match="is not the log of this advice"):
        rebuild_setting(make_record(log={"sha256": "0"}), log, make_policy(OLD), make_cost(1.0))


def test_a_partial_switch_needs_its_guardrails_too(curve: NetCurve) -> None:
    """The best policy stays in the second room; a small step does so a little."""
    setting = make_setting(GIVEN_ALONE)
    log = setting.log
    guarded = []
    for worst in (0.0, 9.0):
        terms = ValueTerms(guardrails=(GuardrailTerms("noise", worst),))
        columns = {"noise": np.asarray(log.observations, float)}
        changed = dataclasses.replace(
            setting,
            log=dataclasses.replace(log, columns=columns),
            cost=dataclasses.replace(setting.cost, terms=terms),
        )
        guarded.append(find_net_curve(changed, make_policy(BEST), (), (0.4, 1.0)))
    strict, free = guarded
    assert strict.proven is None
    assert free.proven is not None
    assert [one.net_gain.mean for one in strict.points[:2]] == pytest.approx(
        [one.net_gain.mean for one in curve.points[1:3]]
    )
