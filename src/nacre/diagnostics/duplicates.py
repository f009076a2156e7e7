"""Repeated episodes: a trajectory that is there twice carries its information once.

Copies are found by the hash of an episode's rows. Near copies (written by another program, with
other rounding) have equal actions and rewards, and observations equal to float noise; or, where
states are discrete, equal states and actions, and rewards equal to a small share of their spread.

Not every repeat is a copy. Short episodes of a few states, actions and rewards repeat by chance,
and then every one of them counts: taking a coin's heads once and its tails once would make any
coin fair. Chance is what the log's own frequencies allow: an episode has probability
q = Π π̂(a|s) p̂(r, s' | s, a) given its start, and m repeats among n episodes from that start are
chance if a binomial number of n - 1 draws reaches m - 1 with a probability of at least 1 in 1000.
Where the whole log was written several times, only how often each episode is there tells it: all
numbers have a divisor. Then so many of each are one.

With q = 1 nothing was left to chance (a deterministic policy in a deterministic world): such a
trajectory, too, counts once. How often it was seen says something about the starts only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from nacre.diagnostics.multiples import find_multiple
from nacre.diagnostics.near_repeats import merge_near_repeats
from nacre.diagnostics.reward_values import VALUES_REPEAT, find_real, group_rewards
from nacre.logs import Log

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Bools = NDArray[np.bool_]

BLOCK_ROWS = 2**18
CHANCE = 1e-3
"""Repeats that are rarer than this by chance are copies."""


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
    exact, actions_alike, moves = _hash_episodes(log)
    _, first, exact_id = np.unique(exact, return_index=True, return_inverse=True)
    n_episodes = log.n_episodes
    identity, chance = np.asarray(exact_id, np.int64), np.zeros(n_episodes, bool)
    discrete = log.observations.ndim == 1
    if len(first) < n_episodes or (discrete and len(np.unique(moves)) < n_episodes):
        identity, chance = _tell_copies(log, identity, moves if discrete else None)
    merged = merge_near_repeats(log, identity, actions_alike, ~chance)
    _, leader, cluster = np.unique(merged, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(leader))
    earlier, kept = np.ones(n_episodes, bool), np.zeros(n_episodes, bool)
    earlier[first], kept[leader] = False, True
    n_exact = int((earlier & ~kept).sum())
    n_near = n_episodes - len(leader) - n_exact
    return Duplicates(rank[cluster], n_exact, n_near, int((earlier & kept).sum()))


def _tell_copies(log: Log, exact_id: Integers, moves: Hashes | None) -> tuple[Integers, Bools]:
    """(E,) equal numbers for copies, and whether an episode equals others by chance.

    Args:
        log: The log.
        exact_id: (E,) equal for equal episodes.
        moves: (E,) equal for equal states, actions and ends, where states are discrete.
    """
    parts = _hash_rows(log)
    context, own = mix(parts[1] + parts[3]), np.arange(log.n_episodes)
    rewards = np.asarray(log.rewards, np.float64)
    chance = _find_chance(log, exact_id, parts, real=find_real(rewards, context))
    names = np.where(chance, log.n_episodes + own, exact_id)
    copied = (np.bincount(exact_id)[exact_id] > 1) & ~chance
    if moves is not None:
        parts[2] = mix(group_rewards(rewards, context))
        time = _find_time(log)
        alike = np.add.reduceat(mix(parts[2] + mix(time + np.uint64(7))), log.offsets[:-1])
        _, near_id = np.unique(mix(moves + mix(alike)), return_inverse=True)
        by_chance = _find_chance(log, near_id, parts, real=np.zeros(len(log), bool))
        near = (np.bincount(near_id)[near_id] > 1) & ~by_chance
        names = np.where(near, 2 * log.n_episodes + near_id, names)
        copied |= near
        chance = (chance | by_chance) & ~copied
        exact_id = np.asarray(near_id, np.int64)
    if chance.any():
        times = find_multiple(np.bincount(exact_id), log.n_episodes)
        turn = count_earlier(exact_id) // times
        together = 3 * log.n_episodes + exact_id * log.n_episodes + turn
        names = np.where(chance & (times > 1), together, names)
    _, identity = np.unique(names, return_inverse=True)
    return np.asarray(identity, np.int64), chance


def _find_time(log: Log) -> Hashes:
    """(N,) the step of each row in its episode."""
    time = np.arange(len(log)) - np.repeat(log.offsets[:-1], log.episode_lengths)
    return time.astype(np.uint64)


def count_earlier(names: Integers) -> Integers:
    """(E,) how many earlier ones have the same name or number."""
    order = np.argsort(names, kind="stable")
    ranked = names[order]
    first = np.searchsorted(ranked, ranked)
    earlier = np.empty(len(names), np.int64)
    earlier[order] = np.arange(len(names)) - first
    return earlier


def _hash_episodes(log: Log) -> tuple[Hashes, Hashes, Hashes]:
    """(E,) hashes of all rows of each episode, without observations, and without rewards."""
    whole, alike, moves = np.zeros((3, log.n_episodes), np.uint64)
    for episodes, rows, offsets in log.episode_blocks(BLOCK_ROWS):
        time = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
        place = mix(time.astype(np.uint64) + np.uint64(7))
        acted = (
            hash_values(np.asarray(log.actions[rows]), 2)
            + hash_values(log.terminated[rows], 4)
            + place
        )
        done = mix(acted + hash_values(log.rewards[rows], 3))
        state = mix(hash_values(np.asarray(log.observations[rows]), 1) + place)
        whole[episodes] = np.add.reduceat(mix(done ^ state), offsets[:-1])
        alike[episodes] = np.add.reduceat(done, offsets[:-1])
        moves[episodes] = np.add.reduceat(mix(mix(acted) ^ state), offsets[:-1])
    return whole, alike, moves


def _hash_rows(log: Log) -> Hashes:
    """(4, N) hashes of the state, of state and action, of the reward, of successor and end."""
    parts = np.zeros((4, len(log)), np.uint64)
    for _, rows, _ in log.episode_blocks(BLOCK_ROWS):
        state = hash_values(np.asarray(log.observations[rows]), 1)
        action = hash_values(np.asarray(log.actions[rows]), 2)
        ended = log.terminated[rows]
        follows = hash_values(np.asarray(log.next_observations[rows]), 1)
        # After the end of an episode no state follows, whatever the log holds there.
        follows = np.where(ended, np.uint64(0), follows) + hash_values(ended, 4)
        parts[:, rows] = state, mix(state + action), hash_values(log.rewards[rows], 3), mix(follows)
    return parts


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


def _find_chance(log: Log, identity: Integers, parts: Hashes, *, real: Bools) -> Bools:
    """(E,) whether an episode's repeats are no more than chance allows.

    Args:
        log: The log.
        identity: (E,) equal for equal episodes.
        parts: (4, N) hashes of state, (state, action), reward, and successor and end.
        real: (N,) whether a reward is a real number, which does not come back by chance.
    """
    state, pair, reward, follows = parts
    _, state_id, visits = np.unique(state, return_inverse=True, return_counts=True)
    never = np.zeros(log.n_episodes, bool)
    if log.observations.ndim > 1 and len(log) < VALUES_REPEAT * len(visits):
        # Real-valued vectors do not meet twice by chance.
        return never
    logs = _log_shares(pair, visits[state_id]) + _log_shares(mix(pair + follows), _count_of(pair))
    logs += _reward_log_shares(mix(pair + follows), reward, real=real)
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


def _reward_log_shares(context: Hashes, reward: Hashes, *, real: Bools) -> NDArray[np.float64]:
    """(N,) log p̂(r | s, a, s'); zero where only one reward was ever seen there."""
    seen, whole = _count_of(mix(context + reward)), _count_of(context)
    return np.where(real & (seen < whole), -np.inf, np.log(seen / whole))
