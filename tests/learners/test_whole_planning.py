"""Planning net of a cost of whole policies, against enumeration and against prices by state."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

from nacre.learners import whole_planning
from nacre.learners.net_planning import OLD, Charges, Choice, PlannedWorld, plan_switch
from nacre.learners.whole_planning import plan_whole_switch


def make_world(seed: int, n_states: int = 4, n_actions: int = 2) -> PlannedWorld:
    rng = np.random.default_rng(seed)
    moves = 0.9 * rng.dirichlet(np.ones(n_states), (n_states, n_actions))
    rewards = rng.normal(size=(n_states, n_actions))
    old = rng.dirichlet(np.ones(n_actions), n_states)
    return PlannedWorld(
        rewards,
        sparse.csr_matrix(moves.reshape(-1, n_states)),
        (old * rewards).sum(1),
        sparse.csr_matrix(np.einsum("sa,sat->st", old, moves)),
        np.full(n_states, 1.0 / n_states),
    )


def rules(choice: Choice) -> float:
    """A high price for many different actions, and for a policy that changes in part."""
    return 0.8 * len(np.unique(choice)) + (1.5 if OLD in choice else 0.0)


def net_value(world: PlannedWorld, choice: Choice) -> float:
    value = float(world.start @ world.solve(choice).values)
    return value if np.all(choice == OLD) else value - rules(choice)


@pytest.mark.parametrize("seed", range(6))
def test_few_policies_are_all_tried(seed: int) -> None:
    world = make_world(seed)
    found = plan_whole_switch(world, rules)
    choices = (np.array(one) for one in itertools.product((OLD, 0, 1), repeat=4))
    assert net_value(world, found) == pytest.approx(max(net_value(world, one) for one in choices))


def test_many_policies_are_climbed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What single states cost is a cost of whole policies too: the answer is about the same."""
    world = make_world(7)
    rng = np.random.default_rng(0)
    charges = Charges(rng.random((4, 2)), np.zeros(4))
    expected = plan_switch(world, charges)
    monkeypatch.setattr(whole_planning, "MOST_TRIED", 60)
    found = plan_whole_switch(world, charges.total)
    values = [
        float(world.start @ world.solve(one).values) - charges.total(one)
        for one in (found, expected)
    ]
    assert values[0] >= values[1] - 1e-9


def test_what_is_not_allowed_is_not_chosen() -> None:
    world = make_world(8)
    world.rewards[:, 1] = -np.inf
    assert not np.any(plan_whole_switch(world, lambda choice: 0.0) == 1)
