"""A policy at work: in the simulator's own window, or as an animated picture in a file."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import secrets
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from nacre.errors import InputError
from nacre.policies.policy import Policy
from nacre.simulators.collection import check_policy
from nacre.simulators.registry import Simulator, World, is_traffic, require
from nacre.simulators.rollouts import draw_actions, run_steps

FORMATS = {".gif": "GIF", ".png": "PNG", ".apng": "PNG", ".webp": "WEBP"}
VIDEO = ".mp4"
COLOURS = 64
"""Of a GIF, which has one palette for all its pictures."""
Progress = Callable[[int, int], None]
"""How much is done, and of how much."""


@dataclass(frozen=True)
class Shown:
    """What was to be seen: the steps, the episodes they made, the sum of their rewards.

    `path` is None after a window.
    """

    steps: int
    episodes: int
    total_reward: float
    path: Path | None

    def as_json(self) -> dict[str, Any]:
        """Plain numbers for a record."""
        return {
            "steps": self.steps,
            "episodes": self.episodes,
            "total_reward": self.total_reward,
            "path": None if self.path is None else str(self.path),
        }


def show_policy(
    world: World,
    policy: Policy,
    path: Path | None,
    *,
    steps: int,
    seed: int,
    gui: bool,
    on_progress: Progress | None = None,
) -> Shown:
    """Let a policy act and show it.

    Episodes begin at the nominal start where the world has one.

    Args:
        world: Where it acts.
        policy: The policy.
        path: Where to write the picture if there is no window: .gif, .png (animated), .webp, or
            .mp4 where imageio-ffmpeg is installed.
        steps: Steps to show.
        seed: Everything random follows from it.
        gui: Use the simulator's own window, if there is a screen.
        on_progress: Hears how much of a picture is done, and of how much. A window tells itself.

    Raises:
        InputError: If there is neither screen nor path, or something needed is not installed.
    """
    if steps < 1:
        raise InputError(f"{steps} steps: give at least 1")
    check_policy(world, policy)
    task = _Task(world, policy, steps, seed)
    if gui and has_screen():
        return _show_window(task)
    if path is None:
        raise InputError(
            "there is no screen to show a window on: give a file to write, such as policy.gif"
            if gui
            else "nowhere to show it: give a file to write, such as policy.gif, or use a window"
        )
    check_format(path, "sumo" if is_traffic(world.name) else "mujoco")
    simulator = world.make(view="picture")
    film = Film()
    try:
        film.seconds = simulator.watch(lambda: film.add(simulator.draw()))
        # Drawing is the first half, writing the second.
        shown = _act(task, simulator, path, _count(on_progress, 0, 2 * steps))
    finally:
        simulator.close()
    write_film(film, path, _count(on_progress, len(film), 2 * len(film)))
    return shown


def _count(heard: Progress | None, before: int, total: int) -> Callable[[int], None] | None:
    """What counts up to a total, from where others got to."""
    if heard is None:
        return None
    counted = itertools.count(before + 1)
    return lambda _: heard(min(next(counted), total), total)


def has_screen() -> bool:
    """Whether a window could open here."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


@dataclass(frozen=True)
class _Task:
    world: World
    policy: Policy
    steps: int
    seed: int


def _show_window(task: _Task) -> Shown:
    if not is_traffic(task.world.name):
        return _run_window(task)
    from nacre.simulators.traffic import find_viewer

    find_viewer()
    # This process has libsumo, which has no window and cannot be taken out again.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_run_window, task).result()


def _run_window(task: _Task) -> Shown:
    simulator = task.world.make(view="window")
    try:
        return _act(task, simulator, None)
    finally:
        simulator.close()


def _act(
    task: _Task,
    simulator: Simulator,
    path: Path | None,
    on_step: Callable[[int], None] | None = None,
) -> Shown:
    try:
        columns = run_steps(
            [simulator],
            draw_actions(task.policy, task.seed),
            task.steps,
            episode_length=task.world.episode_length,
            seed=task.seed,
            nominal=task.world.start is not None,
            on_step=on_step,
        )
    except gymnasium.error.DependencyNotInstalled as error:
        raise InputError(f"{task.world.name}: cannot be shown ({error})") from None
    rewards = columns["rewards"].astype(np.float64)
    return Shown(task.steps, int(columns["episode"][-1]) + 1, float(rewards.sum()), path)


@dataclass
class Film:
    """Pictures of one size and for how many seconds each is shown; kept small until written."""

    seconds: float = 0.04
    _shape: tuple[int, ...] = ()
    _packed: list[bytes] = field(default_factory=list)

    def add(self, picture: np.ndarray) -> None:
        """Put a picture at the end."""
        self._shape = picture.shape
        self._packed.append(zlib.compress(picture.tobytes(), 1))

    def __len__(self) -> int:
        return len(self._packed)

    def __getitem__(self, index: int) -> np.ndarray:
        """A picture (height, width, 3)."""
        return np.frombuffer(zlib.decompress(self._packed[index]), np.uint8).reshape(self._shape)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))


def check_format(path: Path, extra: str = "mujoco") -> None:
    """Raise `InputError` unless a film can be written to a file of this name."""
    suffix = path.suffix.lower()
    if suffix == VIDEO:
        try:
            import_module("imageio_ffmpeg")
        except ImportError:
            raise InputError(
                f"{path}: {VIDEO} needs imageio-ffmpeg, which is not installed: pip install "
                "imageio-ffmpeg, or write a .gif or .webp"
            ) from None
    elif suffix not in FORMATS:
        known = ", ".join([*FORMATS, VIDEO])
        raise InputError(f"{path}: a picture that moves ends in {known}; choose such a name")
    require(["PIL"], extra, "writing a picture")


def write_film(film: Film, path: Path, on_picture: Callable[[int], None] | None = None) -> None:
    """Write a film whole or not at all, in the form that the name's suffix says.

    Args:
        film: The pictures.
        path: Where to write them.
        on_picture: Hears of every picture that was taken up.
    """
    check_format(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix.lower() == VIDEO:
            _write_video(film, part, on_picture)
        else:
            _write_animation(film, part, on_picture)
        part.replace(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path}: cannot be written ({reason}); choose another place") from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _write_animation(film: Film, path: Path, on_picture: Callable[[int], None] | None) -> None:
    kind = FORMATS[path.suffix.lower()]
    palette = _choose_colours(film) if kind == "GIF" else None
    options: dict[str, dict[str, Any]] = {
        "GIF": {"optimize": True, "disposal": 1},
        "WEBP": {"quality": 85},
    }
    next(iter(_Images(film, palette, first=0))).save(
        path,
        format=kind,
        save_all=True,
        append_images=_Images(film, palette, first=1, on_picture=on_picture),
        duration=round(film.seconds * 1000),
        loop=0,
        **options.get(kind, {}),
    )


@dataclass(frozen=True)
class _Images:
    """A film as Pillow wants it: gone through more than once, each picture made in its turn."""

    film: Film
    palette: Any
    first: int
    on_picture: Callable[[int], None] | None = None

    def __iter__(self) -> Iterator[Any]:
        from PIL import Image

        for i in range(self.first, len(self.film)):
            image = Image.fromarray(self.film[i])
            if self.palette is not None:
                image = image.quantize(palette=self.palette, dither=Image.Dither.NONE)
            if self.on_picture is not None:
                self.on_picture(i)
            yield image


def _choose_colours(film: Film) -> Any:
    """A palette for the whole film, from some of its pictures side by side."""
    from PIL import Image

    chosen = np.unique(np.linspace(0, len(film) - 1, 8).round().astype(int))
    together = np.concatenate([film[int(i)] for i in chosen], axis=1)
    return Image.fromarray(together).quantize(COLOURS, dither=Image.Dither.NONE)


def _write_video(film: Film, path: Path, on_picture: Callable[[int], None] | None) -> None:
    ffmpeg = import_module("imageio_ffmpeg")
    height, width, _ = film[0].shape
    writer = ffmpeg.write_frames(str(path), (width, height), fps=1 / film.seconds)
    writer.send(None)
    for i, picture in enumerate(film):
        writer.send(np.ascontiguousarray(picture))
        if on_picture is not None:
            on_picture(i)
    writer.close()
