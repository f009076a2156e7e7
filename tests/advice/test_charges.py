"""What the switch to each finalist costs, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.advice.charges import Charge, charge_finalists
from nacre.advice.setting import Split
from nacre.training.progress import NoProgress
from tests.support.rooms import (
    BEST,
    OLD,
    make_candidate,
    make_cost,
    make_policy,
    make_rooms_log,
    make_setting,
)


def charge(weight: float = 2.0, uncertainty: float = 0.0) -> tuple[Charge, ...]:
    log = make_rooms_log()
    split = Split(log, log, make_policy(OLD))
    finalists = (make_candidate("best", BEST), make_candidate("same", OLD))
    setting = make_setting(weight=weight, uncertainty=uncertainty)
    return charge_finalists(setting, split=split, finalists=finalists, report=NoProgress())


def test_costs_by_hand() -> None:
    best, same = charge()
    # In both rooms 0.48 of the mass changes its group.
    assert best.breakdown.total == pytest.approx(2.0 * 0.48, abs=1e-6)
    assert best.price.total == pytest.approx(2.0 * 0.48, abs=1e-4)
    assert best.price.learning_mass == pytest.approx(0.48, abs=1e-4)
    assert same.breakdown.total == pytest.approx(0.0, abs=1e-6)
    expected = make_cost(2.0).evaluate(make_policy(OLD), make_policy(BEST), make_rooms_log())
    assert best.breakdown.total == pytest.approx(expected.total, rel=1e-6)


def test_costs_are_linear_in_their_weight() -> None:
    one, ten = charge(1.0)[0], charge(10.0)[0]
    assert ten.price.total == pytest.approx(10.0 * one.price.total, rel=1e-6)
    assert ten.price.learning_mass == one.price.learning_mass


def test_what_a_clone_does_not_know_is_an_error_of_the_cost() -> None:
    known, vague = charge()[0].price, charge(uncertainty=0.2)[0].price
    assert vague.total == known.total
    assert vague.error == pytest.approx(np.hypot(known.error, 0.2 * 2.0), rel=1e-6)
