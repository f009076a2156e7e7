"""Files from outside are opened in another process first: a crash or a bomb there is a line here.

What runs there is a function of ours by its name. Its arguments are pickled, its result is JSON:
nothing that comes back can run code here.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, cast

from nacre.errors import InputError
from nacre.files.warden import read_message, write_message

SWITCH = "NACRE_ISOLATION"
MEMORY = 400 * 2**20
SECONDS = 4.0
"""Processor time for a small file."""
MEMORY_RATIO = 16
BYTES_PER_SECOND = 1_000_000

LAST_USE: dict[str, float] = {}
"""Seconds of the processor and megabytes that the last file took to open, for measurements."""

_LOCK = threading.Lock()
_PROCESS: tuple[int, subprocess.Popen[bytes]] | None = None


def is_isolating() -> bool:
    """Whether files are opened in another process: where processes can be forked and limited.

    The variable NACRE_ISOLATION=off turns it off.
    """
    forks = hasattr(os, "fork") and sys.platform == "linux" and bool(sys.executable)
    return forks and os.environ.get(SWITCH, "").lower() not in ("off", "0")


def run_isolated(function: str, size: int, *, modules: Sequence[str] = (), **arguments: Any) -> Any:
    """What a function returns, run in a child with limits on memory, time and open files.

    Args:
        function: `module:name`.
        size: Bytes of the file that is opened: larger ones may take more memory and time.
        modules: Imported beforehand, so that the next child has them already.
        arguments: Anything that can be pickled.

    Raises:
        InputError: If it crashed or exceeded a limit; the line says which, without the file.
    """
    request = {
        "function": function,
        "modules": (function.partition(":")[0], *modules),
        "arguments": arguments,
        "folder": str(Path.cwd()),
        "memory": MEMORY + MEMORY_RATIO * size,
        "seconds": SECONDS + size / BYTES_PER_SECOND,
    }
    answer = _ask(pickle.dumps(request))
    LAST_USE.update(answer.get("used", {}))
    if "result" in answer:
        return answer["result"]
    raise InputError(_explain(answer, request))


def _explain(answer: dict[str, Any], request: dict[str, Any]) -> str:
    if answer.get("memory"):
        limit = request["memory"] // 2**20
        return f"takes more than {limit} MB of memory to open; write it anew or give another"
    if answer.get("late"):
        limit = round(request["seconds"])
        return f"takes more than {limit} s to open; write it anew or give another"
    if "error" in answer:
        return f"cannot be opened ({answer['error']}); write it anew or give another"
    number = answer.get("signal", 0)
    return f"is damaged: its reader crashed (signal {number}); write it anew or give another"


def _ask(content: bytes) -> dict[str, Any]:
    """The answer of the warden, which is started where there is none."""
    with _LOCK:
        process = _start()
        try:
            write_message(cast(IO[bytes], process.stdin), content)
            answer = read_message(cast(IO[bytes], process.stdout))
        except BrokenPipeError:
            answer = None
        except BaseException:
            # Interrupted: whoever still works for us must not answer the next question.
            close()
            raise
        if answer is None:
            close()
            return {"error": "its reader could not be started"}
    return dict(json.loads(answer))


def _start() -> subprocess.Popen[bytes]:
    global _PROCESS
    if _PROCESS is not None and _PROCESS[0] == os.getpid() and _PROCESS[1].poll() is None:
        return _PROCESS[1]
    code = f"import sys; sys.path[:] = {sys.path!r}; from nacre.files.warden import serve; serve()"
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    _PROCESS = (os.getpid(), process)
    return process


def close() -> None:
    """End the process that opens files; the next file starts another."""
    global _PROCESS
    if _PROCESS is not None and _PROCESS[0] == os.getpid():
        process = _PROCESS[1]
        # Its children too: it is the first of its session.
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
    _PROCESS = None


atexit.register(close)
