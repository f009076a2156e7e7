"""Evaluation from a log that stays in its files: the same bits as from memory."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs import Log, read_log, write_log
from nacre.logs.storage import stores
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import Scaling
from nacre.policies.policy import Signature
from nacre.policies.tabular import TabularPolicy
from nacre.training import mapped as mapped_module
from nacre.training import transitions
from nacre.training.backup import CriticConfig
from nacre.training.batches import States
from nacre.training.fitted_evaluation import Evaluation, EvaluationConfig, evaluate_policy
from nacre.training.mapped import Feed, MappedTransitions, Recorder
from nacre.training.preparation import fit_scaling
from nacre.training.sources import open_source
from nacre.training.transitions import Transitions

CONFIG = EvaluationConfig(
    CriticConfig(
        n_critics=2, hidden=(4,), scale_observations=True, scale_returns=True, batch_size=8
    ),
    epochs=2,
    steps_per_epoch=7,
    prefit_steps=5,
    n_actions=16,
    bootstrap=True,
)


def make_vectors(n_episodes: int = 12, length: int = 9) -> Log:
    """Episodes of vectors, every other one terminated."""
    rng = np.random.default_rng(0)
    visited = rng.normal(size=(n_episodes, length + 1, 3)).astype(np.float32)
    n = n_episodes * length
    last = np.arange(n) % length == length - 1
    terminated = last & (np.arange(n) // length % 2 == 0)
    return Log.from_arrays(
        visited[:, :-1].reshape(n, 3),
        np.tanh(rng.normal(size=(n, 2))).astype(np.float32),
        rng.normal(size=n).astype(np.float32),
        terminated,
        last & ~terminated,
        visited[:, 1:].reshape(n, 3),
        offsets=np.arange(0, n + 1, length),
        observation_space=gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32),
        action_space=gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32),
    )


def make_elements() -> Log:
    """The same episodes with four states and three actions."""
    log, rng = make_vectors(), np.random.default_rng(1)
    states = rng.integers(0, 4, (log.n_episodes, 10))
    return Log.from_arrays(
        states[:, :-1].reshape(-1),
        rng.integers(0, 3, len(log)),
        log.rewards,
        log.terminated,
        log.truncated,
        states[:, 1:].reshape(-1),
        offsets=log.offsets,
        observation_space=gymnasium.spaces.Discrete(4),
        action_space=gymnasium.spaces.Discrete(3),
    )


def map_log(log: Log, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    """The same log as one that is larger than memory, three steps to a chunk."""
    monkeypatch.setattr(stores, "SMALL_BYTES", 0)
    monkeypatch.setattr(mapped_module, "CHUNK_BYTES", 1100)
    write_log(log, directory / "log.parquet")
    mapped = read_log(directory / "log.parquet", cache_dir=directory / "cache")
    assert mapped.is_mapped
    return mapped


def assert_same(found: Evaluation, expected: Evaluation) -> None:
    """Every number, to the bit."""
    for name in ("per_critic", "curve", "member_curves", "losses"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert (found.value, found.reason) == (expected.value, expected.reason)
    jax.tree.map(np.testing.assert_array_equal, found.critics, expected.critics)


@pytest.mark.parametrize("kind", ["vectors", "elements"])
def test_the_same_bits_as_in_memory(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prefit, bootstrap and several chunks an epoch; a part of the log, so that rows move."""
    log = make_vectors() if kind == "vectors" else make_elements()
    mapped = map_log(log, tmp_path, monkeypatch)
    signature = Signature(log.observation_space, log.action_space)
    policy = (
        MLPPolicy.init(jax.random.key(3), signature, hidden=(4,))
        if kind == "vectors"
        else TabularPolicy.from_probabilities(np.full((4, 3), 1 / 3))
    )
    part, same = (one.split(0.5, seed=2)[1] for one in (log, mapped))
    assert same.is_mapped
    expected, found = (
        evaluate_policy(policy, one, log.starts[:2], CONFIG, discount=0.9, seed=1)
        for one in (part, same)
    )
    assert expected.healthy
    assert_same(found, expected)


def test_a_break_down_is_found_in_its_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make_elements()
    mapped = map_log(log, tmp_path, monkeypatch)
    config = EvaluationConfig(
        CriticConfig(hidden=(), learning_rate=1e30, batch_size=8),
        epochs=2,
        steps_per_epoch=7,
        n_actions=16,
    )
    policy = TabularPolicy.from_probabilities(np.full((4, 3), 1 / 3))
    expected, found = (
        evaluate_policy(policy, one, np.array([0]), config, discount=0.9, seed=1)
        for one in (log, mapped)
    )
    assert not expected.healthy
    assert_same(found, expected)


@pytest.mark.parametrize("discounted", [False, True])
def test_gathered_rows_are_those_of_the_device(
    discounted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transitions, "BLOCK_ROWS", 10)
    log = make_vectors()
    mapped = map_log(log, tmp_path, monkeypatch)
    resampling = np.arange(24.0).reshape(12, 2)
    there, here = (
        open_source(one, discount=0.9, discounted_states=discounted, resampling=resampling)
        for one in (mapped, log)
    )
    assert isinstance(there, MappedTransitions)
    assert isinstance(here, Transitions)
    assert here.episodes is not None
    rows = np.array([[0, 107, 50], [50, 51, 3]])
    gathered = there.gather(rows)
    for step, wanted in enumerate(rows):
        batch = here.take(jnp.asarray(wanted))
        for name in ("observations", "actions", "rewards", "next_observations", "terminated"):
            np.testing.assert_array_equal(getattr(gathered, name)[step], getattr(batch, name))
        np.testing.assert_array_equal(gathered.weights[step], batch.weights)
    np.testing.assert_array_equal(there.find_episodes(rows), here.episodes[rows])
    np.testing.assert_array_equal(there.discounted_length, here.discounted_length)
    np.testing.assert_array_equal(there.starts, here.starts)
    assert len(there) == len(here) == 108


def test_chunks_are_even_and_one_ahead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven steps in chunks of at most three: three, three and one; then the next epoch's."""
    source = MappedTransitions(map_log(make_vectors(), tmp_path, monkeypatch))
    one, two = jax.random.key(1), jax.random.key(2)
    with Feed(source, lambda rows, key: rows.sample(key, 8), 7) as feed:
        counts = []
        for _, count in feed.chunks(one, two):
            counts.append(count)
            asked = feed._ahead
        assert counts == [3, 3, 1]
        assert asked is not None
        first, _ = next(feed.chunks(two))
        assert first is asked[1].result()
    rows = jax.random.randint(jax.random.fold_in(two, 1), (8,), 0, len(source))
    batch = first.at(jnp.asarray(1)).sample(two, 8)
    np.testing.assert_array_equal(batch.rewards, source.log.rewards[np.asarray(rows)])
    assert first.n_rows == len(source)


def test_scaling_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_vectors()
    expected = Scaling.fit(log.observations)
    for one in (log, map_log(log, tmp_path, monkeypatch)):
        jax.tree.map(np.testing.assert_array_equal, fit_scaling(one), expected)


def test_measures_that_want_more_than_rows_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(MappedTransitions(map_log(make_vectors(), tmp_path, monkeypatch)))
    with pytest.raises(InputError, match="wants 'mean' of the log's states"):
        recorder.observations.mean()
    assert len(recorder.observations) == 108
    states = recorder.observations[jnp.array([1, 2])]
    assert states.shape == (2, 3)
    with pytest.raises(InputError, match="draws its states from the log more than once"):
        recorder.observations[jnp.array([1, 2])]
    assert len(States(5, lambda rows: rows)) == 5
