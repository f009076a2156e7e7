"""Progress of long runs: what is told after every epoch, and how much of the whole is done."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class ProgressEvent:
    """One epoch of some stage of a run.

    Args:
        stage: What is being done.
        epoch: Number of the epoch, from 0; -1 when the stage begins, where that is told.
        epochs: Largest number of epochs of the stage.
        steps: Updates in this epoch.
        loss: Mean loss of the critics; None where there are none.
        estimate: What the policy is worth by now; None where nothing is estimated.
        share: Share of the whole run that is done by now, if that is known.
    """

    stage: str
    epoch: int
    epochs: int
    steps: int
    loss: float | None = None
    estimate: float | None = None
    share: float | None = None

    @property
    def learns(self) -> bool:
        """Whether there are critics that learn; else its epochs are parts of something else."""
        return self.loss is not None


class Progress(Protocol):
    """Anything that wants to hear of epochs."""

    def __call__(self, event: ProgressEvent) -> None:
        """Hear of one epoch."""
        ...


class NoProgress:
    """Says nothing."""

    def __call__(self, event: ProgressEvent) -> None:
        """Say nothing."""


def count_parts(report: Progress, stage: str, total: int) -> Callable[[int], None]:
    """A listener to whom things are told as they are done, and that reports every hundredth."""
    done = heard = 0

    def count(more: int) -> None:
        nonlocal done, heard
        done += more
        percent = min(100 * done // total, 100)
        if percent > heard:
            report(ProgressEvent(stage, percent - 1, 100, more))
            heard = percent

    return count


class Agenda:
    """Tells how much of a whole run is done; stages may run at the same time, in any order.

    Args:
        report: Hears every epoch, with the share that is done.
        sizes: How much work each stage is, in any unit.
    """

    def __init__(self, report: Progress, sizes: Mapping[str, float]) -> None:
        self._report = report
        self._sizes = dict(sizes)
        self._shares = dict.fromkeys(sizes, 0.0)
        self._lock = threading.Lock()
        self._stopped = False

    def __call__(self, event: ProgressEvent) -> None:
        """Pass an epoch on; once stopped, end the stage that reports it."""
        if self._stopped:
            raise KeyboardInterrupt
        with self._lock:
            self._shares[event.stage] = (event.epoch + 1) / event.epochs
            self._report(dataclasses.replace(event, share=self.share))

    @property
    def share(self) -> float:
        """Share of all work that is done; stages that nobody planned count nothing."""
        total = sum(self._sizes.values())
        done = sum(size * self._shares[stage] for stage, size in self._sizes.items())
        return done / total if total > 0 else 1.0

    def extend(self, sizes: Mapping[str, float]) -> None:
        """Plan further stages; the share that is done becomes less by them."""
        with self._lock:
            self._sizes |= sizes
            self._shares = dict.fromkeys(sizes, 0.0) | self._shares

    def begin(self, stage: str, epochs: int) -> None:
        """Tell that a stage begins; its first epoch may be long in coming."""
        self(ProgressEvent(stage, -1, epochs, 0))

    def finish(self, *stages: str) -> None:
        """Count stages as done that ended early or are not needed."""
        with self._lock:
            self._shares |= dict.fromkeys(stages, 1.0)

    def stop(self) -> None:
        """Let every stage end at its next epoch."""
        self._stopped = True
