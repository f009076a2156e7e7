"""What a process that does many tasks keeps: compiled programs, until they are let go."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import resource
import sys
from pathlib import Path

MOST_GROWTH = 2e9
"""Bytes by which a process may grow before its compiled programs go."""
_LEAST: list[float] = []
"""Bytes held when there were no programs yet, or hardly any."""


def measure_memory() -> float:
    """Bytes that this process holds by itself; the most it ever held where nobody says how many."""
    with contextlib.suppress(OSError):
        _, held, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
        return float((held - shared) * resource.getpagesize())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else 1024 * peak)


def let_programs_go() -> None:
    """After a task: without it, a process that decides about many logs grows without end.

    JAX keeps every program that it has compiled, and the C library what it once got. Programs that
    are needed again are compiled again, so they stay as long as there is room.
    """
    if not _LEAST:
        _LEAST.append(measure_memory())
    if measure_memory() - _LEAST[0] < MOST_GROWTH or "jax" not in sys.modules:
        return
    import jax

    jax.clear_caches()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    _LEAST[0] = measure_memory()
