"""Bandit logs where the truth is known: whole advices, and two plain estimates beside them.

Contexts are three numbers. What an action earns is linear in them with a step, and noisy. The old
policy is a softmax of another linear score. Every advice learns its own candidates; the plain
estimates are asked about the candidate that the advice is about, on the episodes of the test part
that it was compared on. A clear gain exceeds the cost by a tenth of the spread of the rewards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray
from scipy import stats

from nacre.advice.pipeline import advise
from nacre.advice.result import Advice
from nacre.costs import LogStates, TransportCost, groups
from nacre.estimators.outcome_model import fit_outcomes
from nacre.experiments.records import Record
from nacre.logs import Log
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.networks import MLP
from nacre.policies.policy import Policy, Signature, ask

Floats = NDArray[np.float64]

SIZE = 3
ACTIONS = (4, 8, 12, 20)
ROWS = (1_000, 3_000, 10_000, 30_000, 100_000)
PROPENSITIES = ("known", "estimated")
FRESH = 200_000
"""Contexts at which the truth is computed."""
FOLDS = 5
CLEAR = 0.1
"""In standard deviations of the reward."""
LEVEL = 0.95


@dataclass(frozen=True)
class Bandit:
    """What actions earn on average, and the policy in force.

    Args:
        slopes: (d, A) of the mean reward.
        steps: (A,) what a positive first number adds.
        old: The policy in force.
        weight: Learning weight of the cost.
    """

    slopes: Floats
    steps: Floats
    old: MLPPolicy
    weight: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Bandit:
        """One with as many actions as a draw says."""
        n = int(rng.choice(ACTIONS))
        signature = Signature(Box(-np.inf, np.inf, (SIZE,), np.float32), Discrete(n))
        weight = jnp.asarray(rng.normal(scale=0.7, size=(SIZE, n)), jnp.float32)
        bias = jnp.asarray(rng.normal(scale=0.5, size=n), jnp.float32)
        old = MLPPolicy(MLP((weight,), (bias,), ("identity",)), None, signature, "categorical")
        scale = float(rng.choice([0.0, 0.3, 1.0]))
        slopes = rng.normal(scale=scale, size=(SIZE, n))
        return cls(slopes, scale * rng.normal(size=n), old, float(rng.uniform(0.05, 0.5)))

    def find_means(self, contexts: NDArray[np.floating[Any]]) -> Floats:
        """(n, A) what each action earns on average."""
        return np.asarray(contexts @ self.slopes + (contexts[:, :1] > 0) * self.steps)

    def sample(self, rng: np.random.Generator, n: int) -> Log:
        """Episodes of one step."""
        contexts = rng.normal(size=(n, SIZE)).astype(np.float32)
        chances = ask_chances(self.old, contexts)
        actions = (rng.random(n)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
        actions = np.minimum(actions, chances.shape[1] - 1)
        rewards = self.find_means(contexts)[np.arange(n), actions] + rng.normal(size=n)
        signature = self.old.signature
        return Log.from_arrays(
            contexts,
            actions,
            rewards,
            np.ones(n, np.bool_),
            observation_space=signature.observation_space,
            action_space=signature.action_space,
        )

    def find_gain(self, candidate: Policy, rng: np.random.Generator) -> float:
        """What a candidate truly gains, before the cost."""
        contexts = rng.normal(size=(FRESH, SIZE)).astype(np.float32)
        more = ask_chances(candidate, contexts) - ask_chances(self.old, contexts)
        return float(np.mean(np.sum(more * self.find_means(contexts), axis=1)))


def ask_chances(policy: Policy, contexts: NDArray[Any]) -> Floats:
    """(n, A) what a policy does."""
    said: Any = ask(policy, jnp.asarray(contexts))
    return np.asarray(said.probabilities, np.float64)


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Propensities known and estimated for each seed."""
    return [
        {"seed": seed, "propensities": propensities, "rows": ROWS[seed % len(ROWS)]}
        for seed in seeds
        for propensities in PROPENSITIES
    ]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """One advice, what the plain estimates say, and what is true."""
    rng = np.random.default_rng([run["seed"], PROPENSITIES.index(run["propensities"])])
    bandit = Bandit.draw(rng)
    log = bandit.sample(rng, run["rows"])
    sets = [[action] for action in range(bandit.old.signature.action_size)]
    cost = TransportCost(bandit.weight, 0.0, groups.indices(sets), state_measure=LogStates())
    given = bandit.old if run["propensities"] == "known" else "clone"
    advice = advise(log, given, cost, seed=run["seed"], progress=False)
    price = advice.record.cost.total
    truth = bandit.find_gain(advice.new_policy, rng) - price
    test = log.split(advice.setting.config.learning_share, seed=run["seed"])[1]
    plain = estimate_plainly(rng, test, advice)
    record: Record = {
        **run,
        "actions": len(sets),
        "verdict": advice.verdict,
        "truth": truth,
        "clear": bool(truth > CLEAR * float(np.std(log.rewards))),
        "nacre": _compare(advice.net_gain.low, advice.net_gain.high, truth),
    }
    for name, (low, high) in plain.items():
        record[name] = _compare(low - price, high - price, truth)
    return record


def estimate_plainly(
    rng: np.random.Generator, test: Log, advice: Advice
) -> dict[str, tuple[float, float]]:
    """Bounds of the gain by a plain doubly robust and by a weighted estimate, without any clipping.

    Lower and upper bound are each right with the probability that the advice asks for.
    """
    old, new = (
        ask_chances(one, test.observations) for one in (advice.old_policy, advice.new_policy)
    )
    rows, taken = np.arange(len(test)), np.asarray(test.actions)
    weights = new[rows, taken] / np.maximum(old[rows, taken], 1e-12)
    rewards = np.asarray(test.rewards, np.float64)
    folds = rng.permutation(rows % FOLDS)
    predicted = np.asarray(fit_outcomes(rng, test, folds, FOLDS).coefficients, np.float64)
    robust = np.sum(new * predicted, axis=1) + weights * (rewards - predicted[rows, taken])
    z = float(stats.norm.ppf(LEVEL))
    bounds = {}
    for name, gains in (("doubly_robust", robust - rewards), ("weighted", (weights - 1) * rewards)):
        mean, error = float(gains.mean()), float(gains.std(ddof=1) / np.sqrt(len(gains)))
        bounds[name] = (mean - z * error, mean + z * error)
    return bounds


def _compare(low: float | None, high: float | None, truth: float) -> dict[str, Any]:
    low = -np.inf if low is None else low
    high = np.inf if high is None else high
    return {"covers": bool(low <= truth <= high), "switches": bool(low > 0)}


def write_table(records: Sequence[Record]) -> str:
    """A row for each estimate and each kind of propensities."""
    lines = [
        "| estimate | propensities | logs | truth within the interval | wrong switches "
        "| clear gains taken |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in ("nacre", "doubly_robust", "weighted"):
        for propensities in PROPENSITIES:
            chosen = [one for one in records if one["propensities"] == propensities]
            if not chosen:
                continue
            covered = sum(one[name]["covers"] for one in chosen)
            wrong = sum(_switches(one, name) and one["truth"] <= 0 for one in chosen)
            clear = [one for one in chosen if one["clear"]]
            won = sum(_switches(one, name) for one in clear)
            lines.append(
                f"| {name.replace('_', ' ')} | {propensities} | {len(chosen)} "
                f"| {covered} | {wrong} | {won} of {len(clear)} |"
            )
    return "\n".join(lines)


def _switches(record: Record, name: str) -> bool:
    return bool(record["verdict"] == "switch" if name == "nacre" else record[name]["switches"])
