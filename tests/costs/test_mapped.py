"""The cost over the states of a log that is mapped from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacre.costs import LogStates, TransportCost, groups
from nacre.logs import Log, read_log, write_log
from nacre.policies import TabularPolicy
from nacre.simulators import random_policy, random_world

WORLD = random_world(3, 6, 4, discount=0.9, terminating=True)
OLD, NEW = (TabularPolicy.from_probabilities(random_policy(seed, WORLD)) for seed in (1, 2))
LOG = WORLD.sample_log(np.asarray(OLD.table), 600, seed=0, horizon=40)


@pytest.fixture
def mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    monkeypatch.setattr("nacre.logs.storage.stores.SMALL_BYTES", 1)
    write_log(LOG, tmp_path / "log.parquet")
    found = read_log(tmp_path / "log.parquet", cache_dir=tmp_path / "cache")
    assert found.is_mapped
    return found


def test_the_price_is_the_same_as_in_memory(mapped: Log) -> None:
    cost = TransportCost(5.0, 1.0, groups.halves())
    assert cost.evaluate(OLD, NEW, mapped).total == cost.evaluate(OLD, NEW, LOG).total


def test_of_a_large_one_a_part_is_drawn_and_the_error_says_so(
    mapped: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.costs.family.MOST_MAPPED", 200)
    for measure in (LogStates(), LogStates(500)):
        cost = TransportCost(5.0, 1.0, groups.halves(), state_measure=measure)
        drawn, whole = cost.evaluate(OLD, NEW, mapped), cost.evaluate(OLD, NEW, LOG)
        assert drawn.n_states == 200
        assert drawn.standard_error > 0
        assert abs(drawn.total - whole.total) < 5 * drawn.standard_error
    few = TransportCost(5.0, 1.0, groups.halves(), state_measure=LogStates(100))
    assert few.evaluate(OLD, NEW, mapped).n_states == 100
