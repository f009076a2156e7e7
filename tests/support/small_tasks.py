"""Tasks that import nothing large: a worker that runs them starts at once."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from nacre.errors import InputError


def refuse() -> None:
    """Raise an error of two lines."""
    raise InputError(["no good; do better", "nor this"])


def give_back(value: Any) -> Any:
    """The same."""
    return value


def die_once(mark: Path) -> str:
    """Kill the worker, but only the first."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"
