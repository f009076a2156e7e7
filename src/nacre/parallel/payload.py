"""What travels between here and a worker: one task in, its result and its figures out.

Objects that are shared travel as names. A worker makes or unpacks each of them once, keeps the last
few, and names them again in what it sends back: here they become the objects that they were.
"""

from __future__ import annotations

import contextlib
import copyreg
import dataclasses
import functools
import hashlib
import io
import os
import pickle
import platform
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from nacre.errors import InputError
from nacre.parallel.memory import let_programs_go
from nacre.versions import find_versions, hash_code

MOST_KEPT = 4
"""Shared objects that a worker keeps."""
SINGLE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")


@dataclass(frozen=True)
class Figures:
    """What a task took.

    Args:
        seconds: From its beginning to its end, in the worker.
        bytes_in: Of the task.
        bytes_out: Of its result.
        memory: Most bytes that the worker has held so far.
        host: Name of the worker's machine.
    """

    seconds: float
    bytes_in: int
    bytes_out: int
    memory: int
    host: str


@dataclass(frozen=True)
class Answer:
    """What a worker sends back: bytes of a result, or of an exception."""

    content: bytes
    failed: bool
    figures: Figures


@dataclass(frozen=True)
class Made:
    """A shared object that the worker makes itself."""

    make: Callable[[], Any]


class Names:
    """Shared objects by name, and the other way round; holding them keeps their identity."""

    def __init__(self, most: int | None = None) -> None:
        self._values: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._most = most

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def add(self, name: str, value: Any) -> None:
        """Hold an object; the one that was used longest ago may have to go."""
        self._values[name] = value
        self._names[id(value)] = name
        if self._most is not None and len(self._values) > self._most:
            gone = self._values.pop(next(iter(self._values)))
            self._names.pop(id(gone), None)

    def touch(self, name: str) -> None:
        """Count an object as used now."""
        self._values[name] = self._values.pop(name)

    def find_name(self, value: Any) -> str | None:
        """The name of an object, if it is shared."""
        return self._names.get(id(value))

    def find(self, name: str) -> Any:
        """The object of a name."""
        return self._values[name]


class _Packer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, names: Names) -> None:
        super().__init__(stream, protocol=5)
        self._shared, self.used = names, dict[str, None]()

    def persistent_id(self, obj: Any) -> str | None:
        name = self._shared.find_name(obj)
        if name is not None:
            self.used[name] = None
        return name

    def reducer_override(self, obj: Any) -> Any:
        """Cached properties stay behind: they follow from the rest, and may not be picklable."""
        if not dataclasses.is_dataclass(obj) or isinstance(obj, type):
            return NotImplemented
        state = getattr(obj, "__dict__", {})
        cached = {name for name in state if _is_cached(type(obj), name)}
        if not cached:
            return NotImplemented
        kept = {name: value for name, value in state.items() if name not in cached}
        return copyreg.__newobj__, (type(obj),), kept  # type: ignore[attr-defined]


def _is_cached(cls: type, name: str) -> bool:
    return isinstance(getattr(cls, name, None), functools.cached_property)


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, names: Names) -> None:
        super().__init__(stream)
        self._shared = names

    def persistent_load(self, pid: Any) -> Any:
        return self._shared.find(pid)


def pack(value: Any, names: Names) -> tuple[bytes, tuple[str, ...]]:
    """The bytes of a value, and the names of the shared objects that it holds."""
    stream = io.BytesIO()
    packer = _Packer(stream, names)
    packer.dump(value)
    return stream.getvalue(), tuple(packer.used)


def unpack(content: bytes, names: Names) -> Any:
    """The value of bytes that another process of ours packed; nothing from outside comes here."""
    return _Unpacker(io.BytesIO(content), names).load()


def name_content(content: bytes) -> str:
    """The name of a shared object: a digest of what it is made from."""
    return hashlib.sha256(content).hexdigest()


@functools.cache
def describe_code() -> Mapping[str, str]:
    """What has to be the same in a worker for the same bits."""
    code = {"nacre's source": hash_code()[:12], "XLA_FLAGS": os.environ.get("XLA_FLAGS", "")}
    return {**find_versions(), **code}


def check_code(expected: Mapping[str, str]) -> None:
    """In a worker: raise `InputError` unless it runs the same versions as who sent the task."""
    found = describe_code()
    other = [name for name in {**expected, **found} if expected.get(name) != found.get(name)]
    if other:
        told = ", ".join(
            f"{name} {found.get(name) or 'none'} instead of {expected.get(name) or 'none'}"
            for name in other
        )
        raise InputError(
            f"worker on {platform.node()}: has {told}; install there what is installed here"
        )


_KEPT = Names(MOST_KEPT)


def run_task(
    code: Mapping[str, str], task: bytes, names: Sequence[str], *contents: bytes | Path
) -> Answer:
    """In a worker: run a task. What it raises is a part of the answer.

    Args:
        code: As `describe_code` says of who sent it.
        task: The function and its arguments, packed.
        names: Of the shared objects that it needs, each after those that it needs itself.
        contents: What they are made from, packed, or the files that hold that.
    """
    began = time.perf_counter()
    failed = False
    try:
        check_code(code)
        prepare_worker()
        for name, content in zip(names, contents, strict=True):
            _take(name, content)
        function, arguments, keywords = unpack(task, _KEPT)
        result = function(*arguments, **keywords)
    except Exception as error:
        result, failed = _make_portable(error), True
    content, _ = pack(result, _KEPT)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = peak if sys.platform == "darwin" else 1024 * peak
    figures = Figures(seconds, len(task), len(content), memory, platform.node())
    let_programs_go()
    return Answer(content, failed, figures)


def prepare_worker() -> None:
    """One thread for each task: how many threads share a large sum changes its last bits.

    Raises:
        InputError: If JAX was started here with more.
    """
    # Libraries that are here already have read their settings.
    threadpool_limits(limits=1)
    if "jax" not in sys.modules:
        os.environ.update(dict.fromkeys(SINGLE_THREAD, "1"))
    elif os.environ.get("NPROC") != "1" and count_processors() > 1:
        raise InputError(
            f"worker on {platform.node()}: JAX was started there with {count_processors()} "
            "threads, which gives other bits; start workers with NPROC=1"
        )


def count_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _take(name: str, content: bytes | Path) -> None:
    """Have a shared object at hand."""
    if name in _KEPT:
        _KEPT.touch(name)
        return
    value = unpack(content.read_bytes() if isinstance(content, Path) else content, _KEPT)
    _KEPT.add(name, value.make() if isinstance(value, Made) else value)


def _make_portable(error: Exception) -> Exception:
    """An exception that can be sent; notes of it say where it comes from."""
    with contextlib.suppress(Exception):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        if isinstance(again, Exception):
            return error
    return RuntimeError(f"{type(error).__name__}: {error}")
