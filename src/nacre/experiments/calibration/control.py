"""The control suite: vector states, discrete and continuous actions, simulated truth."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from nacre.costs import TransportCost, groups
from nacre.costs.family import SwitchingCost
from nacre.experiments.calibration import processes, vehicles
from nacre.experiments.calibration.case import Case, Problem, can_show, draw_price, draw_rows
from nacre.experiments.calibration.controllers import Skill, Workshop
from nacre.experiments.calibration.simulation import (
    SimulatedTruth,
    VectorWorld,
    sample_log,
    simulate_returns,
)
from nacre.learners.base import Candidate
from nacre.logs import Log
from nacre.policies.network_policy import MLPPolicy

SUITE = "control"
ROWS = (10_000, 100_000)
N_EPISODES = 1000
"""Rollouts of each policy for its truth."""

WORLDS: dict[str, Callable[[np.random.Generator], VectorWorld]] = {
    "integrator": vehicles.Integrator,
    "pendulum": vehicles.Pendulum,
    "cart_pole": vehicles.CartPole,
    "mountain_car": vehicles.MountainCar,
    "acrobot": vehicles.Acrobot,
    "lander": vehicles.Lander,
    "stock": processes.Stock,
    "queues": processes.Queues,
    "dosing": processes.Dosing,
    "heating": processes.Heating,
    "junction": processes.Junction,
}
"""Worlds; each draws its parameters."""

KINDS: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {
    "random": ((0.0, 0.1), (0.8, 1.2)),
    "poor": ((0.0, 0.3), (0.2, 0.5)),
    "medium": ((0.4, 0.7), (0.2, 0.5)),
    "good": ((0.85, 1.0), (0.15, 0.4)),
    "nearly_optimal": ((1.0, 1.0), (0.05, 0.1)),
    "deterministic_poor": ((0.1, 0.5), (0.0, 0.0)),
    "deterministic_good": ((1.0, 1.0), (0.0, 0.0)),
}
"""Kinds of old policies: ranges of skill and of noise. The nearly optimal ones hardly ever fail."""

OFFERS = ("bad", "good", "bad_and_good", "same", "many", "nothing")
"""What the user gives: the offers take turns with the seeds."""
LEARNED = ("nothing",)
"""Offers beside which candidates are learned: it takes longest. Else only those given compete."""
OTHERS = {
    "opposite": Skill(-1.0, 0.3),
    "poor": Skill(0.0, 0.3),
    "fair": Skill(0.5, 0.2),
    "steady": Skill(0.8, 0.1),
    "best": Skill(1.0, 0.05),
    "best_without_noise": Skill(1.0, 0.0),
}
"""Controllers that users give; whether they are better than the old one, rollouts say."""
ABSURD = "opposite"
"""Does the reverse of what is good; it would make every other difference look small."""
MANY = 5


def make_world(case: Case) -> VectorWorld:
    """The world of a case; the same for all kinds of old policies of a seed."""
    return WORLDS[case.world](dataclasses.replace(case, kind="any").generator("world"))


def build(case: Case) -> Problem:
    """World, old policy, log, price and candidates of a case."""
    world = make_world(case)
    workshop = Workshop.open(world, case.generator("workshop"))
    rng = case.generator("design")
    shares, noises = KINDS[case.kind]
    skill = Skill(float(rng.uniform(*shares)), float(rng.uniform(*noises)))
    rows, share = draw_rows(rng, *ROWS), draw_price(rng)
    old_policy = workshop.make(skill)
    log = sample_log(world, old_policy, rows, seed=case.seed)
    old_returns = simulate_returns(world, old_policy, n_episodes=N_EPISODES)
    truth = SimulatedTruth(world, old_returns)
    others = {name: workshop.make(other) for name, other in OTHERS.items()}
    gains = {name: truth(policy) for name, policy in others.items()}
    sensible = [found.gain for name, found in gains.items() if name != ABSURD]
    least, largest = min(0.0, *sensible), max(0.0, *sensible)
    old_value = float(old_returns.mean())
    best = max(gains, key=lambda name: gains[name].gain)
    gain = max(gains[best].gain, 0.05 * (largest - least))
    offer = case.take_turn(OFFERS)
    bad = [name for name, found in gains.items() if found.gain < -2 * found.standard_error]
    good = [name for name, found in gains.items() if found.gain > 2 * found.standard_error]
    offered = {name: others[name] for name in _choose(offer, bad, good, rng)}
    if offer == "same":
        offered = {"same": old_policy}
    return Problem(
        case=case,
        log=log,
        old_policy=old_policy,
        cost=_make_cost(old_policy, others[best], share * gain, log),
        candidates=tuple(Candidate(name, policy, "given") for name, policy in offered.items()),
        start=None,
        discount=world.discount,
        find_truth=truth,
        old_value=old_value,
        value_range=(old_value + least, old_value + largest),
        learns=offer in LEARNED,
        facts={
            "rows": rows,
            "episodes": log.n_episodes,
            "discount": world.discount,
            "skill": dataclasses.asdict(skill),
            "price_share": share,
            "offer": offer,
            "can_show": can_show(log, varies=skill.noise > 0.0),
        },
    )


def _choose(offer: str, bad: list[str], good: list[str], rng: np.random.Generator) -> list[str]:
    """Names of the controllers that an offer holds."""
    # Nothing is worse than some policies, and nothing better than others: then the other kind.
    some_bad, some_good = (
        [str(rng.choice(names))] if names else [] for names in (bad or good, good or bad)
    )
    return {
        "bad": some_bad,
        "good": some_good,
        "bad_and_good": list(dict.fromkeys(some_bad + some_good)),
        "many": (bad + good)[:MANY],
    }.get(offer, [])


def _make_cost(old: MLPPolicy, best: MLPPolicy, price: float, log: Log) -> SwitchingCost:
    """A transport cost at which this policy costs about this price."""
    grouping = groups.halves() if old.signature.discrete_actions else groups.sign(0)
    moved = TransportCost(1.0, 0.0, grouping).evaluate(old, best, log).total
    return TransportCost(price / max(moved, 0.02), 0.0, grouping)
