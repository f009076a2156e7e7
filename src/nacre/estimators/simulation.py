"""What a policy is worth, by letting it act in a simulated world: the truth of experiments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.parallel.engine import EngineSource, map_tasks
from nacre.policies.policy import Policy
from nacre.simulators.collection import check_policy
from nacre.simulators.registry import Simulator, World
from nacre.simulators.rollouts import draw_actions, run_episodes

N_EPISODES = 200
N_STEPS = 700
"""γ^700 < 0.001 at γ = 0.99: what comes later hardly counts."""
EPISODES_PER_TASK = 50


@dataclass(frozen=True)
class SimulatedValue:
    """V^π at the start by simulation: mean and standard error of discounted returns (E,)."""

    mean: float
    standard_error: float
    returns: NDArray[np.float64]
    n_steps: int
    discount: float

    @property
    def n_episodes(self) -> int:
        """E, the number of episodes."""
        return len(self.returns)

    def as_json(self) -> dict[str, Any]:
        """Plain numbers for a record."""
        return {
            "mean": self.mean,
            "standard_error": self.standard_error,
            "episodes": self.n_episodes,
            "steps": self.n_steps,
            "discount": self.discount,
        }


def simulate_value(
    world: World,
    policy: Policy,
    *,
    discount: float = 0.99,
    n_episodes: int = N_EPISODES,
    n_steps: int = N_STEPS,
    seed: int = 0,
    nominal: bool | None = None,
    engine: EngineSource | None = None,
    on_episodes: Callable[[int], None] | None = None,
) -> SimulatedValue:
    """Discounted value of a policy from the start, Monte Carlo.

    The result does not depend on where it runs.

    Args:
        world: Where it acts.
        policy: The policy.
        discount: γ.
        n_episodes: Episodes to run.
        n_steps: Length of each unless the world ends it.
        seed: Everything random follows from it.
        nominal: Start at the nominal state; if not given, wherever the world has one.
        engine: Where to simulate; here if not given.
        on_episodes: Hears of finished episodes.
    """
    if n_episodes < 2 or n_steps < 1:
        raise InputError(
            f"{n_episodes} episodes of {n_steps} steps: at least 2 episodes of 1 step are needed"
        )
    check_policy(world, policy)
    nominal = world.start is not None if nominal is None else nominal
    sizes = [
        min(EPISODES_PER_TASK, n_episodes - done)
        for done in range(0, n_episodes, EPISODES_PER_TASK)
    ]
    tasks = [
        _Task(world, policy, size, n_steps, discount, [seed, index], nominal)
        for index, size in enumerate(sizes)
    ]
    parts: list[NDArray[np.float64]] = [np.zeros(0)] * len(tasks)
    for index, returns in map_tasks(_simulate, tasks, engine=engine):
        parts[index] = returns
        if on_episodes is not None:
            on_episodes(len(returns))
    returns = np.concatenate(parts)
    error = float(returns.std(ddof=1) / np.sqrt(len(returns)))
    return SimulatedValue(float(returns.mean()), error, returns, n_steps, discount)


@dataclass(frozen=True)
class _Task:
    world: World
    policy: Policy
    n_episodes: int
    n_steps: int
    discount: float
    seed: list[int]
    nominal: bool


def _simulate(task: _Task) -> NDArray[np.float64]:
    """Episodes side by side as far as the world allows, then the next ones."""
    simulators: list[Simulator] = [
        task.world.make() for _ in range(min(task.world.side_by_side, task.n_episodes))
    ]
    sequence = np.random.SeedSequence(task.seed)
    returns: list[NDArray[np.float64]] = []
    missing = task.n_episodes
    try:
        while missing:
            used = simulators[:missing]
            draw_seed, reset_seed = (
                int(child.generate_state(1)[0] >> 1) for child in sequence.spawn(2)
            )
            returns.append(
                run_episodes(
                    used,
                    draw_actions(task.policy, draw_seed),
                    n_steps=task.n_steps,
                    discount=task.discount,
                    seed=reset_seed,
                    nominal=task.nominal,
                )
            )
            missing -= len(used)
    finally:
        for simulator in simulators:
            simulator.close()
    return np.concatenate(returns)
