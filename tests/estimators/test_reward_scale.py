"""An estimate in another unit of the reward is the same estimate in that unit."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from nacre.estimators.base import Estimate, Estimator, Problem, report_nothing
from nacre.estimators.exact import optimal_policy
from nacre.estimators.one_step import OneStep
from nacre.estimators.tabular import Tabular
from nacre.logs import Log
from nacre.policies.tabular import TabularPolicy
from nacre.simulators.finite import random_policy, random_world

WORLD = random_world(100, 4, 2, discount=0.9)
OLD = random_policy(100, WORLD, concentration=2.0)
NEW = TabularPolicy.from_probabilities((OLD + optimal_policy(WORLD)) / 2)


def make_problem(scale: float, *, several: bool) -> Problem:
    log = WORLD.sample_log(OLD, 600, seed=100, horizon=20 if several else 1)
    ends = np.full(log.n_transitions, not several)
    log = Log.from_arrays(
        log.observations,
        log.actions,
        np.asarray(log.rewards, np.float64) * scale,
        ends,
        log.truncated & several,
        log.next_observations,
        offsets=log.offsets,
        observation_space=log.observation_space,
        action_space=log.action_space,
    )
    return Problem(log, TabularPolicy.from_probabilities(OLD), log.starts, 0.9)


def estimate(estimator: Estimator, scale: float, *, several: bool) -> Estimate:
    problem = make_problem(scale, several=several)
    key = jax.random.key(0)
    prepared = estimator.prepare(key, problem, report_nothing)
    return estimator.estimate(key, problem, prepared, NEW, report_nothing)


@pytest.mark.parametrize("several", [True, False])
def test_every_unit_gives_the_same_estimate(several: bool) -> None:
    estimator: Estimator = Tabular(replicates=100) if several else OneStep()
    own = estimate(estimator, 1.0, several=several)
    assert own.informative
    # Rewards are stored as 32-bit numbers: their rounding is all that may differ.
    for scale in (1e-30, 1e-9, 1e9, 1e30):
        other = estimate(estimator, scale, several=several)
        for name in ("gain", "standard_error", "overlap_penalty"):
            expected = getattr(own, name) * scale
            assert getattr(other, name) == pytest.approx(expected, rel=1e-5, abs=1e-6 * scale)
        assert other.degrees == pytest.approx(own.degrees, rel=1e-4)
        assert other.informative


def test_nothing_is_gained_where_nothing_is_paid() -> None:
    silent = estimate(Tabular(replicates=100), 0.0, several=True)
    assert not silent.informative or (silent.gain == 0.0 and silent.standard_error > 0.0)
