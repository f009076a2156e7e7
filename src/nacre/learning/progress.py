"""Progress of long runs: a live line on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import Protocol, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


@dataclass(frozen=True)
class Tick:
    """One epoch of some stage of a run."""

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

    def __init__(self, stream: TextIO | None = None, interval: float = 2.0) -> None:
        self._stream = stream or sys.stderr
        self._interval = interval
        self._rates = _Rates()
        self._last = -float("inf")

    def __call__(self, tick: Tick) -> None:
        """Print the epoch unless one was printed just before; the last of a stage always is."""
        rate, left = self._rates.update(tick)
        now = time.monotonic()
        if now - self._last < self._interval and tick.epoch + 1 < tick.epochs:
            return
        self._last = now
        print(
            f"{tick.stage}: epoch {tick.epoch + 1}/{tick.epochs}, loss {tick.loss:.4g}, "
            f"estimate {tick.estimate:.4g}, {rate:.0f} updates/s, {left:.0f} s left",
            file=self._stream,
            flush=True,
        )


class LiveBar:
    """A bar that is redrawn in place; use as a context manager."""

    def __init__(self, console: Console | None = None) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TextColumn("{task.fields[text]}"),
            TimeRemainingColumn(),
            console=console or Console(stderr=True),
        )
        self._rates = _Rates()
        self._tasks: dict[str, int] = {}

    def __enter__(self) -> LiveBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, tick: Tick) -> None:
        """Move the stage's bar."""
        rate, _ = self._rates.update(tick)
        if tick.stage not in self._tasks:
            self._tasks[tick.stage] = self._progress.add_task(
                tick.stage, total=tick.epochs, text=""
            )
        text = f"loss {tick.loss:.4g}  estimate {tick.estimate:.4g}  {rate:.0f} updates/s"
        self._progress.update(
            self._tasks[tick.stage],  # type: ignore[arg-type]
            completed=tick.epoch + 1,
            text=text,
        )


class _Rates:
    """Updates a second and seconds left of the current stage."""

    def __init__(self) -> None:
        self._stage = ""
        self._began = 0.0
        self._first = 0
        self._steps = 0

    def update(self, tick: Tick) -> tuple[float, float]:
        now = time.monotonic()
        if tick.stage != self._stage:
            # The first epoch includes compilation: time is counted from its end.
            self._stage, self._began, self._first, self._steps = tick.stage, now, tick.epoch, 0
            return 0.0, float("nan")
        self._steps += tick.steps
        elapsed = max(now - self._began, 1e-9)
        per_epoch = elapsed / (tick.epoch - self._first)
        return self._steps / elapsed, per_epoch * (tick.epochs - tick.epoch - 1)
