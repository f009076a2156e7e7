"""Engines: shared objects by name, lost workers, versions, logs by address."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from nacre.advice.setting import Split
from nacre.errors import InputError
from nacre.logs import read_log, write_log
from nacre.parallel import payload
from nacre.parallel.engine import Engine, open_engine
from nacre.parallel.payload import Made, Names, check_code, describe_code, pack, run_task, unpack
from tests.support.rooms import OLD, make_policy, make_rooms_log
from tests.support.small_tasks import die_once, give_back, refuse

EXTRAS = {"dask": "distributed", "ray": "ray"}


@dataclasses.dataclass(frozen=True)
class Square:
    side: int
    unsendable: Any = None

    @functools.cached_property
    def area(self) -> Any:
        return lambda: self.side**2


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    with open_engine(Engine("local", workers=1)) as opened:
        yield opened


@pytest.fixture(scope="module")
def ray_workers() -> Iterator[Any]:
    pytest.importorskip("ray", reason="Ray is not installed")
    with open_engine(Engine("ray", workers=2)) as opened:
        yield opened


def test_ray_gives_back_what_was_shared_what_was_raised_and_what_was_lost(
    ray_workers: Any, tmp_path: Path
) -> None:
    shared = {"large": np.arange(5)}
    ray_workers.share(shared)
    futures = [ray_workers.submit(give_back, shared) for _ in range(20)]
    assert all(future.result() is shared for future in futures)
    with pytest.raises(InputError, match="no good"):
        ray_workers.submit(refuse).result()
    assert ray_workers.submit(die_once, tmp_path / "died").result() == "alive"


def test_an_exception_comes_back_as_it_was(workers: Any) -> None:
    assert workers.submit(int, "12").result() == 12
    with pytest.raises(InputError, match="no good") as caught:
        workers.submit(refuse).result()
    assert caught.value.problems == ("no good; do better", "nor this")


def test_a_shared_object_comes_back_as_itself(workers: Any) -> None:
    shared = {"large": np.arange(5)}
    workers.share(shared)
    assert workers.submit(give_back, shared).result() is shared


def test_a_task_whose_worker_is_killed_begins_again(workers: Any, tmp_path: Path) -> None:
    assert workers.submit(die_once, tmp_path / "died").result() == "alive"


def test_a_worker_that_started_more_threads_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "count_processors", lambda: 4)
    monkeypatch.setenv("NPROC", "4")
    with pytest.raises(InputError, match=r"started there with 4 threads.* with NPROC=1"):
        payload.prepare_worker()
    monkeypatch.setenv("NPROC", "1")
    payload.prepare_worker()


def test_shared_objects_are_made_where_they_are_needed_and_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NPROC", "1")
    names = Names()
    content, _ = pack(Made(_make), names)
    names.add("it", 1)
    task, used = pack((_count, (), {}), names)
    assert used == ()
    for _ in range(2):
        answer = run_task(describe_code(), task, ("made",), content)
        assert unpack(answer.content, Names()) == 1
        assert not answer.failed
        assert answer.figures.seconds > 0


MADE: list[int] = []


def _make() -> str:
    MADE.append(1)
    return "something"


def _count() -> int:
    return len(MADE)


def test_cached_properties_stay_behind() -> None:
    square = Square(3)
    assert square.area() == 9
    again = unpack(pack(square, Names())[0], Names())
    assert again == square
    assert again.area() == 9


def test_another_version_is_refused() -> None:
    check_code(describe_code())
    with pytest.raises(InputError, match=r"worker on .*: has nacre's source .* install there"):
        check_code({**describe_code(), "nacre's source": "another"})
    task, _ = pack((int, (), {}), Names())
    answer = run_task({"jax": "0.0.1"}, task, ())
    assert answer.failed
    assert isinstance(unpack(answer.content, Names()), InputError)


def test_workers_keep_few_shared_objects() -> None:
    names = Names(2)
    for number, value in enumerate(([1], [2], [3])):
        names.add(str(number), value)
    assert "0" not in names
    assert names.find("2") == [3]
    assert payload.MOST_KEPT < 10


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "dusk"}, "did you mean dask"),
        ({"name": "local", "address": "tcp://a:1"}, "runs on this machine"),
        ({"name": "local", "workers": 0}, "at least 1"),
        ({"name": "dask", "address": "tcp://a:1", "workers": 2}, "has its own"),
    ],
)
def test_engines_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Engine(**given)


@pytest.mark.parametrize("name", EXTRAS)
def test_an_engine_that_is_not_installed_says_which_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, EXTRAS[name], None)
    with pytest.raises(InputError, match=rf"nacre\[{name}\]"), open_engine(name):
        pass


@pytest.mark.parametrize("step", ["init", "get"])
def test_what_ray_does_not_start_is_told_in_one_line(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray, ended = MagicMock(), "timed out during startup."
    getattr(ray, step).side_effect = Exception(f"It {ended}\nMore.")
    monkeypatch.setitem(sys.modules, "ray", ray)
    with pytest.raises(InputError, match=r"timed out during startup\.\); .*engine local"):
        open_engine("ray").__enter__()
    ray.shutdown.assert_called_once_with()


def test_a_log_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    write_log(make_rooms_log(), path)
    log = read_log(path)
    assert log.reference is not None
    assert log.reference.open(log.fingerprint()).fingerprint() == log.fingerprint()
    write_log(log.select(range(20)), path)
    with pytest.raises(InputError, match="has changed since the work began"):
        log.reference.open(log.fingerprint())
    path.unlink()
    with pytest.raises(InputError, match=r"worker on .*is not there"):
        log.reference.open(log.fingerprint())


def test_a_split_travels_as_numbers_of_episodes() -> None:
    log = make_rooms_log()
    split = Split.take(log, (np.arange(10), np.arange(10, 30)), make_policy(OLD))
    names = Names()
    names.add("log", log)
    content, used = pack(split, names)
    assert used == ("log",)
    assert len(content) < log.rewards.nbytes
    again = unpack(content, names)
    assert again.log is log
    assert again.test.fingerprint() == split.test.fingerprint()
