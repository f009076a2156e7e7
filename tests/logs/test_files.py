from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from hypothesis import HealthCheck, given, settings

from nacre.errors import InputError
from nacre.logs import Log, read_log, validate_log, write_log
from tests.support.logs import SUFFIXES, assert_same, logs, make_log, write_npz, write_parquet


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(log=logs())
def test_round_trip(tmp_path: Path, suffix: str, log: Log) -> None:
    path = tmp_path / f"log{suffix}"
    write_log(log, path)
    assert validate_log(path) == []
    assert_same(read_log(path), log)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip_of_what_a_text_could_lose(tmp_path: Path, suffix: str) -> None:
    n = 4
    log = Log.from_arrays(
        np.array([[1 / 3], [-0.0], [3.4e38], [1e-40]], dtype=np.float32),
        np.zeros(n, int),
        np.array([1e-7, 16777217, 0.1, -1]),
        np.ones(n, bool),
        np.array([True, False, True, False]),
        provenance={"world": 'quotes " and\nlines, π', "nested": {"list": [1, None, 2.5]}},
        columns={
            "nothing": np.array([np.nan, np.inf, -np.inf, 0.0]),
            "short": np.array([0.1, 0.2, 0.3, np.nan], dtype=np.float32),
            "large": np.array([2**63 - 1, -(2**63), 0, 1]),
            "name, with commas": np.arange(n, dtype=np.uint8),
            "step": np.array([5, 0, 7, 7]),
            "mean_0": np.arange(n, dtype=np.float32),
            "mean_1": np.arange(n, dtype=np.float32),
        },
    )
    write_log(log, tmp_path / f"log{suffix}")
    again = read_log(str(tmp_path / f"log{suffix}"))
    assert_same(again, log)
    assert again.provenance["world"] == 'quotes " and\nlines, π'


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_writing_twice_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    a, b = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    write_log(make_log(further=True), a)
    write_log(make_log(further=True), b)
    assert a.read_bytes() == b.read_bytes()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_half_written_stays_behind(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"log{suffix}"
    path.write_bytes(b"earlier")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
        write_log(make_log(), path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"earlier"


def test_other_failures_leave_nothing_behind_either(tmp_path: Path) -> None:
    log = make_log(further=True)
    colliding = replace(log, columns={**log.columns, "mean_0": log.rewards})
    with pytest.raises(InputError, match="two columns are called 'mean_0'"):
        write_log(colliding, tmp_path / "log.csv")
    assert list(tmp_path.iterdir()) == []


def test_provenance_that_is_no_json_is_not_written(tmp_path: Path) -> None:
    for wrong in ({1, 2}, float("nan")):
        log = replace(make_log(), provenance={"x": wrong})  # type: ignore[dict-item]
        with pytest.raises(InputError, match="the provenance cannot be written as JSON"):
            write_log(log, tmp_path / "log.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_parts_of_a_log_are_logs_too(tmp_path: Path, suffix: str) -> None:
    log = make_log((5, 2, 7, 3), further=True)
    for part in (log.subsample(9, seed=1), *log.split(0.5, seed=1), log.select([2, 2])):
        write_log(part, tmp_path / f"log{suffix}")
        assert_same(read_log(tmp_path / f"log{suffix}"), part)


def test_writing_replaces_an_earlier_log(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_log(make_log((2,)), path)
    write_log(make_log((3,)), path)
    assert len(read_log(path)) == 3
    assert [p.name for p in tmp_path.iterdir()] == ["log.parquet"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        write_log(make_log(), tmp_path / "folder.npz")
    with pytest.raises(InputError, match=r"cannot be written \(No such file"):
        write_log(make_log(), tmp_path / "nowhere" / "log.npz")
    with pytest.raises(InputError, match=r"'.txt', which is not known.*\.csv, \.csv\.gz"):
        write_log(make_log(), tmp_path / "log.txt")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is not there"),
        (b"", "is an empty file"),
        (b"\x00\xff" * 50, "could not be read"),
    ],
)
def test_files_that_are_no_logs(
    tmp_path: Path, suffix: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / f"log{suffix}"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_log(path)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(f"{path}: ")
    assert [str(p) for p in validate_log(path)] == list(caught.value.problems)


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".arrow"])
def test_a_log_cut_short_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    write_log(make_log((50,), further=True), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    problems = validate_log(path)
    assert problems
    assert all("\n" not in str(p) for p in problems)


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".arrow"])
def test_damage_in_the_middle_is_refused_or_harmless(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    write_log(make_log((50,), further=True), path)
    whole = path.read_bytes()
    refused = 0
    for place in range(4, len(whole), max(1, len(whole) // 150)):
        damaged = bytearray(whole)
        damaged[place : place + 8] = b"\xa5" * len(damaged[place : place + 8])
        path.write_bytes(bytes(damaged))
        refused += bool(validate_log(path))
    assert refused > 50


def test_directories_and_suffixes_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert "is a directory" in str(validate_log(tmp_path / "folder.csv")[0])
    (tmp_path / "log.abc").write_text("episode")
    with pytest.raises(InputError, match=r"'\.abc', which is not known; use one of \.parquet"):
        read_log(tmp_path / "log.abc")
    assert "cannot be read" in str(validate_log("\0.csv")[0])


def test_the_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    write_log(make_log(), tmp_path / "LOG.NPZ")
    assert_same(read_log(tmp_path / "LOG.NPZ"), make_log())


def test_given_spaces_count_more_than_those_in_the_file(tmp_path: Path) -> None:
    write_log(make_log(discrete_actions=True), tmp_path / "log.npz")
    log = read_log(
        tmp_path / "log.npz", observation_space=Box(-9, 9, (2,)), action_space=Discrete(8)
    )
    assert log.observation_space == Box(-9, 9, (2,))
    assert log.action_space == Discrete(8)


def test_a_given_space_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log.parquet")
    wide = validate_log(path, observation_space=Box(-9, 9, (3,)))
    assert "column 'observation': is 2 wide where its space has 3 coordinates" in str(wide[0])
    discrete = validate_log(path, observation_space=Discrete(4))
    assert "holds vectors of 2 where Discrete(4) needs one whole number" in str(discrete[0])
    narrow = validate_log(path, observation_space=Box(0, 5, (2,)))
    assert str(narrow[0]).startswith(
        f"{path}: column 'next_observation[0]', row 1: lies outside its space, from 0 to 5, found 9"
    )


def test_same_log_in_other_hands(tmp_path: Path) -> None:
    assert_same(
        read_log(write_parquet(tmp_path / "log.parquet")), read_log(write_npz(tmp_path / "log.npz"))
    )


def test_importing_logs_does_not_import_arrow_or_jax() -> None:
    code = "import sys, nacre.logs; print({'pyarrow', 'jax', 'scipy'} & set(sys.modules))"
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"
