"""What the tests of commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from nacre.advice import config as advice_config
from nacre.cli import app as cli
from nacre.cli import waiting
from nacre.policies import CloneConfig
from nacre.policies.cloning import fitting as cloning
from nacre.policies.cloning import log_cloning
from tests.support.advice import suggest_quick


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()


@pytest.fixture
def quick_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice with a few updates, and clones with a few more."""
    monkeypatch.setattr(advice_config, "suggest_config", suggest_quick)
    for module in (cloning, log_cloning, waiting):
        monkeypatch.setattr(module, "CloneConfig", functools.partial(CloneConfig, n_steps=40))


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
