"""Repeated episodes: copies and near copies count once, chance repeats each time."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre.diagnostics.duplicates import find_duplicates
from nacre.logs import Log
from nacre.logs.storage.stores import MappedStore
from nacre.logs.storage.views import MappedRows
from nacre.simulators.finite import FiniteWorld, random_policy, random_world
from nacre.simulators.linear import LinearPolicy, double_integrator


def sample_vectors(n_episodes: int = 30, seed: int = 100) -> Log:
    policy = LinearPolicy(np.array([[-0.5, -0.8]]), np.array([0.5]))
    return double_integrator().sample_log(policy, n_episodes * 20, seed=seed, horizon=20)


def make_bandit(n: int, rewards: np.ndarray, seed: int = 100, contexts: int = 3) -> Log:
    rng = np.random.default_rng(seed)
    return Log.from_arrays(
        rng.integers(contexts, size=n),
        rng.integers(2, size=n),
        rewards,
        np.ones(n, bool),
        next_observations=np.zeros(n, int),
        observation_space=Discrete(contexts),
        action_space=Discrete(2),
    )


def test_copies_are_found_exactly() -> None:
    """Episodes 3 and 7 again, 3 twice: three do not count, and they go with their original."""
    log = sample_vectors().select([*range(30), 3, 7, 3])
    duplicates = find_duplicates(log)
    assert duplicates.n_exact == 3
    assert duplicates.n_near == duplicates.n_chance == 0
    np.testing.assert_array_equal(duplicates.keep, np.arange(30))
    np.testing.assert_array_equal(duplicates.clusters, [*range(30), 3, 7, 3])
    assert duplicates.counts[3] == 3
    assert duplicates.as_json()["largest_cluster"] == 3
    assert "3 of 33 episodes" in duplicates.describe()


def test_a_log_without_repeats() -> None:
    duplicates = find_duplicates(sample_vectors())
    assert duplicates.n_repeated == 0
    assert duplicates.describe() == "no episode repeats another"


def test_near_copies_are_found() -> None:
    """Observations off by float noise: the same episode. Off by a thousandth: another one."""
    log = sample_vectors().select([*range(30), *range(5), *range(5)])
    observations = np.array(log.observations)
    observations[600:700] *= 1 + 1e-7
    observations[700:800] += 1e-3
    changed = dataclasses.replace(log, observations=observations)
    duplicates = find_duplicates(changed)
    assert duplicates.n_exact + duplicates.n_near == 5
    assert duplicates.n_near > 0
    np.testing.assert_array_equal(duplicates.keep, [*range(30), *range(35, 40)])


def test_a_coin_is_not_made_fair() -> None:
    """One-step episodes with rewards 0 or 1 repeat by chance; all of them count."""
    rewards = (np.random.default_rng(100).random(500) < 0.9).astype(float)
    duplicates = find_duplicates(make_bandit(500, rewards))
    assert duplicates.n_repeated == 0
    assert duplicates.n_chance > 450


def test_copies_in_a_bandit_log_with_noisy_rewards() -> None:
    """Real-valued rewards do not repeat by chance: a log that holds its first half twice."""
    log = make_bandit(200, np.random.default_rng(100).normal(size=200))
    duplicates = find_duplicates(log.select([*range(200), *range(100)]))
    assert duplicates.n_exact == 100
    assert len(duplicates.keep) == 200


@pytest.mark.parametrize("flips", [True, False])
def test_copies_do_not_pass_for_chance(flips: bool) -> None:
    """A hundred episodes of one step, fifty times over: a hundred count."""
    rng = np.random.default_rng(100)
    rewards = (rng.random(100) < 0.5).astype(float) if flips else rng.normal(size=100)
    log = make_bandit(100, rewards).select(rng.permutation(np.tile(np.arange(100), 50)))
    assert len(find_duplicates(log).keep) == 100


def test_rewards_that_differ_by_rounding() -> None:
    """States and actions are equal, rewards to the fifth digit: the same episode again."""
    world = dataclasses.replace(random_world(100, 5, 2), reward_noise=1.0)
    log = world.sample_log(random_policy(100, world), 400, seed=100, horizon=20)
    copies = log.select([*range(20), *range(10)])
    rounding = np.random.default_rng(100).uniform(-1e-5, 1e-5, len(copies))
    rounded = dataclasses.replace(copies, rewards=(copies.rewards + rounding).astype(np.float32))
    duplicates = find_duplicates(rounded)
    assert duplicates.n_near == 10
    np.testing.assert_array_equal(duplicates.clusters, [*range(20), *range(10)])
    other = dataclasses.replace(
        copies, rewards=(copies.rewards + 1e3 * rounding).astype(np.float32)
    )
    assert find_duplicates(other).n_repeated == 0


def test_short_honest_episodes_all_count() -> None:
    """Real-valued rewards lie near one another by chance, coins are equal by chance."""
    for seed in range(100, 200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(50, 3000))
        kinds = (rng.random(n), rng.integers(2, size=n), rng.poisson(2.0, n), rng.normal(size=n))
        rewards = np.asarray(kinds[seed % 4], float)
        duplicates = find_duplicates(make_bandit(n, rewards, seed))
        assert duplicates.n_repeated <= 2, seed


def test_amounts_in_cents_are_no_copies() -> None:
    """Offers with few contexts, money with two digits: equal rows are chance, and all count."""
    for seed in range(100, 110):
        rng = np.random.default_rng(seed)
        amounts = np.round(60.0 * rng.beta(2.0, 5.0, 3000), 2)
        for rewards in (amounts, amounts * (rng.random(3000) < 0.2)):
            assert find_duplicates(make_bandit(3000, rewards)).n_repeated == 0, seed


def test_copies_in_a_finite_world() -> None:
    """Twenty random steps do not repeat by chance, even with few states and no noise."""
    world = random_world(100, 5, 2)
    log = world.sample_log(random_policy(100, world), 1000, seed=100, horizon=20)
    assert find_duplicates(log).n_repeated == 0
    assert find_duplicates(log.select([*range(50), *range(10)])).n_exact == 10


def test_a_deterministic_world_has_few_different_episodes() -> None:
    """Two starts, nothing else left to chance: two episodes, and how often each was seen."""
    world = FiniteWorld(
        transition=np.eye(4)[[[1, 1], [2, 2], [3, 3], [3, 3]]],
        reward=np.ones((4, 2)),
        discount=0.9,
        start=np.array([0.7, 0.3, 0.0, 0.0]),
        termination=np.array([[0.0, 0.0]] * 3 + [[1.0, 1.0]]),
    )
    policy = np.eye(2)[[0, 1, 0, 1]]
    duplicates = find_duplicates(world.sample_log(policy, 700, seed=100, horizon=10))
    # The last episode is cut where the log is full.
    assert len(duplicates.keep) <= 3
    assert duplicates.counts.sum() == len(duplicates.clusters)


def test_mapped_logs_give_the_same(tmp_path: Path) -> None:
    log = sample_vectors().select([*range(30), 4])
    store = MappedStore(tmp_path)
    mapped = {
        name: MappedRows(store.keep(np.asarray(getattr(log, name))))
        for name in ("observations", "actions", "next_observations")
    }
    twin = dataclasses.replace(log, **mapped)  # type: ignore[arg-type]
    assert twin.is_mapped
    np.testing.assert_array_equal(find_duplicates(twin).clusters, find_duplicates(log).clusters)
