"""Children that crash, hang or take too much: one line each, and the next one is fine."""

from __future__ import annotations

import ctypes
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.files import isolation
from nacre.files.isolation import is_isolating, run_isolated
from nacre.files.warden import write_message
from nacre.logs import read_log, write_log
from nacre.logs.storage.arena import Arena, open_memory, take_arrays
from tests.support.logs import assert_same, make_log

pytestmark = pytest.mark.skipif(not is_isolating(), reason="files are opened here")


def answer(value: Any) -> Any:
    return value


def crash() -> None:
    ctypes.string_at(0)


def take_memory() -> int:
    return len(bytearray(3 * 2**30))


def take_time() -> None:
    while True:
        pass


def leave() -> None:
    os._exit(3)


def complain() -> None:
    raise RuntimeError("the file is odd")


def ask(function: str, **arguments: Any) -> Any:
    return run_isolated(f"{__name__}:{function}", 0, **arguments)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        ("crash", r"is damaged: its reader crashed \(signal 11\); "),
        ("take_memory", "takes more than 400 MB of memory to open; "),
        ("leave", "is damaged: its reader crashed"),
        ("complain", r"cannot be opened \(RuntimeError: the file is odd\); "),
    ],
)
def test_whatever_happens_there_is_one_line_here(function: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        ask(function)
    assert ask("answer", value=[1, "two"]) == [1, "two"]


def test_what_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "SECONDS", 1.0)
    began = time.process_time()
    with pytest.raises(InputError, match="takes more than 1 s to open; "):
        ask("take_time")
    assert time.process_time() - began < 1.0


def test_a_dead_helper_is_replaced() -> None:
    assert ask("answer", value=1) == 1
    isolation.close()
    assert ask("answer", value=2) == 2


def test_it_can_be_turned_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = make_log(further=True)
    write_log(log, tmp_path / "log.parquet")
    found = read_log(tmp_path / "log.parquet")
    monkeypatch.setenv("NACRE_ISOLATION", "off")
    assert not is_isolating()
    assert_same(read_log(tmp_path / "log.parquet"), found)


def test_arrays_are_handed_over_without_a_name(tmp_path: Path) -> None:
    values = {"a": np.arange(12.0).reshape(3, 4), "b": np.array([True, False])}
    with open_memory() as (handle, name):
        arena = Arena(name, 2**20)
        inside = arena.empty((3, 4), np.float64)
        arena.empty((1000,), np.float64)[:] = 7.0
        inside[:] = values["a"]
        places = {"a": arena.place(inside), "b": arena.place(values["b"])}
        arena.drop_all_but(places)
        found = take_arrays(handle, places)
    for key, expected in values.items():
        np.testing.assert_array_equal(found[key], expected)
        assert not found[key].flags.writeable
    with pytest.raises(MemoryError):
        arena.empty((2**20,), np.float64)


@pytest.mark.parametrize(
    "place",
    [
        [0, "<f8", [10**9]],
        [-8, "<f8", [1]],
        [0, "O", [1]],
        [0, "<U4", [1]],
        [0, "<f8", [-1]],
        [4096, "<f8", [1]],
    ],
)
def test_places_that_cannot_be_are_refused(place: list[Any]) -> None:
    with open_memory() as (handle, name):
        Arena(name, 4096)
        with pytest.raises(ValueError):
            take_arrays(handle, {"x": place})


def test_a_reader_whose_asker_was_killed_ends_in_silence() -> None:
    serve = f"import sys; sys.path[:] = {sys.path!r}; from nacre.files.warden import serve; serve()"
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", serve],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdout.close()
    request = {"modules": (), "function": f"{__name__}:answer", "arguments": {"value": 1}}
    write_message(process.stdin, pickle.dumps(request | {"seconds": 10, "memory": 2**30}))
    process.stdin.close()
    assert process.stderr is not None
    with process.stderr as told:
        assert told.read() == b""
    assert process.wait() == 1
