"""A policy is asked along the whole log, each row once and in order."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.diagnostics import log_answers
from nacre.diagnostics.log_answers import ask_along
from nacre.policies.distributions.interface import DiscreteDistribution
from tests.support.rooms import BETTER, make_policy, make_rooms_log


@pytest.mark.parametrize("size", [7, 500, 1500, 9999])
def test_every_row_is_asked_once(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(log_answers, "BLOCK", size)
    log, blocks = make_rooms_log(), []
    for rows, said, actions in ask_along(log, make_policy(BETTER)):
        # All blocks have one shape; what is too much stands at the end.
        assert len(actions) == min(size, len(log))
        np.testing.assert_array_equal(actions[: len(rows)], log.actions[rows])
        assert isinstance(said, DiscreteDistribution)
        table = np.asarray(said.probabilities)
        np.testing.assert_allclose(table[: len(rows)], BETTER[log.observations[rows]], rtol=1e-6)
        blocks.append(rows)
    np.testing.assert_array_equal(np.concatenate(blocks), np.arange(len(log)))
