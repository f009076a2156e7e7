"""Episodes of the log, weighted by how likely the candidate is to act like that.

The weighted doubly robust estimate (Thomas and Brunskill, 2016) of a policy's value walks along the
episodes. At step t an episode weighs w_t ∝ Π_{u ≤ t} π(a_u|s_u) / π_o(a_u|s_u), normalised over the
episodes, and corrects what the critics promised by what was seen:

    Σ_t γ^t Σ_i [ w_t^i (r_t^i - Q(s_t^i, a_t^i)) + w_{t-1}^i V(s_t^i) ].

Critics that are wrong are corrected where weights are even, weights that are wild matter little
where critics are right. Products of many ratios are wild. By state, an episode weighs the mean of
the products over all ways to where it is (Kallus and Uehara, 2020); many more episodes then carry
the weight. That mean has to be learned, and holds only where the observation is all that matters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from nacre.estimators.behaviour import find_behaviour, limit_ratios, read_log_probabilities
from nacre.estimators.state_weights import find_state_weights
from nacre.estimators.unrolled import Unrolled, unroll
from nacre.logs import Log
from nacre.policies.distributions import ActionDistribution
from nacre.policies.policy import Policy, ask

Numbers = NDArray[np.float64]

MOST_EPISODES = 2000
NEGLIGIBLE = 1e-3
"""Steps discounted below this are left to the critics."""
N_RESAMPLES = 200
MOST_ROWS = 200_000
"""For weights by state: their features are held in memory."""
CHUNK = 4096
LARGEST_LOG_RATIO = 50.0


class ActionValues(Protocol):
    """Critics that can be asked for a policy's values."""

    def read(
        self, states: NDArray[Any], actions: NDArray[Any], policy: Policy
    ) -> tuple[Numbers, Numbers]:
        """Q at the given actions, and V of the policy; each (n,)."""
        ...


@dataclass(frozen=True)
class Weights:
    """Episodes side by side and how much each weighs at each step.

    Args:
        log: The episodes, a sample of them where there are very many.
        table: Their rows, a column for each step.
        logs: (E, T) logarithms of the candidate's weights.
        old_logs: (E, T) logarithms of the old policy's; zero where it made all episodes.
        effective: Effective number of episodes at the step where it is smallest.
    """

    log: Log
    table: Unrolled
    logs: Numbers
    old_logs: Numbers
    effective: float


@dataclass(frozen=True)
class Weighted:
    """The gain by weighted episodes, at their own starts, and its error by resampling them."""

    gain: float
    standard_error: float


def find_weights(
    log: Log,
    behaviours: Sequence[Policy],
    new_policy: Policy,
    *,
    discount: float,
    seed: int = 0,
    by_state: bool = False,
) -> Weights:
    """How much each episode weighs for a candidate, and for the old policy.

    Args:
        log: Episodes that the candidate was not learned from.
        behaviours: The policies that made them, the old one first.
        new_policy: The candidate.
        discount: γ.
        seed: Everything random follows from it.
        by_state: Weigh episodes by where they are.
    """
    rng = np.random.default_rng(seed)
    longest = max(1, math.ceil(math.log(NEGLIGIBLE) / math.log(discount))) if discount > 0 else 1
    n_steps = min(longest, int(log.episode_lengths.max()))
    most = min(MOST_EPISODES, max(2, MOST_ROWS // n_steps)) if by_state else MOST_EPISODES
    if log.n_episodes > most:
        log = log.select(np.sort(rng.choice(log.n_episodes, most, replace=False)))
    table = unroll(log, min(n_steps, int(log.episode_lengths.max())))
    old_policy, *further = behaviours
    if further:
        acted = find_behaviour(log, behaviours)
        ratios, old_ratios = (
            _fill(table, limit_ratios(read_log_probabilities(log, one) - acted))
            for one in (new_policy, old_policy)
        )
    else:
        ratios = _read_ratios(log, table, old_policy, new_policy)
        old_ratios = np.zeros_like(ratios)
    if by_state:
        logs = find_state_weights(log, table, ratios, discount, seed)
    else:
        logs = np.cumsum(ratios, axis=1)
    # The old policy made a part of the episodes: its weights are never large.
    old_logs = np.cumsum(old_ratios, axis=1)
    effective = min(find_effective(logs), find_effective(old_logs))
    return Weights(log, table, logs, old_logs, effective)


def weigh_episodes(
    weights: Weights,
    old_policy: Policy,
    new_policy: Policy,
    old_critics: ActionValues,
    new_critics: ActionValues,
    *,
    discount: float,
    seed: int = 0,
) -> Weighted:
    """The gain of a candidate by weighted episodes.

    Args:
        weights: The episodes and what they weigh.
        old_policy: The policy in force.
        new_policy: The candidate.
        old_critics: ActionValues of the old policy, fitted to other episodes.
        new_critics: ActionValues of the candidate, fitted to other episodes.
        discount: γ.
        seed: Everything random follows from it.
    """
    log, table, logs = weights.log, weights.table, weights.logs
    n = log.n_episodes
    rng = np.random.default_rng([seed, n])
    drawn = rng.multinomial(n, np.full(n, 1.0 / n), N_RESAMPLES).astype(np.float64)
    counts = np.concatenate([np.ones((1, n)), drawn])
    rest = counts, discount
    gains = _estimate(log, table, logs, new_policy, new_critics, *rest) - _estimate(
        log, table, weights.old_logs, old_policy, old_critics, *rest
    )
    return Weighted(float(gains[0]), float(np.std(gains[1:], ddof=1)))


def find_effective(logs: Numbers) -> float:
    """Effective number of episodes, (Σ w)² / Σ w², at the step where it is smallest.

    Weights have mean one. Where all of them vanish together nobody follows the candidate any more:
    there the number is multiplied by their mean.
    """
    largest = logs.max(axis=0)
    weights = np.exp(logs - largest)
    even = weights.sum(axis=0) ** 2 / (weights**2).sum(axis=0)
    mean = np.exp(np.minimum(largest + np.log(weights.mean(axis=0)), 0.0))
    return float(np.min(even * mean))


def _read_ratios(log: Log, table: Unrolled, old_policy: Policy, new_policy: Policy) -> Numbers:
    """(E, T) log π(a|s) - log π_o(a|s), zero where an episode is over."""

    def read(rows: NDArray[np.int64]) -> tuple[Array]:
        states, actions = jnp.asarray(log.observations[rows]), jnp.asarray(log.actions[rows])
        return _log_ratios(ask(old_policy, states), ask(new_policy, states), actions)

    ratios = np.zeros(table.rows.shape)
    ratios[table.seen] = _by_chunks(read, table.rows[table.seen])[0]
    return ratios


def _fill(table: Unrolled, numbers: Numbers) -> Numbers:
    """(E, T) numbers of the log's rows (N,), zero where an episode is over."""
    return np.where(table.seen, numbers[table.rows], 0.0)


def _estimate(
    log: Log,
    table: Unrolled,
    logs: Numbers,
    policy: Policy,
    critics: ActionValues,
    counts: Numbers,
    discount: float,
) -> Numbers:
    """(B,) estimates, one for each row of counts (B, E); `logs` are those of the weights."""

    def read(states: Any, rows: NDArray[np.int64]) -> list[Numbers]:
        return _by_chunks(
            lambda some: critics.read(np.asarray(states[some]), log.actions[some], policy), rows
        )

    rows = table.rows[table.seen]
    q, v = np.zeros(table.rows.shape), np.zeros(table.rows.shape)
    q[table.seen], v[table.seen] = read(log.observations, rows)
    surprise = np.zeros(table.rows.shape)
    surprise[table.seen] = np.asarray(log.rewards[rows], np.float64) - q[table.seen]
    ends = table.rows[table.last]
    goes_on = ends[~np.asarray(log.terminated[ends])]
    if len(goes_on):
        beyond = read(log.next_observations, goes_on)[1]
        surprise[table.last & np.isin(table.rows, goes_on)] += discount * beyond
    before = np.concatenate([np.zeros((len(logs), 1)), logs[:, :-1]], axis=1)
    gamma = discount ** np.arange(logs.shape[1])
    found = _average(logs, surprise, counts) + _average(before, v, counts)
    return np.asarray(found @ gamma)


def _average(logs: Numbers, terms: Numbers, counts: Numbers) -> Numbers:
    """(B, T) means of terms with weights exp(logs), normalised at each step."""
    weights = np.exp(logs - logs.max(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((counts @ (weights * terms)) / (counts @ weights))


def _by_chunks(
    read: Callable[[NDArray[np.int64]], tuple[Any, ...]], rows: NDArray[np.int64]
) -> list[Numbers]:
    """Results for all rows; chunks are filled up with row 0 so that all have one shape."""
    parts = []
    for begin in range(0, len(rows), CHUNK):
        some = rows[begin : begin + CHUNK]
        size = len(some)
        if len(rows) > CHUNK:
            some = np.concatenate([some, np.zeros(CHUNK - size, some.dtype)])
        parts.append([np.asarray(one, np.float64)[:size] for one in read(some)])
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


@eqx.filter_jit
def _log_ratios(
    old: ActionDistribution, new: ActionDistribution, actions: Array
) -> tuple[Float[Array, " rows"]]:
    ratio = new.log_prob(actions) - old.log_prob(actions)
    return (jnp.clip(jnp.nan_to_num(ratio), -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO),)
