"""Progress for people: live bars on a terminal, one line in a notebook, plain lines, or nothing."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TextIO

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskID, TextColumn
from rich.progress import Progress as ProgressBar
from rich.text import Text

from nacre.training.progress import NoProgress, Progress, ProgressEvent

Clock = Callable[[], float]
Shown = Progress | Literal[False] | None
"""Who hears of progress: somebody, nobody, or whoever looks."""


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
        self._began = clock()
        self._last = -float("inf")

    def __call__(self, event: ProgressEvent) -> None:
        """Print the epoch unless one was printed just before; the last of a stage always is."""
        if event.epoch < 0:
            return
        speed = self._rates.update(event)
        now = self._clock()
        if now - self._last < self._interval and event.epoch + 1 < event.epochs:
            return
        self._last = now
        counted = "epoch " if event.learns else ""
        texts = [
            f"{event.stage}: {counted}{event.epoch + 1}/{event.epochs}",
            *_describe(event, speed),
        ]
        if speed is not None:
            texts.append(f"{speed.seconds_left:.0f} s left")
        if event.share:
            left = _extrapolate(now - self._began, event.share)
            texts.append(f"{event.share:.0%} of all, about {left:.0f} s left")
        print(", ".join(texts), file=self._stream, flush=True)


class LiveBar:
    """Bars that are redrawn in place, one for each stage; use as a context manager.

    Where it is known how much of the whole run is done, the first bar shows that, with the time
    left for everything.
    """

    def __init__(self, console: Console | None = None, clock: Clock = time.monotonic) -> None:
        self._progress = ProgressBar(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[done]}"),
            TextColumn("{task.fields[text]}"),
            _TimeLeft(clock),
            console=Console(stderr=True) if console is None else console,
            get_time=clock,
        )
        self._clock = clock
        self._began = self._heard = clock()
        self._rates = _Rates(clock)
        self._tasks: dict[str, TaskID] = {}
        self._whole: TaskID | None = None
        self._pause: TaskID | None = None

    def __enter__(self) -> LiveBar:
        self._progress.start()
        self._begin_pause()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_pause()
        self._progress.stop()

    def _add(self, name: str, total: float | None) -> TaskID:
        return self._progress.add_task(name, total=total, done="", text="", ends=None)

    def _begin_pause(self) -> None:
        """A sign of life while the next stage is got ready: logs are read, loops compiled."""
        self._pause = self._add("preparing", None)

    def _end_pause(self) -> None:
        if self._pause is not None:
            self._progress.remove_task(self._pause)
            self._pause = None

    def __call__(self, event: ProgressEvent) -> None:
        """Move the bars of the stage and of the whole."""
        speed = None if event.epoch < 0 else self._rates.update(event)
        self._end_pause()
        now = self._clock()
        if event.share:
            if self._whole is None:
                self._whole = self._add("everything", 1.0)
            ends = now + _extrapolate(now - self._began, event.share)
            self._progress.update(
                self._whole, completed=event.share, done=f"{event.share:.0%}", ends=ends
            )
        if event.stage not in self._tasks:
            self._tasks[event.stage] = self._add(event.stage, event.epochs)
        done = event.epoch + 1
        # All that is known after the first epoch is how long that took, with compilation.
        first_left = (now - self._heard) * (event.epochs - done)
        self._progress.update(
            self._tasks[event.stage],
            completed=done,
            done=f"{done}/{event.epochs}",
            text="  ".join(_describe(event, speed)),
            ends=None if done == 0 else now + (speed.seconds_left if speed else first_left),
        )
        self._heard = now
        if done == event.epochs and self._whole is None:
            self._begin_pause()


class NotebookLine:
    """One line of a notebook that is written over."""

    def __init__(self, clock: Clock = time.monotonic, interval: float = 0.5) -> None:
        from IPython.display import display

        self._clock, self._interval = clock, interval
        self._began, self._last = clock(), -math.inf
        self._handle = display({"text/plain": "preparing"}, raw=True, display_id=True)

    def __call__(self, event: ProgressEvent) -> None:
        """Say how far it is; the end always, what comes in between a few times a second."""
        now = self._clock()
        if not event.share or (now - self._last < self._interval and event.share < 1.0):
            return
        self._last = now
        elapsed = now - self._began
        line = f"{event.share:.0%} of all, {elapsed:.0f} s, about "
        line += f"{_extrapolate(elapsed, event.share):.0f} s left: {event.stage}"
        if event.share >= 1.0:
            line = f"done in {elapsed:.0f} s"
        self._handle.update({"text/plain": line}, raw=True)


class _TimeLeft(ProgressColumn):
    """Counts down to the time at which a task should end, and shows nothing where none is known."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def render(self, task: Task) -> Text:
        ends = task.fields["ends"]
        if ends is None or task.finished:
            return Text("")
        minutes, seconds = divmod(max(1, math.ceil(ends - self._clock())), 60)
        hours, minutes = divmod(minutes, 60)
        return Text(f"{hours}:{minutes:02d}:{seconds:02d} left", style="progress.remaining")


@contextlib.contextmanager
def open_reporter(*, quiet: bool = False, stream: TextIO | None = None) -> Iterator[Progress]:
    """A live bar on a terminal, plain lines elsewhere, nothing when quiet.

    Args:
        quiet: Say nothing.
        stream: Where to; stderr if not given, for stdout is for results.
    """
    stream = sys.stderr if stream is None else stream
    if quiet:
        yield NoProgress()
    elif stream.isatty():
        with LiveBar(Console(file=stream)) as bar:
            yield bar
    else:
        yield PlainLines(stream)


@contextlib.contextmanager
def open_default() -> Iterator[Progress]:
    """What Python shows by itself: on a terminal and in a notebook how far it is, else nothing."""
    if _is_notebook():
        yield NotebookLine()
    else:
        with open_reporter(quiet=not sys.stderr.isatty()) as reporter:
            yield reporter


def open_progress(given: Shown) -> contextlib.AbstractContextManager[Progress]:
    """What is given; without it what Python shows by itself; nothing for False."""
    return open_default() if given is None else contextlib.nullcontext(given or NoProgress())


def _is_notebook() -> bool:
    """Whether a kernel of Jupyter runs this; asks nothing to be imported that is not there yet."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return running is not None and type(running).__name__ == "ZMQInteractiveShell"


@dataclass(frozen=True)
class _Speed:
    updates_per_second: float
    seconds_left: float


def _describe(event: ProgressEvent, speed: _Speed | None) -> list[str]:
    """What there is to be said of the numbers of an epoch."""
    numbers = {"loss": event.loss, "estimate": event.estimate}
    texts = [f"{name} {number:.4g}" for name, number in numbers.items() if number is not None]
    if speed is not None and event.learns:
        texts.append(f"{speed.updates_per_second:.0f} updates/s")
    return texts


def _extrapolate(elapsed: float, share: float) -> float:
    """Seconds left, if the rest goes on as what is done did."""
    return elapsed * (1.0 - share) / share


@dataclass
class _Pace:
    """The first epoch heard of a stage and what has been done since."""

    began: float
    first: int
    latest: int
    steps: int = 0


class _Rates:
    """Updates a second and seconds left of each stage."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._paces: dict[str, _Pace] = {}

    def update(self, event: ProgressEvent) -> _Speed | None:
        """The speed after this epoch; not known after the first, which includes compilation."""
        now = self._clock()
        pace = self._paces.get(event.stage)
        if pace is None or event.epoch <= pace.latest:
            self._paces[event.stage] = _Pace(now, event.epoch, event.epoch)
            return None
        pace.latest = event.epoch
        pace.steps += event.steps
        elapsed = max(now - pace.began, 1e-9)
        per_epoch = elapsed / (event.epoch - pace.first)
        return _Speed(pace.steps / elapsed, per_epoch * (event.epochs - event.epoch - 1))
