"""Planning net of a cost of whole policies in a finite world: by trying policies.

Such a cost has no parts that belong to single states, so that no step shows what it saves. Where
there are few policies all are tried; else changes of single states, from the old policy and from
the best one, while the net value grows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from nacre.learners.net_planning import OLD, Charges, Choice, PlannedWorld, climb

MOST_TRIED = 2000
"""Policies that are tried: each is a linear solve and a call of the cost."""

Price = Callable[[Choice], float]


def plan_whole_switch(world: PlannedWorld, price: Price) -> Choice:
    """The choices with the best net value that was found; ties are for fewer changes.

    Args:
        world: What each choice pays and leads to.
        price: What the policy of these choices costs; nothing is due where none is changed.
    """
    options = [[OLD, *np.flatnonzero(np.isfinite(row)).tolist()] for row in world.rewards]
    keep = np.full(len(options), OLD, np.int64)

    def find_net_value(choice: Choice) -> float:
        value = float(world.start @ world.solve(choice).values)
        return value if np.array_equal(choice, keep) else value - price(choice)

    if float(np.prod([len(row) for row in options], dtype=float)) <= MOST_TRIED:
        tried = (np.array(choice, np.int64) for choice in itertools.product(*options))
        return max(tried, key=lambda choice: (find_net_value(choice), int(np.sum(choice == OLD))))
    nothing = Charges(np.zeros_like(world.rewards), np.zeros(len(keep)))
    free, _ = climb(world, nothing, keep)
    return max(
        (_improve(begun, options, find_net_value) for begun in (keep, free)), key=find_net_value
    )


def _improve(
    choice: Choice, options: list[list[int]], find_net_value: Callable[[Choice], float]
) -> Choice:
    """Changes of single states while the net value grows, as many as may be tried."""
    best, tried, settled = find_net_value(choice), 0, False
    while not settled and tried < MOST_TRIED // 2:
        settled = True
        for other in _neighbours(choice, options):
            tried += 1
            reached = find_net_value(other)
            if reached > best + 1e-10 * (1.0 + abs(best)):
                choice, best, settled = other, reached, False
                break
            if tried >= MOST_TRIED // 2:
                break
    return choice


def _neighbours(choice: Choice, options: list[list[int]]) -> Iterator[Choice]:
    for state, allowed in enumerate(options):
        for action in allowed:
            if action != choice[state]:
                other = choice.copy()
                other[state] = action
                yield other
