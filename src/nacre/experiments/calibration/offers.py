"""Candidates that the user gives in finite worlds: truly bad, truly good, or equal in value."""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy import optimize

from nacre.estimators import exact
from nacre.experiments.calibration.case import Case
from nacre.experiments.calibration.tables import find_best, find_range
from nacre.simulators.finite import FiniteWorld, Table

OFFERS = ("bad", "bad_and_good", "same", "equal", "many")
"""What the user gives: the offers take turns with the seeds."""
MANY = 5
LEAST = 0.01
"""Share of the value range by which a bad policy is worse than the old one, at least."""


def offer_tables(world: FiniteWorld, old: Table, case: Case) -> tuple[str, dict[str, Table]]:
    """The name of the offer and the tables (S, A) that it holds, by name.

    An offer that the world has no policies for (nothing is better than the best) gives fewer.
    """
    rng = case.generator("candidates")
    offer = case.take_turn(OFFERS)
    low, high = find_range(world)
    known = float(exact.start_value(world, old))
    bad = {
        name: table
        for name, table in _draw_bad(world, old, rng).items()
        if float(exact.start_value(world, table)) < known - LEAST * (high - low)
    }
    good = {
        name: table
        for name, table in _draw_good(world, old).items()
        if float(exact.start_value(world, table)) > known + 1e-9 * (high - low)
    }
    if offer == "same":
        return offer, {"same": old}
    if offer == "equal":
        return offer, _make_equal(world, old, bad, good)
    one_bad, one_good = _pick(bad, rng), _pick(good, rng)
    if offer == "bad":
        return offer, one_bad
    if offer == "bad_and_good":
        return offer, one_bad | one_good
    return offer, dict(list((bad | good).items())[:MANY])


def _pick(tables: dict[str, Table], rng: np.random.Generator) -> dict[str, Table]:
    """One of them, if there is any."""
    if not tables:
        return {}
    name = str(rng.choice(list(tables)))
    return {name: tables[name]}


def _draw_bad(world: FiniteWorld, old: Table, rng: np.random.Generator) -> dict[str, Table]:
    """Policies that tend to be worse in different ways; who asks checks that they are."""
    q = exact.state_action_values(world, old)
    worst = exact.optimal_policy(dataclasses.replace(world, reward=-world.reward))
    visits = exact.occupancy(world, old)
    # The old policy with its least used action in one state that it often visits.
    slip = old.copy()
    often = int(np.argmax(visits * np.ptp(q, axis=-1)))
    slip[often] = np.eye(world.n_actions)[int(np.argmin(q[often]))]
    rare = np.eye(world.n_actions)[old.argmin(axis=-1)]
    share = rng.uniform(0.1, 0.5)
    return {
        "greedy_now": np.eye(world.n_actions)[world.reward.argmax(axis=-1)],
        "one_slip": slip,
        "rare_actions": rare,
        "towards_worst": (1 - share) * old + share * worst,
        "worst": worst,
    }


def _draw_good(world: FiniteWorld, old: Table) -> dict[str, Table]:
    """The optimum, half of the way to it, and one step of policy improvement."""
    best = find_best(world)
    q = exact.state_action_values(world, old)
    improved = np.eye(world.n_actions)[q.argmax(axis=-1)]
    return {"halfway": 0.5 * old + 0.5 * best, "improved": improved, "optimal": best}


def _make_equal(
    world: FiniteWorld, old: Table, bad: dict[str, Table], good: dict[str, Table]
) -> dict[str, Table]:
    """A mixture of a bad and a good policy that is worth exactly what the old one is."""
    if not bad or not good:
        return {"same": old}
    known = float(exact.start_value(world, old))
    low, high = next(iter(bad.values())), list(good.values())[-1]

    def excess(share: float) -> float:
        return float(exact.start_value(world, (1 - share) * low + share * high)) - known

    share = float(optimize.brentq(excess, 0.0, 1.0, xtol=1e-14))
    return {"equal": (1 - share) * low + share * high}
