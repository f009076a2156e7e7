"""How much of an advice is done: it counts the tasks of the graph."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping

from nacre.training.progress import Progress, ProgressEvent


class Meter:
    """Passes events of tasks on, with the share of the whole that is done.

    Args:
        report: Hears every event.
        work: How much work each task is, by name.
    """

    def __init__(self, report: Progress, work: Mapping[str, float]) -> None:
        self._report, self._work = report, dict(work)
        self._shares = dict.fromkeys(work, 0.0)
        self._lock = threading.Lock()
        self._stopped = False

    @property
    def share(self) -> float:
        """Share of all work that is done."""
        total = sum(self._work.values())
        done = sum(self._work[name] * share for name, share in self._shares.items())
        return done / total if total > 0 else 1.0

    def listen(self, name: str) -> Progress:
        """What hears of the progress of one task; once stopped, it ends the task."""

        def hear(event: ProgressEvent) -> None:
            if self._stopped:
                raise KeyboardInterrupt
            with self._lock:
                self._shares[name] = max(self._shares[name], (event.epoch + 1) / event.epochs)
                self._report(dataclasses.replace(event, share=self.share))

        return hear

    def finish(self, name: str) -> None:
        """Count a task as done; once all are, that is told."""
        with self._lock:
            self._shares[name] = 1.0
            if all(share == 1.0 for share in self._shares.values()):
                self._report(ProgressEvent("decision", 0, 1, 0, share=1.0))

    def stop(self) -> None:
        """Let every task end at its next event."""
        self._stopped = True
