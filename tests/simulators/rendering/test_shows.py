"""A policy at work: animated pictures in every form, windows where there is a screen."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image

from nacre.errors import InputError
from nacre.simulators.registry import World, find_world
from nacre.simulators.rendering import pictures, shows
from nacre.simulators.rendering.shows import Film, Shown, has_screen, show_policy, write_film
from tests.support.simulators import Counter, small_policy


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No screen and no OpenGL."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pictures, "find_opengl", lambda: None)


def make_film(n: int = 3) -> Film:
    """A white square that walks to the right."""
    film = Film(seconds=0.1)
    for i in range(n):
        picture = np.zeros((20, 30, 3), np.uint8)
        picture[5:10, 5 * i : 5 * i + 5] = 255
        film.add(picture)
    return film


def read(path: Path) -> tuple[list[np.ndarray], dict[str, Any]]:
    """The pictures of a film, and what it says of each."""
    frames: list[np.ndarray] = []
    with Image.open(path) as image:
        said: dict[str, Any] = {str(name): value for name, value in image.info.items()}
        for i in range(cast("Any", image).n_frames):
            image.seek(i)
            frames.append(np.asarray(image.convert("RGB")))
        return frames, said | {str(name): value for name, value in image.info.items()}


def test_a_film_gives_back_its_pictures() -> None:
    film = make_film()
    assert len(film) == 3
    assert [int(picture.sum()) for picture in film] == [25 * 3 * 255] * 3
    assert film[1][7, 7].tolist() == [255, 255, 255]


@pytest.mark.parametrize("suffix", [".gif", ".png", ".apng", ".webp", ".GIF"])
def test_films_in_every_form(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new folder" / f"film{suffix}"
    write_film(make_film(), path)
    frames, said = read(path)
    assert len(frames) == 3
    assert said["loop"] == 0
    assert said["duration"] == 100
    for frame, picture in zip(frames, make_film(), strict=True):
        # WebP loses a little, mostly at edges.
        assert np.abs(frame.astype(float) - picture).mean() < 6
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_videos_where_ffmpeg_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def write_frames(path: str, size: tuple[int, int], *, fps: float) -> Any:
        def writer() -> Any:
            with Path(path).open("wb") as file:
                while True:
                    try:
                        frame = yield
                    except GeneratorExit:
                        return
                    sent.append((size, fps, frame.shape))
                    file.write(b"x")

        return writer()

    with pytest.raises(InputError, match=r"needs imageio-ffmpeg.*pip install imageio-ffmpeg"):
        write_film(make_film(), tmp_path / "film.mp4")
    module = SimpleNamespace(write_frames=write_frames)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", module)
    write_film(make_film(), tmp_path / "film.mp4")
    assert sent == [((30, 20), 10.0, (20, 30, 3))] * 3
    assert (tmp_path / "film.mp4").read_bytes() == b"xxx"


def test_places_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"film.txt: a picture that moves ends in .gif"):
        write_film(make_film(), tmp_path / "film.txt")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"film.gif: cannot be written"):
        write_film(make_film(), tmp_path / "file" / "film.gif")
    (tmp_path / "film.gif").mkdir()
    with pytest.raises(InputError, match=r"film.gif: cannot be written"):
        write_film(make_film(), tmp_path / "film.gif")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "film.gif"]


def test_a_robot_at_work(tmp_path: Path) -> None:
    world = find_world("Hopper-v4")
    shown = show_policy(
        world, small_policy(world), tmp_path / "hopper.gif", steps=10, seed=0, gui=False
    )
    frames, said = read(tmp_path / "hopper.gif")
    # One at the start and one every fifth step.
    assert len(frames) == 3
    assert said["duration"] == 40
    assert (frames[0] != frames[-1]).any()
    again = show_policy(
        world, small_policy(world), tmp_path / "again.gif", steps=10, seed=0, gui=True
    )
    assert (again.steps, again.episodes, again.total_reward) == (10, 1, shown.total_reward)
    assert (tmp_path / "again.gif").read_bytes() == (tmp_path / "hopper.gif").read_bytes()
    assert shown.as_json() == {
        "steps": 10,
        "episodes": 1,
        "total_reward": shown.total_reward,
        "path": str(tmp_path / "hopper.gif"),
    }


def test_traffic_at_work(tmp_path: Path) -> None:
    world = find_world("traffic")
    told: list[tuple[int, int]] = []
    show_policy(
        world,
        small_policy(world),
        tmp_path / "t.webp",
        steps=3,
        seed=0,
        gui=False,
        on_progress=lambda done, total: told.append((done, total)),
    )
    # Each step is drawn, then each picture is written: half and half.
    assert told[:3] == [(1, 6), (2, 6), (3, 6)]
    assert told[3] == (17, 32)
    assert [done / total for done, total in told] == sorted(done / total for done, total in told)
    assert told[-1][0] <= told[-1][1]
    frames, said = read(tmp_path / "t.webp")
    # The start and every second of three decisions.
    assert len(frames) == 16
    assert said["duration"] == 100
    # It was closed: another one can run.
    assert find_world("traffic").signature == world.signature


def test_a_show_that_fails_is_closed_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = find_world("traffic")

    def fail(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shows, "run_steps", fail)
    with pytest.raises(KeyboardInterrupt):
        show_policy(world, small_policy(world), tmp_path / "t.gif", steps=3, seed=0, gui=False)
    assert not list(tmp_path.iterdir())
    assert find_world("traffic").signature == world.signature


def test_wishes_that_cannot_be_met_are_refused(tmp_path: Path) -> None:
    world = find_world("CartPole-v1")
    policy = small_policy(world)
    for gui, path, steps, problem in (
        (True, None, 5, "there is no screen .*give a file"),
        (False, None, 5, "nowhere to show it: give a file"),
        (False, tmp_path / "x.gif", 0, "0 steps: give at least 1"),
        (False, tmp_path / "x.bmp", 5, "ends in .gif"),
        (False, tmp_path / "x.gif", 5, "CartPole-v1: cannot be drawn .*pygame"),
    ):
        with pytest.raises(InputError, match=problem):
            show_policy(world, policy, path, steps=steps, seed=0, gui=gui)
    other = small_policy(find_world("Hopper-v4"))
    with pytest.raises(InputError, match="give a policy of this world"):
        show_policy(world, other, tmp_path / "x.gif", steps=5, seed=0, gui=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("darwin", {}, True),
        ("win32", {}, True),
    ],
)
def test_screens(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: bool
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert has_screen() is expected


def test_windows_are_the_simulators_own(monkeypatch: pytest.MonkeyPatch) -> None:
    world = find_world("Hopper-v4")
    views: list[Any] = []

    class Hopper(Counter):
        def _observe(self) -> Any:
            return np.zeros(11, np.float32)

        def close(self) -> None:
            views.append("closed")

    def make(self: World, *, view: Any = None) -> Any:
        views.append(view)
        return Hopper(life=2)

    monkeypatch.setattr(World, "make", make)
    monkeypatch.setattr(shows, "has_screen", lambda: True)
    shown = show_policy(world, small_policy(world), None, steps=4, seed=0, gui=True)
    assert shown == Shown(steps=4, episodes=2, total_reward=6.0, path=None)
    assert views == ["window", "closed"]
    assert shown.as_json()["path"] is None


def test_windows_onto_other_worlds_say_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shows, "has_screen", lambda: True)
    world = find_world("CartPole-v1")
    with pytest.raises(InputError, match=r"CartPole-v1: cannot be shown .*pygame"):
        show_policy(world, small_policy(world), None, steps=4, seed=0, gui=True)


def test_windows_onto_traffic_run_in_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shows, "has_screen", lambda: True)
    world = find_world("traffic")
    policy = small_policy(world)
    with pytest.raises(InputError, match="sumo-gui, which is not installed"):
        show_policy(world, policy, None, steps=2, seed=0, gui=True)
    monkeypatch.setattr("nacre.simulators.traffic.find_viewer", lambda: "sumo-gui")
    submitted: list[Any] = []
    result = Shown(steps=2, episodes=1, total_reward=0.5, path=None)

    class Pool:
        def __init__(self, n: int, *, mp_context: Any) -> None:
            submitted.append((n, mp_context.get_start_method()))

        def __enter__(self) -> Pool:
            return self

        def __exit__(self, *error: object) -> None:
            submitted.append("closed")

        def submit(self, function: Any, task: Any) -> Any:
            submitted.append((function, task.world, task.steps, task.seed))
            return SimpleNamespace(result=lambda: result)

    monkeypatch.setattr(shows, "ProcessPoolExecutor", Pool)
    assert show_policy(world, policy, None, steps=2, seed=3, gui=True) is result
    assert submitted == [(1, "spawn"), (shows._run_window, world, 2, 3), "closed"]
