"""Progress of long runs: a live line on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

Clock = Callable[[], float]


@dataclass(frozen=True)
class Tick:
    """One epoch of some stage of a run.

    Args:
        stage: What is being done.
        epoch: Number of the epoch, from 0.
        epochs: Largest number of epochs of the stage.
        steps: Updates in this epoch.
        loss: Mean loss of the critics.
        estimate: What the policy is worth by now.
    """

    stage: str
    epoch: int
    epochs: int
    steps: int
    loss: float
    estimate: float


class Reporter(Protocol):
    """Anything that wants to hear of epochs."""

    def __call__(self, tick: Tick) -> None:
        """Hear of one epoch."""
        ...


class Silent:
    """Says nothing."""

    def __call__(self, tick: Tick) -> None:
        """Say nothing."""


class PlainLines:
    """A line an epoch, for logs of batch systems; at most one every `interval` seconds."""

    def __init__(
        self,
        stream: TextIO | None = None,
        interval: float = 2.0,
        clock: Clock = time.monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._interval = interval
        self._clock = clock
        self._rates = _Rates(clock)
        self._last = -float("inf")

    def __call__(self, tick: Tick) -> None:
        """Print the epoch unless one was printed just before; the last of a stage always is."""
        speed = self._rates.update(tick)
        now = self._clock()
        if now - self._last < self._interval and tick.epoch + 1 < tick.epochs:
            return
        self._last = now
        text = (
            f"{tick.stage}: epoch {tick.epoch + 1}/{tick.epochs}, loss {tick.loss:.4g}, "
            f"estimate {tick.estimate:.4g}"
        )
        if speed is not None:
            text += f", {speed.updates_per_second:.0f} updates/s, {speed.seconds_left:.0f} s left"
        print(text, file=self._stream, flush=True)


class LiveBar:
    """A bar that is redrawn in place; use as a context manager."""

    def __init__(self, console: Console | None = None, clock: Clock = time.monotonic) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[done]}"),
            TextColumn("{task.fields[text]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True) if console is None else console,
            get_time=clock,
        )
        self._rates = _Rates(clock)
        self._tasks: dict[str, TaskID] = {}
        self._pause: TaskID | None = None

    def __enter__(self) -> LiveBar:
        self._progress.start()
        self._begin_pause()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_pause()
        self._progress.stop()

    def _begin_pause(self) -> None:
        """A sign of life while the next stage is got ready: logs are read, loops compiled."""
        self._pause = self._progress.add_task("preparing", total=None, done="", text="")

    def _end_pause(self) -> None:
        if self._pause is not None:
            self._progress.remove_task(self._pause)
            self._pause = None

    def __call__(self, tick: Tick) -> None:
        """Move the stage's bar."""
        speed = self._rates.update(tick)
        self._end_pause()
        if tick.stage not in self._tasks:
            self._tasks[tick.stage] = self._progress.add_task(
                tick.stage, total=tick.epochs, done="", text=""
            )
        text = f"loss {tick.loss:.4g}  estimate {tick.estimate:.4g}"
        if speed is not None:
            text += f"  {speed.updates_per_second:.0f} updates/s"
        done = tick.epoch + 1
        self._progress.update(
            self._tasks[tick.stage], completed=done, done=f"{done}/{tick.epochs}", text=text
        )
        if done == tick.epochs:
            self._begin_pause()


@contextlib.contextmanager
def open_reporter(*, quiet: bool = False, stream: TextIO | None = None) -> Iterator[Reporter]:
    """A live bar on a terminal, plain lines elsewhere, nothing when quiet.

    Args:
        quiet: Say nothing.
        stream: Where to; stderr if not given, for stdout is for results.
    """
    stream = sys.stderr if stream is None else stream
    if quiet:
        yield Silent()
    elif stream.isatty():
        with LiveBar(Console(file=stream)) as bar:
            yield bar
    else:
        yield PlainLines(stream)


@dataclass(frozen=True)
class _Speed:
    updates_per_second: float
    seconds_left: float


class _Rates:
    """Updates a second and seconds left of the current stage."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stage = ""
        self._began = 0.0
        self._first = 0
        self._latest = 0
        self._steps = 0

    def update(self, tick: Tick) -> _Speed | None:
        """The speed after this epoch; not known after the first, which includes compilation."""
        now = self._clock()
        again = tick.epoch <= self._latest
        self._latest = tick.epoch
        if tick.stage != self._stage or again:
            self._stage, self._began, self._first, self._steps = tick.stage, now, tick.epoch, 0
            return None
        self._steps += tick.steps
        elapsed = max(now - self._began, 1e-9)
        per_epoch = elapsed / (tick.epoch - self._first)
        return _Speed(self._steps / elapsed, per_epoch * (tick.epochs - tick.epoch - 1))
