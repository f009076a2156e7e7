"""Signs of life while something takes long: on terminals only, and on standard error."""

from __future__ import annotations

import io
import sys

import pytest

from nacre import examples
from nacre.commands.waiting import open_wait, read_log_aloud


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
