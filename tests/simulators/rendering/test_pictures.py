"""Pictures: robots as MuJoCo or our pencil draws them, traffic as a map with its lights."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.simulators.registry import Simulator, find_world
from nacre.simulators.rendering import opengl, pictures
from nacre.simulators.rendering.pictures import draw_robot, draw_traffic, sketch_robot


@pytest.fixture
def start() -> Iterator[Callable[[str], Any]]:
    made: list[Simulator] = []

    def start_one(name: str) -> Any:
        made.append(find_world(name).make())
        made[-1].reset(0, nominal=True)
        return made[-1]

    yield start_one
    for simulator in made:
        simulator.close()


def count(picture: np.ndarray, colour: tuple[int, ...]) -> int:
    """Pixels of exactly this colour."""
    return int((picture == np.array(colour, np.uint8)).all(-1).sum())


def columns_of(picture: np.ndarray, colour: tuple[int, ...]) -> np.ndarray:
    """The columns in which a colour is to be seen."""
    return np.flatnonzero((picture == np.array(colour, np.uint8)).all(-1).any(0))


HOPPER = (204, 153, 102)
"""The colour that the model gives to its robot."""


def test_a_sketch_shows_the_robot_upright_in_the_middle(start: Callable[[str], Any]) -> None:
    picture = sketch_robot(start("Hopper-v4").environment)
    assert picture.shape == (480, 480, 3)
    assert picture.dtype == np.uint8
    robot = (picture == HOPPER).all(-1)
    rows, columns = np.flatnonzero(robot.any(1)), np.flatnonzero(robot.any(0))
    # At rest it stands straight above its foot, and the floor is below.
    assert rows.max() - rows.min() > 2 * (columns.max() - columns.min())
    assert 200 < np.median(np.nonzero(robot)[1]) < 280
    assert (picture[rows.max() + 12] == pictures.FLOOR).all(-1).sum() > 400
    assert (picture[:40] == pictures.PAPER).all()


def test_the_view_follows_the_robot_and_keeps_its_scale(start: Callable[[str], Any]) -> None:
    environment = start("Hopper-v4").environment
    before = sketch_robot(environment)
    position = environment.init_qpos.copy()
    # Ten marks of half a metre on: the floor looks different in its figures only.
    position[0] += 5.0
    environment.set_state(position, environment.init_qvel)
    after = sketch_robot(environment)
    changed = np.flatnonzero((before != after).any((1, 2)))
    assert len(changed) > 0
    labels = np.flatnonzero((before == pictures.FLOOR).all(-1).any(1))
    assert changed.min() >= labels.min()
    assert changed.max() - changed.min() < 20


@pytest.mark.parametrize("name", ["Ant-v4", "HalfCheetah-v4", "Pusher-v5"])
def test_all_kinds_of_shapes_are_drawn(start: Callable[[str], Any], name: str) -> None:
    picture = sketch_robot(start(name).environment)
    assert count(picture, pictures.INK) > 200
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 10


def test_boxes_are_drawn() -> None:
    text = """<mujoco><worldbody><geom type="plane" size="9 9 1"/><body pos="0 0 1">
    <joint type="slide"/><geom type="box" size="0.5 0.1 0.1" rgba="0 0 1 1"/></body></worldbody>
    </mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    picture = sketch_robot(SimpleNamespace(model=model, data=data))
    blue = (picture == (0, 0, 255)).all(-1)
    assert blue.any(0).sum() > 3 * blue.any(1).sum()


def test_opengl_or_pencil_as_found(
    start: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    simulator = start("Hopper-v4")
    monkeypatch.setattr(pictures, "find_opengl", lambda: None)
    np.testing.assert_array_equal(simulator.draw(), sketch_robot(simulator.environment))
    monkeypatch.setattr(pictures, "find_opengl", lambda: "egl")
    monkeypatch.setattr(pictures, "render_robot", lambda _, backend: backend)
    assert draw_robot(simulator.environment) == "egl"


def test_opengl_draws_where_it_works(start: Callable[[str], Any]) -> None:
    opengl.find_opengl.cache_clear()
    simulator = start("Hopper-v4")
    picture = simulator.draw()
    assert picture.shape == (480, 480, 3)
    # Whoever drew it, there is a figure before a ground.
    assert picture.std() > 10
    rng = np.random.default_rng(0)
    for _ in range(10):
        simulator.step(rng.uniform(-1, 1, 3))
    assert (simulator.draw() != picture).any()


def test_opengl_is_tried_in_another_process_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def run(command: list[str], *, env: dict[str, str], **options: Any) -> Any:
        tried.append(env["MUJOCO_GL"])
        if tried[-1] == "egl":
            raise subprocess.TimeoutExpired(command, 60)
        return SimpleNamespace(stdout="works\n" if tried[-1] == "osmesa" else "")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    for wanted, found, tries in (
        ("", "osmesa", ["egl", "osmesa"]),
        ("glfw", None, ["glfw"]),
        ("off", None, []),
    ):
        opengl.find_opengl.cache_clear()
        tried.clear()
        monkeypatch.setenv("MUJOCO_GL", wanted)
        assert opengl.find_opengl() == found
        assert opengl.find_opengl() == found
        assert tried == tries
    opengl.find_opengl.cache_clear()


def test_rendering_leaves_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><camera name="track"/></worldbody></mujoco>'
    )
    seen: list[str | None] = []

    def render(mode: str) -> Any:
        seen.append(os.environ.get("MUJOCO_GL"))
        return np.zeros((2, 2, 3))

    environment = SimpleNamespace(model=model, mujoco_renderer=SimpleNamespace(render=render))
    for before in (None, "glfw"):
        if before is None:
            monkeypatch.delenv("MUJOCO_GL", raising=False)
        else:
            monkeypatch.setenv("MUJOCO_GL", before)
        assert opengl.render_robot(environment, "egl").dtype == np.uint8
        assert os.environ.get("MUJOCO_GL") == before
    assert seen == ["egl", "egl"]
    assert environment.mujoco_renderer.camera_id == 0


def test_other_worlds_draw_themselves_or_say_why_not() -> None:
    environment = SimpleNamespace(
        spec=SimpleNamespace(id="Lake-v1"), render=lambda: np.zeros((3, 4, 3), int)
    )
    assert draw_robot(environment).shape == (3, 4, 3)
    environment.render = lambda: None
    with pytest.raises(InputError, match="Lake-v1: does not draw pictures"):
        draw_robot(environment)

    def refuse() -> None:
        raise gymnasium.error.DependencyNotInstalled("pygame is not installed")

    environment.render = refuse
    with pytest.raises(InputError, match=r"Lake-v1: cannot be drawn .pygame is not installed"):
        draw_robot(environment)


def test_the_map_shows_lights_and_vehicles(start: Callable[[str], Any]) -> None:
    simulator = start("traffic")
    empty = draw_traffic(simulator.environment)
    red, green = pictures.LIGHTS["r"], pictures.LIGHTS["g"]
    # The north has green first: a bar across its lanes, wider than high, above the red one.
    bar = np.argwhere((empty == green).all(-1))
    wide, high = bar.max(0)[1] - bar.min(0)[1], bar.max(0)[0] - bar.min(0)[0]
    assert wide > high
    assert columns_of(empty, red).max() < columns_of(empty, green).max()
    assert count(empty, tuple(pictures.STANDING)) == 0
    for _ in range(12):
        simulator.step(0)
    # Vehicles from the west have to wait.
    waiting = simulator.draw()
    standing = columns_of(waiting, tuple(pictures.STANDING))
    assert len(standing) > 0
    assert standing.max() < columns_of(waiting, red).max()
    simulator.step(1)
    turned = simulator.draw()
    assert columns_of(turned, green).min() < columns_of(turned, red).min()
    assert count(turned, green) > count(turned, pictures.LIGHTS["y"]) == 0


def test_a_point_before_the_end_of_a_line() -> None:
    line = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 4.0]])
    np.testing.assert_allclose(pictures._backwards(line, 2.0), [10.0, 2.0])
    np.testing.assert_allclose(pictures._backwards(line, 7.0), [7.0, 0.0])
    np.testing.assert_allclose(pictures._backwards(line, 99.0), [0.0, 0.0])
