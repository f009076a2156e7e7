"""Progress of long runs: what is told after every epoch."""

from __future__ import annotations

from collections.abc import Callable
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
