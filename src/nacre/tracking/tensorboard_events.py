"""TensorBoard: a run is a folder with one event file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.files.commit import refuse
from nacre.logs.checks.problems import show_path

MOST_RUNS = 100_000


class TensorBoardRun:
    """Writes the events of one run into a folder of its own: `run-1`, `run-2` and so on."""

    def __init__(self, directory: Path) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise InputError(
                "TensorBoard events need tensorboardX; pip install 'nacre[track]'"
            ) from None
        self.folder = _make_folder(directory)
        self._failures: list[OSError] = []
        try:
            self._writer = SummaryWriter(str(self.folder), flush_secs=10)
        except OSError as error:
            raise refuse(self.folder, error) from None
        _catch(self._writer, self._failures)

    def log_parameters(self, parameters: Mapping[str, str]) -> None:
        """Keep the settings as a text."""
        self._add_text("config", json.dumps(dict(parameters), indent=2))

    def log_numbers(self, numbers: Mapping[str, float], step: int) -> None:
        """Add a point to each curve."""
        self._check()
        for name, number in numbers.items():
            self._writer.add_scalar(name, number, step)

    def log_decision(self, numbers: Mapping[str, float], words: Mapping[str, str]) -> None:
        """Keep the decision: curves of one point, and a text."""
        self.log_numbers(numbers, 0)
        self._add_text("decision", "\n".join(f"{name}: {text}" for name, text in words.items()))

    def log_files(self, files: list[Path]) -> None:
        """Say where the files are; events hold none."""
        self._add_text("files", "\n".join(str(path) for path in files))

    def close(self, status: str) -> None:
        """Write what is still waiting."""
        self._add_text("status", status)
        self._writer.close()
        self._check()

    def _check(self) -> None:
        """Raise what the thread that writes has met."""
        if self._failures:
            raise self._failures[0]

    def _add_text(self, name: str, text: str) -> None:
        self._check()
        # An indented block is shown as it is: nothing in it is taken for markup.
        self._writer.add_text(name, "\n".join(f"    {line}" for line in text.split("\n")), 0)


def _catch(writer: Any, failures: list[OSError]) -> None:
    """Remember errors of the system where events are written.

    A thread does so. It would end with a traceback, and who has more for it would wait for ever.
    """
    events = writer.file_writer.event_writer._ev_writer

    def guard(call: Callable[..., Any]) -> Callable[..., Any]:
        def tried(*arguments: Any) -> Any:
            try:
                return call(*arguments)
            except OSError as error:
                failures.append(error)

        return tried

    events.write_event, events.flush = guard(events.write_event), guard(events.flush)


def _make_folder(directory: Path) -> Path:
    if directory.is_file():
        raise InputError(f"{show_path(directory)}: is a file; give a folder for TensorBoard")
    for number in range(1, MOST_RUNS):
        folder = directory / f"run-{number}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(
                f"{show_path(directory)}: no folder can be made there ({error.strerror}); give "
                "another one for TensorBoard"
            ) from None
        return folder
    raise InputError(f"{show_path(directory)}: holds too many runs; give another folder")
