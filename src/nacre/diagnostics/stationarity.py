"""Does the log drift? Rewards, dynamics, the acting policy and starts, earlier against later.

Every estimator takes all episodes for draws of the same world and the same policy. Four tests ask
whether that holds: rewards given state and action, what follows given state and action, the action
given the state, and the first state. Together they alarm wrongly with at most the stated
probability: each has a quarter of the level (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from nacre.diagnostics.change_points import NO_CHANGE, Change, find_change
from nacre.diagnostics.table_scores import score_numbers, score_outcomes
from nacre.diagnostics.units import LEAST_UNITS, Units, find_units
from nacre.diagnostics.vector_scores import find_residuals, one_hot, score_residuals, standardise
from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.distributions.interface import DiscreteDistribution
from nacre.policies.policy import Policy, ask

Floats = NDArray[np.float64]
Kind = Literal["rewards", "dynamics", "policy", "starts"]
KINDS: tuple[Kind, ...] = ("rewards", "dynamics", "policy", "starts")
MEANINGS = {
    "rewards": "the rewards for the same states and actions",
    "dynamics": "what follows the same states and actions",
    "policy": "the actions taken in the same states",
    "starts": "the states in which episodes start",
}
LEVEL = 0.01
MOST_ROWS = 20_000
"""Rows of vectors that are looked at; tables are counted whole."""


@dataclass(frozen=True)
class Drift:
    """What changed between earlier and later episodes.

    Args:
        level: Probability of any wrong alarm if nothing drifts.
        tested: Whether there are enough episodes (or rows of long ones) to test.
        by_episodes: Whether the level holds exactly, by whole episodes; with blocks of a few long
            episodes it holds as far as the blocks are independent.
        changes: What the test of each of `KINDS` says; its units are episodes.
    """

    level: float
    tested: bool
    by_episodes: bool
    changes: dict[Kind, Change]

    @property
    def found(self) -> tuple[Kind, ...]:
        """The kinds that drift."""
        limit = self.level / len(KINDS)
        return tuple(kind for kind in KINDS if self.changes[kind].p_value <= limit)

    @property
    def since(self) -> int:
        """The first episode after the last of the changes found; 0 where there is none."""
        return max((self.changes[kind].unit for kind in self.found), default=0)

    def describe(self) -> str:
        """One sentence for people."""
        if not self.tested:
            return f"too few episodes to test for drift (at least {LEAST_UNITS})"
        if not self.found:
            return "no drift between earlier and later episodes"
        parts = []
        for kind in self.found:
            change = self.changes[kind]
            what = "go up and down" if change.alternates else f"changed near episode {change.unit}"
            parts.append(f"{MEANINGS[kind]} {what} (p = {change.p_value:.2g})")
        return "; ".join(parts)

    def renumber(self, episodes: NDArray[np.int64]) -> Drift:
        """The same where the log that was tested holds these episodes of a larger one.

        Starts were looked at in the larger one.
        """
        changes = {
            kind: change
            if kind == "starts" or change.alternates
            else replace(change, unit=int(episodes[change.unit]))
            for kind, change in self.changes.items()
        }
        return replace(self, changes=changes)

    def as_json(self) -> dict[str, Any]:
        """Numbers for the record."""
        return {
            "level": self.level,
            "tested": self.tested,
            "by_episodes": self.by_episodes,
            "found": list(self.found),
            "since": self.since,
        } | {
            kind: {
                "p_value": change.p_value,
                "size": change.size,
                "episode": change.unit,
                "alternates": change.alternates,
            }
            for kind, change in self.changes.items()
        }


def find_drift(
    log: Log,
    policy: Policy | None = None,
    *,
    level: float = LEVEL,
    seed: int,
    whole: Log | None = None,
) -> Drift:
    """Test a log for drift; episodes have to be in the order in which they happened.

    Args:
        log: The log.
        policy: The given old policy; what it explains of the actions need not be fitted.
        level: Probability of a wrong alarm by any of the tests.
        seed: Of the rows looked at, the random features and the random orders.
        whole: The log with the episodes that do not count, where there are some. Frequent starts
            from which nothing is left to chance would else be there at first only.
    """
    if not 0 < level < 1:
        raise InputError(f"level {level}: a probability of a wrong alarm; give 0.01, say")
    units = find_units(log, seed)
    if units is None:
        return Drift(level, False, log.n_episodes >= LEAST_UNITS, dict.fromkeys(KINDS, NO_CHANGE))
    tables = isinstance(log.observation_space, Discrete) and isinstance(log.action_space, Discrete)
    scores = _score_tables(log, units) if tables else _score_vectors(log, units, policy, seed)
    changes: dict[Kind, Change] = {}
    for number, (kind, (columns, n_pooled)) in enumerate(scores.items()):
        # Blocks of one episode depend on their neighbours.
        change = find_change(columns, n_pooled, seed + number, neighbours=units.are_episodes)
        changes[kind] = _name_episode(change, units)
    changes["starts"] = _compare_starts(whole or log, seed)
    return Drift(level, True, units.are_episodes, changes)


def _name_episode(change: Change, units: Units) -> Change:
    """The same with the first episode of its unit."""
    told = change.p_value < 1 and not change.alternates
    return replace(change, unit=int(units.first_episodes[change.unit]) if told else 0)


def _compare_starts(log: Log, seed: int) -> Change:
    """Whether episodes start elsewhere; a few long ones do not tell.

    Where a log is one stream that was cut, neighbouring starts depend on each other: that good and
    poor times take turns is not asked here.
    """
    units = find_units(log, seed)
    if units is None or not units.are_episodes:
        return NO_CHANGE
    rows = log.offsets[:-1][units.of_row[log.offsets[:-1]] >= 0]
    if len(rows) > MOST_ROWS and log.observations.ndim > 1:
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
    unit, starts = units.of_row[rows], np.asarray(log.observations[rows])
    if starts.ndim == 1:
        nothing = np.zeros(len(rows), np.int64)
        surprise, counts = score_outcomes(unit, len(units), nothing, starts.astype(np.int64))
        columns, n_pooled = np.concatenate([surprise, counts], axis=1), 1
    else:
        places = standardise(starts.astype(np.float64))
        columns, n_pooled = score_residuals(unit, len(units), places, places, seed), places.shape[1]
    return _name_episode(find_change(columns, n_pooled, seed + len(KINDS) - 1), units)


def _score_tables(log: Log, units: Units) -> dict[Kind, tuple[Floats, int]]:
    """Scores (units, columns) of each kind, and how many of the columns are pooled."""
    n_units, kept = len(units), units.of_row >= 0
    unit = units.of_row[kept]
    states, actions, successors = (
        np.asarray(values)[kept].astype(np.int64)
        for values in (log.observations, log.actions, log.next_observations)
    )
    ended = log.terminated[kept]
    pair = states * (int(actions.max()) + 1) + actions
    rewards = score_numbers(unit, n_units, pair, log.rewards[kept].astype(np.float64))
    # After the end of an episode no state follows, whatever the log holds there.
    follows = np.where(ended, 0, successors + 1)
    surprise, moves = score_outcomes(unit, n_units, pair, follows)
    ends = score_numbers(unit, n_units, pair, ended.astype(np.float64))[:, :2]
    unusual, choices = score_outcomes(unit, n_units, states, actions)
    tendency = np.column_stack(
        [
            score_numbers(unit, n_units, states, (actions == action).astype(np.float64))[:, 0]
            for action in np.unique(actions)[:16]
        ]
    )
    return {
        "rewards": (rewards, 2),
        "dynamics": (np.concatenate([surprise, ends, moves], axis=1), 3),
        "policy": (
            np.concatenate([unusual, tendency, choices], axis=1),
            1 + tendency.shape[1],
        ),
    }


def _score_vectors(
    log: Log, units: Units, policy: Policy | None, seed: int
) -> dict[Kind, tuple[Floats, int]]:
    """The same by regression, where states or actions are vectors."""
    rows = np.flatnonzero(units.of_row >= 0)
    if len(rows) > MOST_ROWS:
        rng = np.random.default_rng(seed)
        rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
    n_units, unit = len(units), units.of_row[rows]
    observations, actions = np.asarray(log.observations[rows]), np.asarray(log.actions[rows])
    states, chosen = _encode(observations), _encode(actions)
    both = np.concatenate([states, chosen], axis=1)
    rewards = find_residuals(both, log.rewards[rows, None].astype(np.float64), seed)
    followed = _find_moves(log, rows, observations)
    moves = find_residuals(both, followed, seed)
    decided = _find_decisions(observations, actions, policy)
    choices = find_residuals(states, decided, seed)
    if not isinstance(log.action_space, Discrete) and choices.shape[1]:
        # More or less noise around the same mean.
        choices = np.concatenate([choices, find_residuals(states, choices**2, seed)], axis=1)
    return {
        "rewards": (score_residuals(unit, n_units, rewards, both, seed), rewards.shape[1]),
        "dynamics": (score_residuals(unit, n_units, moves, both, seed), moves.shape[1]),
        "policy": (score_residuals(unit, n_units, choices, states, seed), choices.shape[1]),
    }


def _encode(values: NDArray[Any]) -> Floats:
    if values.ndim == 1:
        return one_hot(values)
    return standardise(values.astype(np.float64))


def _find_moves(log: Log, rows: NDArray[np.int64], observations: NDArray[Any]) -> Floats:
    """(rows, d + 1) what follows: s' - s in units of its spread, and whether the episode ended."""
    successors = np.asarray(log.next_observations[rows])
    ended = log.terminated[rows].astype(np.float64)
    if observations.ndim == 1:
        moves = one_hot(np.where(ended > 0, -1, successors))
        return np.column_stack([moves, ended])
    moves = successors.astype(np.float64) - observations
    # What a log holds after the end is not a state that was reached.
    moves[ended > 0] = 0.0
    return np.column_stack([standardise(moves), ended])


def _find_decisions(
    observations: NDArray[Any], actions: NDArray[Any], policy: Policy | None
) -> Floats:
    """(rows, t) actions less what the policy would do, and their log-probability under it."""
    taken = one_hot(actions) if actions.ndim == 1 else actions.astype(np.float64)
    if policy is None:
        return taken
    said = ask(policy, jnp.asarray(observations))
    if isinstance(said, DiscreteDistribution):
        probabilities = np.asarray(said.probabilities, np.float64)
        taken = np.eye(probabilities.shape[1])[actions] - probabilities
    else:
        taken = taken - np.asarray(said.mode(), np.float64)
    try:
        surprise = -np.asarray(said.log_prob(jnp.asarray(actions)), np.float64)
    except TypeError:
        # A point among densities has no density.
        return np.nan_to_num(taken)
    surprise = np.clip(np.nan_to_num(surprise, nan=20.0, posinf=20.0, neginf=-20.0), -20.0, 20.0)
    return np.nan_to_num(np.column_stack([taken, surprise]))
