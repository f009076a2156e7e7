"""The process that opens files from outside: each in a child of its own, with limits.

It is started by `nacre.files.isolation` and answers until its standard input ends. It knows
nothing of JAX and has one thread, so that it can fork safely and fast.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import json
import os
import pickle
import select
import signal
import struct
import sys
import time
from typing import IO, Any

LENGTH = struct.Struct("<Q")
PATIENCE = 60
"""Seconds on the clock for each of the processor: others may have the processor."""


def serve() -> None:
    """Answer requests, one after the other."""
    given, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    sys.meta_path.insert(0, _WithoutPandas())
    # Whatever a library prints must not be taken for an answer.
    os.dup2(2, 1)
    while (request := read_message(given)) is not None:
        answer = json.dumps(_answer(pickle.loads(request))).encode()  # noqa: S301
        try:
            write_message(answers, answer)
        except BrokenPipeError:
            # Who asked was killed, and nobody is left to tell.
            os._exit(1)


class _WithoutPandas(importlib.abc.MetaPathFinder):
    """Arrow would import pandas in every child, where it is there, and needs nothing of it here."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        """Nothing, of any module."""
        if name == "pandas":
            raise ModuleNotFoundError(name)


def read_message(stream: IO[bytes]) -> bytes | None:
    """One message; None at the end."""
    head = stream.read(LENGTH.size)
    return stream.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else None


def write_message(stream: IO[bytes], content: bytes) -> None:
    """One message, sent at once."""
    stream.write(LENGTH.pack(len(content)) + content)
    stream.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """What a child says, and how it ended."""
    for name in request["modules"]:
        # Known to all later children too. One that is not installed is missed by the function.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    module, _, function = request["function"].partition(":")
    call = getattr(importlib.import_module(module), function)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _work(call, request, writing)
    os.close(writing)
    return _listen(child, reading, request["seconds"])


def _work(call: Any, request: dict[str, Any], writing: int) -> None:
    """In the child: set the limits, call, send what it returns, end."""
    code = 1
    try:
        # Paths are those of whoever asks, who may have gone elsewhere since.
        os.chdir(request["folder"])
        _limit(request)
        document = {"result": call(**request["arguments"])}
        code = 0
    except MemoryError:
        document = {"error": "MemoryError", "memory": True}
    except BaseException as error:
        document = {"error": f"{type(error).__name__}: {error!s:.300}"}
    with contextlib.suppress(BaseException), os.fdopen(writing, "wb") as pipe:
        pipe.write(json.dumps(document).encode())
    os._exit(code)


def _limit(request: dict[str, Any]) -> None:
    import resource

    nothing = (0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, nothing)
    data = _find_data() + request["memory"]
    resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    seconds = max(1, int(request["seconds"]))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    # Messages of a library about the file are of no use to whoever reads ours.
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _find_data() -> int:
    """Bytes of private memory that this process has now."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/status") as file:  # noqa: PTH123
        for line in file:
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 2**28


def _listen(child: int, reading: int, seconds: float) -> dict[str, Any]:
    """Hear a child out; it ends with its parent, and when its time is over."""
    content, deadline, late = bytearray(), time.monotonic() + PATIENCE * seconds, False
    while True:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([reading, 0], [], [], max(left, 0))
        if 0 in ready or not ready:
            # Nobody asks twice: something to read means that whoever asked is gone.
            os.kill(child, signal.SIGKILL)
            late = True
        if reading in ready or late:
            part = b"" if late else os.read(reading, 2**20)
            content += part
            if not part:
                break
    os.close(reading)
    _, status, usage = os.wait4(child, 0)
    ended = -os.waitstatus_to_exitcode(status) if os.WIFSIGNALED(status) else 0
    out_of_time = late or ended in (signal.SIGXCPU, signal.SIGKILL)
    try:
        document = dict(json.loads(bytes(content)))
    except ValueError:
        document = {}
    used = {"seconds": usage.ru_utime + usage.ru_stime, "megabytes": usage.ru_maxrss / 1024}
    return {**document, "signal": ended, "late": out_of_time, "used": used}
