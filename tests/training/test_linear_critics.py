"""Linear critics against the empirical Bellman equation where states are unit vectors."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from nacre.estimators import exact
from nacre.logs import Log
from nacre.training import linear_critics
from nacre.training.linear_critics import (
    LinearCritics,
    Sums,
    add_up,
    add_up_ahead,
    fit_critics,
    list_blocks,
    solve,
)
from nacre.training.state_action_features import StateActionFeatures, draw_actions
from tests.support.one_hot import (
    DISCOUNT,
    N_ACTIONS,
    N_STATES,
    NEW,
    SIGNATURE,
    WORLD,
    Table,
    as_network,
    sample_vectors,
)

UNITS = np.repeat(np.eye(N_STATES, dtype=np.float32), N_ACTIONS, axis=0)
CHOICES = np.tile(np.arange(N_ACTIONS), N_STATES)
"""With `UNITS`: every state with every action."""


@functools.cache
def make_log(n_rows: int = 600) -> Log:
    return sample_vectors(n_rows)


@functools.cache
def draw(seed: int = 100) -> StateActionFeatures:
    return StateActionFeatures.draw(make_log(), SIGNATURE, 48, np.random.default_rng(seed))


def group(n: int = 5) -> np.ndarray:
    return np.random.default_rng(101).permutation(make_log().n_episodes) % n


def add_all(seed: int = 100, log: Log | None = None) -> Sums:
    log = log or make_log()
    return add_up(draw(seed), log, np.zeros(log.n_episodes, np.int64))


def solve_by_counts(log: Log, table: Table) -> tuple[Table, Table]:
    """Q and V of the world that has the mean rewards and the frequencies of the log."""
    states = np.argmax(log.observations, axis=1)
    pairs = states * N_ACTIONS + np.asarray(log.actions)
    number = np.bincount(pairs, minlength=N_STATES * N_ACTIONS)
    assert number.min() > 0
    rewards = np.bincount(pairs, np.asarray(log.rewards, np.float64), len(number)) / number
    moves = np.zeros((len(number), N_STATES))
    going_on = ~np.asarray(log.terminated)
    np.add.at(moves, (pairs, np.argmax(log.next_observations, axis=1)), going_on.astype(float))
    moves /= number[:, None]
    # From a pair to the next pair: where the log moved, and what the table does there.
    ahead = (moves[:, :, None] * table[None]).reshape(len(number), len(number))
    matrix = np.eye(len(number)) - DISCOUNT * ahead
    q = np.asarray(np.linalg.solve(matrix, rewards), np.float64)
    return q, np.asarray((q.reshape(table.shape) * table).sum(axis=1), np.float64)


def test_critics_solve_the_empirical_bellman_equation() -> None:
    """Unit vectors: the features hold every table, so the solution is that of the counts."""
    log, policy = make_log(), as_network(NEW)
    critics = fit_critics([add_all()], log, policy, DISCOUNT, ridge=1e-8)
    q, v = critics.read(UNITS, CHOICES, policy)
    expected_q, expected_v = solve_by_counts(log, NEW)
    span = np.ptp(expected_q)
    np.testing.assert_allclose(q, expected_q, atol=1e-3 * span)
    np.testing.assert_allclose(v, np.repeat(expected_v, N_ACTIONS), atol=1e-3 * span)


def test_more_ridge_moves_it_further_from_that_solution() -> None:
    log, policy = make_log(), as_network(NEW)
    expected, _ = solve_by_counts(log, NEW)
    misses = []
    for ridge in (1e-6, 1e-3, 1.0):
        critics = fit_critics([add_all()], log, policy, DISCOUNT, ridge)
        misses.append(np.abs(critics.read(UNITS, CHOICES, policy)[0] - expected).max())
    assert misses == sorted(misses)
    assert misses[0] < 0.05 * misses[-1]


def test_weights_leave_no_residual_but_the_ridge() -> None:
    """Σ φ [r + γ (1 - terminated) φ_π(s')·w - φ·w] = λ n w, row by row in double precision."""
    log, policy, ridge = make_log(), as_network(NEW), 1e-3
    features = draw()
    (weights,) = fit_critics([add_all()], log, policy, DISCOUNT, ridge).weights
    seen = features.at(log.observations, log.actions).astype(np.float64)
    ahead = np.asarray(log.next_observations)
    following = features.expect(ahead, draw_actions(policy, ahead)).astype(np.float64)
    target = log.rewards + DISCOUNT * ~np.asarray(log.terminated) * (following @ weights)
    residual = seen.T @ (target - seen @ weights)
    scale = np.abs(seen.T @ log.rewards).max()
    np.testing.assert_allclose(residual, ridge * len(log) * weights, atol=1e-4 * scale)


def test_with_many_rows_critics_come_near_the_truth() -> None:
    log, policy = make_log(20_000), as_network(NEW)
    critics = fit_critics([add_all(log=log)], log, policy, DISCOUNT, ridge=1e-6)
    q, _ = critics.read(UNITS, CHOICES, policy)
    truth = exact.state_action_values(WORLD, NEW).ravel()
    np.testing.assert_allclose(q, truth, atol=0.1 * np.ptp(truth))


def test_sums_over_groups_add_up_to_those_of_all() -> None:
    log, policy, groups = make_log(), as_network(NEW), group()
    whole, parts = add_all(), add_up(draw(), log, groups)
    together = np.zeros(log.n_episodes, np.int64)
    ahead = add_up_ahead([draw()], log, policy, groups)[0]
    assert parts.products.shape == ahead.shape == (5, draw().size, draw().size)
    assert parts.rewards.shape == (5, draw().size)
    np.testing.assert_allclose(parts.products.sum(axis=0), whole.products[0], rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(parts.rewards.sum(axis=0), whole.rewards[0], rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(
        ahead.sum(axis=0),
        add_up_ahead([draw()], log, policy, together)[0][0],
        rtol=1e-4,
        atol=1e-2,
    )
    assert parts.rows.sum() == whole.rows[0] == len(log)


def test_leaving_out_a_group_is_summing_the_others() -> None:
    log, policy, groups = make_log(), as_network(NEW), group()
    parts, ahead = add_up(draw(), log, groups), add_up_ahead([draw()], log, policy, groups)[0]
    for left_out in range(5):
        others = log.select(np.flatnonzero(groups != left_out))
        rest = np.zeros(others.n_episodes, np.int64)
        alone = add_up(draw(), others, rest)
        less = parts.products.sum(axis=0) - parts.products[left_out]
        np.testing.assert_allclose(less, alone.products[0], rtol=1e-4, atol=1e-2)
        less_ahead = ahead.sum(axis=0) - ahead[left_out]
        expected = add_up_ahead([draw()], others, policy, rest)[0][0]
        np.testing.assert_allclose(less_ahead, expected, rtol=1e-4, atol=1e-2)
        rewards = parts.rewards.sum(axis=0) - parts.rewards[left_out]
        np.testing.assert_allclose(rewards, alone.rewards[0], rtol=1e-4, atol=1e-2)
        assert parts.rows.sum() - parts.rows[left_out] == len(others)


def test_blocks_hold_every_row_once_in_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_critics, "BLOCK_ROWS", 50)
    log, groups = make_log(), group()
    of_rows = np.repeat(groups, log.episode_lengths)
    blocks = list(list_blocks(log, groups))
    assert len(blocks) > 5
    for number, rows in blocks:
        assert 0 < len(rows) <= 50
        assert (of_rows[rows] == number).all()
    np.testing.assert_array_equal(
        np.sort(np.concatenate([rows for _, rows in blocks])), np.arange(len(log))
    )
    split = add_up(draw(), log, groups)
    monkeypatch.setattr(linear_critics, "BLOCK_ROWS", 10_000)
    np.testing.assert_allclose(
        split.products, add_up(draw(), log, groups).products, rtol=1e-4, atol=1e-3
    )


def make_short(terminated: bool) -> Log:
    """Two steps from unit vector 0 to 1 to 2 that earn 1 and 10; then the end, or not."""
    units = np.eye(N_STATES, dtype=np.float32)
    return Log.from_arrays(
        observations=units[[0, 1]],
        actions=np.array([0, 1]),
        rewards=np.array([1.0, 10.0]),
        terminated=np.array([False, terminated]),
        next_observations=units[[1, 2]],
        offsets=np.array([0, 2]),
        action_space=SIGNATURE.action_space,
    )


def test_terminated_rows_have_no_future() -> None:
    features, policy, one = draw(), as_network(NEW), np.zeros(1, np.int64)
    ended, cut = (
        add_up_ahead([features], make_short(terminated), policy, one)[0][0].astype(np.float64)
        for terminated in (True, False)
    )
    log = make_short(True)
    seen = features.at(log.observations, log.actions)
    ahead = np.asarray(log.next_observations)
    following = features.expect(ahead, draw_actions(policy, ahead))
    np.testing.assert_allclose(ended, np.outer(seen[0], following[0]), atol=1e-5)
    np.testing.assert_allclose(cut - ended, np.outer(seen[1], following[1]), atol=1e-5)


def test_an_episode_that_ends_is_worth_what_it_earned() -> None:
    """Q(1, 1) = 10 and Q(0, 0) = 1 + γ V(1); an action that was never logged is worth 0."""
    log, policy = make_short(True), as_network(NEW)
    sums = add_up(draw(), log, np.zeros(1, np.int64))
    critics = fit_critics([sums], log, policy, DISCOUNT, ridge=1e-7)
    q, v = critics.read(log.observations, log.actions, policy)
    # States share features: action 0, logged at state 0 only, is worth something at 1 too.
    q_at_1, _ = critics.read(np.repeat(log.observations[1:], 3, axis=0), np.arange(3), policy)
    assert q[1] == pytest.approx(10.0, rel=1e-3)
    assert v[1] == pytest.approx(float(NEW[1] @ q_at_1), rel=1e-4)
    assert q[0] == pytest.approx(1.0 + DISCOUNT * v[1], rel=1e-3)
    assert q_at_1[2] == pytest.approx(0.0, abs=1e-9)


def test_several_sets_of_features_are_read_as_their_mean() -> None:
    log, policy = make_log(), as_network(NEW)
    sums = [add_all(100), add_all(102)]
    both = fit_critics(sums, log, policy, DISCOUNT, ridge=1e-2)
    alone = [fit_critics([one], log, policy, DISCOUNT, ridge=1e-2) for one in sums]
    states, actions = log.observations[:20], log.actions[:20]
    found = both.read(states, actions, policy)
    each = [one.read(states, actions, policy) for one in alone]
    for place in (0, 1):
        assert found[place].shape == (20,)
        mean = (each[0][place] + each[1][place]) / 2
        np.testing.assert_allclose(found[place], mean, rtol=1e-9)
    assert not np.allclose(each[0][0], each[1][0], rtol=1e-9)


def test_values_are_weights_times_features() -> None:
    """Weights on the constant only: Q is the weight of the action, V their mean by the policy."""
    features, policy = draw(), as_network(NEW)
    weights = np.zeros(features.size)
    weights[:N_ACTIONS] = (1.0, 2.0, 4.0)
    critics = LinearCritics((features,), (weights,))
    q, v = critics.read(UNITS, CHOICES, policy)
    np.testing.assert_allclose(q, np.tile([1.0, 2.0, 4.0], N_STATES), rtol=1e-6)
    np.testing.assert_allclose(v, np.repeat(NEW @ [1.0, 2.0, 4.0], N_ACTIONS), rtol=1e-5)


def test_solve_by_hand() -> None:
    """(2 + 1) w₀ = 6 and w₀ + (1 + 1) w₁ = 4."""
    found = solve(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([6.0, 4.0]), 1.0)
    np.testing.assert_allclose(found, [2.0, 1.0])
