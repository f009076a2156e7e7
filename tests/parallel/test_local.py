"""Tasks here and in other processes: the same results, each with its index, failures at once."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from nacre.parallel import local as engines
from nacre.parallel.engine import Engine, map_tasks, open_engine
from nacre.parallel.payload import count_processors


def _pid_and_processors(task: int) -> tuple[int, int, set[int]]:
    return task, os.getpid(), os.sched_getaffinity(0)


def test_one_process_is_this_one_and_keeps_the_order() -> None:
    found = list(map_tasks(_pid_and_processors, [5, 6, 7]))
    assert [(index, task) for index, (task, _, _) in found] == [(0, 5), (1, 6), (2, 7)]
    assert {pid for _, (_, pid, _) in found} == {os.getpid()}


def test_results_come_as_they_are_asked_for() -> None:
    done: list[int] = []
    results = map_tasks(done.append, [1, 2, 3])
    assert done == []
    next(results)
    assert done == [1]


def test_several_processes_are_new_and_keep_to_one_processor() -> None:
    found = dict(map_tasks(_pid_and_processors, [5, 6, 7], engine=Engine("local", workers=2)))
    assert {index: task for index, (task, _, _) in found.items()} == {0: 5, 1: 6, 2: 7}
    assert os.getpid() not in {pid for _, pid, _ in found.values()}
    assert all(len(processors) == 1 for _, _, processors in found.values())


def test_no_tasks_need_no_engine() -> None:
    assert list(map_tasks(_pid_and_processors, [], engine="local")) == []


@pytest.mark.parametrize("engine", [None, Engine("local", workers=2)])
def test_the_first_failure_ends_everything(engine: Engine | None) -> None:
    with pytest.raises(ZeroDivisionError):
        list(map_tasks(_invert, [1, 0, 2, 4], engine=engine))


def _invert(task: int) -> float:
    return float(operator.truediv(1, task))


def test_processes_settle_on_different_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    settled: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {4, 7})
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, chosen: settled.append(chosen))
    for place in range(3):
        engines.settle(place)
    assert settled == [{4}, {7}, {4}]
    # Systems without it let the processes run where they like.
    monkeypatch.delattr(os, "sched_setaffinity")
    engines.settle(0)
    assert len(settled) == 3


WAITING = """
import os, sys, time
from pathlib import Path
from nacre.parallel.engine import Engine, map_tasks

def wait(name):
    Path(name).with_suffix(".new").write_text(str(os.getpid()))
    Path(name).with_suffix(".new").rename(name)
    time.sleep(600)

if __name__ == "__main__":
    list(map_tasks(wait, sys.argv[1:], engine=Engine("local", workers=2)))
"""


def test_whoever_is_killed_leaves_nobody_behind(tmp_path: Path) -> None:
    script = tmp_path / "waiting.py"
    script.write_text(WAITING)
    names = [tmp_path / "first", tmp_path / "second"]
    parent = subprocess.Popen([sys.executable, str(script), *map(str, names)])  # noqa: S603
    assert _comes_to(lambda: all(name.exists() for name in names))
    parent.kill()
    parent.wait()
    workers = [int(name.read_text()) for name in names]
    running = [Path(f"/proc/{worker}/cmdline") for worker in workers]
    assert _comes_to(lambda: not any(file.exists() for file in running))


def _comes_to(holds: Callable[[], bool]) -> bool:
    """Whether something holds within a minute."""
    for _ in range(600):
        if holds():
            return True
        time.sleep(0.1)
    return False


# Threads


def test_threads_begin_in_order_and_may_wait_for_what_came_before() -> None:
    for threads in (1, 2, 3):
        with open_engine(Engine("threads", workers=threads)) as pool:
            one = pool.submit(int, "1")
            two = pool.submit(_add_results, one)
            three = pool.submit(_add_results, one, two)
            assert (two.result(), three.result()) == (1, 2)


def _add_results(*before: Future[int]) -> int:
    return sum(one.result() for one in before)


def test_a_failure_is_raised_at_once_and_lets_the_others_end() -> None:
    stopped = threading.Event()
    ended: list[bool] = []

    def run() -> None:
        with open_engine(Engine("threads", workers=2), stopped.set) as pool:
            # Waits for the failure of another, with a limit so that a mistake does not hang.
            pool.submit(lambda: ended.append(stopped.wait(60.0)))
            pool.submit(_invert, 0).result()

    with pytest.raises(ZeroDivisionError):
        run()
    assert ended == [True]


def test_processors_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert count_processors() == len(os.sched_getaffinity(0))
    monkeypatch.delattr(os, "sched_getaffinity")
    assert count_processors() == os.cpu_count()


def count_threads() -> set[int]:
    """Of the libraries of linear algebra that are loaded."""
    np.linalg.solve(np.eye(2), np.ones(2))
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def test_linear_algebra_has_one_thread_in_a_task_and_as_many_as_before_after_it() -> None:
    before = count_threads()
    with open_engine("threads") as workers:
        assert workers.submit(count_threads).result() == {1}
    assert count_threads() == before
