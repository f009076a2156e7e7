"""Least-squares policy iteration: critics by solving equations, a policy that climbs them.

In each iteration the critic of the policy is the solution of a linear system (Lagoudakis and Parr,
2003), so nothing can diverge there, and small logs are used up in seconds. The policy then climbs
it, net of the cost, held to the old policy by a weight on KL(new ‖ old). How much it is held is
chosen on episodes that it did not learn from; the choice then learns from all of them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from nacre.errors import InputError
from nacre.learners.base import CLONED_ROWS, Candidate, LearningProblem
from nacre.learners.improvement import Actor, Objective
from nacre.learners.linear_look import LinearLook
from nacre.learners.scale_noise import scale_noise
from nacre.learners.soundness import find_departure, find_saturation
from nacre.policies.cloning.full_support import give_full_support
from nacre.policies.policy import Policy
from nacre.training.backup import polyak_average
from nacre.training.progress import Progress, ProgressEvent

LEAST_EPISODES = 8
"""Fewer cannot be halved and still say something."""
BATCH = 256


class Trial(NamedTuple):
    """What was learned from one half, and what the other half says of it; means of both ways.

    `refused` where neither half says that what the other one taught gains anything: a half of a
    small log says little, so that one that says no is not enough.
    """

    weight: float
    policy: Policy
    claimed: float
    held_out: float
    refused: bool


@dataclass(frozen=True)
class PolicyIteration:
    """Critics that are linear in random features, and a network that climbs them.

    Args:
        kl_weights: Weights of KL(new ‖ old) that are tried, in units of the critic's spread.
        sets: Independent draws of the features; the actor climbs the least that any of them says.
        iterations: Times that the critic is solved for and climbed.
        steps: Of the actor in each.
        learning_rate: Adam's.
        noise: What is learned is proposed with its noise times this.
    """

    kl_weights: tuple[float, ...] = (0.0003, 0.003, 0.03)
    sets: int = 4
    iterations: int = 12
    steps: int = 150
    learning_rate: float = 1e-3
    noise: float = 0.5
    name: str = "policy_iteration"

    def __post_init__(self) -> None:
        problems = [
            f"{name} = {getattr(self, name)}: give at least 1"
            for name in ("sets", "iterations", "steps")
            if getattr(self, name) < 1
        ]
        if not self.kl_weights or not all(0 <= one < math.inf for one in self.kl_weights):
            problems.append(f"kl_weights = {self.kl_weights}: give numbers that are not negative")
        if not 0 < self.learning_rate < math.inf:
            problems.append(f"learning_rate = {self.learning_rate}: must be positive")
        if not 0 < self.noise <= 1:
            problems.append(f"noise = {self.noise}: must lie in (0, 1]")
        if problems:
            raise InputError(problems)

    def applies(self, problem: LearningProblem) -> str:
        """To vector states and episodes of several steps."""
        log = problem.log
        if isinstance(log.observation_space, gymnasium.spaces.Discrete):
            return "discrete states are planned exactly"
        if log.episode_lengths.max() == 1:
            return "episodes of one step are learned from directly"
        if log.n_episodes < LEAST_EPISODES:
            return f"{log.n_episodes} episodes are fewer than {LEAST_EPISODES}"
        return problem.cost.untraceable(problem.old_policy)

    def learn(
        self, key: PRNGKeyArray, problem: LearningProblem, report: Progress
    ) -> Sequence[Candidate]:
        """One candidate: the weight that the held-out half likes best, learned from all."""
        first = problem.first_policy
        if first is None:
            return []
        count = _count_up(report, self.iterations * (2 * len(self.kl_weights) + 1))
        trials = self._try_weights(key, problem, first, count)
        best = max(trials, key=lambda trial: trial.held_out)
        if best.refused:
            return [self._propose(best.weight, best.policy, (best.held_out,), _refuse(best))]
        candidate = self._learn_whole(key, problem, first, best.weight, count)
        safer = [one.weight for one in trials if one.weight > best.weight and not one.refused]
        if not candidate.problem or not safer:
            return [candidate]
        again = self._learn_whole(key, problem, first, min(safer), count)
        begun = f"begun again with KL weight {min(safer):g}"
        if not again.problem:
            told = f"{again.origin}, {begun}: {candidate.problem}"
            return [dataclasses.replace(again, origin=told)]
        sentence = f"{candidate.problem} It was {begun}, and dropped: {again.problem}"
        return [dataclasses.replace(again, problem=sentence)]

    def _learn_whole(
        self,
        key: PRNGKeyArray,
        problem: LearningProblem,
        first: Policy,
        weight: float,
        count: Iterator[None],
    ) -> Candidate:
        """From all episodes, and examined."""
        look = LinearLook.take(key, problem, problem.log, self.sets)
        learned, curve = self._iterate(key, look, first, weight, count)
        policy = self._quieten(learned)
        gain = look.find_net_gain(policy)
        complaint = find_saturation(policy, problem) or find_departure(policy, problem)
        if not complaint and not math.isfinite(gain):
            complaint = "Its value is beyond what the rewards of the log allow."
        if not complaint and not gain > 0.0:
            complaint = f"The episodes it learned from say that it gains {gain:.3g}."
        return self._propose(weight, policy, curve, complaint)

    def _propose(
        self, weight: float, policy: Policy, curve: tuple[float, ...], complaint: str
    ) -> Candidate:
        origin = f"least-squares policy iteration with KL weight {weight:g}"
        if self.noise < 1.0:
            origin += f", with {self.noise:g} of its noise"
        return Candidate(self.name, policy, origin, curve, "all iterations done", complaint)

    def _try_weights(
        self, key: PRNGKeyArray, problem: LearningProblem, first: Policy, count: Iterator[None]
    ) -> list[Trial]:
        """Each weight on one half of the episodes, judged by the other half; both ways."""
        seed = int(jax.random.randint(key, (), 0, 2**31 - 1))
        halves = problem.log.split(0.5, seed=seed)
        looks = [LinearLook.take(key, problem, half, self.sets) for half in halves]
        trials = []
        for weight in self.kl_weights:
            claimed, held_out = [], []
            for own, other in (looks, looks[::-1]):
                policy = self._quieten(self._iterate(key, own, first, weight, count)[0])
                strange = bool(find_departure(policy, problem))
                claimed.append(own.find_net_gain(policy))
                held_out.append(-math.inf if strange else other.find_net_gain(policy))
            said = np.nan_to_num(held_out, nan=-math.inf)
            refused = bool(np.all(said <= 0.0) or np.any(np.isinf(said)))
            trials.append(
                Trial(weight, policy, float(np.mean(claimed)), float(np.mean(said)), refused)
            )
        return trials

    def _iterate(
        self,
        key: PRNGKeyArray,
        look: LinearLook,
        first: Policy,
        weight: float,
        count: Iterator[None],
    ) -> tuple[Policy, tuple[float, ...]]:
        """The average policy of the last half of the iterations, and net values after each.

        Policies and critics may circle around each other; averages of their weights do not.
        """
        problem, log = look.problem, look.log
        ending = float(np.mean(log.terminated))
        objective = Objective(
            problem.cost,
            problem.old_policy,
            give_full_support(problem.old_policy, log.observations[:CLONED_ROWS]),
            jnp.asarray(1.0 / (1.0 - problem.discount * (1.0 - ending)), jnp.float32),
            jnp.asarray(weight * look.spread, jnp.float32),
        )
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
        actor, critics, average = Actor.begin(first, self.learning_rate), look.old, first
        curve = []
        for iteration in range(self.iterations):
            rows = rng.integers(0, len(log), self.steps * BATCH)
            batches = np.asarray(log.observations[rows]).reshape(self.steps, BATCH, -1)
            step_key = jax.random.fold_in(key, iteration)
            actor = actor.ascend(objective, critics, jnp.asarray(batches), step_key)
            critics = look.solve(actor.policy)
            curve.append(look.find_net_value(actor.policy, critics))
            later = max(0, iteration - self.iterations // 2)
            average = polyak_average(average, actor.policy, later / (later + 1))
            next(count)
        return average, tuple(curve)

    def _quieten(self, policy: Policy) -> Policy:
        """The policy as it is proposed: with less noise, where it has some."""
        scaled = None if self.noise == 1.0 else scale_noise(policy, self.noise)
        return policy if scaled is None else scaled


def _refuse(best: Trial) -> str:
    """Why nothing is proposed; the weights that were tried are safer and safer settings."""
    if not math.isfinite(best.held_out):
        return "With none of its settings are its values within what the log's rewards allow."
    return (
        f"It promises a net gain of {best.claimed:.3g} on the episodes it learned from; others say "
        f"{best.held_out:.3g}. No setting did better, so it was dropped."
    )


def _count_up(report: Progress, total: int) -> Iterator[None]:
    for number in range(total):
        report(ProgressEvent("learning", number, total, 0))
        yield
    while True:
        yield
