"""The states that gain most, against exact values."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from nacre.advice.config import AdviceConfig
from nacre.advice.setting import Setting
from nacre.costs import TransportCost, groups
from nacre.estimators import exact
from nacre.rollout.gaining_states import count_visits, find_gaining_states, solve_counts
from tests.support import one_hot
from tests.support.rooms import (
    BEST,
    DISCOUNT,
    OLD,
    WORLD,
    make_policy,
    make_rooms_log,
    make_setting,
)


def test_values_of_the_counts_are_those_of_the_world() -> None:
    found = solve_counts(make_rooms_log(), OLD, DISCOUNT)
    # Moves and rewards of the two rooms are certain: a pair that was seen once is known.
    step = WORLD.reward + DISCOUNT * WORLD.transition @ (OLD * found).sum(axis=1)
    np.testing.assert_allclose(found, step, atol=1e-6)
    value = float((OLD * found).sum(axis=1) @ WORLD.start)
    np.testing.assert_allclose(value, exact.start_value(WORLD, OLD), atol=1e-6)


def test_visits_of_all_states_add_up() -> None:
    log = make_rooms_log()
    visits = count_visits(log, DISCOUNT, 2)
    np.testing.assert_allclose(visits.sum(), (1 - DISCOUNT**50) / (1 - DISCOUNT))


def test_states_where_the_switch_does_not_pay_are_left_out() -> None:
    log = make_rooms_log()
    half = np.stack([[0.9, 0.1], BEST[1]])
    policies = make_policy(OLD), make_policy(half)
    region = find_gaining_states(make_setting(), log, *policies)
    assert region is not None
    # Staying in the first room never pays.
    assert region.states == (1,)
    assert find_gaining_states(make_setting(weight=1e6), log, *policies) is None
    best = make_policy(BEST)
    assert find_gaining_states(make_setting(weight=1e-6), log, make_policy(OLD), best) is None


def test_clusters_of_vectors_where_the_switch_does_not_pay_are_left_out() -> None:
    log = one_hot.sample_vectors()
    # Better in the first state, as before in the others but for one, where it is worse.
    table = one_hot.OLD.copy()
    values = exact.state_action_values(one_hot.WORLD, one_hot.OLD)
    table[0] = 0.02 + 0.94 * np.eye(one_hot.N_ACTIONS)[values[0].argmax()]
    table[1] = 0.02 + 0.94 * np.eye(one_hot.N_ACTIONS)[values[1].argmin()]
    sets = [[action] for action in range(one_hot.N_ACTIONS)]
    setting = Setting(
        log,
        one_hot.as_network(one_hot.OLD),
        TransportCost(1e-3, 0.0, groups.indices(sets)),
        np.asarray(log.starts),
        False,
        AdviceConfig(learners=(), discount=one_hot.DISCOUNT),
        0.0,
        104,
    )
    region = find_gaining_states(setting, log, setting.old_policy, one_hot.as_network(table))
    assert region is not None
    within = np.asarray(region.holds(jnp.eye(one_hot.N_STATES)))
    assert within[0]
    assert not within[1]
