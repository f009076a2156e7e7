"""One tracker for all places that a run is tracked in."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from nacre.advice.result import Advice
from nacre.errors import check_arguments
from nacre.tracking.entries import describe_decision, flatten, read_decision, read_tick
from nacre.tracking.mlflow_run import MlflowRun
from nacre.tracking.tensorboard_events import TensorBoardRun
from nacre.training.progress import Progress, ProgressEvent

FILES = ("decision.json", "report.html")
PARAMETERS = ("config", "cost_model", "seed")
"""What of the record of an advice are parameters."""


class Place(Protocol):
    """Somewhere that a run is tracked in."""

    def log_parameters(self, parameters: Mapping[str, str]) -> None:
        """Keep the settings."""

    def log_numbers(self, numbers: Mapping[str, float], step: int) -> None:
        """Add a point to each curve."""

    def log_decision(self, numbers: Mapping[str, float], words: Mapping[str, str]) -> None:
        """Keep the decision."""

    def log_files(self, files: list[Path]) -> None:
        """Keep files, or say where they are."""

    def close(self, status: str) -> None:
        """End the run: FINISHED, FAILED or KILLED."""


class Tracker:
    """Passes on what happens to every place.

    A place that fails on the way, such as a server that is gone, is warned of and left: advice that
    took hours is not lost for it.

    Attributes:
        places: Those that still take part.
    """

    def __init__(self, places: Sequence[Place] = ()) -> None:
        self.places = list(places)
        self._started = False

    @property
    def reporter(self) -> Progress:
        """Hears of every epoch; give it to `nacre.advise`."""
        return self._hear

    def start(self, config: Mapping[str, Any]) -> None:
        """Keep the settings from the beginning, so that a run in progress shows them."""
        self._started = True
        parameters = flatten(config)
        self._tell(lambda place: place.log_parameters(parameters))

    def finish(self, advice: Advice, folder: Path | None = None) -> None:
        """Keep the decision.

        Args:
            advice: The advice.
            folder: Where it was saved; its record and its page become artefacts.
        """
        if not self._started:
            self.start({name: getattr(advice.record, name) for name in PARAMETERS})
        numbers, words = read_decision(advice), describe_decision(advice)
        self._tell(lambda place: place.log_decision(numbers, words))
        if folder is not None:
            paths = [Path(folder) / name for name in FILES]
            files = [path for path in paths if path.is_file() and not path.is_symlink()]
            self._tell(lambda place: place.log_files(files))

    def close(self, status: str = "FINISHED") -> None:
        """End the run everywhere."""
        self._tell(lambda place: place.close(status))
        self.places.clear()

    def _hear(self, event: ProgressEvent) -> None:
        numbers = read_tick(event)
        if numbers:
            self._tell(lambda place: place.log_numbers(numbers, event.epoch + 1))

    def _tell(self, act: Callable[[Place], None]) -> None:
        for place in list(self.places):
            try:
                act(place)
            except Exception as error:  # whatever the libraries of a place raise
                self.places.remove(place)
                reason = " ".join(str(error).split())[:200]
                warnings.warn(
                    f"{type(place).__name__} is given up, the run goes on without it: "
                    f"{type(error).__name__}: {reason}",
                    RuntimeWarning,
                    stacklevel=3,
                )


@check_arguments
@contextlib.contextmanager
def open_tracking(
    tensorboard: str | os.PathLike[str] | None = None, mlflow: str | os.PathLike[str] | None = None
) -> Iterator[Tracker]:
    """Track a run in TensorBoard, in MLflow, in both, or nowhere.

    Args:
        tensorboard: A folder; each run gets one of its own within.
        mlflow: A folder, `sqlite:///runs.db`, or the http(s) address of a server.

    Yields:
        The tracker. The run counts as failed if an exception leaves the block, as killed if it was
        interrupted.

    Raises:
        InputError: If a library is missing, or no run can be started there.
    """
    tracker = Tracker()
    status = "FINISHED"
    try:
        if tensorboard is not None:
            tracker.places.append(TensorBoardRun(Path(tensorboard)))
        if mlflow is not None:
            tracker.places.append(MlflowRun(os.fspath(mlflow)))
        yield tracker
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    except BaseException:
        status = "FAILED"
        raise
    finally:
        tracker.close(status)


@check_arguments
def combine_reporters(*reporters: Progress) -> Progress:
    """One reporter that tells them all, in this order."""

    def report(event: ProgressEvent) -> None:
        for reporter in reporters:
            reporter(event)

    return report
