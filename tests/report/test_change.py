"""Where the change happens is where the policies differ."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacre import examples
from nacre.costs import FiniteStates, TransportCost, groups
from nacre.logs.schema.spaces import JSON
from nacre.policies import TabularPolicy
from nacre.report.change import examine_change
from nacre.report.evidence import Evidence
from nacre.simulators import random_world
from tests.support.logs import make_log


def test_the_change_is_where_the_policies_differ() -> None:
    world = random_world(3, 5, 4, discount=0.9, terminating=False)
    old = np.full((5, 4), 0.25)
    new = old.copy()
    new[2] = [1.0, 0.0, 0.0, 0.0]
    cost = TransportCost(4.0, 1.0, groups.halves(), state_measure=FiniteStates())
    log = world.sample_log(old, 400, seed=0, horizon=50)
    change = examine_change(
        TabularPolicy.from_probabilities(old), TabularPolicy.from_probabilities(new), cost, log
    )
    assert change.state_names[0] == "highest cost: state 2"
    # Half of the mass moves to the other group: 4 · 1/2 + 1 · 1/2. Elsewhere all of it stays.
    np.testing.assert_allclose(change.state_costs[[0, -1]], [2.5, 1.0], atol=1e-5)
    np.testing.assert_allclose(change.new_actions[0], [1, 0, 0, 0], atol=1e-5)
    assert change.action_names == ("action 0", "action 1", "action 2", "action 3")
    visited = float(np.mean(np.asarray(log.observations) == 2))
    expected = 2.5 * visited / (2.5 * visited + (1 - visited))
    place = np.interp(visited, np.linspace(0, 1, 21), change.concentration)
    assert place == pytest.approx(expected, abs=0.03)
    assert Evidence(**change.as_fields()).action_names == change.action_names


def test_action_vectors_are_named_by_their_groups() -> None:
    example = examples.load()
    change = examine_change(example.old_policy, example.new_policy, example.cost, example.log)
    assert change.action_names == example.cost.statewise.group_names(
        example.new_policy.action_space
    )
    np.testing.assert_allclose(change.old_actions.sum(axis=1), 1.0, atol=1e-5)
    assert change.state_names[0].startswith("highest cost: (")
    assert np.all(np.diff(change.state_costs) <= 0)
    assert change.concentration[0] == 0.0
    assert change.concentration[-1] == pytest.approx(1.0)


def test_states_and_actions_have_the_names_that_the_log_came_with() -> None:
    log = make_log((5, 5), discrete_observations=True, discrete_actions=True)
    labels: dict[str, list[JSON]] = {
        "observation": ["red", "green", "blue", "white", "black"],
        "action": ["wait", "go", "stop"],
    }
    named = dataclasses.replace(log, provenance={"labels": dict(labels)})
    old = TabularPolicy.from_probabilities(np.full((5, 3), 1 / 3))
    new = TabularPolicy.from_probabilities(np.eye(3)[[0, 1, 2, 0, 1]])
    change = examine_change(old, new, TransportCost(2.0, 1.0, groups.halves()), named)
    assert set(change.action_names) <= set(labels["action"])
    assert all(name.split(": ")[1] in labels["observation"] for name in change.state_names)
