"""Fitted Q-evaluation against exact truth, and when it says nothing."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import numpy as np
import pytest

from nacre.estimators.base import Estimate
from nacre.estimators.fitted_q import (
    Fitted,
    FittedQ,
    default_evaluation,
    describe_robustly,
    find_drift,
    has_settled,
)
from nacre.training.fitted_evaluation import Evaluation
from tests.support import one_hot
from tests.support.one_hot import (
    NEW,
    OLD,
    Table,
    as_network,
    find_gain,
    make_evaluation,
    make_problem,
    pose_vectors,
    sample_vectors,
)

QUICK = FittedQ(make_evaluation(4, epochs=12, bootstrap=True))


def prepare() -> Fitted:
    prepared: Fitted = one_hot.prepare(QUICK)
    return prepared


def estimate(table: Table = NEW, prepared: Fitted | None = None) -> Estimate:
    return one_hot.estimate(QUICK, table, prepared or prepare())


def test_it_finds_the_gain() -> None:
    found = estimate()
    assert found.informative, found.reason
    assert (found.estimator, found.basis) == ("fitted_q", "model")
    assert QUICK.extrapolates
    assert found.standard_error > 0
    assert found.degrees == 3.0
    span = found.diagnostics["value_range"]
    assert abs(found.gain - find_gain()) < max(4 * found.standard_error, 0.05 * span)


def test_the_old_policy_itself_gains_nothing_but_is_not_certain() -> None:
    found = estimate(OLD)
    assert found.gain == pytest.approx(0.0, abs=1e-5)
    # No spread among a few members is no proof.
    assert found.standard_error > 0


def test_it_is_pure_and_tells_its_progress() -> None:
    assert estimate() == estimate()
    heard: list[float] = []
    QUICK.estimate(jax.random.key(1), make_problem(), prepare(), as_network(NEW), heard.append)
    assert heard == sorted(heard)
    # It may end early, once it has settled.
    assert 0.0 < heard[-1] <= 1.0


def break_old(**changes: Any) -> Fitted:
    return dataclasses.replace(prepare(), old=dataclasses.replace(prepare().old, **changes))


def test_critics_that_broke_say_nothing() -> None:
    found = estimate(prepared=break_old(healthy=False, reason="the loss is not finite"))
    assert not found.informative
    assert found.reason == "the loss is not finite"


def test_members_that_differ_too_much_say_nothing() -> None:
    span = prepare().value_range
    wild = np.asarray(prepare().old.per_critic) + span * np.array([-1.0, 1.0, -1.0, 1.0])
    found = estimate(prepared=break_old(per_critic=wild))
    assert not found.informative
    assert "members differ" in found.reason


def test_critics_that_miss_the_old_policy_s_value_say_nothing() -> None:
    prepared = dataclasses.replace(
        prepare(), returns_mean=prepare().returns_mean + prepare().value_range
    )
    found = estimate(prepared=prepared)
    assert not found.informative
    assert "misses the old policy's own value" in found.reason


def test_whether_it_says_something_does_not_depend_on_the_gain() -> None:
    """The same members, all shifted alike."""
    shifted = np.asarray(prepare().old.per_critic) - 0.02 * prepare().value_range
    found, plain = estimate(prepared=break_old(per_critic=shifted)), estimate()
    assert found.informative == plain.informative
    assert found.gain == pytest.approx(plain.gain + 0.02 * prepare().value_range, rel=1e-3)


def test_where_it_does_not_apply() -> None:
    log = sample_vectors(400)
    assert QUICK.applies(pose_vectors(log)) == ""
    longest = int(np.argmax(log.episode_lengths))
    assert QUICK.applies(pose_vectors(log.select([longest])))


def test_one_outlier_moves_neither_centre_nor_spread_much() -> None:
    members = np.array([1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.02, 50.0])
    centre, spread = describe_robustly(members)
    assert centre == pytest.approx(1.01)
    assert spread <= 0.5 * np.std(members, ddof=1)
    normal = np.random.default_rng(100).normal(3.0, 2.0, 20_000)
    assert describe_robustly(normal) == pytest.approx((3.0, 2.0), rel=0.03)
    # Few members that agree by chance are no proof: at least half of the ordinary spread.
    lucky = np.array([0.0, 0.0, 0.0, 8.0])
    centre, spread = describe_robustly(lucky)
    assert centre == 0.0
    assert spread == pytest.approx(0.5 * np.std(lucky, ddof=1))


def make_curves(*curve: float) -> Evaluation:
    evaluation = prepare().old
    return dataclasses.replace(evaluation, member_curves=np.tile(np.array(curve)[:, None], (1, 4)))


def test_drift_is_how_far_the_difference_still_moves() -> None:
    flat = make_curves(*[0.0] * 9)
    assert find_drift(make_curves(5.0, *[1.0] * 8), flat) == 0.0
    assert find_drift(make_curves(*[1.0] * 6, *[3.0] * 3), flat) == pytest.approx(2.0)
    # What moves both is no drift of the difference.
    rising = make_curves(*range(9))
    assert find_drift(rising, rising) == 0.0
    short = make_curves(*[1.0] * 3)
    assert find_drift(short, flat) == find_drift(flat, short) == math.inf


def test_it_has_settled_when_it_moves_less_than_its_members_differ() -> None:
    members = np.array([-1.0, -0.5, 0.5, 1.0])
    flat = np.tile(members, (8, 1))
    assert has_settled(flat)
    assert not has_settled(flat[:5])
    assert not has_settled(flat + np.arange(8)[:, None])
    assert has_settled(flat + 0.01 * np.arange(8)[:, None])


def test_the_default_has_members_on_their_own_resamples() -> None:
    evaluation = default_evaluation()
    assert evaluation.bootstrap
    assert evaluation.critics.n_critics >= 4
    assert evaluation.epochs >= 3
