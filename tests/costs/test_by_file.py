"""The price of a switch file by file: that of the whole log, however many files there are."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import jax
import numpy as np
import pytest

from nacre.costs import TransportCost, UniformBox, groups
from nacre.costs.by_file import evaluate_by_file
from nacre.costs.family import CHUNK
from nacre.errors import InputError
from nacre.logs import Log, write_log
from nacre.policies import MLPPolicy, Policy, Signature

SPACES = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32), gymnasium.spaces.Box(-1, 1, (2,))


@pytest.fixture(scope="module")
def log() -> Log:
    """More rows than a block has, in episodes of many lengths."""
    rng = np.random.default_rng(100)
    lengths = rng.integers(1, 300, 60)
    rows = int(lengths.sum())
    assert rows > 1.5 * CHUNK
    last = np.zeros(rows, bool)
    last[np.cumsum(lengths) - 1] = True
    return Log.from_arrays(
        rng.standard_normal((rows, 3)).astype(np.float32),
        rng.uniform(-1, 1, (rows, 2)).astype(np.float32),
        rng.standard_normal(rows),
        last,
        observation_space=SPACES[0],
        action_space=SPACES[1],
    )


@pytest.fixture(scope="module")
def policies() -> tuple[Policy, Policy]:
    old, new = (MLPPolicy.init(jax.random.key(seed), Signature(*SPACES)) for seed in (100, 101))
    return old, new


def write_files(log: Log, folder: Path, files: int) -> Path:
    folder.mkdir()
    for place, episodes in enumerate(np.array_split(np.arange(log.n_episodes), files)):
        write_log(log.select(episodes), folder / f"part-{place}.parquet")
    return folder


def test_the_price_is_that_of_the_whole_log_to_the_bit_for_any_number_of_files(
    log: Log, policies: tuple[Policy, Policy], tmp_path: Path
) -> None:
    cost = TransportCost(5.0, 1.0, groups.sign(0))
    expected = cost.evaluate(*policies, log)
    found = [
        evaluate_by_file(cost, *policies, str(write_files(log, tmp_path / f"{n}", n)))
        for n in (1, 3, 7)
    ]
    # Single numbers of a block are of single precision, their sums are not.
    assert found[0].total == pytest.approx(expected.total, rel=1e-6)
    np.testing.assert_allclose(found[0].flows, expected.flows, rtol=1e-5)
    assert found[0].group_names == expected.group_names
    assert found[0].n_states == len(log)
    assert found[0].standard_error == expected.standard_error == 0.0
    for other in found[1:]:
        assert other.as_json() == found[0].as_json()


def test_importance_and_link_count(
    log: Log, policies: tuple[Policy, Policy], tmp_path: Path
) -> None:
    cost = TransportCost(
        5.0, 1.0, groups.sign(0), importance=lambda states: states[:, 0] ** 2, link="min(x, 2)"
    )
    folder = write_files(log, tmp_path / "log", 2)
    expected = cost.evaluate(*policies, log)
    assert evaluate_by_file(cost, *policies, str(folder)).total == pytest.approx(
        expected.total, rel=1e-6
    )


def test_other_states_than_those_of_the_log_are_refused(
    policies: tuple[Policy, Policy], tmp_path: Path
) -> None:
    cost = TransportCost(5.0, 1.0, groups.sign(0), state_measure=UniformBox())
    with pytest.raises(InputError, match=r"UniformBox.*evaluate it at once"):
        evaluate_by_file(cost, *policies, str(tmp_path))
