from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pytest
from gymnasium.spaces import Box, Discrete
from hypothesis import HealthCheck, given, settings

from nacre.errors import InputError
from nacre.files.locks import try_lock
from nacre.files.manifest import digest_json
from nacre.files.scratch import PREFIX
from nacre.logs import Log, files, read_log, reading, validate_log, write_log
from nacre.logs.formats import csv_rows
from nacre.logs.storage import cache, stores
from nacre.logs.storage.cache import verify_entry
from nacre.logs.storage.stores import find_map
from tests.support.logs import (
    SUFFIXES,
    assert_same,
    logs,
    make_log,
    plain_columns,
    write_csv,
    write_npz,
    write_parquet,
)


def entries(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir())


def is_mapped(log: Log) -> bool:
    arrays = [log.observations, log.next_observations, log.actions, *log.columns.values()]
    return all(find_map(values) is not None for values in arrays)


def texts_of(path: Path, **options: Any) -> list[str]:
    return [str(problem) for problem in validate_log(path, **options)]


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(log=logs())
def test_a_mapped_log_is_the_same(tmp_path: Path, suffix: str, log: Log) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "BLOCK_BYTES", 20)
        patch.setattr(csv_rows, "_BLOCK_BYTES", 2**12)
        path = tmp_path / f"log{suffix}"
        write_log(log, path)
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        for _ in range(2):
            mapped = read_log(path, cache_dir=tmp_path / "cache")
            assert_same(mapped, log)
            assert is_mapped(mapped)
            assert not mapped.observations.flags.writeable
        assert len(entries(tmp_path / "cache")) == 1


@pytest.mark.parametrize("changes", [{}, {"next_observation": None}, {"episode": [1, 0, 0, 1]}])
def test_successors_and_order_are_derived_alike(tmp_path: Path, changes: dict[str, Any]) -> None:
    if "episode" in changes:
        changes = changes | {"step": [0, 0, 1, 1], "terminated": [0, 0, 1, 1]}
        changes |= {"truncated": None, "next_observation": None}
    for write, name in ((write_parquet, "log.parquet"), (write_npz, "log.npz")):
        path = write(tmp_path / name, **changes)
        log = read_log(path)
        assert_same(read_log(path, cache_dir=tmp_path / name.replace(".", "-")), log)


BROKEN: dict[str, dict[str, Any]] = {
    "nan": {"observation": [[0.0, np.nan], [np.inf, 5.0], [2.0, 5.0], [3.0, 5.0]]},
    "many": {"next_observation": [[np.nan, np.nan]] * 4},
    "steps": {"step": [0, 0, 1, 3]},
    "flags": {"terminated": [0, 2, 0, 0]},
    "order": {"next_observation": [[9.0, 5.0], [9.0, 5.0], [3.0, 5.0], [4.0, 5.0]]},
    "text": {"reward": ["1", "a", "2", "b"]},
    "lengths": {"reward": [1.0, 2.0]},
}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("options", [{}, {"observation_space": Box(0, 2, (2,))}])
def test_problems_are_the_same(
    tmp_path: Path, kind: str, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for write, name in ((write_parquet, "log.parquet"), (write_npz, "log.npz")):
        if kind == "lengths" and write is write_parquet:
            continue
        path = write(tmp_path / name, **BROKEN[kind])
        expected = texts_of(path, **options)
        with monkeypatch.context() as patch:
            patch.setattr(stores, "BLOCK_BYTES", 8)
            mapped = texts_of(path, **options, cache_dir=tmp_path / "cache")
        assert expected
        assert mapped == expected
        assert entries(tmp_path / "cache") == []


def test_the_same_for_hdf5_and_for_named_columns(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "log.h5", "w") as file:
        for name in ("observation", "action", "reward", "terminated", "episode"):
            file[name] = np.asarray(plain_columns()[name])
    assert_same(
        read_log(tmp_path / "log.h5", cache_dir=tmp_path / "cache"), read_log(tmp_path / "log.h5")
    )
    text = "episode,north,south,action,reward,terminated\n" + "0,1,2.5,0,1,false\n" * 3
    path = write_csv(tmp_path / "log.csv", text)
    columns = {"observation": ["south", "north"]}
    mapped = read_log(path, columns=columns, cache_dir=tmp_path / "cache")
    assert_same(mapped, read_log(path, columns=columns))
    assert len(entries(tmp_path / "cache")) == 2


def rows_of_text(later: str) -> str:
    """More rows than one block holds, the kinds of the first block wrong for the last row."""
    head = "episode,obs_0,obs_1,action,reward,done,wind,note\n"
    return head + "0,1,2,0,1,false,3,5\n" * 400 + later


@pytest.mark.parametrize(
    "later", ["0,1,2,0,1,true,3.5,5\n", "0,1,2,0,1,true,3,night\n", "0,1,2,0,1,true,,5\n"]
)
def test_kinds_that_only_later_rows_show(
    tmp_path: Path, later: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_rows, "_BLOCK_BYTES", 2**10)
    path = write_csv(tmp_path / "log.csv", rows_of_text(later))
    mapped = read_log(path, cache_dir=tmp_path / "cache")
    plain = read_log(path)
    assert mapped.columns.keys() == plain.columns.keys()
    np.testing.assert_array_equal(mapped.columns["wind"], plain.columns["wind"])
    assert mapped.provenance == plain.provenance


@pytest.mark.parametrize(
    "later", ["0,1,2,0,much,true,3,5\n", "0,1,2\n", "0,1,x,0,1,true,3,5\n", "0.5,1,2,0,1,1,3,5\n"]
)
def test_wrong_rows_of_text_are_named_alike(
    tmp_path: Path, later: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_rows, "_BLOCK_BYTES", 2**10)
    path = write_csv(tmp_path / "log.csv", rows_of_text(later))
    expected = texts_of(path)
    assert "row 400 (line 402)" in expected[0]
    assert texts_of(path, cache_dir=tmp_path / "cache") == expected


def test_it_lies_beside_its_source_if_memory_is_too_small(tmp_path: Path) -> None:
    for suffix in SUFFIXES:
        path = tmp_path / f"log{suffix}"
        write_log(make_log((40, 40)), path)
        small = read_log(path, memory_limit=100)
        assert is_mapped(small)
        assert_same(small, read_log(path, memory_limit=10**9))
    assert len(entries(tmp_path / cache.DIRECTORY)) == len(SUFFIXES)


def test_reading_again_uses_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, root = write_parquet(tmp_path / "log.parquet"), tmp_path / "cache"
    log = read_log(path, cache_dir=root)

    def fail(*arguments: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(cache, "_build", fail)
    assert_same(read_log(path, cache_dir=root), log)
    # Another date and the same content: found by its hash, once.
    os.utime(path, ns=(1, 1))
    assert_same(read_log(path, cache_dir=root), log)
    monkeypatch.setattr(cache, "_hash_files", fail)
    assert_same(read_log(path, cache_dir=root), log)


def test_another_content_or_question_is_another_log(tmp_path: Path) -> None:
    path, root = write_parquet(tmp_path / "log.parquet"), tmp_path / "cache"
    first = read_log(path, cache_dir=root)
    write_parquet(path, reward=[9.0, 9.0, 9.0, 9.0])
    second = read_log(path, cache_dir=root)
    assert second.fingerprint() != first.fingerprint()
    third = read_log(path, cache_dir=root, observation_space=Box(0, 9, (2,)))
    fourth = read_log(path, cache_dir=root, columns={"reward": "reward"})
    uneven = Box(np.zeros(2, np.float32), np.array([9, 8], np.float32))
    fifth = read_log(path, cache_dir=root, observation_space=uneven)
    assert third.observation_space == Box(0, 9, (2,))
    assert fifth.observation_space == uneven
    assert fourth.provenance != second.provenance
    assert len(entries(root)) == 5
    with pytest.raises(InputError, match="the observation space cannot be"):
        read_log(path, cache_dir=root, observation_space=Discrete(3, start=1))


def damage_manifest(directory: Path, **changes: Any) -> None:
    path = directory / "entry.json"
    manifest = json.loads(path.read_text()) | changes
    manifest.pop("check")
    manifest["check"] = digest_json(manifest)
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: (d / "entry.json").write_text("{"),
        lambda d: (d / "entry.json").write_text("[]"),
        lambda d: (d / "entry.json").write_text(
            (d / "entry.json").read_text().replace("box", "bax")
        ),
        lambda d: (d / "rewards.npy").unlink(),
        lambda d: (d / "rewards.npy").write_bytes(b"\x93NUMPY"),
        lambda d: np.save(d / "rewards.npy", np.ones(3, np.float32)),
        lambda d: np.save(d / "offsets.npy", np.array([0, 9, 4])),
        lambda d: np.save(d / "rewards.npy", np.array([None] * 4, dtype=object)),
        lambda d: damage_manifest(d, arrays={"../../x": ["<f4", [4]]}),
        lambda d: damage_manifest(d, arrays={}),
        lambda d: damage_manifest(d, columns=["a"]),
        lambda d: damage_manifest(d, action_space={"type": "sphere"}),
        lambda d: damage_manifest(d, version=0),
    ],
)
def test_what_is_damaged_is_made_anew(tmp_path: Path, damage: Any) -> None:
    path, root = write_parquet(tmp_path / "log.parquet"), tmp_path / "cache"
    read_log(path, cache_dir=root)
    (directory,) = entries(root)
    damage(directory)
    assert_same(read_log(path, cache_dir=root), read_log(path))
    assert entries(root) == [directory]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_nothing_stays_behind_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    path = write_parquet(tmp_path / "log.parquet")

    def stop(*arguments: Any) -> None:
        assert len(entries(tmp_path / "cache")) == 1
        raise error

    monkeypatch.setenv("NACRE_ISOLATION", "off")
    monkeypatch.setattr(reading, "assemble", stop)
    with pytest.raises(error):
        read_log(path, cache_dir=tmp_path / "cache")
    assert entries(tmp_path / "cache") == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    path, root = write_parquet(tmp_path / "log.parquet"), tmp_path / "cache"
    code = (
        "import os, nacre.logs.reading as reading, nacre.logs as logs\n"
        "os.environ['NACRE_ISOLATION'] = 'off'\n"
        "reading.assemble = lambda *arguments: os._exit(9)\n"
        f"logs.read_log({str(path)!r}, cache_dir={str(root)!r})"
    )
    result = subprocess.run([sys.executable, "-c", code], check=False)  # noqa: S603
    assert result.returncode == 9
    assert len(entries(root)) == 1
    held = root / f"{PREFIX}held"
    held.mkdir()
    handle = os.open(held, os.O_RDONLY)
    assert try_lock(handle)
    log = read_log(path, cache_dir=root)
    os.close(handle)
    names = [entry.name for entry in entries(root)]
    assert names[0] == held.name
    assert len(names) == 2
    assert_same(log, read_log(path))


def test_places_without_room_or_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "log.parquet")
    (tmp_path / "file").write_text("")
    (text,) = texts_of(path, cache_dir=tmp_path / "file" / "cache")
    assert "its arrays cannot be kept in" in text
    assert "; give another place for them as cache_dir" in text
    monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(9, 9, 9))
    (text,) = texts_of(path, cache_dir=tmp_path / "cache")
    assert "bytes in" in text
    assert "where 9 are free; give a larger place as cache_dir" in text
    assert not (tmp_path / "cache").exists()


def test_a_disk_that_fills_up_is_an_error_and_not_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(tmp_path / "log.parquet")

    def fail(descriptor: int, start: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("NACRE_ISOLATION", "off")
    monkeypatch.setattr(os, "posix_fallocate", fail)
    assert "No space left on device" in texts_of(path, cache_dir=tmp_path / "cache")[0]
    assert entries(tmp_path / "cache") == []


def test_a_billion_rows_in_a_small_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nacre.logs.formats import parquet as parquet_file

    monkeypatch.setenv("NACRE_ISOLATION", "off")
    monkeypatch.setattr(parquet_file, "_MANY_ROWS", 10**4)
    n = 10**6
    table = pa.table({name: pa.array(np.zeros(n, np.int8)) for name in ("episode", "reward")})
    pa.parquet.write_table(table, tmp_path / "log.parquet")
    (text,) = texts_of(tmp_path / "log.parquet")
    assert "claims 1000000 rows in " in text


def test_names_that_a_shell_would_expand(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "log[1]*?.parquet")
    log = read_log(path, cache_dir=tmp_path / "cache")
    assert_same(read_log(path, cache_dir=tmp_path / "cache"), log)
    assert len(entries(tmp_path / "cache")) == 1


def test_parts_of_a_mapped_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_log((5, 2, 7, 3), further=True)
    write_log(log, tmp_path / "log.parquet")
    monkeypatch.setattr(stores, "SMALL_BYTES", 0)
    mapped = read_log(tmp_path / "log.parquet", cache_dir=tmp_path / "cache")
    for part, expected in (
        (mapped.select([3, 0]), log.select([3, 0])),
        (mapped.split(0.5, seed=3)[1], log.split(0.5, seed=3)[1]),
        (mapped.subsample(9, seed=1), log.subsample(9, seed=1)),
        (mapped.episode(2), log.episode(2)),
    ):
        assert_same(part, expected)
        assert is_mapped(part)
    assert sum(entry.name.startswith(".rows") for entry in (tmp_path / "cache").rglob("*")) == 0
    write_log(mapped, tmp_path / "again.npz")
    assert_same(read_log(tmp_path / "again.npz"), log)


def test_limits_without_knowing_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert files.find_memory_limit() > 2**20
    monkeypatch.setattr(os, "sysconf_names", {})
    assert files.find_memory_limit() == float("inf")


@pytest.mark.parametrize("name", ["rewards", "observations", "offsets"])
def test_a_single_bit_is_noticed_and_the_entry_made_anew(tmp_path: Path, name: str) -> None:
    path, root = write_parquet(tmp_path / "log.parquet"), tmp_path / "cache"
    read_log(path, cache_dir=root)
    (directory,) = entries(root)
    verify_entry(directory)
    content = bytearray((directory / f"{name}.npy").read_bytes())
    content[-1] ^= 4
    (directory / f"{name}.npy").write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}\.npy: is damaged"):
        verify_entry(directory)
    assert_same(read_log(path, cache_dir=root), read_log(path))
    verify_entry(directory)


def test_a_source_edited_with_its_size_and_date_is_another_log(tmp_path: Path) -> None:
    path, root = tmp_path / "log.csv", tmp_path / "cache"
    text = "episode,step,observation,action,reward,terminated\n0,0,1,0,1,0\n0,1,2,1,1,1\n"
    path.write_text(text)
    stat = path.stat()
    first = read_log(path, cache_dir=root)
    path.write_text(text.replace("0,1,2,1,1,1", "0,1,2,1,7,1"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_mtime_ns == stat.st_mtime_ns
    assert read_log(path, cache_dir=root).rewards[-1] == 7
    assert first.rewards[-1] == 1
