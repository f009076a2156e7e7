"""Learning from a log that stays in its files: the same bits as from memory."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from nacre.costs import SwitchingCost
from nacre.costs.measures import UniformBox
from nacre.learners import LearnerConfig
from nacre.learners.net_actor_critic.journal import Learned
from nacre.learners.net_actor_critic.occupancy import OccupancyConfig
from nacre.learners.net_actor_critic.run import learn
from nacre.logs import Log, read_log, write_log
from nacre.logs.storage import stores
from nacre.policies.policy import Policy
from nacre.training import mapped as mapped_module
from nacre.training.backup import CriticConfig
from tests.support.learners import by_sign, make_config, make_finite, make_vectors, singletons

CRITICS = CriticConfig(hidden=(4,), scale_observations=True, batch_size=8)


def map_log(log: Log, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    """The same log as one that is larger than memory, a few steps to a chunk."""
    monkeypatch.setattr(stores, "SMALL_BYTES", 0)
    monkeypatch.setattr(mapped_module, "CHUNK_BYTES", 2000)
    write_log(log, directory / "log.parquet")
    mapped = read_log(directory / "log.parquet", cache_dir=directory / "cache")
    assert mapped.is_mapped
    return mapped


def learn_both(
    log: Log, mapped: Log, policy: Policy, cost: SwitchingCost, config: LearnerConfig
) -> list[Learned]:
    return [
        learn(one, policy, cost, log.starts[:2], config, old_value=0.0, seed=3)
        for one in (log, mapped)
    ]


def assert_same(found: Learned, expected: Learned) -> None:
    """Every number, to the bit."""
    jax.tree.map(np.testing.assert_array_equal, found.state, expected.state)
    histories = [
        [dataclasses.replace(record, seconds=0.0) for record in one.history]
        for one in (found, expected)
    ]
    assert histories[0] == histories[1]
    assert (found.stop_reason, found.healthy) == (expected.stop_reason, expected.healthy)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(
            {"states": "log", "discounted_states": True, "occupancy": OccupancyConfig((4,))},
            marks=pytest.mark.slow,
        ),
        {"states": "start", "form": "net", "ramp_epochs": 2},
    ],
    ids=["log states and occupancy", "start and net critics"],
)
def test_vectors_to_the_bit(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prefit to returns, a fresh actor scaled by the log, and several chunks an epoch."""
    log, policy = make_vectors()
    mapped = map_log(log, tmp_path, monkeypatch)
    names = ("states", "discounted_states")
    actor = {"warm_start": False} | {name: changes[name] for name in names if name in changes}
    others = {name: value for name, value in changes.items() if name not in names}
    config = make_config(actor, critics=CRITICS, prefit_steps=5, **others)
    expected, found = learn_both(log, mapped, policy, by_sign(1.0), config)
    assert expected.healthy
    assert_same(found, expected)


def test_the_old_policy_is_asked_once_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says at every row rounds otherwise than at every step: weights differ by 1e-4."""
    log, policy = make_vectors()
    mapped = map_log(log, tmp_path, monkeypatch)
    config = make_config({"states": "log", "kl_weight": 0.1}, critics=CRITICS, epochs=1)
    expected, found = learn_both(log, mapped, policy, by_sign(1.0), config)
    assert expected.history[-1].divergence > 0
    for one, other in zip(
        jax.tree.leaves(found.policy), jax.tree.leaves(expected.policy), strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_elements_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of the log, so that rows move."""
    finite = make_finite(n_rows=400)
    part = finite.log.split(0.5, seed=1)[0]
    same = map_log(finite.log, tmp_path, monkeypatch).split(0.5, seed=1)[0]
    assert same.is_mapped
    scaled = dataclasses.replace(CRITICS, scale_returns=True)
    config = make_config({"states": "log", "kl_weight": 0.1}, critics=scaled)
    expected, found = learn_both(part, same, finite.policy, singletons(1.0), config)
    assert expected.healthy
    assert_same(found, expected)


def test_measures_without_the_log_need_no_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, policy = make_vectors()
    mapped = map_log(log, tmp_path, monkeypatch)
    cost = dataclasses.replace(by_sign(1.0), state_measure=UniformBox())
    config = make_config({"states": "log"}, critics=CRITICS, epochs=1)
    expected, found = learn_both(log, mapped, policy, cost, config)
    assert expected.healthy
    assert_same(found, expected)


def test_a_break_down_is_found_in_its_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finite = make_finite(n_rows=400)
    mapped = map_log(finite.log, tmp_path, monkeypatch)
    critics = dataclasses.replace(CRITICS, learning_rate=1e30)
    config = make_config({"states": "log"}, critics=critics, epochs=1)
    expected, found = learn_both(finite.log, mapped, finite.policy, singletons(1.0), config)
    assert not expected.healthy
    assert_same(found, expected)
