"""Costs of a sequence of policies: sums over its switches, counted by NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import nacre
from nacre.costs import FiniteStates, evaluate_sequence
from nacre.errors import InputError
from nacre.policies import TabularPolicy


def make_sequence(seed: int, length: int = 6) -> list[np.ndarray]:
    """Tables (4, 3) of which some repeat, and some differ in single states."""
    rng = np.random.default_rng(seed)
    tables = [rng.dirichlet(np.ones(3), 4)]
    for _ in range(length - 1):
        table = tables[-1].copy()
        for state in np.flatnonzero(rng.random(4) < 0.4):
            table[state] = rng.dirichlet(np.ones(3))
        tables.append(table)
    return tables


@pytest.mark.parametrize("seed", range(20))
def test_global_and_local_costs_are_the_sums_of_the_paper(seed: int) -> None:
    tables = make_sequence(seed)
    policies = [TabularPolicy.from_probabilities(table) for table in tables]
    changed = [np.any(np.abs(new - old) > 1e-4, axis=1) for old, new in itertools.pairwise(tables)]
    costs = {
        nacre.GlobalCost(): sum(bool(states.any()) for states in changed),
        nacre.LocalCost(): sum(int(states.sum()) for states in changed),
    }
    for cost, expected in costs.items():
        sequence = evaluate_sequence(cost, policies)
        assert sequence.total == pytest.approx(expected, abs=1e-6)
        assert len(sequence.costs) == len(tables) - 1


def test_any_cost_adds_up_and_keeping_costs_nothing() -> None:
    first, second, third = (
        TabularPolicy.from_probabilities(table) for table in make_sequence(0, 3)
    )
    groups = nacre.groups.indices([[0], [1, 2]])
    cost = nacre.TransportCost(5.0, 1.0, groups, state_measure=FiniteStates())
    sequence = evaluate_sequence(cost, [first, first, second, third, first])
    pairs = ((first, second), (second, third), (third, first))
    assert sequence.costs[0] == 0.0
    assert sequence.switches[0] is None
    assert sequence.costs[1:] == tuple(cost.evaluate(*pair).total for pair in pairs)
    assert sequence.total == pytest.approx(sum(sequence.costs))
    assert evaluate_sequence(cost, [first]).total == 0.0
    wrong: tuple[Any, ...] = ([], first)
    for nothing in wrong:
        with pytest.raises(InputError, match="has one at least; give a list"):
            evaluate_sequence(cost, nothing)
