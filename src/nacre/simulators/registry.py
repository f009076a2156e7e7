"""Simulated worlds by name: MuJoCo's and other Gymnasium ones, and traffic lights in SUMO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.policies.policy import Signature

TRAFFIC = "traffic"
NETWORK_SUFFIX = ".net.xml"

View = Literal["picture", "window"]
"""How a simulation is looked at: by `Simulator.draw`, or in the simulator's own viewer."""


class Simulator(Protocol):
    """One running simulation; everything random in it follows from the seeds of its resets."""

    def reset(self, seed: int, *, nominal: bool = False) -> NDArray[np.float32]:
        """Start an episode and observe it.

        Args:
            seed: Decides the start if that is random, and the world's own chance thereafter.
            nominal: Start at the world's nominal state instead of a drawn one.
        """

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool]:
        """Act once; the next observation, the reward and whether the world ended the episode."""

    def draw(self) -> NDArray[np.uint8]:
        """A picture (height, width, 3) of the present moment."""

    def watch(self, see: Callable[[], None]) -> float:
        """Call `see` at every moment that deserves a picture; the seconds to show each."""

    def close(self) -> None:
        """End the simulation."""


@dataclass(frozen=True)
class World:
    """What there is to know of a simulated world before it runs.

    Args:
        name: By which `find_world` finds it again, in another process too.
        signature: Its spaces, as logs keep them.
        start: Observation at the nominal start, or None where only drawn starts exist.
        episode_length: Steps after which collectors cut an episode.
        uniform_steps: Steps at the beginning of a log with uniform actions, as in the published
            experiments.
        side_by_side: Simulations that run in one process.
    """

    name: str
    signature: Signature
    start: NDArray[np.float32] | None
    episode_length: int
    uniform_steps: int
    side_by_side: int

    def make(self, *, view: View | None = None) -> Simulator:
        """A simulator of this world, not yet reset, to be looked at or not."""
        if is_traffic(self.name):
            from nacre.simulators.traffic import TrafficSimulator

            return TrafficSimulator(self.name, view=view)
        from nacre.simulators.gymnasium_worlds import GymnasiumSimulator

        return GymnasiumSimulator(self.name, view=view)


def find_world(name: str) -> World:
    """The world of this name.

    Args:
        name: A Gymnasium id such as "Hopper-v4", "traffic" for the single intersection, or the
            path of a SUMO network `*.net.xml` with its routes `*.rou.xml` beside it.

    Raises:
        InputError: If there is none, or what it needs is not installed.
    """
    if is_traffic(name):
        from nacre.simulators.traffic import describe_traffic

        return describe_traffic(name)
    from nacre.simulators.gymnasium_worlds import describe_gymnasium

    return describe_gymnasium(name)


def is_traffic(name: str) -> bool:
    """Whether a world of this name runs in SUMO."""
    return name == TRAFFIC or name.endswith(NETWORK_SUFFIX)


def require(modules: Sequence[str], extra: str, what: str) -> list[ModuleType]:
    """Import modules that an extra brings, or say how to install it."""
    try:
        return [import_module(module) for module in modules]
    except ImportError as error:
        raise InputError(
            f"{what} needs {error.name or modules[0]}, which is not installed: "
            f"pip install 'nacre[{extra}]'"
        ) from None
