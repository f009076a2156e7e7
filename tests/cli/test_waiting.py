"""Signs of life while something takes long: on terminals only, and on standard error."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console

from nacre import examples
from nacre.cli import waiting
from nacre.cli.policy_flags import NO_FLAGS
from nacre.cli.waiting import (
    ReadingProgress,
    find_position,
    open_wait,
    read_log_aloud,
    read_policy_aloud,
)
from nacre.policies import CloneConfig, fingerprint, read_policy


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "quiet", "shown"),
    [(Terminal(), False, True), (Terminal(), True, False), (io.StringIO(), False, False)],
    ids=["terminal", "quiet", "file"],
)
def test_a_sign_is_shown_on_terminals_unless_quiet(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, quiet: bool, shown: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    with open_wait("reading [b]log[/b].csv", quiet=quiet):
        pass
    assert ("reading [b]log[/b].csv" in stream.getvalue()) is shown


def test_a_log_is_read_as_ever(capfd: pytest.CaptureFixture[str]) -> None:
    log = read_log_aloud(examples.find_directory() / "log.parquet", quiet=False)
    assert log.fingerprint() == examples.load().log.fingerprint()
    assert capfd.readouterr() == ("", "")


def test_a_clone_tells_how_long_it_will_take(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []

    @contextlib.contextmanager
    def overhear(label: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
        assert (label, quiet) == ("reading the policy clone", False)
        yield lambda done, total: told.append((done, total))

    log = examples.load().log.select(range(4))
    short = partial(CloneConfig, n_steps=40)
    monkeypatch.setattr(waiting, "open_wait", overhear)
    monkeypatch.setattr(waiting, "CloneConfig", short)
    policy, _ = read_policy_aloud("clone", log, NO_FLAGS, seed=0, quiet=False)
    # One or two heads, then two halves of half the steps.
    (total,) = {total for _, total in told}
    assert total in (80, 120)
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert told[-1] == (total, total)
    silent = read_policy("clone", log=log, seed=0, clone=short())
    assert fingerprint(policy) == fingerprint(silent)


@pytest.fixture
def known_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system's word that this process has read 30 of the 100 bytes of a file."""
    path = tmp_path / "log.csv"
    path.write_bytes(b"x" * 100)
    for folder in ("fd", "fdinfo"):
        (tmp_path / folder).mkdir()
    (tmp_path / "fd" / "3").symlink_to(tmp_path / "gone")
    (tmp_path / "fd" / "4").symlink_to(path)
    (tmp_path / "fdinfo" / "4").write_text("pos:\t30\nflags:\t0100000\n")
    monkeypatch.setattr(waiting, "OPEN_FILES", tmp_path / "fd")
    return path


def test_how_far_a_file_is_read_is_asked_of_the_system(
    known_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_position(known_files) == 30
    assert find_position(known_files.with_name("other.csv")) == 0
    (known_files.parent / "fdinfo" / "4").write_text("nonsense\n")
    assert find_position(known_files) == 0
    monkeypatch.setattr(waiting, "OPEN_FILES", Path("nowhere"))
    assert find_position(known_files) == 0


def test_the_bar_shows_how_far_the_file_is_read(known_files: Path) -> None:
    bar = ReadingProgress("reading", known_files, Console(file=io.StringIO()))
    list(bar.get_renderables())
    (task,) = bar.tasks
    assert (task.completed, task.total) == (30, 101)
    lifeless = ReadingProgress("waiting", None, Console(file=io.StringIO()))
    list(lifeless.get_renderables())
    assert lifeless.tasks[0].total is None


def test_files_that_are_read_here_and_there_are_counted(
    known_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parquet has no place up to which it is read: what the process has read since tells."""
    (known_files.parent / "fd" / "4").unlink()
    told = known_files.parent / "io"
    told.write_text("rchar: 1000\nwchar: 0\n")
    bar = ReadingProgress("reading", known_files, Console(file=io.StringIO()))
    told.write_text("rchar: 1040\nwchar: 0\n")
    list(bar.get_renderables())
    assert (bar.tasks[0].completed, bar.tasks[0].total) == (40, 101)
    told.write_text("rchar: 9000\nwchar: 0\n")
    list(bar.get_renderables())
    assert bar.tasks[0].completed == 100
    nowhere = ReadingProgress("reading", "minari:hopper", Console(file=io.StringIO()))
    told.write_text("rchar: 9999\nwchar: 0\n")
    list(nowhere.get_renderables())
    assert nowhere.tasks[0].total is None
