"""Readers run in this process here, where their lines are counted; `tests/files` isolates them."""

from __future__ import annotations

import pytest

from nacre.files.isolation import SWITCH


@pytest.fixture(autouse=True)
def read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "off")
