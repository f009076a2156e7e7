"""Contexts of a log against those of the start: weights by hand, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Space

from nacre.estimators.start_weights import weigh_starts
from nacre.logs import Log


def make_log(contexts: np.ndarray, space: Space[Any]) -> Log:
    n = len(contexts)
    return Log.from_arrays(
        contexts,
        np.zeros(n, np.int32),
        np.zeros(n),
        np.ones(n, bool),
        next_observations=contexts,
        offsets=np.arange(n + 1),
        observation_space=space,
        action_space=Discrete(2),
    )


TABLE = make_log(np.array([0, 0, 0, 1], np.int32), Discrete(4))
VECTORS = make_log(
    np.random.default_rng(100).normal(size=(400, 2)).astype(np.float32), Box(-np.inf, np.inf, (2,))
)


@pytest.mark.parametrize("log", [TABLE, VECTORS], ids=["table", "vectors"])
def test_the_logs_own_start_counts_evenly(log: Log) -> None:
    contexts = np.asarray(log.starts)
    for start in (contexts, contexts[::-1], np.concatenate([contexts, contexts])):
        found = weigh_starts(log, start)
        np.testing.assert_array_equal(found.weights, 1.0)
        assert (found.unseen, found.problem) == (0.0, "")


def test_weights_are_frequencies_at_the_start_over_those_of_the_log() -> None:
    """Log 3/4, 1/4; start 1/2, 1/4 and a quarter on a state that the log never had."""
    found = weigh_starts(TABLE, np.array([0, 0, 1, 3]))
    np.testing.assert_allclose(found.weights, [2 / 3, 2 / 3, 2 / 3, 1.0])
    assert found.unseen == 0.25
    assert found.weights.mean() == pytest.approx(1.0 - found.unseen)


def test_a_start_that_the_log_never_had_is_a_problem() -> None:
    found = weigh_starts(TABLE, np.array([2, 3]))
    assert "no episode" in found.problem
    assert found.unseen == 1.0


def test_vectors_of_the_same_distribution_are_the_same_start() -> None:
    fresh = np.random.default_rng(101).normal(size=(300, 2))
    assert weigh_starts(VECTORS, fresh).problem == ""
    for other in (fresh + 1.0, 3.0 * fresh, fresh[:1]):
        assert "elsewhere" in weigh_starts(VECTORS, other).problem
