"""The intersection: what is observed and earned, its seeds, and one simulation in a process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import sumolib

from nacre.errors import InputError
from nacre.simulators.registry import TRAFFIC, Simulator, find_world
from nacre.simulators.traffic import ROUTES, TrafficSimulator, describe_traffic, find_viewer


@pytest.fixture
def simulator() -> Iterator[TrafficSimulator]:
    made = TrafficSimulator(TRAFFIC)
    yield made
    made.close()


@pytest.fixture(scope="module")
def network() -> str:
    """The text of the installed package's network."""
    made = TrafficSimulator(TRAFFIC)
    made.close()
    return Path(made.environment._net).read_text()


def run(simulator: Simulator, seed: int, n_steps: int = 20) -> np.ndarray:
    """Observations and rewards while the lights change every other time."""
    rows = [np.append(simulator.reset(seed), 0.0)]
    for step in range(n_steps):
        observation, reward, terminated = simulator.step(np.int32(step // 2 % 2))
        assert not terminated
        rows.append(np.append(observation, reward))
    return np.array(rows)


def test_the_world_is_that_of_the_published_runs() -> None:
    world = describe_traffic(TRAFFIC)
    assert world.signature.observation_size == 11
    assert world.signature.action_size == 2
    # The first phase is green, nothing else is there.
    np.testing.assert_array_equal(world.start, np.eye(11)[0])
    assert (world.episode_length, world.uniform_steps, world.side_by_side) == (100, 1000, 1)


def test_everything_follows_from_the_seed(simulator: TrafficSimulator) -> None:
    first, again, other = run(simulator, 1), run(simulator, 1), run(simulator, 2)
    assert first.tobytes() == again.tobytes()
    assert (first != other).any()


def test_what_is_observed_and_earned(simulator: TrafficSimulator) -> None:
    rows = run(simulator, 0, 40)
    phases, densities, rewards = rows[:, :2], rows[:, 3:11], rows[1:, 11]
    np.testing.assert_array_equal(phases.sum(1), 1.0)
    assert (phases[:, 1] == 1).any()
    assert ((densities >= 0) & (densities <= 1)).all()
    assert densities.any()
    # The mean speed as a share of what is allowed; 1 on empty roads.
    assert ((rewards >= 0) & (rewards <= 1.0 + 1e-6)).all()
    assert rewards.min() < 0.9
    np.testing.assert_array_equal(rows[0], np.append(np.eye(11)[0], 0.0))


def test_a_process_runs_one_simulation_at_a_time(simulator: TrafficSimulator) -> None:
    with pytest.raises(InputError, match="one traffic simulation at a time: close the other"):
        TrafficSimulator(TRAFFIC)
    simulator.close()
    with pytest.raises(InputError, match="cannot be read"):
        TrafficSimulator("nowhere.net.xml")
    assert find_world(TRAFFIC).signature.action_size == 2


def test_watching_sees_every_second(simulator: TrafficSimulator) -> None:
    clock = simulator.environment
    moments: list[float] = []
    simulator.watch(lambda: moments.append(clock.sim_step))
    simulator.reset(0)
    simulator.step(0)
    simulator.step(1)
    assert moments == list(range(11))


def test_other_networks_by_path(tmp_path: Path, network: str) -> None:
    (tmp_path / "town.net.xml").write_text(network)
    (tmp_path / "town.rou.xml").write_text(ROUTES.read_text())
    world = find_world(str(tmp_path / "town.net.xml"))
    there = world.make()
    try:
        rows = run(there, 4)
    finally:
        there.close()
    ours = find_world(TRAFFIC).make()
    try:
        assert rows.tobytes() == run(ours, 4).tobytes()
    finally:
        ours.close()


def test_files_that_cannot_be_used_are_named(tmp_path: Path, network: str) -> None:
    unlit = re.sub(r"<tlLogic.*?</tlLogic>", "", network, flags=re.S)
    unlit = unlit.replace('"traffic_light"', '"priority"').replace('tl="t"', "")
    good = ROUTES.read_text()
    for name, net, routes, problem in (
        ("half", network[:2000], good, r"half.net.xml: SUMO cannot use it"),
        ("lost", network, good.replace("n_t", "x"), r"lost.rou.xml: SUMO cannot use it .*'x'"),
        ("unlit", unlit, good, r"unlit.net.xml: has 0 traffic lights; give a network with one"),
    ):
        (tmp_path / f"{name}.net.xml").write_text(net)
        (tmp_path / f"{name}.rou.xml").write_text(routes)
        with pytest.raises(InputError, match=problem):
            find_world(str(tmp_path / f"{name}.net.xml"))
    (tmp_path / "alone.net.xml").write_text(network)
    with pytest.raises(InputError, match=r"alone.rou.xml: its routes cannot be read"):
        find_world(str(tmp_path / "alone.net.xml"))
    # None of them is still running.
    assert find_world(TRAFFIC).signature.action_size == 2


def test_a_viewer_is_found_or_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sumolib, "checkBinary", lambda name: str(tmp_path / name))
    with pytest.raises(InputError, match=r"needs sumo-gui.*pip install eclipse-sumo"):
        find_viewer()
    program = tmp_path / "sumo-gui"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert find_viewer() == str(program)


def test_a_window_asks_for_the_programs_of_sumo(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    class Environment:
        ts_ids = ("t",)

        def __init__(self, **options: object) -> None:
            asked.update(options)

        def close(self) -> None:
            asked["closed"] = True

    monkeypatch.setenv("LIBSUMO_AS_TRACI", "1")
    monkeypatch.setattr("sumo_rl.SumoEnvironment", Environment)
    TrafficSimulator(TRAFFIC, view="window").close()
    assert asked["use_gui"] is True
    assert asked["closed"] is True
    assert "LIBSUMO_AS_TRACI" not in os.environ
