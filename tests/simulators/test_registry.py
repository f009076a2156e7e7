"""Worlds by name, and what is said where an extra is not installed."""

from __future__ import annotations

import importlib
import pickle
from types import ModuleType

import pytest

from nacre.errors import InputError
from nacre.simulators.gymnasium_worlds import GymnasiumSimulator
from nacre.simulators.registry import find_world, is_traffic, require
from nacre.simulators.traffic import TrafficSimulator


def test_names_lead_to_simulators() -> None:
    for name, kind in (("CartPole-v1", GymnasiumSimulator), ("traffic", TrafficSimulator)):
        world = find_world(name)
        assert world.name == name
        simulator = world.make()
        assert type(simulator) is kind
        simulator.close()


def test_traffic_is_known_by_its_name() -> None:
    assert is_traffic("traffic")
    assert is_traffic("nets/city.net.xml")
    assert not is_traffic("Hopper-v4")


def test_worlds_go_to_other_processes() -> None:
    world = find_world("Hopper-v4")
    copy = pickle.loads(pickle.dumps(world))  # noqa: S301
    assert copy.signature == world.signature
    assert world.start is not None
    assert copy.start.tobytes() == world.start.tobytes()


@pytest.mark.parametrize(
    ("world", "module", "extra"),
    [
        ("Hopper-v4", "mujoco", "mujoco"),
        ("Ant-v4", "mujoco", "mujoco"),
        ("traffic", "sumo_data", "sumo"),
        ("traffic", "sumo_rl", "sumo"),
        ("traffic", "libsumo", "sumo"),
    ],
)
def test_missing_extras_are_named(
    monkeypatch: pytest.MonkeyPatch, world: str, module: str, extra: str
) -> None:
    there = importlib.import_module

    def import_module(name: str) -> ModuleType:
        if name == module:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return there(name)

    monkeypatch.setattr("nacre.simulators.registry.import_module", import_module)
    with pytest.raises(InputError) as caught:
        find_world(world)
    (line,) = caught.value.problems
    assert f"needs {module}, which is not installed: pip install 'nacre[{extra}]'" in line
    # Worlds that do not need it are still there.
    assert find_world("CartPole-v1").signature.action_size == 2


def test_import_errors_without_a_name_blame_the_first_module() -> None:
    with pytest.raises(InputError, match=r"a thing needs nacre_no_such_thing.*nacre\[x\]"):
        require(["nacre_no_such_thing"], "x", "a thing")
