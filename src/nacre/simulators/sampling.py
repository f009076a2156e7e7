"""Episodes of finite worlds, run side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from nacre.simulators.finite import FiniteWorld, Table

Indices = npt.NDArray[np.int32]


def _accumulate(probabilities: Table) -> Table:
    """Cumulative sums whose last entry, and every one after the last mass, is exactly one."""
    cumulative = np.cumsum(probabilities, axis=-1)
    return cumulative / cumulative[..., -1:]


def _draw(rng: np.random.Generator, cumulative: Table) -> Indices:
    """One index for each row (N, K) of cumulative probabilities."""
    uniforms = rng.random((len(cumulative), 1))
    drawn: Indices = (cumulative <= uniforms).sum(axis=1, dtype=np.int32)
    return drawn


def run_episodes(
    world: FiniteWorld, policy: Table, n_episodes: int, horizon: int, rng: np.random.Generator
) -> dict[str, npt.NDArray[Any]]:
    """Runs episodes side by side; the columns of the result are sorted by episode, then step."""
    start, transition = _accumulate(world.start), _accumulate(world.transition)
    choice = _accumulate(policy)
    running = np.arange(n_episodes)
    state = _draw(rng, np.tile(start, (n_episodes, 1)))
    steps: list[dict[str, npt.NDArray[Any]]] = []
    for step in range(horizon):
        action = _draw(rng, choice[state])
        next_state = _draw(rng, transition[state, action])
        terminated = rng.random(len(state)) < world.termination[state, action]
        noise = world.reward_noise * rng.standard_normal(len(state))
        steps.append(
            {
                "episode": running,
                "observations": state,
                "actions": action,
                "rewards": (world.reward[state, action] + noise).astype(np.float32),
                "terminated": terminated,
                "truncated": ~terminated & (step == horizon - 1),
                "next_observations": next_state,
            }
        )
        running, state = running[~terminated], next_state[~terminated]
        if not len(running):
            break
    columns = {name: np.concatenate([step[name] for step in steps]) for name in steps[0]}
    order = np.argsort(columns["episode"], kind="stable")
    return {name: column[order] for name, column in columns.items()}
