"""Cross-fitted critics and weighted episodes against exact truth."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

from nacre.estimators import doubly_robust as module
from nacre.estimators.base import Estimate, Problem, report_nothing
from nacre.estimators.doubly_robust import LEAST_EFFECTIVE, DoublyRobust, Fold, starts_alike
from nacre.logs import Log
from nacre.policies.network_policy import MLPPolicy
from tests.support import one_hot
from tests.support.learners import make_vectors
from tests.support.one_hot import (
    NEW,
    OLD,
    Table,
    as_network,
    find_gain,
    make_problem,
    pose_vectors,
    sample_vectors,
)

QUICK = DoublyRobust(size=48)


def prepare() -> tuple[Fold, ...]:
    prepared: tuple[Fold, ...] = one_hot.prepare(QUICK)
    return prepared


def estimate(table: Table = NEW, estimator: DoublyRobust = QUICK) -> Estimate:
    return one_hot.estimate(estimator, table, prepare())


def test_it_finds_the_exact_gain() -> None:
    found = estimate()
    assert found.informative
    assert (found.estimator, found.basis) == ("doubly_robust", "data")
    assert abs(found.gain - find_gain()) < 4 * found.standard_error
    assert found.standard_error < 0.3 * abs(find_gain())
    assert found.overlap_penalty == 0.0
    assert not QUICK.extrapolates
    assert found.diagnostics["effective_episodes"] >= LEAST_EFFECTIVE
    assert found.degrees == pytest.approx(found.diagnostics["effective_episodes"] - 1)


def test_the_old_policy_itself_gains_nothing() -> None:
    found = estimate(OLD)
    assert found.gain == pytest.approx(0.0, abs=1e-4)
    # All episodes carry the weight, in each of the two folds.
    assert found.diagnostics["effective_episodes"] == pytest.approx(
        make_problem().log.n_episodes // 2, abs=1
    )


def test_a_worse_candidate_is_found_to_be_worse() -> None:
    mirrored = np.clip(2 * OLD - NEW, 0.02, None)
    mirrored /= mirrored.sum(axis=1, keepdims=True)
    found, truth = estimate(mirrored), find_gain(mirrored)
    assert np.sign(truth) == -np.sign(find_gain())
    assert abs(found.gain - truth) < 4 * found.standard_error


def test_critics_are_fitted_to_the_other_fold() -> None:
    def episodes(log: Log) -> list[bytes]:
        return sorted(one.observations.tobytes() + one.actions.tobytes() for one in log.episodes())

    folds = prepare()
    assert len(folds) == 2
    whole = episodes(make_problem().log)
    for fold in folds:
        assert sorted(episodes(fold.scored) + episodes(fold.fitted)) == whole
    assert folds[0].scored.fingerprint() == folds[1].fitted.fingerprint()


def test_it_is_pure() -> None:
    once, again = estimate(), estimate()
    assert once == again
    # The candidate's key is not used: neither order nor number of candidates matters.
    other = QUICK.estimate(
        jax.random.key(7), make_problem(), prepare(), as_network(NEW), report_nothing
    )
    assert other == once


def test_a_candidate_that_nobody_follows_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that all vanish say nothing, and no critics are fitted for it."""
    never = np.eye(3)[np.argmin(OLD, axis=1)]
    prepare()
    monkeypatch.setattr(module, "fit_critics", lambda *a, **k: pytest.fail("fitted"))
    alone = dataclasses.replace(QUICK, by_state=False)
    found = estimate(1e-4 / 3 + (1 - 1e-4) * never, alone)
    assert not found.informative
    assert found.diagnostics["effective_episodes"] < LEAST_EFFECTIVE
    assert "10 are needed" in found.reason


def test_where_it_does_not_apply() -> None:
    log = sample_vectors(400)
    assert QUICK.applies(pose_vectors(log)) == ""
    assert "two folds" in QUICK.applies(pose_vectors(log.select([0, 1, 2])))
    elsewhere = np.eye(4, dtype=np.float32)[[2]]
    assert "own starts" in QUICK.applies(pose_vectors(log, elsewhere))
    # Some of the log's own starts are fine.
    assert QUICK.applies(pose_vectors(log, log.starts[:3])) == ""


def test_starts_are_compared_by_rows() -> None:
    starts = np.array([[0.0, 1.0], [2.0, 3.0]])
    assert starts_alike(starts[::-1], starts)
    assert not starts_alike(np.array([[0.0, 3.0]]), starts)
    assert starts_alike(np.array([1, 1]), np.array([0, 1]))
    assert not starts_alike(np.array([2]), np.array([0, 1]))


def test_progress_is_told_by_folds() -> None:
    heard: list[float] = []
    QUICK.estimate(jax.random.key(0), make_problem(), prepare(), as_network(NEW), heard.append)
    assert heard == [0.5, 1.0]


def test_actions_that_the_old_policy_never_takes_cannot_be_weighted() -> None:
    """By discrete actions: the share of the candidate's; by vectors: where there is no density."""
    problem = make_problem()
    certain = np.eye(3)[np.argmax(OLD, axis=1)]
    fixed = dataclasses.replace(problem, old_policy=as_network(np.maximum(certain, 1e-9)))
    assert module.find_unsupported(problem, as_network(NEW)) == 0.0
    missing = module.find_unsupported(fixed, as_network(NEW))
    assert 0.0 < missing < 1.0
    found = QUICK.estimate(jax.random.key(0), fixed, prepare(), as_network(NEW), report_nothing)
    assert not found.informative
    assert "the old policy never takes" in found.reason


@pytest.mark.parametrize(("head", "missing"), [("gaussian", 0.0), ("deterministic", 1.0)])
def test_vectors_without_noise_have_no_density(head: Any, missing: float) -> None:
    log, old = make_vectors()
    policy = MLPPolicy.init(jax.random.key(0), old.signature, head=head, hidden=(4,))
    problem = Problem(log, policy, log.starts, 0.9)
    assert module.find_unsupported(problem, old) == missing
