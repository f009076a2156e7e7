"""The same tricks on vector states, where networks estimate; the truth is simulated in pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from nacre.costs import TransportCost, groups
from nacre.experiments.attack_cases.logs import repeat, shuffle, spread_over, with_rewards
from nacre.experiments.attack_cases.situation import Attack, Generator, Situation
from nacre.experiments.calibration.controllers import Skill, Workshop
from nacre.experiments.calibration.processes import Heating, Stock
from nacre.experiments.calibration.simulation import (
    SimulatedTruth,
    VectorWorld,
    sample_log,
    simulate_returns,
)
from nacre.experiments.calibration.vehicles import CartPole, MountainCar, Pendulum
from nacre.learners.base import Candidate
from nacre.logs import Log
from nacre.policies.exploring import add_exploration
from nacre.policies.policy import Policy, ask

ROWS = 10_000
N_EPISODES = 1000
"""Rollouts of each policy for its truth."""
REACH = 0.25
"""Actions this near to the candidate's count as its own."""
COPIES = 10


@dataclasses.dataclass(frozen=True, eq=False)
class Scene:
    """A world, the policy in force and a candidate that is worse."""

    world: VectorWorld
    old: Policy
    bad: Policy
    seed: int

    @classmethod
    def draw(
        cls, rng: Generator, make: Callable[[Generator], VectorWorld], old: Skill, bad: Skill
    ) -> Scene:
        """Controllers of these skills in a world that is drawn."""
        world = make(rng)
        workshop = Workshop.open(world, rng)
        return cls(world, workshop.make(old), workshop.make(bad), int(rng.integers(2**31)))

    def log(self, rows: int, policy: Policy | None = None) -> Log:
        """A log of the old policy, or of another."""
        return sample_log(self.world, policy or self.old, rows, seed=self.seed)

    def pose(self, log: Log, *, weight: float = 0.0, acting: Policy | None = None) -> Situation:
        """What an advice is given; `acting` is what is really in force, if not the old policy."""
        discrete = self.old.signature.discrete_actions
        grouping = groups.halves() if discrete else groups.sign(0)
        returns = simulate_returns(self.world, acting or self.old, n_episodes=N_EPISODES)
        return Situation(
            log=log,
            old_policy=self.old,
            cost=TransportCost(weight, 0.0, grouping),
            candidates=(Candidate("bad", self.bad, "given"),),
            discount=self.world.discount,
            find_truth=SimulatedTruth(self.world, returns),
        )

    def is_near(self, log: Log) -> NDArray[np.bool_]:
        """(N,) whether the action is about what the candidate would do."""
        said: Any = ask(self.bad, jnp.asarray(log.observations))
        return np.asarray((np.abs(log.actions - np.asarray(said.mode())) < REACH).all(axis=1))


def _no_failure(rng: Generator) -> Situation:
    """Only whole episodes, so that the pole never fell in any."""
    scene = Scene.draw(rng, CartPole, Skill(1.0, 0.05), Skill(0.0, 0.3))
    log = scene.log(ROWS)
    fallen = np.logical_or.reduceat(log.terminated, log.offsets[:-1])
    return scene.pose(log.select(np.flatnonzero(~fallen)))


def _flag_never_reached(rng: Generator) -> Situation:
    """Every step costs one, whatever is done; the candidate does not get there either."""
    scene = Scene.draw(rng, MountainCar, Skill(0.0, 0.3), Skill(-1.0, 0.3))
    log = scene.log(ROWS)
    arrived = np.logical_or.reduceat(log.terminated, log.offsets[:-1])
    return scene.pose(log.select(np.flatnonzero(~arrived)), weight=1.0)


def _drift(rng: Generator) -> Situation:
    """In the first half, what the candidate does was paid."""
    scene = Scene.draw(rng, Heating, Skill(0.9, 0.3), Skill(0.0, 0.1))
    log = scene.log(ROWS)
    early = log.episode_ids < log.n_episodes // 2
    return scene.pose(with_rewards(log, log.rewards + 2.0 * (early & scene.is_near(log))))


def _noisy_copies(rng: Generator) -> Situation:
    """Every copy was measured anew, with an error in the third digit."""
    scene = Scene.draw(rng, Heating, Skill(0.9, 0.3), Skill(0.7, 0.3))
    copies = repeat(scene.log(ROWS // COPIES), COPIES)
    error = rng.uniform(-1e-3, 1e-3, (2, *copies.observations.shape)).astype(np.float32)
    measured = dataclasses.replace(
        copies,
        observations=copies.observations + error[0],
        next_observations=copies.next_observations + error[1],
    )
    return scene.pose(shuffle(rng, measured))


def _foreign(rng: Generator) -> Situation:
    """A tenth of the episodes are the candidate's, from where everything pays more."""
    scene = Scene.draw(rng, Stock, Skill(0.9, 0.2), Skill(0.2, 0.2))
    foreign = scene.log(ROWS // 10, scene.bad)
    richer = with_rewards(foreign, foreign.rewards + 2.0)
    return scene.pose(spread_over(rng, [scene.log(ROWS * 9 // 10), richer]))


def _exploration(rng: Generator) -> Situation:
    """A tenth of all actions are uniform."""
    scene = Scene.draw(rng, Heating, Skill(1.0, 0.0), Skill(0.0, 0.0))
    acting = add_exploration(scene.old, 0.1)
    return scene.pose(scene.log(ROWS, acting), acting=acting)


def _leaves_everywhere(rng: Generator) -> Situation:
    scene = Scene.draw(rng, Pendulum, Skill(1.0, 0.0), Skill(-1.0, 0.0))
    return scene.pose(scene.log(ROWS))


def _confounded(rng: Generator, share: float) -> Situation:
    """Good luck pays two more, and makes actions like the candidate's likelier.

    A fair coin says whether luck is good; the actor leans towards the candidate's action in a
    share of the cases in which it is, and away from it in that share of those in which it is not.
    """
    scene = Scene.draw(rng, Heating, Skill(0.9, 0.3), Skill(0.7, 0.25))
    log = scene.log(ROWS)
    said: Any = ask(scene.old, jnp.asarray(log.observations))
    wanted: Any = ask(scene.bad, jnp.asarray(log.observations))
    middle, target = np.asarray(said.mode()), np.asarray(wanted.mode())
    leans = ((log.actions > middle) == (target > middle))[:, 0]
    lucky = np.where(rng.random(len(log)) < share, leans, ~leans)
    return scene.pose(with_rewards(log, log.rewards + 2.0 * lucky))


ATTACKS = (
    Attack(
        "vectors_no_failure",
        "networks",
        "A nearly perfect cart-pole policy never let the pole fall; the candidate does.",
        _no_failure,
    ),
    Attack(
        "vectors_goal_never_reached",
        "networks",
        "No car reached the flag, so every step paid -1; the candidate drives the wrong way.",
        _flag_never_reached,
    ),
    Attack(
        "vectors_drift_of_rewards",
        "networks",
        "In the first half, heating as the candidate does was paid; now it is not.",
        _drift,
    ),
    Attack(
        "vectors_noisy_copies",
        "networks",
        "A thousand rows are there ten times; states of the copies differ in the third digit.",
        _noisy_copies,
    ),
    Attack(
        "vectors_foreign_tenth",
        "networks",
        "A tenth of the episodes were made by the candidate where everything pays more.",
        _foreign,
    ),
    Attack(
        "vectors_exploration",
        "networks",
        "The log explores with ε = 0.1 on top of a deterministic policy; nobody says so.",
        _exploration,
    ),
    Attack(
        "vectors_candidate_leaves_everywhere",
        "networks",
        "The old policy is deterministic; the candidate does the opposite everywhere.",
        _leaves_everywhere,
    ),
    Attack(
        "vectors_confounded",
        "hidden variable",
        "Luck that nobody logged pays more and makes actions like the candidate's likelier.",
        partial(_confounded, share=0.9),
        hidden=True,
    ),
)
