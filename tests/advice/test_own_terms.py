"""A decision over many episodes is the same as one whose cost they share."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacre.advice.config import settle_discount
from nacre.advice.own_terms import describe_value, scale_estimate
from nacre.advice.pipeline import advise
from nacre.advice.result import Advice
from nacre.costs import SwitchingCost, ValueTerms
from nacre.errors import InputError
from nacre.inference.evidence import Evidence
from nacre.inference.price import Price
from nacre.logs import log_from_arrays
from tests.support.estimates import make_estimate
from tests.support.rooms import (
    BEST,
    CONFIG,
    GIVEN_ALONE,
    OLD,
    make_candidate,
    make_cost,
    make_policy,
    make_rooms_log,
)

TERMS = ValueTerms("€", 10.0, 5.0)


def _advise(cost: SwitchingCost) -> Advice:
    return advise(
        make_rooms_log(),
        make_policy(OLD),
        cost,
        candidates=[make_candidate("best", BEST)],
        config=GIVEN_ALONE,
        seed=103,
        progress=False,
    )


@pytest.fixture(scope="module")
def both() -> tuple[Advice, Advice]:
    """Over fifty episodes, and for one with a fiftieth of the cost."""
    return _advise(dataclasses.replace(make_cost(20.0), terms=TERMS)), _advise(make_cost(0.4))


def test_the_verdict_is_that_of_one_episode_with_its_share(both: tuple[Advice, Advice]) -> None:
    many, one = (advice.record for advice in both)
    assert (many.verdict, many.chosen, many.reason != "") == (one.verdict, one.chosen, True)
    assert many.probability == pytest.approx(one.probability, abs=1e-6)
    for name in ("mean", "low", "high"):
        assert getattr(many.net_gain, name) == pytest.approx(50 * getattr(one.net_gain, name))
        assert getattr(many.old_value, name) == pytest.approx(50 * getattr(one.old_value, name))
    assert many.cost.total == pytest.approx(50 * one.cost.total)
    known, alone = many.break_even.learning_weight, one.break_even.learning_weight
    assert known is not None
    assert alone is not None
    assert known == pytest.approx(50 * alone)
    assert many.confounding == one.confounding


def test_payback_is_the_cost_over_the_gain_of_a_day(both: tuple[Advice, Advice]) -> None:
    many, one = (advice.record for advice in both)
    value = many.value
    assert one.value == {}
    assert (value["unit"], value["episodes"]) == ("€", 50)
    gain = value["gain_per_episode"]
    assert gain["mean"] == pytest.approx(one.net_gain.mean + one.cost.total)  # type: ignore[operator]
    days = value["payback_days"]
    assert days["mean"] == pytest.approx(many.cost.total / (10 * gain["mean"]), rel=1e-4)
    assert days["high"] == pytest.approx(many.cost.total / (10 * gain["low"]), rel=1e-4)
    assert days["low"] < days["mean"] < days["high"]


def test_what_may_gain_nothing_may_never_pay_back() -> None:
    evidence = Evidence((make_estimate(50.0, 100.0),), Price(1.0, 0.0, 5.0, 0.0))
    days = describe_value(TERMS, evidence, 0.95)["payback_days"]
    assert days["mean"] == pytest.approx(0.5)
    assert days["high"] is None
    assert describe_value(ValueTerms("€"), evidence, 0.95)["gain_per_episode"]["mean"] == 50.0
    assert "payback_days" not in describe_value(ValueTerms("€"), evidence, 0.95)


def test_an_estimate_of_many_episodes_has_their_bounds() -> None:
    one = make_estimate(2.0, 0.5, 0.25)
    many = scale_estimate(one, 10.0)
    assert (many.gain, many.standard_error, many.overlap_penalty) == (20.0, 5.0, 2.5)
    assert scale_estimate(one, 1.0) is one


def test_without_a_discount_every_episode_has_to_end() -> None:
    config = dataclasses.replace(CONFIG, discount=1.0)
    steps = np.arange(6)
    log = log_from_arrays(
        {
            "observations": steps[:, None] * 1.0,
            "actions": steps % 2,
            "rewards": steps * 1.0,
            "terminals": np.ones(6, bool),
        }
    )
    assert settle_discount(config, log).discount < 1
    assert settle_discount(CONFIG, make_rooms_log()) == CONFIG
    with pytest.raises(InputError, match="30 of 30 episodes do not end but are cut off"):
        settle_discount(config, make_rooms_log())


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"log": 3}, "log = 3: give a nacre.Log"),
        ({"cost": {"weight": 1}}, "cost = {'weight': 1}: give a nacre.SwitchingCost"),
        ({"old_policy": None}, "old_policy = None: give a policy"),
        ({"candidates": "new.onnx"}, "candidates = 'new.onnx': give a list"),
        ({"seed": "7"}, "seed = '7': give a whole number"),
        ({"discount": "high"}, "discount = 'high': give a number"),
        ({"start": "here"}, "start = 'here': give an array of numbers"),
        ({"engine": 2}, "engine = 2: give an object of nacre.parallel.engine.Engine or a text"),
        ({"candidates": [make_policy(BEST)]}, r"candidates\[0\] is a TabularPolicy: give a nacre"),
    ],
)
def test_wrong_types_are_told(given: dict[str, object], problem: str) -> None:
    inputs = {"log": make_rooms_log(), "old_policy": make_policy(OLD), "cost": make_cost(1.0)}
    with pytest.raises(InputError, match=problem):
        advise(**(inputs | given))  # type: ignore[arg-type]
