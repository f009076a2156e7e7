"""What estimators share: when they say nothing, and what all of them are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacre.estimators import ESTIMATORS
from nacre.estimators.base import Estimator, Problem, abstain, find_exact_kind, report_nothing
from nacre.inference.intervals import find_hull, list_informative
from nacre.logs import Log
from nacre.policies.tabular import TabularPolicy
from nacre.simulators import random_policy, random_world
from tests.support.one_hot import pose_vectors, sample_vectors


def test_who_abstains_says_why_and_proves_nothing() -> None:
    estimate = abstain("fitted_q", "model", "too few", {"members": 2.0})
    assert not estimate.informative
    assert estimate.reason == "too few"
    assert estimate.diagnostics == {"members": 2.0}
    assert list_informative([estimate]) == []
    assert find_hull([estimate], 0.95) == (-math.inf, math.inf)
    assert abstain("a", "data", "why").diagnostics == {}


def pose(log: Log) -> Problem:
    old = TabularPolicy.from_probabilities(np.full((4, 3), 1 / 3))
    return Problem(log, old, log.starts, 0.9)


def test_critics_are_for_vectors_and_several_steps() -> None:
    world = random_world(100, 4, 3, discount=0.9)
    log = world.sample_log(random_policy(101, world), 40, seed=102, horizon=10)
    assert find_exact_kind(pose(log)) == "discrete states are solved exactly"
    vectors = sample_vectors(1000)
    assert find_exact_kind(pose_vectors(vectors)) == ""
    single = vectors.select(np.flatnonzero(vectors.episode_lengths == 1)[:2])
    assert single.n_episodes == 2
    assert "one step" in find_exact_kind(pose_vectors(single))
    longest = int(np.argmax(vectors.episode_lengths))
    assert "cannot be resampled" in find_exact_kind(pose_vectors(vectors.select([longest])))


@pytest.mark.parametrize("name", ESTIMATORS.names)
def test_every_estimator_fits_the_protocol(name: str) -> None:
    estimator = ESTIMATORS.find(name)()
    assert isinstance(estimator, Estimator)
    assert estimator.name == name
    assert estimator.extrapolates in (True, False)
    # The same configuration is the same estimator: they are frozen and compared by value.
    assert estimator == ESTIMATORS.find(name)()
    assert isinstance(estimator.applies(pose_vectors(sample_vectors(100))), str)


def test_nobody_may_be_told() -> None:
    report_nothing(0.5)
