"""Worlds with vector states as NumPy functions of whole batches, and truth by paired rollouts."""

from __future__ import annotations

import abc
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nacre.experiments.calibration.case import Truth
from nacre.logs import Log
from nacre.policies.policy import Policy, Signature
from nacre.simulators.rollouts import Chooser, draw_actions

Array = NDArray[np.float64]
REMAINDER = 1e-3
"""Rollouts for truth go on until γ^t is below this."""
TRUTH_SEED = 977
"""Chance that no log meets."""
BATCH = 250
"""Episodes of a log that run side by side: always as many, so that policies are compiled once."""
BATCH_STRIDE = 100_003
"""Between the seeds of a log's batches; larger than any seed of a case."""


class VectorWorld(abc.ABC):
    """A world whose states are rows of numbers; many episodes run side by side.

    Noise is handed in, so that two policies can meet the same chance: rows (N, noise_size) of
    independent standard normal numbers, at the start and at each step.
    """

    discount: float = 0.98
    horizon: int = 200
    """Steps after which a log cuts an episode; the truth does not."""
    noise_size: int = 1
    observation_size: int
    n_actions: int = 0
    """Discrete actions, or 0 for a box."""
    action_size: int = 1
    """Coordinates of an action in a box, each from -1 to 1."""

    @functools.cached_property
    def signature(self) -> Signature:
        """The spaces between which policies act."""
        box = gymnasium.spaces.Box
        observations = box(-np.inf, np.inf, (self.observation_size,), np.float32)
        if self.n_actions:
            return Signature(observations, gymnasium.spaces.Discrete(self.n_actions))
        return Signature(observations, box(-1.0, 1.0, (self.action_size,), np.float32))

    @abc.abstractmethod
    def begin(self, noise: Array) -> Array:
        """States (N, k) at the start."""

    @abc.abstractmethod
    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """States (N, k) that follow, rewards (N,) and whether the episode ended (N,)."""

    def observe(self, states: Array) -> Array:
        """Observations (N, d); the states themselves unless said otherwise."""
        return states

    @abc.abstractmethod
    def steer(self, observations: Array) -> Array:
        """A good controller by hand: preferences (N, actions), or actions (N, size) in [-1, 1]."""

    def mislead(self, observations: Array) -> Array:
        """A poor controller by hand; by default one that does nothing in particular."""
        return np.zeros_like(self.steer(observations))

    def count_steps(self) -> int:
        """Steps of a rollout for truth."""
        return int(np.ceil(np.log(REMAINDER) / np.log(self.discount)))


@dataclass(frozen=True)
class Step:
    """One step of all episodes that run side by side.

    Args:
        observations: (N, d) before it, and
        following: (N, d) after it.
        actions: (N,) or (N, m).
        rewards: (N,), zero where the episode is over.
        terminated: (N,), true where the step ended the episode.
        running: (N,), whether the episode was still going before the step.
    """

    observations: NDArray[np.float32]
    following: NDArray[np.float32]
    actions: NDArray[Any]
    rewards: Array
    terminated: NDArray[np.bool_]
    running: NDArray[np.bool_]


def roll_out(
    world: VectorWorld, choose: Chooser, n_episodes: int, n_steps: int, seed: int
) -> Iterator[Step]:
    """Run episodes; the same seed meets the same chance, whatever the policy does."""
    shape = (n_episodes, world.noise_size)
    states = world.begin(np.random.default_rng([seed, 0]).standard_normal(shape))
    seen = world.observe(states).astype(np.float32)
    alive = np.ones(n_episodes, bool)
    for number in range(n_steps):
        actions = choose(seen, number)
        noise = np.random.default_rng([seed, number + 1]).standard_normal(shape)
        moved, rewards, ended = world.step(states, np.asarray(actions, np.float64), noise)
        # Those that have ended stand still: their numbers must stay finite.
        states = np.where(alive[:, None], moved, states)
        following = world.observe(states).astype(np.float32)
        ended = alive & np.asarray(ended, bool)
        yield Step(seen, following, actions, np.where(alive, rewards, 0.0), ended, alive)
        alive, seen = alive & ~ended, following
        if not alive.any():
            return


def sample_log(world: VectorWorld, policy: Policy, n_transitions: int, *, seed: int) -> Log:
    """Whole episodes of a policy, side by side, until n_transitions are logged.

    The step that meets the horizon is truncated, and so is the one that fills the log.
    """
    logged = 0
    parts: list[dict[str, NDArray[Any]]] = []
    while logged < n_transitions:
        batch_seed = seed + BATCH_STRIDE * len(parts)
        choose = draw_actions(policy, batch_seed)
        steps = list(roll_out(world, choose, BATCH, world.horizon, batch_seed))
        columns = _gather(steps, world.horizon)
        columns["episode"] = columns["episode"] + BATCH * len(parts)
        parts.append(columns)
        logged += len(columns["episode"])
    whole: dict[str, Any] = {
        name: np.concatenate([part[name] for part in parts])[:n_transitions] for name in parts[0]
    }
    whole["truncated"][-1] = not whole["terminated"][-1]
    signature = world.signature
    return Log.from_arrays(
        **whole,
        observation_space=signature.observation_space,
        action_space=signature.action_space,
        provenance={"world": type(world).__name__, "seed": seed, "horizon": world.horizon},
    )


def _gather(steps: list[Step], horizon: int) -> dict[str, NDArray[Any]]:
    """Columns of a log, sorted by episode, then step; rows after an episode's end left out."""

    def stack(name: str) -> NDArray[Any]:
        return np.stack([getattr(step, name) for step in steps], axis=1)

    running = stack("running")
    terminated = stack("terminated")
    truncated = np.zeros_like(terminated)
    if len(steps) == horizon:
        truncated[:, -1] = ~terminated[:, -1]
    episodes = np.broadcast_to(np.arange(len(running))[:, None], running.shape)
    columns = {
        "observations": stack("observations"),
        "actions": stack("actions"),
        "rewards": stack("rewards").astype(np.float32),
        "terminated": terminated,
        "truncated": truncated,
        "next_observations": stack("following"),
        "episode": episodes,
    }
    return {name: column[running] for name, column in columns.items()}


def simulate_returns(
    world: VectorWorld, policy: Policy, *, n_episodes: int, seed: int = TRUTH_SEED
) -> Array:
    """Discounted returns (N,) without a horizon; episode i meets the same chance in every call."""
    returns = np.zeros(n_episodes)
    choose = draw_actions(policy, seed)
    steps = roll_out(world, choose, n_episodes, world.count_steps(), seed)
    for number, step in enumerate(steps):
        returns += world.discount**number * step.rewards
    return returns


@dataclass(frozen=True, eq=False)
class SimulatedTruth:
    """The gain of any policy over the old one, by rollouts with common random numbers.

    Args:
        world: Where they act.
        old_returns: (N,) of the old policy, by `simulate_returns` with the same seed.
        seed: Of the chance that both meet.
    """

    world: VectorWorld
    old_returns: Array
    seed: int = TRUTH_SEED

    def __call__(self, policy: Policy) -> Truth:
        """Mean and standard error of the paired differences."""
        n = len(self.old_returns)
        returns = simulate_returns(self.world, policy, n_episodes=n, seed=self.seed)
        paired = returns - self.old_returns
        error = float(paired.std(ddof=1) / np.sqrt(n))
        return Truth(float(paired.mean()), error, float(returns.std(ddof=1)))
