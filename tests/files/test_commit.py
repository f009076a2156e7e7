"""Whole files and commits: at every failing or last call there is the old state or the new one."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InputError
from nacre.files.commit import (
    COMMITTED,
    STAGING,
    append_whole,
    check_writable,
    commit_files,
    settle,
    write_whole,
)
from nacre.files.isolation import run_isolated
from nacre.files.locks import lock_folder, try_lock
from nacre.files.manifest import find_changes, read_manifest
from tests.support.faults import ERRORS, die, fail_at, raise_error

OLD = {"a.json": b"old a", "inner/b.bin": b"old b", "inner/only-old": b"x"}
NEW = {"a.json": b"new a, longer", "inner/b.bin": b"new b", "c.txt": b"c"}
KIND = "test"


def read_all(folder: Path) -> dict[str, bytes]:
    """The files that a manifest speaks of, and those of the user."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def leftovers(folder: Path) -> list[str]:
    return [
        p.name
        for p in folder.rglob(".*")
        if p.name.startswith((STAGING, COMMITTED)) or p.name.endswith(".part")
    ]


def commit_until_killed(folder: Path, at: int) -> None:
    """To be run in another process."""
    os.fsync = lambda descriptor: None  # type: ignore[assignment]
    with fail_at(folder, at, die):
        commit_files(folder, NEW, kind=KIND)


def write_until_killed(path: Path, at: int) -> None:
    """Likewise."""
    with fail_at(path.parent, at, die):
        write_whole(path, b"new")


def is_killed(function: str, **arguments: Any) -> bool:
    """Run a function of this module in another process, which has no threads; was it killed?"""
    try:
        run_isolated(f"{__name__}:{function}", 0, **arguments)
    except InputError:
        return True
    return False


def prepare(folder: Path) -> Path:
    commit_files(folder, OLD, kind=KIND)
    (folder / "of-the-user").write_bytes(b"mine")
    return folder


def count_calls(folder: Path) -> int:
    prepare(folder)
    with fail_at(folder, -1, die) as faults:
        commit_files(folder, NEW, kind=KIND)
    return len(faults.names)


def check_state(folder: Path) -> str:
    """Which of both states a folder is in; it must be one of them, and whole."""
    settle(folder)
    manifest = read_manifest(folder)
    assert manifest is not None
    assert find_changes(folder, manifest) == []
    files = read_all(folder)
    assert files.pop("of-the-user") == b"mine"
    kept = {name: content for name, content in files.items() if STAGING not in name}
    assert kept in (OLD, NEW)
    return "old" if kept == OLD else "new"


def test_a_kill_at_any_call_leaves_the_old_files_or_the_new_ones(tmp_path: Path) -> None:
    states = []
    for at in range(count_calls(tmp_path / "counted")):
        folder = prepare(tmp_path / str(at))
        killed = is_killed("commit_until_killed", folder=folder, at=at)
        states.append(check_state(folder))
        assert killed
        # The next start cleans up and goes on.
        commit_files(folder, NEW, kind=KIND)
        assert leftovers(folder) == []
        assert check_state(folder) == "new"
    # There is one commit point.
    assert states == sorted(states, reverse=True)
    assert {"old", "new"} == set(states)


@pytest.mark.parametrize("shift", [0, 2])
def test_a_failure_of_any_call_is_told_and_nothing_is_mixed(tmp_path: Path, shift: int) -> None:
    outcomes = set()
    for at in range(count_calls(tmp_path / "counted")):
        number = ERRORS[(at + shift) % len(ERRORS)]
        folder = prepare(tmp_path / str(at))
        told = ""
        with fail_at(folder, at, raise_error(number)):
            try:
                commit_files(folder, NEW, kind=KIND)
            except InputError as error:
                told = error.problems[0]
        state = check_state(folder)
        outcomes.add((state, bool(told)))
        assert not told or os.strerror(number) in told
        assert told or state == "new"
        commit_files(folder, NEW, kind=KIND)
        assert leftovers(folder) == []
    assert ("old", True) in outcomes


def find_changed(calls: list[tuple[str, str]], folder: Path) -> dict[Path, int]:
    """Every folder in which names came, moved or went for good, and its last such call."""
    last: dict[Path, int] = {}
    for at, (name, told) in enumerate(calls):
        place = Path(told)
        inside = any(part.startswith(STAGING) for part in place.parts)
        if name in ("mkdir", "unlink", "open") and not inside:
            last[place.parent] = at
        elif name in ("rename", "replace"):
            # A file of the commit goes to its place; the staging folder to that of the commit.
            moved = str(place).replace(f"{COMMITTED}/", "")
            last[Path(moved).parent] = at
    return {place: at for place, at in last.items() if COMMITTED not in place.parts}


def test_every_folder_is_brought_to_disk_after_its_last_change(tmp_path: Path) -> None:
    folder = tmp_path / "of" / "the" / "advice"
    for files in (
        {"top": b"", "a/two": b"", "a/b/c/deep": b"", "gone/deep/old": b"", "gone/here": b""},
        {"top": b"", "a/b/new": b"", "d/e/f": b"", "gone/here": b""},
    ):
        with fail_at(tmp_path, -1, die) as faults:
            commit_files(folder, files, kind=KIND)
        changed = find_changed(faults.calls, folder)
        synced = {Path(told): at for at, (name, told) in enumerate(faults.calls) if name == "fsync"}
        late = {place: at for place, at in changed.items() if synced.get(place, -1) < at}
        assert late == {}
        assert {(folder / name).parent for name in files if name != "gone/here"} <= set(changed)
        # What is committed was on disk before, with the folders that it lies in.
        commit = next(at for at, (name, _) in enumerate(faults.calls) if name == "rename")
        staging = Path(faults.calls[commit][1])
        staged = {staging / name for name in files}
        nested = {inner for path in staged for inner in path.parents if staging in inner.parents}
        assert all(synced[place] < commit for place in (*staged, *nested, staging))
    assert not (folder / "gone" / "deep" / "old").exists()


@pytest.mark.parametrize("write", [write_whole, append_whole])
def test_new_folders_above_a_file_are_brought_to_disk(
    tmp_path: Path, write: Callable[[Path, bytes], None]
) -> None:
    with fail_at(tmp_path, -1, die) as faults:
        write(tmp_path / "a" / "b" / "file", b"new\n")
    synced = {told for name, told in faults.calls if name == "fsync"}
    assert {str(place) for place in (tmp_path, tmp_path / "a", tmp_path / "a" / "b")} <= synced


@pytest.mark.parametrize("number", ERRORS[:2])
def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path: Path, number: int) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    with fail_at(tmp_path, -1, die) as faults:
        write_whole(path, b"new")
    for at in range(len(faults.names)):
        path.write_bytes(b"old")
        with fail_at(tmp_path, at, raise_error(number)), contextlib.suppress(InputError):
            write_whole(path, b"new")
        assert path.read_bytes() in (b"old", b"new")
        assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_lines_are_added_whole_or_the_file_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "inner" / "lines"
    append_whole(path, b"one\n")
    with fail_at(tmp_path, -1, die) as faults:
        append_whole(path, b"two\n")
    assert path.read_bytes() == b"one\ntwo\n"
    for at, number in zip(range(len(faults.names)), itertools.cycle(ERRORS), strict=False):
        path.write_bytes(b"one\n")
        with fail_at(tmp_path, at, raise_error(number)), contextlib.suppress(InputError):
            append_whole(path, b"two\n")
        assert path.read_bytes() in (b"one\n", b"one\ntwo\n")


@pytest.mark.parametrize(
    "left", [b"", b"\n", b"one\n", b"one\n" * 30_000, b"one\n" + b"x" * 200_000]
)
def test_what_was_not_written_to_its_end_goes(tmp_path: Path, left: bytes) -> None:
    path = tmp_path / "lines"
    path.write_bytes(left + b"cut o")
    append_whole(path, b"two\n")
    assert path.read_bytes() == left[: left.rfind(b"\n") + 1] + b"two\n"


@pytest.mark.parametrize("name", ["file", "file[1]*"])
def test_what_a_killed_process_left_of_a_file_is_removed(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert is_killed("write_until_killed", path=path, at=2)
    assert len(list(tmp_path.iterdir())) == 1
    write_whole(path, b"new")
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_files_of_the_manifest_before_go_and_others_stay(tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / "stale").write_bytes(b"")
    commit_files(tmp_path, NEW, kind=KIND, absent=("stale",))
    assert read_all(tmp_path) == {**NEW, "of-the-user": b"mine"}


@pytest.mark.parametrize("name", ["a.json", "inner/b.bin"])
def test_a_place_that_is_taken_by_a_folder_is_told_before_anything_changes(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir(parents=True)
    with pytest.raises(InputError, match="is a folder"):
        commit_files(tmp_path, NEW)
    assert read_all(tmp_path) == {}


def test_folders_above_are_made(tmp_path: Path) -> None:
    check_writable(tmp_path / "a" / "b")
    commit_files(tmp_path / "c" / "d", NEW)
    assert read_all(tmp_path / "c" / "d") == NEW


def test_places_that_are_files_or_closed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    for function in (check_writable, lambda folder: commit_files(folder, NEW)):
        with pytest.raises(InputError, match=r"file: cannot be written \("):
            function(tmp_path / "file")
        with pytest.raises(InputError, match="cannot be written"):
            function(tmp_path / "file" / "inner")
    (tmp_path / "inner").write_bytes(b"x")
    with pytest.raises(InputError, match="inner is a file"):
        commit_files(tmp_path, NEW)
    check_writable(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_two_processes_both_succeed(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "advice")
    code = (
        "import sys, pathlib; from nacre.files.commit import commit_files\n"
        "for number in range(5):\n"
        "    content = f'{sys.argv[2]} {number}'.encode() * 99\n"
        "    commit_files(pathlib.Path(sys.argv[1]), {'a.json': content}, kind='test')\n"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code, str(folder), name])  # noqa: S603
        for name in ("one", "two")
    ]
    assert [one.wait() for one in both] == [0, 0]
    manifest = read_manifest(folder)
    assert manifest is not None
    assert find_changes(folder, manifest) == []


def test_whoever_holds_a_folder_may_ask_again(tmp_path: Path) -> None:
    with lock_folder(tmp_path), lock_folder(tmp_path, shared=True):
        commit_files(tmp_path, NEW, kind=KIND)
    with lock_folder(tmp_path / "nowhere"):
        pass


@pytest.mark.parametrize("shared", [False, True])
def test_nobody_else_gets_a_folder_that_is_held(tmp_path: Path, shared: bool) -> None:
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        with lock_folder(tmp_path, shared=shared):
            assert not try_lock(handle)
            with lock_folder(tmp_path):
                pass
            assert not try_lock(handle)
        assert try_lock(handle)
    finally:
        os.close(handle)


def test_a_commit_that_cannot_be_finished_is_told(tmp_path: Path) -> None:
    prepare(tmp_path)
    (tmp_path / COMMITTED).mkdir()
    (tmp_path / COMMITTED / "a.json").write_bytes(b"new")
    refusal = pytest.raises(InputError, match="a write was interrupted and cannot be finished")
    with fail_at(tmp_path, 1, raise_error(errno.EROFS)), refusal:
        settle(tmp_path)
    settle(tmp_path)
    assert (tmp_path / "a.json").read_bytes() == b"new"
