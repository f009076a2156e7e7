"""Finite worlds: everything about them is known, so every claim can be checked exactly."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import numpy.typing as npt

from nacre.errors import InputError
from nacre.simulators.frozen import freeze_arrays
from nacre.simulators.sampling import run_episodes

if TYPE_CHECKING:
    from nacre.logs import Log

Table = npt.NDArray[np.float64]
TabularCost = Callable[[Table, Table], float]
"""A switching cost of two tables (S, A): the old policy's and the new one's."""

_ROUNDING = 1e-6
"""How far a distribution's sum may be from one: what a float32 softmax leaves."""


@dataclass(frozen=True, eq=False)
class FiniteWorld:
    """A Markov decision process with S states and A actions, in float64.

    A step from s with action a pays ``reward[s, a]``, moves to s' with probability
    ``transition[s, a, s']`` and, independently of s', ends the episode with probability
    ``termination[s, a]``. Nothing is earned after the end. (A state in which the episode is over is
    one whose every action pays nothing and terminates.)

    Attributes:
        transition: (S, A, S), each ``transition[s, a]`` a distribution.
        reward: (S, A), the expected reward.
        discount: γ in [0, 1).
        start: (S,), the distribution of the first state; a single start state is one-hot.
        termination: (S, A), probability that the step is the last; or one number for all pairs,
            zero if not given.
        reward_noise: standard deviation of the Gaussian noise that sampled rewards carry.
        state_names: (S,) names for display.
        action_names: (A,) names for display.
    """

    transition: Table
    reward: Table
    discount: float
    start: Table
    termination: Table = field(default_factory=lambda: np.zeros(()))
    reward_noise: float = 0.0
    state_names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Copies the arrays to read-only float64 and refuses what is no Markov decision process."""
        if np.ndim(self.termination) == 0:
            everywhere = np.full(np.shape(self.reward), self.termination)
            object.__setattr__(self, "termination", everywhere)
        freeze_arrays(self, ("transition", "reward", "start", "termination"))
        problems = _find_shape_problems(self) or _find_value_problems(self)
        if problems:
            raise InputError(problems)

    @property
    def n_states(self) -> int:
        """S."""
        return len(self.reward)

    @property
    def n_actions(self) -> int:
        """A."""
        return len(self.reward[0])

    @cached_property
    def observation_space(self) -> gymnasium.spaces.Discrete:
        """The states 0..S-1."""
        return gymnasium.spaces.Discrete(self.n_states)

    @cached_property
    def action_space(self) -> gymnasium.spaces.Discrete:
        """The actions 0..A-1."""
        return gymnasium.spaces.Discrete(self.n_actions)

    @cached_property
    def continuation(self) -> Table:
        """(S, A, S): probability that the episode goes on, and in s'."""
        return (1.0 - self.termination)[:, :, None] * self.transition

    def starting_at(self, start: int | npt.ArrayLike) -> FiniteWorld:
        """The same world with another start: a state's index, or a distribution (S,)."""
        return dataclasses.replace(self, start=self.start_distribution(start))

    def start_distribution(self, start: int | npt.ArrayLike | None = None) -> Table:
        """(S,) for None (the world's own start), a state's index or a distribution."""
        if start is None:
            return self.start
        if isinstance(start, (int, np.integer)):
            if not 0 <= start < self.n_states:
                raise InputError(f"start: state {start} is not one of 0..{self.n_states - 1}")
            start = np.eye(self.n_states)[start]
        distribution = np.asarray(start, dtype=np.float64)
        if distribution.shape != (self.n_states,):
            raise InputError(
                f"start: shape {distribution.shape}, expected ({self.n_states},): "
                "give one probability a state, or a state's index"
            )
        problems = _find_distribution_problems("start", distribution)
        if problems:
            raise InputError(problems)
        return distribution

    def check_policy(self, policy: npt.ArrayLike) -> Table:
        """The policy as a float64 table (..., S, A) whose rows sum to one, or an InputError."""
        table: Table = np.asarray(policy, dtype=np.float64)
        expected = (self.n_states, self.n_actions)
        if table.shape[-2:] != expected:
            raise InputError(
                f"policy: shape {table.shape}, expected {expected}: one row of action "
                "probabilities a state"
            )
        problems = _find_distribution_problems("policy", table)
        if problems:
            raise InputError(problems)
        sums = table.sum(axis=-1, keepdims=True)
        # Only what single precision left: a table that is exact stays as it is, bit by bit.
        return np.where(np.abs(sums - 1.0) > 1e-12, table / sums, table)

    def sample_log(
        self, policy: npt.ArrayLike, n_transitions: int, *, seed: int, horizon: int
    ) -> Log:
        """Runs the policy, whole episodes after one another, until n_transitions are logged.

        Episodes run in parallel batches. A step that meets the horizon is truncated, and so is the
        one that fills the log; neither is terminated.

        Args:
            policy: (S, A), action probabilities.
            n_transitions: the exact number of rows.
            seed: the same seed gives the same log.
            horizon: longest episode.
        """
        from nacre.logs import Log

        table = self.check_policy(policy)
        if table.ndim != 2:
            raise InputError(f"policy: shape {table.shape}, a log is sampled from one (S, A) table")
        for name, number in (("n_transitions", n_transitions), ("horizon", horizon)):
            if number < 1:
                raise InputError(f"{name}: {number} is below 1, give a positive number")
        rng = np.random.default_rng(seed)
        batches: list[dict[str, npt.NDArray[Any]]] = []
        logged = episodes = 0
        while logged < n_transitions:
            mean_length = logged / episodes if episodes else horizon
            n_episodes = int(np.ceil((n_transitions - logged) / mean_length))
            batch = run_episodes(self, table, n_episodes, horizon, rng)
            batch["episode"] = batch["episode"] + episodes
            batches.append(batch)
            logged += len(batch["episode"])
            episodes += n_episodes
        columns: dict[str, Any] = {
            name: np.concatenate([batch[name] for batch in batches])[:n_transitions]
            for name in batches[0]
        }
        columns["truncated"][-1] = not columns["terminated"][-1]
        return Log.from_arrays(
            **columns,
            observation_space=self.observation_space,
            action_space=self.action_space,
            provenance={"world": "finite", "seed": seed, "horizon": horizon},
        )


def _find_shape_problems(world: FiniteWorld) -> list[str]:
    if world.reward.ndim != 2 or 0 in world.reward.shape:
        return [f"reward: shape {world.reward.shape}, expected (S, A) with S, A ≥ 1"]
    n_states, n_actions = world.reward.shape
    expected = {
        "transition": (n_states, n_actions, n_states),
        "start": (n_states,),
        "termination": (n_states, n_actions),
    }
    problems = [
        f"{name}: shape {getattr(world, name).shape}, expected {shape} to go with reward (S, A) = "
        f"{(n_states, n_actions)}"
        for name, shape in expected.items()
        if getattr(world, name).shape != shape
    ]
    for name, size in (("state_names", n_states), ("action_names", n_actions)):
        names = getattr(world, name)
        if names and len(names) != size:
            problems.append(f"{name}: {len(names)} names for {size}, give one each or none")
    return problems


def _find_value_problems(world: FiniteWorld) -> list[str]:
    problems = _find_distribution_problems("transition", world.transition)
    problems += _find_distribution_problems("start", world.start)
    if not np.all(np.isfinite(world.reward)):
        problems.append("reward: holds NaN or infinity, give finite rewards")
    if not np.all((world.termination >= 0) & (world.termination <= 1)):
        problems.append("termination: holds values outside [0, 1], give probabilities")
    if not 0 <= world.discount < 1:
        problems.append(f"discount: {world.discount} is outside [0, 1)")
    if not 0 <= world.reward_noise < np.inf:
        problems.append(f"reward_noise: {world.reward_noise} is no standard deviation, give ≥ 0")
    return problems


def _find_distribution_problems(name: str, array: Table) -> list[str]:
    """Names the first row of the last axis that is no distribution."""
    sums = array.sum(axis=-1)
    bad = ~((array >= 0).all(axis=-1) & (np.abs(sums - 1.0) <= _ROUNDING))
    if not bad.any():
        return []
    row = tuple(int(i) for i in np.argwhere(bad)[0])
    place = f"{name}[{', '.join(map(str, row))}]" if row else name
    return [f"{place}: {array[row].tolist()} is no distribution: give entries ≥ 0 that sum to 1"]


def two_state_world() -> FiniteWorld:
    """The world of the proof of Proposition po_state: stay or alternate, γ = 0.99.

    The reward is one if the step leads to s_α, else zero. It starts at s_α; see ``starting_at``.
    """
    stay, alternate = np.eye(2), np.eye(2)[::-1]
    transition = np.stack([stay, alternate], axis=1)
    return FiniteWorld(
        transition=transition,
        reward=transition[:, :, 0],
        discount=0.99,
        start=np.array([1.0, 0.0]),
        state_names=("s_alpha", "s_beta"),
        action_names=("self", "alt"),
    )


def two_state_policies() -> dict[str, Table]:
    """The policies of the proof of Proposition po_state, each a table (state, action)."""
    stay, alternate = np.eye(2)
    return {
        "old": np.full((2, 2), 0.5),
        "n1": np.stack([stay, stay]),
        "n2": np.stack([alternate, alternate]),
        "n3": np.stack([stay, alternate]),
        "n4": np.stack([alternate, stay]),
    }


def two_state_cost(old: Table, new: Table) -> float:
    """The cost of the same proof: a high price for randomness, a low one for plain rules.

    0 for the unchanged policy, 500 if the new one is stochastic in any state, 25 if it takes the
    same action in every state, 50 otherwise.
    """
    if np.array_equal(old, new):
        return 0.0
    if np.any((new > 0) & (new < 1)):
        return 500.0
    actions = new.argmax(axis=-1)
    return 25.0 if np.all(actions == actions[0]) else 50.0


def random_world(
    seed: int,
    n_states: int,
    n_actions: int,
    *,
    discount: float = 0.95,
    branching: int | None = None,
    terminating: bool = False,
) -> FiniteWorld:
    """A random world that starts in state 0: normal rewards, few successors for each step.

    Args:
        seed: the same seed gives the same world.
        n_states: S.
        n_actions: A.
        discount: γ.
        branching: successors of each (state, action), with weights uniform on the simplex; by
            default a quarter of the states, and at least two where there are two.
        terminating: let a third of the (state, action) pairs, at least one, end the episode with
            a probability that is uniform on [0, 1].
    """
    if branching is None:
        branching = min(n_states, max(2, -(-n_states // 4)))
    if not 1 <= branching <= n_states:
        raise InputError(f"branching: {branching} is not one of 1..{n_states} (n_states)")
    rng = np.random.default_rng(seed)
    pairs = (n_states, n_actions)
    successors = rng.permuted(np.tile(np.arange(n_states), (*pairs, 1)), axis=-1)[..., :branching]
    transition = np.zeros((*pairs, n_states))
    np.put_along_axis(transition, successors, rng.dirichlet(np.ones(branching), pairs), axis=-1)
    reward = rng.standard_normal(pairs)
    ends = rng.permutation(n_states * n_actions).reshape(pairs) < n_states * n_actions / 3
    return FiniteWorld(
        transition=transition,
        reward=reward,
        discount=discount,
        start=np.eye(n_states)[0],
        termination=np.where(ends & terminating, rng.random(pairs), 0.0),
    )


def random_policy(seed: int, world: FiniteWorld, *, concentration: float = 1.0) -> Table:
    """A table (S, A) of Dirichlet rows; small concentrations give nearly deterministic ones."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(world.n_actions, concentration), world.n_states)
