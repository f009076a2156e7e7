"""The log: episodes of transitions, as arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import ArrayLike, NDArray

from nacre.errors import InputError, check_arguments
from nacre.logs.checks.assembly import ROW_ARRAYS, Content, assemble
from nacre.logs.checks.completion import OPEN_ENDS
from nacre.logs.checks.problems import Problems
from nacre.logs.digests import fingerprint
from nacre.logs.display import format_table, show_space
from nacre.logs.division import divide_episodes
from nacre.logs.reference import LogReference
from nacre.logs.schema.draft import Draft, apply_offsets, as_arrays
from nacre.logs.schema.spaces import JSON, given_spaces
from nacre.logs.storage.views import MappedRows, Runs, hold, read_only, select_runs

_ARGUMENTS = {n: f"{n}s" for n in ("observation", "action", "reward", "next_observation")}
VECTOR_ARRAYS = ("observations", "actions", "next_observations")
BLOCK_ROWS = 2**20
"""Rows whose returns are computed at a time; a longer episode is taken whole."""


@dataclass(frozen=True, eq=False, repr=False)
class Log(Content):
    """Episodes of N transitions in all, E episodes one after the other.

    Build it with `Log.from_arrays` or `read_log`, which check everything; the arrays are
    read-only. Terminated and truncated are different things: bootstrap after truncation, never
    after termination.

    Attributes:
        observations: (N, d) float32 in a Box, (N,) int32 in a Discrete space.
        actions: (N, k) float32 in a Box, (N,) int32 in a Discrete space.
        rewards: (N,) float32.
        next_observations: Like `observations`.
        terminated: (N,) whether the world ended the episode here.
        truncated: (N,) whether something outside the world cut the episode here.
        offsets: (E+1,) int64; episode e is the rows offsets[e]:offsets[e+1].
        observation_space: A Box of one axis, or Discrete.
        action_space: A Box of one axis, or Discrete.
        provenance: Where the log comes from, and under "notes" how it was read.
        columns: Further numeric columns by name, (N,) or (N, w), kept as they are.
        reference: Where it was read from; None for what was made from arrays or other logs.
    """

    reference: LogReference | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        for name in (*ROW_ARRAYS, "offsets"):
            keep = hold if name in VECTOR_ARRAYS else read_only
            object.__setattr__(self, name, keep(getattr(self, name)))
        columns = {name: hold(values) for name, values in self.columns.items()}
        object.__setattr__(self, "columns", columns)

    @classmethod
    @check_arguments
    def from_arrays(
        cls,
        observations: ArrayLike,
        actions: ArrayLike,
        rewards: ArrayLike,
        terminated: ArrayLike,
        truncated: ArrayLike | None = None,
        next_observations: ArrayLike | None = None,
        *,
        episode: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
        observation_space: Space[Any] | None = None,
        action_space: Space[Any] | None = None,
        provenance: Mapping[str, JSON] | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
    ) -> Log:
        """Return a checked log of the given arrays, which are not copied where they fit.

        Args:
            observations: (N, d) numbers, or (N,) whole numbers for a Discrete space.
            actions: (N, k) numbers, or (N,) whole numbers for a Discrete space.
            rewards: (N,) numbers.
            terminated: (N,) truth values.
            truncated: (N,) truth values; all false if absent.
            next_observations: Like `observations`; if absent, taken from the following row. Then
                the last row of an episode that did not terminate only serves as a successor.
            episode: (N,) number of the episode of each row.
            offsets: (E+1,) alternatively, where the episodes start, and N. With neither of the
                two an episode ends wherever `terminated` or `truncated` is true.
            observation_space: A Box of one axis, or Discrete; inferred if absent.
            action_space: A Box of one axis, or Discrete; inferred if absent.
            provenance: Anything JSON can hold.
            columns: Further numeric columns; `step`, if there, has to count up in an episode.

        Raises:
            InputError: With every problem found.
        """
        problems = Problems(labels=dict(_ARGUMENTS))
        given = {
            "observation": observations,
            "action": actions,
            "reward": rewards,
            "terminated": terminated,
            "truncated": truncated,
            "next_observation": next_observations,
            "episode": episode,
        }
        fields = as_arrays({n: v for n, v in given.items() if v is not None}, problems)
        if offsets is not None:
            apply_offsets(fields, offsets, problems)
        further = as_arrays(columns or {}, problems)
        spaces = given_spaces(observation_space, action_space)
        content = assemble(Draft(fields, further, spaces, dict(provenance or {})), problems)
        if content is None or problems:
            raise problems.as_error()
        return cls.from_content(content)

    @classmethod
    def from_content(cls, content: Content, reference: LogReference | None = None) -> Log:
        """Return the log of fields that have been checked."""
        log = cls(**vars(content))
        object.__setattr__(log, "reference", reference)
        return log

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def is_mapped(self) -> bool:
        """Whether observations or actions are too large for memory and stay in their files."""
        return any(isinstance(getattr(self, name), MappedRows) for name in VECTOR_ARRAYS)

    @property
    def n_transitions(self) -> int:
        """N, the number of transitions."""
        return len(self)

    @property
    def n_episodes(self) -> int:
        """E, the number of episodes."""
        return len(self.offsets) - 1

    @property
    def n_open_ends(self) -> int:
        """How many episodes of what was read had no end and count as truncated."""
        count = self.provenance.get(OPEN_ENDS, 0)
        return count if isinstance(count, int) else 0

    @property
    def episode_lengths(self) -> NDArray[np.int64]:
        """(E,) the number of transitions of each episode."""
        return np.diff(self.offsets)

    @property
    def episode_ids(self) -> NDArray[np.int64]:
        """(N,) the episode of each transition, counted from 0."""
        return np.repeat(np.arange(self.n_episodes), self.episode_lengths)

    @property
    def starts(self) -> NDArray[Any]:
        """(E, d) or (E,) the observations at the episodes' starts."""
        return np.asarray(self.observations[self.offsets[:-1]])

    @check_arguments
    def returns(self, discount: float = 1.0) -> NDArray[np.float64]:
        """Return (E,) discounted returns, Σ_t discount^t r_t of each episode."""
        _check_discount(discount)
        returns = np.empty(self.n_episodes)
        for episodes, rows, offsets in self.episode_blocks(BLOCK_ROWS):
            time = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
            weighted = self.rewards[rows] * np.power(np.float64(discount), time)
            returns[episodes] = np.add.reduceat(weighted, offsets[:-1])
        return returns

    @check_arguments
    def returns_to_go(self, discount: float = 1.0) -> NDArray[np.float64]:
        """Return (N,) discounted sums of the rewards from each row to the end of its episode.

        G_t = r_t + discount · G_{t+1}, by doubling: sums over 2^k rows give those over 2^(k+1), so
        that even one very long episode takes a few passes over the rows.
        """
        _check_discount(discount)
        whole = np.empty(len(self))
        for _, rows, offsets in self.episode_blocks(BLOCK_ROWS):
            total = self.rewards[rows].astype(np.float64)
            left = np.repeat(offsets[1:], np.diff(offsets)) - np.arange(offsets[-1])
            longest, factor, shift = int(np.diff(offsets).max()), float(discount), 1
            while shift < longest and factor > 0:
                ahead = np.where(left[:-shift] > shift, total[shift:], 0.0)
                total[:-shift] += factor * ahead
                shift, factor = 2 * shift, factor * factor
            whole[rows] = total
        return whole

    @check_arguments
    def episode(self, index: int) -> Log:
        """Return one episode as a log that shares memory with this one."""
        if not -self.n_episodes <= index < self.n_episodes:
            raise InputError(
                f"log: there is no episode {index}; give an index below {self.n_episodes}"
            )
        start, stop = self.offsets[index % self.n_episodes :][:2]
        return self._take(Runs.of(np.array([start]), np.array([stop - start])))

    def episodes(self) -> Iterator[Log]:
        """Iterate over the episodes as logs of their own."""
        return (self.episode(index) for index in range(self.n_episodes))

    @check_arguments
    def select(self, episode_indices: Sequence[int] | NDArray[Any]) -> Log:
        """Return a log of the given episodes, in the given order."""
        indices = np.asarray(episode_indices)
        if indices.ndim != 1 or len(indices) == 0 or indices.dtype.kind not in "iu":
            raise InputError(
                f"log: cannot select episodes by {np.shape(episode_indices)} {indices.dtype}; "
                "give a list of at least one episode index"
            )
        wrong = indices[(indices < -self.n_episodes) | (indices >= self.n_episodes)]
        if len(wrong):
            raise InputError(
                f"log: there is no episode {wrong[0]}; give indices below {self.n_episodes}"
            )
        runs = Runs.of(self.offsets[:-1][indices], self.episode_lengths[indices])
        return self._take(runs)

    @check_arguments
    def split(self, fraction: float, *, seed: int) -> tuple[Log, Log]:
        """Split by whole episodes, at random: the first part gets `fraction` of the episodes.

        Both parts have at least one episode; within them episodes keep their order.
        """
        first, second = divide_episodes(self.n_episodes, fraction, seed=seed)
        text = f"of a split by episodes, fraction {fraction}, seed {seed}"
        return (
            self.select(first)._noted(f"first part {text}"),
            self.select(second)._noted(f"second part {text}"),
        )

    @check_arguments
    def subsample(self, n_transitions: int, *, seed: int) -> Log:
        """Return exactly `n_transitions` in whole episodes chosen at random, in their order.

        The episode chosen last is cut where the number is reached, and truncated there.
        """
        if not 1 <= n_transitions <= len(self):
            raise InputError(
                f"log: cannot take {n_transitions} of {len(self)} transitions; "
                f"give a number from 1 to {len(self)}"
            )
        order = np.random.default_rng(seed).permutation(self.n_episodes)
        reached = np.cumsum(self.episode_lengths[order])
        n_chosen = int(np.searchsorted(reached, n_transitions)) + 1
        cut = int(reached[n_chosen - 1]) - n_transitions
        chosen = np.sort(order[:n_chosen])
        log = self.select(chosen)
        if cut:
            place = int(np.searchsorted(chosen, order[n_chosen - 1]))
            log = log._cut_episode(place, cut)
        return log._noted(f"subsample of {n_transitions} transitions, seed {seed}")

    def identify(self) -> dict[str, Any]:
        """Digest and size, for records."""
        return {
            "sha256": self.fingerprint(),
            "transitions": self.n_transitions,
            "episodes": self.n_episodes,
        }

    def fingerprint(self) -> str:
        """Return the SHA-256 of arrays and spaces, the same in whichever file format they lie."""
        return fingerprint(self)

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        first, *rest = repr(self).splitlines()
        return format_table(first, [line.split(maxsplit=1) for line in rest])

    def __repr__(self) -> str:
        returns = self.returns()
        n_terminated = int(self.terminated[self.offsets[1:] - 1].sum())
        further = ", ".join(self.columns)
        lines = [
            f"Log of {len(self):,} transitions in {self.n_episodes:,} episodes "
            f"({n_terminated:,} terminated, {self.n_episodes - n_terminated:,} truncated)",
            f"  observations {self.observations.shape} {show_space(self.observation_space)}",
            f"  actions      {self.actions.shape} {show_space(self.action_space)}",
            f"  returns      mean {returns.mean():.6g}, min {returns.min():.6g}, "
            f"max {returns.max():.6g}",
        ]
        return "\n".join([*lines, *([f"  columns      {further}"] if further else [])])

    def episode_blocks(self, n_rows: int) -> Iterator[tuple[slice, slice, NDArray[np.int64]]]:
        """Yield some whole episodes at a time, of about so many rows.

        Their numbers, their rows, and their offsets from the first of these rows.
        """
        first = 0
        while first < self.n_episodes:
            begin = int(self.offsets[first])
            stop = int(np.searchsorted(self.offsets, begin + n_rows, side="right")) - 1
            stop = max(stop, first + 1)
            offsets = np.asarray(self.offsets[first : stop + 1] - begin)
            yield slice(first, stop), slice(begin, int(self.offsets[stop])), offsets
            first = stop

    def _take(self, runs: Runs) -> Log:
        """Return a log of episodes, each of them a run of rows within one of this log's."""
        arrays: dict[str, Any] = {
            name: select_runs(getattr(self, name), runs) for name in ROW_ARRAYS
        }
        columns = {name: select_runs(values, runs) for name, values in self.columns.items()}
        return replace(self, **arrays, offsets=runs.offsets, columns=columns)

    def _cut_episode(self, index: int, n_rows: int) -> Log:
        """Return the log without the last `n_rows` rows of an episode, truncated before them."""
        lengths = self.episode_lengths
        lengths[index] -= n_rows
        log = self._take(Runs.of(self.offsets[:-1], lengths))
        truncated = log.truncated.copy()
        truncated[log.offsets[index + 1] - 1] = True
        return replace(log, truncated=truncated)

    def _noted(self, note: str) -> Log:
        notes = self.provenance.get("notes", [])
        earlier = notes if isinstance(notes, list) else [notes]
        return replace(self, provenance={**self.provenance, "notes": [*earlier, note]})


def _check_discount(discount: float) -> None:
    if not 0 <= discount <= 1:
        raise InputError(f"log: the discount {discount} is not possible; give one from 0 to 1")
