"""The counted world: by hand on a small log, exact where the log shows every outcome."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre.estimators import exact
from nacre.estimators.tabular_world import Chain, Counts, ask_table
from nacre.logs import Log
from nacre.policies import TabularPolicy
from nacre.simulators import FiniteWorld, random_policy, random_world

GAMMA = 0.5
# Two episodes: 2 -a0-> 5 -a1-> 2 and 2 -a0-> 5 (terminated); states 2 and 5 of 7.
LOG = Log.from_arrays(
    observations=np.array([2, 5, 2]),
    actions=np.array([0, 1, 0]),
    rewards=np.array([1.0, 4.0, 3.0]),
    terminated=np.array([False, False, True]),
    truncated=np.array([False, True, False]),
    next_observations=np.array([5, 2, 5]),
    offsets=np.array([0, 2, 3]),
    observation_space=Discrete(7),
    action_space=Discrete(2),
)
COUNTS = Counts.of(LOG, np.array([2, 2, 5, 6]), 2)


def test_counts_by_hand() -> None:
    np.testing.assert_array_equal(COUNTS.states, [2, 5, 6])
    np.testing.assert_allclose(COUNTS.start, [0.5, 0.25, 0.25])
    np.testing.assert_array_equal(COUNTS.visits, [[2, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(COUNTS.pairs, [0, 3, 0])
    np.testing.assert_array_equal(COUNTS.alive, [1, 1, 0])
    # The pair (2, a0) has two outcomes: one goes on, one ends.
    assert len(set(COUNTS.cells.tolist())) == len(COUNTS.first_rows) == 3
    rows, paid = (part.toarray() for part in COUNTS.by_episode)
    np.testing.assert_array_equal(rows.sum(axis=0), LOG.episode_lengths)
    np.testing.assert_array_equal(paid.sum(axis=0), [5.0, 3.0])


def test_mass_on_pairs_never_taken_moves_to_what_was_taken() -> None:
    table = np.array([[0.3, 0.7], [0.2, 0.8], [0.5, 0.5]])
    np.testing.assert_allclose(COUNTS.impute(table), [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])


def test_values_and_visits_by_hand() -> None:
    """V(2) = 2 + γ/2 V(5), V(5) = 4 + γ V(2): V(2) = 3 / (1 - 1/8), and 10 is given at 6."""
    table = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    chain = Chain(COUNTS, table, np.array([0.0, 0.0, 10.0]), GAMMA)
    first = 3.0 / (1.0 - 1.0 / 8.0)
    np.testing.assert_allclose(chain.values(), [first, 4.0 + first / 2.0, 10.0])
    # What visits earn is what the start is worth.
    earned = chain.occupancy() @ np.array([2.0, 4.0, 10.0])
    assert earned == pytest.approx(COUNTS.start @ chain.values())


def make_complete_log(world: FiniteWorld, copies: int) -> Log:
    """Episodes of one step with every outcome as often as it is probable; all are truncated."""
    n = np.round(copies * world.transition).astype(int)
    states, actions, following = (np.repeat(index, n[n > 0]) for index in np.nonzero(n))
    rows = len(states)
    return Log.from_arrays(
        states,
        actions,
        world.reward[states, actions],
        np.zeros(rows, bool),
        np.ones(rows, bool),
        following,
        offsets=np.arange(rows + 1),
        observation_space=world.observation_space,
        action_space=world.action_space,
    )


def make_quarters() -> FiniteWorld:
    """A world whose probabilities are multiples of a quarter."""
    world = random_world(100, 5, 3, discount=0.9)
    rng = np.random.default_rng(100)
    outcomes = rng.integers(0, 5, (4, 5, 3))
    transition = np.stack([(outcomes == state).mean(axis=0) for state in range(5)], axis=-1)
    return FiniteWorld(transition, world.reward, 0.9, world.start)


def test_a_log_of_every_outcome_is_the_world_itself() -> None:
    world = make_quarters()
    policy = random_policy(100, world)
    counts = Counts.of(make_complete_log(world, 4), np.arange(5), 3)
    chain = Chain(counts, policy, np.zeros(5), 0.9)
    # Rewards are kept in single precision.
    np.testing.assert_allclose(chain.values(), exact.values(world, policy), rtol=1e-5)
    even = np.full(5, 0.2)
    np.testing.assert_allclose(
        chain.occupancy(), exact.occupancy(world, policy, even), rtol=1e-6, atol=1e-9
    )


def test_replicates_are_solves_of_repeated_episodes() -> None:
    """Weights 1 give the value itself, whole weights that of a log with repeats."""
    world = random_world(101, 6, 2, discount=0.95, terminating=True)
    policy = random_policy(101, world)
    log = world.sample_log(0.5 * policy + 0.25, 300, seed=101, horizon=15)
    counts = Counts.of(log, log.starts, 2)
    chain = Chain(counts, counts.impute(policy[counts.states]), np.zeros(counts.n_states), 0.95)
    weights = np.random.default_rng(101).integers(1, 4, (log.n_episodes, 3)).astype(float)
    weights[:, 0] = 1.0
    found = chain.replicate(weights)
    assert found[0] == pytest.approx(counts.start @ chain.values(), rel=1e-9)
    for column in (1, 2):
        repeats = np.repeat(np.arange(log.n_episodes), weights[:, column].astype(int))
        again = Counts.of(log.select(repeats), log.starts, 2)
        other = Chain(again, chain.weights, chain.given, 0.95)
        assert found[column] == pytest.approx(again.start @ other.values(), rel=1e-8)


def test_tables_are_asked_by_the_logs_own_numbers() -> None:
    table = np.array([[0.1, 0.9], [0.6, 0.4], [1.0, 0.0]])
    policy = TabularPolicy.from_probabilities(table)
    np.testing.assert_allclose(ask_table(policy, np.array([2, 0])), table[[2, 0]], rtol=1e-6)
    assert ask_table(policy, np.zeros(0, np.int64)).shape == (0, 2)
