"""Online training in a simulated world: how good old policies are made.

Every epoch starts its episodes anew, from seeds of its own. A simulation cannot be saved, so this
is what lets a stopped training go on and end with the same bits.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.costs.fit import check_same_spaces
from nacre.errors import InputError
from nacre.estimators.simulation import N_EPISODES, N_STEPS, simulate_value
from nacre.files.commit import commit_files
from nacre.learners.online.episodes import Episodes
from nacre.learners.online.journal import Journal, OnlineEpoch, identify, name_method
from nacre.learners.online.net_actor_critic import Leaving, NetOnlineConfig, NetStep
from nacre.learners.online.replay import Replay
from nacre.learners.online.soft_actor_critic import (
    OnlineConfig,
    SoftInfo,
    SoftState,
    SoftStep,
    Step,
    init_soft,
    run_round,
    scale_critics,
)
from nacre.parallel.engine import EngineSource
from nacre.policies import fingerprint
from nacre.policies.formats.registry import find_writable
from nacre.policies.network_policy import MLPPolicy
from nacre.simulators.registry import Simulator, World
from nacre.simulators.rollouts import draw_actions, uniform_actions
from nacre.training.progress import NoProgress, Progress, ProgressEvent


@dataclass(frozen=True)
class OnlineResult:
    """A trained policy and how it came about.

    `healthy` is False when training broke down; the policy is then that of the last good epoch.
    `complete` is False after an interruption.
    """

    world: str
    config: OnlineConfig
    seed: int
    policy: MLPPolicy
    history: tuple[OnlineEpoch, ...]
    stop_reason: str
    healthy: bool
    complete: bool

    def as_json(self) -> dict[str, Any]:
        """How the policy was made, without anything that depends on the machine."""
        return {
            "method": name_method(self.config),
            "world": self.world,
            "seed": self.seed,
            "steps": sum(record.steps for record in self.history),
            "updates": sum(record.updates for record in self.history),
            "epochs": len(self.history),
            "stop_reason": self.stop_reason,
            "config": self.config.as_json(),
        }


def train_online(
    world: World,
    config: OnlineConfig | None = None,
    *,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    leaving: Leaving | None = None,
) -> OnlineResult:
    """Train a policy by letting it act.

    Args:
        world: Where it acts.
        config: The training; `OnlineConfig()`, soft actor-critic, if not given. `NetOnlineConfig`
            is Net Actor-Critic.
        seed: Everything random follows from it.
        checkpoint: A `.safetensors` file, written after every epoch; if it holds a training of the
            same world, configuration and seed, that goes on from there and ends with the same bits.
            `stop_value` may differ: raise it to train on.
        progress: Hears of every epoch.
        leaving: The policy that would be left and the cost of that, for Net Actor-Critic; without
            it nothing is left and nothing is due.
    """
    config = config or OnlineConfig()
    _check(world, config, leaving)
    report = progress or NoProgress()
    first, later = (_count_steps(world, config, index) for index in (0, 1))
    n_rows = (first + config.epochs * later) * world.side_by_side
    replay = Replay(world.signature, n_rows)
    state = init_soft(config, jax.random.key(seed), world.signature)
    path = None if checkpoint is None else Path(checkpoint)
    journal = Journal(path, identify(world, config, seed, leaving), replay)
    state = journal.resume(state)
    history = journal.history
    healthy = complete = True
    reason = _reason(history, config)
    simulators = [world.make() for _ in range(world.side_by_side if reason is None else 0)]
    try:
        while reason is None:
            began = time.perf_counter()
            epoch = _Epoch(world, config, simulators, replay, seed, len(history), leaving)
            after, healthy = epoch.run(state)
            if not healthy:
                reason = (
                    f"diverged in epoch {len(history)} of {config.epochs}; kept the policy before "
                    "it: lower the learning rates"
                )
                break
            state = after
            journal.add(epoch.record(time.perf_counter() - began), state)
            report(_describe_epoch(history[-1], config))
            reason = _reason(history, config)
    except KeyboardInterrupt:
        complete, reason = False, f"interrupted after {len(history)} epochs"
    finally:
        for simulator in simulators:
            simulator.close()
    return OnlineResult(
        world.name, config, seed, state.policy, tuple(history), reason or "", healthy, complete
    )


def _describe_epoch(record: OnlineEpoch, config: OnlineConfig) -> ProgressEvent:
    numbers = record.updates, record.critic_loss, record.value
    return ProgressEvent("training", record.epoch, config.epochs + 1, *numbers)


def write_trained(
    result: OnlineResult,
    world: World,
    path: str | Path,
    *,
    n_episodes: int = N_EPISODES,
    n_steps: int = N_STEPS,
    engine: EngineSource | None = None,
    on_episodes: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Write a trained policy, and beside it a JSON file with its true value and its making.

    Args:
        result: The training.
        world: Where it took place.
        path: The policy's file, `*.safetensors`.
        n_episodes: Episodes to simulate.
        n_steps: Their length; where the world's own is less, the value over that is given too.
        engine: Where to simulate; here if not given.
        on_episodes: Hears of simulated episodes.

    Returns:
        What the JSON file holds.
    """
    path = Path(path)
    content = find_writable(path).dump(result.policy, {"training": result.as_json()})
    values = [
        simulate_value(
            world,
            result.policy,
            discount=result.config.discount,
            n_episodes=n_episodes,
            n_steps=steps,
            engine=engine,
            on_episodes=on_episodes,
        ).as_json()
        for steps in sorted({n_steps, min(n_steps, world.episode_length)}, reverse=True)
    ]
    document = {
        "policy": path.name,
        "fingerprint": fingerprint(result.policy),
        "values": values,
        "training": result.as_json(),
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    described = {path.name: content, path.with_suffix(".json").name: f"{text}\n".encode()}
    commit_files(path.parent, described)
    return document


class _Epoch:
    """One epoch: its episodes, and updates in between."""

    def __init__(
        self,
        world: World,
        config: OnlineConfig,
        simulators: Sequence[Simulator],
        replay: Replay,
        seed: int,
        index: int,
        leaving: Leaving | None = None,
    ) -> None:
        draw, resets, batches, updates = np.random.SeedSequence([seed, index]).spawn(4)
        self._world, self._config = world, config
        self._replay, self._index = replay, index
        self._draw_seed = int(draw.generate_state(1)[0] >> 1)
        self._rng = np.random.default_rng(batches)
        self._key = jax.random.key(int(updates.generate_state(1)[0] >> 1))
        self._n_steps = _count_steps(world, config, index)
        self._round = max(1, config.round_steps // len(simulators))
        self._episodes = Episodes(world, simulators, self._n_steps, resets, config.discount)
        self._step: Step = SoftStep(config)
        if isinstance(config, NetOnlineConfig):
            self._step = NetStep(config, jnp.asarray(self._episodes.observations), leaving)
        self._infos: list[SoftInfo] = []
        self._updates = 0

    def run(self, state: SoftState) -> tuple[SoftState, bool]:
        """Act and learn; the state after the epoch and whether it is sound."""
        if self._index == 0:
            choose = uniform_actions(self._world.signature, self._draw_seed)
            for step in range(self._n_steps):
                self._replay.add(self._episodes.act(choose(self._episodes.observations, step)))
            return scale_critics(self._config, state, self._replay.rewards), True
        for first in range(0, self._n_steps, self._round):
            choose = draw_actions(state.policy, self._draw_seed)
            for step in range(first, min(first + self._round, self._n_steps)):
                self._replay.add(self._episodes.act(choose(self._episodes.observations, step)))
            state, ok = self._learn(state, first, step + 1)
            if not ok:
                return state, False
        return state, True

    def record(self, seconds: float) -> OnlineEpoch:
        """What there is to say of the epoch."""
        returns = self._episodes.returns
        numbers = {
            name: float(np.mean([getattr(info, name) for info in self._infos]))
            if self._infos
            else 0.0
            for name in ("critic_loss", "q", "entropy", "temperature")
        }
        return OnlineEpoch(
            epoch=self._index,
            steps=self._n_steps * self._episodes.n,
            updates=self._updates,
            episodes=len(returns),
            value=float(np.mean(returns)) if returns else float("nan"),
            **numbers,
            seconds=seconds,
        )

    def _learn(self, state: SoftState, first: int, n_steps: int) -> tuple[SoftState, bool]:
        """A round of updates: those due by now, after so many steps of each simulation."""
        config = self._config
        due = math.floor(config.updates_per_step * n_steps * self._episodes.n + 1e-6)
        n_updates = due - self._updates
        if n_updates == 0:
            return state, True
        batches = self._replay.sample(self._rng, n_updates, config.critics.batch_size)
        key = jax.random.fold_in(self._key, first)
        state, info, ok = run_round(self._step, state, batches, key)
        self._infos.append(info)
        self._updates += n_updates
        return state, bool(ok)


def _check(world: World, config: OnlineConfig, leaving: Leaving | None) -> None:
    problems = []
    if leaving is not None:
        if not isinstance(config, NetOnlineConfig):
            problems.append(
                "soft actor-critic knows no cost of leaving a policy; train by Net Actor-Critic"
            )
        check_same_spaces(leaving.old_policy, MLPPolicy.init(jax.random.key(0), world.signature))
        leaving.cost.check(world.signature.observation_space, world.signature.action_space)
    least = world.side_by_side * world.episode_length
    if config.epoch_steps is not None and config.epoch_steps < least:
        problems.append(
            f"epoch_steps = {config.epoch_steps}: {world.name} runs {world.side_by_side} episodes "
            f"of up to {world.episode_length} steps at once; give at least {least}"
        )
    if not world.signature.discrete_actions and not np.all(
        np.isfinite(world.signature.action_limits)
    ):
        problems.append(
            f"{world.name}: its actions are unbounded, there are no uniform ones to begin with; "
            "give a world with bounded actions"
        )
    if problems:
        raise InputError(problems)


def _count_steps(world: World, config: OnlineConfig, epoch: int) -> int:
    """Steps of each simulation in an epoch."""
    if epoch == 0:
        wanted = config.uniform_steps or world.uniform_steps
    else:
        wanted = config.epoch_steps or max(10, world.side_by_side) * world.episode_length
    return -(-wanted // world.side_by_side)


def _reason(history: Sequence[OnlineEpoch], config: OnlineConfig) -> str | None:
    """Why to stop, or None."""
    if config.stop_value is not None and len(history) > 1:
        latest = history[-1]
        if latest.value >= config.stop_value:
            return f"reached {latest.value:.4g} in epoch {latest.epoch}"
    return "all epochs done" if len(history) > config.epochs else None
