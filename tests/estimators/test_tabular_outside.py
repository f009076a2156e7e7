"""What lies outside of a discrete log: nothing of the old policy, bounds in order, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre.estimators.tabular_outside import (
    Observed,
    Outside,
    bound_values,
    chance_of_new_states,
    measure_novelty,
)
from nacre.estimators.tabular_world import Chain, Counts
from nacre.logs import Log

GAMMA = 0.5


def make_log(actions: list[int], following: list[int], terminated: list[bool]) -> Log:
    """Episodes of one step from state 0, each with reward 1."""
    n = len(actions)
    ends = np.array(terminated)
    return Log.from_arrays(
        np.zeros(n, np.int32),
        np.array(actions),
        np.ones(n),
        ends,
        ~ends,
        np.array(following),
        offsets=np.arange(n + 1),
        observation_space=Discrete(4),
        action_space=Discrete(2),
    )


# Action 0 five times, to the same state; action 1 never.
LOG = make_log([0] * 5, [0] * 5, [False] * 5)


def observe(log: Log, old: np.ndarray, span: float = 3.0) -> Observed:
    counts = Counts.of(log, np.zeros(1, np.int64), 2)
    table = np.tile(old, (counts.n_states, 1))
    empty = counts.visits.sum(axis=1) == 0
    chain = Chain(counts, counts.impute(table), empty * 1.0, GAMMA)
    return Observed(counts, table, chain, 1.0, span, measure_novelty(counts))


def start_values(outside: Outside, counts: Counts) -> list[float]:
    chains = (outside.low, outside.middle, outside.high)
    return [float(counts.start @ chain.values()) for chain in chains]


def test_the_old_policy_has_nothing_outside() -> None:
    old = observe(LOG, np.array([1.0, 0.0]))
    outside = Outside.of(old, old.table, GAMMA)
    # One for ever: 1 / (1 - γ).
    np.testing.assert_allclose(start_values(outside, old.counts), 2.0)
    assert outside.unseen_mass == outside.unseen_mass_old == outside.unseen_excess == 0.0


def test_a_pair_never_taken_is_worth_the_average_row_and_the_span() -> None:
    """The candidate takes it for sure: 1 + γ V = 2 as its state's rows, ± 3."""
    old = observe(LOG, np.array([1.0, 0.0]))
    outside = Outside.of(old, np.array([[0.0, 1.0]]), GAMMA)
    np.testing.assert_allclose(start_values(outside, old.counts), [-1.0, 2.0, 5.0])
    assert outside.unseen_mass == outside.unseen_excess == 1.0
    assert outside.unseen_mass_old == 0.0


def test_the_interval_grows_with_what_is_new_about_the_candidate() -> None:
    old = observe(LOG, np.array([1.0, 0.0]))
    widths = []
    for share in (0.0, 0.1, 0.5, 1.0):
        found = start_values(Outside.of(old, np.array([[1 - share, share]]), GAMMA), old.counts)
        assert found == sorted(found)
        widths.append(found[2] - found[0])
    assert widths == sorted(widths)
    assert widths[0] == pytest.approx(0.0, abs=1e-12)


def test_what_the_old_policy_did_as_often_is_not_charged() -> None:
    """Both take the missing action with probability a half: the log happened not to show it."""
    old = observe(LOG, np.array([0.5, 0.5]))
    outside = Outside.of(old, old.table, GAMMA)
    assert outside.unseen_excess == pytest.approx(0.0, abs=1e-12)
    low, _, high = start_values(outside, old.counts)
    assert low == pytest.approx(high)


def test_novelty_by_hand() -> None:
    """Outcomes of a0: 1, 1, 2, 1. Second row old, third new, fourth old: (0+1)/2, (1+1)/3."""
    counts = Counts.of(make_log([0] * 4, [1, 1, 2, 1], [False] * 4), np.zeros(1), 2)
    novelty = measure_novelty(counts)
    # It never rises with the rows, so that the later 2/3 counts as 1/2; pairs never taken: one.
    np.testing.assert_allclose(novelty[0], [0.5, 1.0])
    np.testing.assert_allclose(novelty[1:], 1.0)


def test_chance_of_new_states_by_hand() -> None:
    """States 2 and 3 were reached once each, state 1 twice: (2 + 1) / (4 + 1)."""
    counts = Counts.of(make_log([0] * 4, [1, 1, 2, 3], [False] * 4), np.zeros(1), 2)
    assert chance_of_new_states(counts) == pytest.approx(3 / 5)


def test_bounds_of_values_by_hand() -> None:
    """Returns 1 + γ·4 = 3 where it goes on; an end at once is worth 1; for ever 1/(1 - γ) = 2."""
    going = bound_values(LOG, np.full(5, 4.0), GAMMA)
    assert going == pytest.approx((1.0, 3.0))
    # Where every episode ended nothing is added after the end, and nothing lasts.
    ended = make_log([0] * 3, [1] * 3, [True] * 3)
    assert bound_values(ended, np.full(3, 4.0), GAMMA) == pytest.approx((0.0, 1.0))
