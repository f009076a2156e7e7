"""Weights by state: the exact ones in small worlds, and surer answers on long episodes."""

from __future__ import annotations

import numpy as np
import pytest

from nacre.estimators import exact, weighting
from nacre.estimators.state_weights import find_state_weights
from nacre.estimators.unrolled import unroll
from nacre.estimators.weighting import Weighted, Weights, find_weights, weigh_episodes
from nacre.logs import Log
from nacre.policies import TabularPolicy
from nacre.simulators import FiniteWorld, random_policy, random_world
from tests.support.table_critics import TableCritics

DISCOUNT = 0.95
HORIZON = 60


def make_world(*, terminating: bool) -> FiniteWorld:
    return random_world(7, 5, 3, discount=DISCOUNT, terminating=terminating).starting_at(0)


def policies(world: FiniteWorld) -> tuple[np.ndarray, np.ndarray]:
    old = 0.5 * random_policy(1, world) + 0.5 / 3
    return old, 0.6 * old + 0.4 * random_policy(2, world)


def occupancies(world: FiniteWorld, table: np.ndarray, n_steps: int) -> np.ndarray:
    """(T, S) probability to be at a state after t steps, episodes that are over left out."""
    goes_on = np.broadcast_to(1.0 - np.asarray(world.termination), table.shape)
    moves = np.einsum("sa,sap->sp", table * goes_on, np.asarray(world.transition))
    now, found = np.asarray(world.start, float), []
    for _ in range(n_steps):
        found.append(now)
        now = now @ moves
    return np.array(found)


def log_ratios(log: Log, old: np.ndarray, new: np.ndarray, n_steps: int) -> np.ndarray:
    table = unroll(log, n_steps)
    ratios = np.zeros(table.rows.shape)
    states, actions = (np.asarray(one) for one in (log.observations, log.actions))
    ratios[table.seen] = np.log(new[states, actions] / old[states, actions])[table.rows[table.seen]]
    return ratios


@pytest.mark.parametrize("terminating", [False, True])
def test_they_are_the_exact_ones(terminating: bool) -> None:
    world = make_world(terminating=terminating)
    old, new = policies(world)
    log = world.sample_log(old, 60_000, seed=3, horizon=HORIZON)
    n_steps = 30
    table, ratios = unroll(log, n_steps), log_ratios(log, old, new, n_steps)
    weights = np.exp(find_state_weights(log, table, ratios, DISCOUNT, seed=0))
    mean = weights.mean(axis=0)
    found = weights / mean / np.exp(ratios)
    before, after = (occupancies(world, one, n_steps) for one in (old, new))
    # Of the episodes that end, few are left after that.
    for t in (1, 3, 10) if terminating else (1, 3, 10, 25):
        rows = table.seen[:, t]
        states = np.asarray(log.observations)[table.rows[rows, t]]
        expected = after[t][states] / before[t][states]
        assert np.mean(np.abs(found[rows, t] - expected)) < 0.05
        # Nobody would call them one.
        assert np.std(expected) > 0.05


def weigh(world: FiniteWorld, log: Log, *, by_state: bool) -> Weights:
    old, new = (TabularPolicy.from_probabilities(table) for table in policies(world))
    return find_weights(log, (old,), new, discount=DISCOUNT, by_state=by_state)


def estimate(
    world: FiniteWorld, log: Log, shift: float, *, by_state: bool, wrong: float = 0.0
) -> Weighted:
    """What episodes say where both critics are off by a shift, the new one by something more."""
    old, new = policies(world)
    return weigh_episodes(
        weigh(world, log, by_state=by_state),
        TabularPolicy.from_probabilities(old),
        TabularPolicy.from_probabilities(new),
        TableCritics.of(world, old, shift),
        TableCritics.of(world, new, shift + wrong),
        discount=DISCOUNT,
    )


def find_truth(world: FiniteWorld) -> float:
    old, new = policies(world)
    return float(exact.start_value(world, new) - exact.start_value(world, old))


@pytest.mark.parametrize("terminating", [False, True])
@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_long_episodes_are_sure_of_the_gain_even_by_wrong_critics(
    shift: float, terminating: bool
) -> None:
    world = make_world(terminating=terminating)
    old, _ = policies(world)
    log = world.sample_log(old, 30_000, seed=3, horizon=HORIZON)
    by_way, by_state = (estimate(world, log, shift, by_state=one) for one in (False, True))
    effective = [weigh(world, log, by_state=one).effective for one in (False, True)]
    assert effective[1] > 1.2 * effective[0]
    assert abs(by_state.gain - find_truth(world)) < 4 * by_state.standard_error
    if effective[0] >= 50:
        assert by_state.standard_error < by_way.standard_error


def test_what_only_the_critics_of_the_candidate_say_is_taken_back() -> None:
    world = make_world(terminating=True)
    old, _ = policies(world)
    log = world.sample_log(old, 30_000, seed=5, horizon=HORIZON)
    # They promise a gain of three more than there is.
    found = estimate(world, log, 0.0, by_state=True, wrong=3.0)
    assert abs(found.gain - find_truth(world)) < 0.15


def test_the_old_policy_itself_weighs_one_everywhere() -> None:
    world = make_world(terminating=True)
    old, _ = policies(world)
    log = world.sample_log(old, 500, seed=1, horizon=HORIZON)
    table = unroll(log, HORIZON)
    logs = find_state_weights(log, table, np.zeros(table.rows.shape), DISCOUNT, seed=0)
    np.testing.assert_allclose(logs, 0.0, atol=1e-9)


@pytest.mark.parametrize("n_episodes", [1, 2])
def test_a_log_of_single_steps_has_nothing_to_learn_from(n_episodes: int) -> None:
    world = make_world(terminating=False)
    old, new = policies(world)
    log = world.sample_log(old, n_episodes, seed=1, horizon=1)
    ratios = log_ratios(log, old, new, 1)
    found = find_state_weights(log, unroll(log, 1), ratios, DISCOUNT, seed=0)
    np.testing.assert_allclose(found, ratios, atol=1e-12)


def test_only_so_many_rows_are_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(terminating=False)
    old, _ = policies(world)
    log = world.sample_log(old, 12_000, seed=1, horizon=HORIZON)
    everything = weigh(world, log, by_state=True)
    monkeypatch.setattr(weighting, "MOST_ROWS", 100 * HORIZON)
    some = weigh(world, log, by_state=True)
    assert some.log.n_episodes == 100
    assert some.effective < 100 < everything.effective
