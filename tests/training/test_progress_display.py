"""Progress shows by itself only where people look."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from nacre.training.progress import NoProgress, ProgressEvent
from nacre.training.progress_display import LiveBar, NotebookLine, open_default


def test_it_is_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with open_default() as progress:
        assert isinstance(progress, NoProgress)
        progress(ProgressEvent("learning", 0, 10, 5, share=0.5))
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_there_are_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with open_default() as progress:
        assert isinstance(progress, LiveBar)


def test_a_notebook_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def display(data: dict[str, str], **_: Any) -> Any:
        shown.append(data["text/plain"])
        return SimpleNamespace(update=lambda data, raw: shown.append(data["text/plain"]))

    class ZMQInteractiveShell:
        """The name is what tells a kernel from a terminal."""

    shell = SimpleNamespace(get_ipython=ZMQInteractiveShell)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    times = iter([0.0, 10.0, 10.1, 20.0])
    with open_default() as progress:
        assert isinstance(progress, NotebookLine)
    line = NotebookLine(clock=lambda: next(times))
    for share in (0.25, 0.3, 1.0):
        line(ProgressEvent("fitted_q: nac", 0, 10, 5, share=share))
    assert shown[-2:] == ["25% of all, 10 s, about 30 s left: fitted_q: nac", "done in 20 s"]
