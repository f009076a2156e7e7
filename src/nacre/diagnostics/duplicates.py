"""Repeated episodes: a trajectory that is there twice carries its information once.

Copies are found by the hash of an episode's rows; near copies (written by another program, with
other rounding) by equal actions and rewards and observations equal to float noise.

Not every repeat is a copy. Short episodes of a few states, actions and rewards repeat by chance,
and then every one of them counts: taking a coin's heads once and its tails once would make any
coin fair. Chance is what the log's own frequencies allow: an episode has probability
q = Π π̂(a|s) p̂(r, s' | s, a) given its start, and m repeats among n episodes from that start are
chance if a binomial number of n - 1 draws reaches m - 1 with a probability of at least 1 in 1000.
With q = 1 nothing was left to chance (a deterministic policy in a deterministic world): such a
trajectory, too, counts once. How often it was seen says something about the starts only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nacre.diagnostics.near_repeats import merge_near_repeats
from nacre.logs import Log

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

BLOCK_ROWS = 2**18
CHANCE = 1e-3
"""Repeats that are rarer than this by chance are copies."""
VALUES_REPEAT = 20.0
"""Vectors and rewards are discrete if each value is there so many times on average."""


@dataclass(frozen=True)
class Duplicates:
    """Which episodes repeat others.

    Args:
        clusters: (E,) the cluster of each episode, numbered in order of first appearance.
            Episodes that agree by chance are clusters of their own.
        n_exact: Episodes that repeat an earlier one to the last digit.
        n_near: Episodes that repeat an earlier one up to float noise.
        n_chance: Episodes that equal an earlier one by chance; they count.
    """

    clusters: Integers
    n_exact: int
    n_near: int
    n_chance: int

    @property
    def keep(self) -> Integers:
        """(C,) the first episode of each cluster, in the order of the log."""
        return np.asarray(np.unique(self.clusters, return_index=True)[1], np.int64)

    @property
    def counts(self) -> Integers:
        """(C,) how many episodes each kept one stands for."""
        return np.bincount(self.clusters)

    @property
    def n_repeated(self) -> int:
        """Episodes that do not count."""
        return len(self.clusters) - len(self.counts)

    def describe(self) -> str:
        """One sentence for people."""
        if not self.n_repeated:
            return "no episode repeats another"
        near = f", {self.n_near} of them up to rounding" if self.n_near else ""
        return (
            f"{self.n_repeated} of {len(self.clusters)} episodes repeat earlier ones{near}: "
            f"{len(self.counts)} different episodes count"
        )

    def as_json(self) -> dict[str, Any]:
        """Numbers for the record."""
        return {
            "episodes": len(self.clusters),
            "different": len(self.counts),
            "exact": self.n_exact,
            "near": self.n_near,
            "by_chance": self.n_chance,
            "largest_cluster": int(self.counts.max()),
        }


def find_duplicates(log: Log) -> Duplicates:
    """Find episodes that repeat others: copies, near copies, and what cannot vary."""
    exact, actions_alike = _hash_episodes(log)
    _, first, exact_id = np.unique(exact, return_index=True, return_inverse=True)
    chance = np.zeros(log.n_episodes, bool)
    if len(first) < log.n_episodes:
        chance = _find_chance(log, exact_id, _hash_rows(log))
    # Episodes that agree by chance are told apart by their own number.
    identity = np.where(chance, len(first) + np.arange(log.n_episodes), exact_id)
    n_exact = int(log.n_episodes - len(np.unique(identity)))
    merged = merge_near_repeats(log, identity, actions_alike, ~chance)
    _, leader, cluster = np.unique(merged, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(leader))
    n_near = int(log.n_episodes - len(leader)) - n_exact
    earlier = np.ones(log.n_episodes, bool)
    earlier[first] = False
    return Duplicates(rank[cluster], n_exact, n_near, int((chance & earlier).sum()))


def _hash_episodes(log: Log) -> tuple[Hashes, Hashes]:
    """(E,) hashes of all rows of each episode, and of its actions, rewards and ends only."""
    whole, alike = np.zeros(log.n_episodes, np.uint64), np.zeros(log.n_episodes, np.uint64)
    for episodes, rows, offsets in iterate_episodes(log):
        time = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
        place = mix(time.astype(np.uint64) + np.uint64(7))
        done = mix(
            hash_values(np.asarray(log.actions[rows]), 2)
            + hash_values(log.rewards[rows], 3)
            + hash_values(log.terminated[rows], 4)
            + place
        )
        state = hash_values(np.asarray(log.observations[rows]), 1)
        whole[episodes] = np.add.reduceat(mix(done ^ mix(state + place)), offsets[:-1])
        alike[episodes] = np.add.reduceat(done, offsets[:-1])
    return whole, alike


def _hash_rows(log: Log) -> Hashes:
    """(4, N) hashes of the state, of state and action, of the reward, of successor and end."""
    parts = np.zeros((4, len(log)), np.uint64)
    for _, rows, _ in iterate_episodes(log):
        state = hash_values(np.asarray(log.observations[rows]), 1)
        action = hash_values(np.asarray(log.actions[rows]), 2)
        ended = log.terminated[rows]
        follows = hash_values(np.asarray(log.next_observations[rows]), 1)
        # After the end of an episode no state follows, whatever the log holds there.
        follows = np.where(ended, np.uint64(0), follows) + hash_values(ended, 4)
        parts[:, rows] = state, mix(state + action), hash_values(log.rewards[rows], 3), mix(follows)
    return parts


def iterate_episodes(log: Log) -> Iterator[tuple[slice, slice, Integers]]:
    """Some whole episodes at a time: their numbers, their rows, and offsets from the first row."""
    first = 0
    while first < log.n_episodes:
        begin = int(log.offsets[first])
        stop = int(np.searchsorted(log.offsets, begin + BLOCK_ROWS, side="right")) - 1
        stop = max(stop, first + 1)
        offsets = np.asarray(log.offsets[first : stop + 1] - begin)
        yield slice(first, stop), slice(begin, int(log.offsets[stop])), offsets
        first = stop


def mix(values: NDArray[Any]) -> Hashes:
    """Scramble 64 bits, one to one (the finaliser of SplitMix64)."""
    mixed: Hashes = np.asarray(values).astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def hash_values(values: NDArray[Any], salt: int) -> Hashes:
    """(N,) 64-bit hashes of the rows of values (N,) or (N, d); -0.0 is 0.0."""
    columns = values.reshape(len(values), -1)
    if columns.dtype.kind == "f":
        bits = (columns.astype(np.float32) + np.float32(0)).view(np.uint32).astype(np.uint64)
    else:
        bits = columns.astype(np.uint64)
    total = np.full(len(columns), salt * 0x9E3779B97F4A7C15 % 2**64, np.uint64)
    for column in bits.T:
        total = mix(total * np.uint64(31) + column + np.uint64(0x9E3779B97F4A7C15))
    return total


def _find_chance(log: Log, identity: Integers, parts: Hashes) -> NDArray[np.bool_]:
    """(E,) whether an episode's repeats are no more than chance allows.

    Args:
        log: The log.
        identity: (E,) equal for equal episodes.
        parts: (4, N) hashes of state, (state, action), reward, and successor and end.
    """
    state, pair, reward, follows = parts
    _, state_id, visits = np.unique(state, return_inverse=True, return_counts=True)
    never = np.zeros(log.n_episodes, bool)
    if log.observations.ndim > 1 and len(log) < VALUES_REPEAT * len(visits):
        # Real-valued vectors do not meet twice by chance.
        return never
    logs = _log_shares(pair, visits[state_id]) + _log_shares(mix(pair + follows), _count_of(pair))
    logs += _reward_log_shares(mix(pair + follows), reward)
    probability = np.exp(np.add.reduceat(logs, log.offsets[:-1]))
    alike = np.bincount(identity)[identity]
    from_start = np.bincount(state_id[log.offsets[:-1]], minlength=len(visits))[
        state_id[log.offsets[:-1]]
    ]
    likely = stats.binom.sf(alike - 2, from_start - 1, np.minimum(probability, 1.0)) >= CHANCE
    # A probability of one is not chance: nothing could have gone another way.
    return np.asarray((alike > 1) & likely & (probability < 1.0 - 1e-9))


def _count_of(values: Hashes) -> Integers:
    """(N,) how often each value is there."""
    _, index, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray(counts[index])


def _log_shares(values: Hashes, whole: Integers) -> NDArray[np.float64]:
    return np.log(_count_of(values) / whole)


def _reward_log_shares(context: Hashes, reward: Hashes) -> NDArray[np.float64]:
    """(N,) log p̂(r | s, a, s'); zero where only one reward was ever seen there."""
    seen, whole = _count_of(mix(context + reward)), _count_of(context)
    logs = np.log(seen / whole)
    if len(reward) < VALUES_REPEAT * len(np.unique(reward)):
        # Real-valued noise: no value comes back by chance.
        logs = np.where(seen < whole, -np.inf, 0.0)
    return np.asarray(logs)
