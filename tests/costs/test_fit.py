"""Logs and policies that do not belong together are told apart before anything is computed."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Space

from nacre.costs import Rule, RuleImportance, TableImportance, TransportCost, groups
from nacre.costs.fit import check_log_fits, check_states_fit
from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies import MLPPolicy, Policy, Signature

VECTORS = Box(-np.inf, np.inf, (2,))
PUSHES = Box(-1.0, 1.0, (1,))


def make_policy(observations: Space[Any], actions: Space[Any]) -> Policy:
    return MLPPolicy.init(jax.random.key(0), Signature(observations, actions), hidden=())


def make_log(observations: Space[Any], actions: Space[Any]) -> Log:
    def rows(space: Space[Any]) -> np.ndarray:
        assert space.shape is not None
        return np.zeros((3, *space.shape), np.int32 if isinstance(space, Discrete) else np.float32)

    return Log.from_arrays(
        rows(observations),
        rows(actions),
        np.zeros(3),
        np.array([False, False, True]),
        next_observations=rows(observations),
        observation_space=observations,
        action_space=actions,
    )


@pytest.mark.parametrize(
    ("spaces", "others"),
    [
        ((VECTORS, PUSHES), (VECTORS, Box(-9.0, 9.0, (1,)))),
        ((Discrete(3), Discrete(2)), (Discrete(3), Discrete(2))),
        ((Discrete(2), Discrete(2)), (Discrete(5), Discrete(4))),
    ],
)
def test_logs_of_the_same_world_fit(
    spaces: tuple[Space[Any], Space[Any]], others: tuple[Space[Any], Space[Any]]
) -> None:
    check_log_fits(make_log(*spaces), make_policy(*others))
    assert make_log(*spaces).n_transitions == 3


@pytest.mark.parametrize(
    ("space", "other", "text"),
    [
        (VECTORS, Box(-1.0, 1.0, (3,)), "vectors of 3 numbers, those of the log are vectors of 2"),
        (VECTORS, Discrete(2), "numbers from 0 to 1, those of the log are vectors of 2 numbers"),
        (Discrete(2), PUSHES, "vectors of 1 number, those of the log are numbers from 0 to 1"),
        (Discrete(3), Discrete(2), "numbers from 0 to 1, those of the log are numbers from 0 to 2"),
    ],
)
def test_what_does_not_fit_is_named(space: Space[Any], other: Space[Any], text: str) -> None:
    with pytest.raises(InputError, match=f"^old does not fit the log: its observations are {text}"):
        check_log_fits(make_log(space, PUSHES), make_policy(other, PUSHES), "old")
    with pytest.raises(
        InputError, match=f"^the policy does not fit the log: its actions are {text}"
    ):
        check_log_fits(make_log(VECTORS, space), make_policy(VECTORS, other))


def test_both_problems_are_found() -> None:
    with pytest.raises(InputError) as caught:
        check_log_fits(make_log(VECTORS, PUSHES), make_policy(Discrete(3), Discrete(2)))
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("states", "space"),
    [
        (np.zeros((4, 3)), VECTORS),
        (np.zeros(2), VECTORS),
        (np.zeros((4, 2), object), VECTORS),
        (np.zeros((4, 1), int), Discrete(3)),
        (np.zeros(4), Discrete(3)),
        (np.array([0, 3]), Discrete(3)),
        (np.array([-1, 0]), Discrete(3)),
    ],
)
def test_states_must_be_rows_of_the_observations(states: np.ndarray, space: Space[Any]) -> None:
    with pytest.raises(InputError, match="are no rows of the policies' observations"):
        check_states_fit(states, space)


def test_prices_are_refused_where_log_states_or_importance_do_not_fit() -> None:
    policy = make_policy(VECTORS, PUSHES)
    cost = TransportCost(1.0, groups=groups.sign(0))
    # Both policies are the same, so nothing moves and nothing is paid.
    assert cost.evaluate(policy, policy, np.zeros((5, 2), np.float32)).total == 0.0
    with pytest.raises(InputError, match="does not fit the log"):
        cost.evaluate(policy, policy, make_log(Box(-1.0, 1.0, (3,)), PUSHES))
    with pytest.raises(InputError, match="are no rows"):
        cost.evaluate(policy, policy, np.zeros((5, 3), np.float32))
    for importance, text in (
        (RuleImportance((Rule(2, 1.0, above=0.0),)), "observation coordinate 2"),
        (TableImportance((1.0,)), "needs discrete observations"),
    ):
        weighted = TransportCost(1.0, groups=groups.sign(0), importance=importance)
        with pytest.raises(InputError, match=text):
            weighted.evaluate(policy, policy, np.zeros((5, 2), np.float32))
