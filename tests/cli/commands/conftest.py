"""What the tests of commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from nacre.cli import app as cli


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()


@pytest.fixture
def invoke(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """Runs a command in an empty directory, through the entry point that the shell calls."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> Outcome:
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.run([str(argument) for argument in arguments])
        assert isinstance(caught.value.code, int)
        return Outcome(caught.value.code, *capfd.readouterr())

    return run
