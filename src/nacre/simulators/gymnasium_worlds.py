"""Worlds of Gymnasium: the MuJoCo robots of the published experiments, and any other by its id."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.policies.policy import Signature
from nacre.simulators.registry import View, World, require

EPISODE_LENGTH = 1000
UNIFORM_STEPS = 10_000
PUBLISHED = frozenset({"Ant-v4", "HalfCheetah-v4", "Hopper-v4", "Swimmer-v4", "Walker2d-v4"})
"""Robots whose published logs begin with uniform steps; others begin with the policy."""
SIDE_BY_SIDE = 10
MUJOCO = "mujoco"
RENDER_MODES: dict[View | None, str | None] = {
    None: None,
    "picture": "rgb_array",
    "window": "human",
}
PICTURE_SECONDS = 0.04
"""Between two pictures of a robot, at least."""


class GymnasiumSimulator:
    """One environment without Gymnasium's wrappers: cutting and seeding are the collector's."""

    def __init__(self, name: str, *, view: View | None = None) -> None:
        self.environment = _make(name, RENDER_MODES[view])
        space = self.environment.action_space
        self._choose = _find_choice(space)
        self._box = isinstance(self.environment.observation_space, gymnasium.spaces.Box)
        self._see: Callable[[], None] | None = None
        self._every, self._age = 1, 0

    def reset(self, seed: int, *, nominal: bool = False) -> NDArray[Any]:
        """Start an episode at a drawn state, or at the model's own position at rest."""
        observation, _ = self.environment.reset(seed=seed)
        if nominal:
            if not _is_mujoco(self.environment):
                raise InputError(
                    f"{self.environment.spec.id} has no nominal start; use drawn starts"
                )
            self.environment.set_state(self.environment.init_qpos, self.environment.init_qvel)
            observation = self.environment._get_obs()
        if self._see is not None:
            self._age = 0
            self._see()
        return self._observe(observation)

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool]:
        """Act once."""
        observation, reward, terminated, _, _ = self.environment.step(self._choose(action))
        if self._see is not None:
            self._age += 1
            if self._age % self._every == 0 or terminated:
                self._see()
        return self._observe(observation), float(reward), bool(terminated)

    def draw(self) -> NDArray[np.uint8]:
        """A picture of the present moment by the simulator's own renderer."""
        from nacre.simulators.rendering.pictures import draw_robot

        return draw_robot(self.environment)

    def watch(self, see: Callable[[], None]) -> float:
        """Call `see` after every reset and every few steps from now on."""
        rate = self.environment.metadata.get("render_fps") or 1 / PICTURE_SECONDS
        self._see = see
        self._every = max(round(rate * PICTURE_SECONDS), 1)
        return float(self._every / rate)

    def close(self) -> None:
        """End the simulation."""
        self.environment.close()

    def _observe(self, observation: Any) -> NDArray[Any]:
        if not _is_plain(self.environment.observation_space):
            observation = gymnasium.spaces.flatten(self.environment.observation_space, observation)
            return np.asarray(observation, np.float32)
        if self._box:
            return np.asarray(observation, np.float32)
        return np.asarray(observation, np.int32)


def describe_gymnasium(name: str) -> World:
    """A Gymnasium world by its id."""
    simulator = GymnasiumSimulator(name)
    environment = simulator.environment
    try:
        signature = _describe_spaces(name, environment)
        start = simulator.reset(0, nominal=True) if _is_mujoco(environment) else None
    finally:
        simulator.close()
    # The world's own limit; the environment that we use has lost it with its wrappers.
    limit = gymnasium.spec(name).max_episode_steps or EPISODE_LENGTH
    uniform = UNIFORM_STEPS if name in PUBLISHED else 0
    return World(name, signature, start, limit, uniform, SIDE_BY_SIDE)


def _describe_spaces(name: str, environment: Any) -> Signature:
    try:
        observed, acting = environment.observation_space, environment.action_space
        if not _is_plain(observed):
            observed = gymnasium.spaces.flatten_space(observed)
        if isinstance(acting, gymnasium.spaces.MultiDiscrete):
            acting = gymnasium.spaces.Discrete(int(np.prod(acting.nvec)))
        return Signature(observed, acting)
    except InputError as error:
        raise InputError([f"{name}: its {problem}" for problem in error.problems]) from None


def _is_plain(space: Any) -> bool:
    """Whether a log keeps such observations as they are; others are flattened by Gymnasium."""
    if isinstance(space, gymnasium.spaces.Box):
        return len(space.shape) == 1
    return isinstance(space, gymnasium.spaces.Discrete)


def _find_choice(space: Any) -> Callable[[Any], Any]:
    """What a policy's action is to the world: several choices at once are numbered together."""
    if isinstance(space, gymnasium.spaces.Discrete):
        return int
    if isinstance(space, gymnasium.spaces.MultiDiscrete):
        shape = tuple(int(n) for n in space.nvec.ravel())
        return lambda action: np.array(np.unravel_index(int(action), shape)) + space.start
    return np.asarray


def _make(name: str, render_mode: str | None) -> Any:
    try:
        spec = gymnasium.spec(name)
    except (gymnasium.error.Error, ImportError):
        raise InputError(
            f"no world is called {name!r:.80}: give traffic, a SUMO network *.net.xml, or a "
            "Gymnasium id such as Hopper-v4"
        ) from None
    if MUJOCO in str(spec.entry_point):
        require(["mujoco"], "mujoco", f"the world {name}")
    try:
        with warnings.catch_warnings():
            # The v4 robots are those of the published experiments; that newer ones exist is known.
            warnings.simplefilter("ignore")
            made = gymnasium.make(name, disable_env_checker=True, render_mode=render_mode)
    except (gymnasium.error.Error, ImportError) as error:
        raise InputError(f"{name}: cannot be made ({error}); install what it needs") from None
    return made.unwrapped


def _is_mujoco(environment: Any) -> bool:
    return hasattr(environment, "init_qpos") and hasattr(environment, "set_state")
