"""Traffic lights: one intersection in SUMO, through sumo-rl on libsumo.

Two one-way roads of two lanes cross. Every 5 seconds the policy chooses which road is green; the
reward is the mean speed of the vehicles near, as a share of what they may drive. Observed are the
phase (one-hot), whether the green may end, and the density and the queue of each lane.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.policies.policy import Signature
from nacre.simulators.registry import NETWORK_SUFFIX, TRAFFIC, View, World, require

EPISODE_LENGTH = 100
UNIFORM_STEPS = 1000
REWARD = "average-speed"
# Longer than any run of ours: the clock never ends an episode, the collector does.
SECONDS = 100_000_000
PICTURE_SECONDS = 0.1
"""A second of traffic is shown for this long."""
WINDOW_DELAY = "--delay 100"
ROUTES = Path(__file__).parent / "single_intersection.rou.xml"


class TrafficSimulator:
    """One intersection; libsumo holds one simulation in a process, and so do we.

    A window is SUMO's own, which libsumo does not bring: it takes a process of its own, in which
    nothing of SUMO has been imported yet.
    """

    _running: TrafficSimulator | None = None

    def __init__(self, name: str, *, view: View | None = None) -> None:
        if TrafficSimulator._running is not None:
            raise InputError(
                "a process can run one traffic simulation at a time: close the other one, or use "
                "another process"
            )
        window = view == "window"
        sumo_rl = _import_sumo(window=window)
        network, routes = _files(name, sumo_rl)
        with contextlib.redirect_stdout(io.StringIO()), _blaming(network):
            self.environment: Any = sumo_rl.SumoEnvironment(
                net_file=str(network),
                route_file=str(routes),
                single_agent=True,
                reward_fn=REWARD,
                num_seconds=SECONDS,
                add_system_info=False,
                add_per_agent_info=False,
                sumo_seed=0,
                sumo_warnings=False,
                use_gui=window,
                additional_sumo_cmd=WINDOW_DELAY if window else None,
            )
        self._see: Callable[[], None] | None = None
        if len(self.environment.ts_ids) != 1:
            lights = len(self.environment.ts_ids)
            self.environment.close()
            raise InputError(f"{network}: has {lights} traffic lights; give a network with one")
        self._routes = routes
        TrafficSimulator._running = self

    def reset(self, seed: int, *, nominal: bool = False) -> NDArray[np.float32]:
        """Start with empty roads; the seed decides when vehicles come. Nominal or not is one."""
        with _blaming(self._routes):
            observation, _ = self.environment.reset(seed=seed)
        if self._see is not None:
            self._see()
        return np.asarray(observation, np.float32)

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool]:
        """Set the lights for the next seconds."""
        observation, reward, _, _, _ = self.environment.step(int(action))
        return np.asarray(observation, np.float32), float(reward), False

    def draw(self) -> NDArray[np.uint8]:
        """A map of the roads with their vehicles and lights."""
        from nacre.simulators.rendering.pictures import draw_traffic

        return draw_traffic(self.environment)

    def watch(self, see: Callable[[], None]) -> float:
        """Call `see` after every reset and every simulated second from now on."""
        go = type(self.environment)._sumo_step

        def go_and_see() -> None:
            go(self.environment)
            see()

        self._see = see
        self.environment._sumo_step = go_and_see
        return PICTURE_SECONDS

    def close(self) -> None:
        """End the simulation, so that another can begin."""
        self.environment.close()
        if TrafficSimulator._running is self:
            TrafficSimulator._running = None


def describe_traffic(name: str) -> World:
    """The single intersection, or another network with one traffic light."""
    simulator = TrafficSimulator(name)
    try:
        environment = simulator.environment
        signature = Signature(environment.observation_space, environment.action_space)
        start = simulator.reset(0)
    finally:
        simulator.close()
    return World(name, signature, start, EPISODE_LENGTH, UNIFORM_STEPS, side_by_side=1)


def find_viewer() -> str:
    """The program sumo-gui, or an error that says where to get it."""
    _import_sumo()
    (sumolib,) = require(["sumolib"], "sumo", "the traffic world")
    found: str | None = shutil.which(sumolib.checkBinary("sumo-gui"))
    if found is None:
        raise InputError(
            "a window onto traffic needs sumo-gui, which is not installed: pip install "
            "eclipse-sumo, or write a picture to a file instead"
        )
    return found


@contextlib.contextmanager
def _blaming(file: Path) -> Iterator[None]:
    """Turn what SUMO says of a file that it cannot use into one line."""
    (traci,) = require(["traci"], "sumo", "the traffic world")
    try:
        yield
    except (traci.TraCIException, traci.FatalTraCIError) as error:
        reason = " ".join(str(error).split()) or "no reason given"
        raise InputError(f"{file}: SUMO cannot use it ({reason}); mend it") from None


def _import_sumo(*, window: bool = False) -> Any:
    """Import sumo-rl with libsumo behind it, which the environment has to say beforehand.

    A window needs the programs of SUMO instead.
    """
    (data,) = require(["sumo_data"], "sumo", "the traffic world")
    os.environ.setdefault("SUMO_HOME", str(next(iter(data.__path__))))
    if window:
        os.environ.pop("LIBSUMO_AS_TRACI", None)
    else:
        os.environ["LIBSUMO_AS_TRACI"] = "1"
    # Both announce themselves on standard output, which belongs to whoever called us.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        sumo_rl, _ = require(["sumo_rl", "libsumo"], "sumo", "the traffic world")
    return sumo_rl


def _files(name: str, sumo_rl: Any) -> tuple[Path, Path]:
    if name == TRAFFIC:
        nets = Path(sumo_rl.__file__).parent / "nets" / "single-intersection"
        return nets / f"single-intersection{NETWORK_SUFFIX}", ROUTES
    network = Path(name)
    routes = network.with_name(network.name.removesuffix(NETWORK_SUFFIX) + ".rou.xml")
    for file, what in ((network, "the network"), (routes, "its routes")):
        if not file.is_file():
            raise InputError(f"{file}: {what} cannot be read; check the name")
    return network, routes
