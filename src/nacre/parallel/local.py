"""Independent tasks, in threads or processes; nobody else knows how they run."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from typing import Any, TypeVar

TASK_THREAD = "nacre-task"
"""How the names of threads begin that are at work on a task."""

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_tasks(
    function: Callable[[Task], Result], tasks: Sequence[Task], *, processes: int = 1
) -> Iterator[tuple[int, Result]]:
    """Apply a function to every task; results come as they are done, each with its task's index.

    With several processes each is new (nothing is inherited), keeps to one processor, and both
    function and tasks must be importable or picklable. The first failure ends everything.

    Args:
        function: A function of a module.
        tasks: What to apply it to.
        processes: 1 runs here, one task after the other.
    """
    if processes <= 1 or len(tasks) <= 1:
        for index, task in enumerate(tasks):
            yield index, function(task)
        return
    context = multiprocessing.get_context("spawn")
    places = context.Queue()
    for place in range(processes):
        places.put(place)
    pool = ProcessPoolExecutor(
        min(processes, len(tasks)), mp_context=context, initializer=_settle, initargs=(places,)
    )
    try:
        waiting = {pool.submit(function, task): index for index, task in enumerate(tasks)}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield waiting.pop(future), future.result()
    except BaseException:
        # Tasks take hours: whoever fails or is interrupted does not wait for the others.
        for process in list((pool._processes or {}).values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _settle(places: Any) -> None:
    """Keep this process to one processor before the numerical libraries count them.

    It ends with the process that began it, even one that was killed: whoever starts the same work
    again must not meet it.
    """
    if hasattr(os, "sched_setaffinity"):
        available = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {available[places.get() % len(available)]})
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def count_processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def open_threads(
    on_failure: Callable[[], None], *, threads: int | None = None
) -> Iterator[ThreadPoolExecutor]:
    """Threads that begin their tasks in the order given; a task may wait for those before it.

    Args:
        on_failure: Called when the block is left by an exception. Tasks that have not begun are
            forgotten then; those that have are waited for, so this should let them end soon. Only
            an interruption by the user does not wait.
        threads: How many; one for each processor if not given.
    """
    pool = ThreadPoolExecutor(threads or count_processors(), TASK_THREAD)
    try:
        yield pool
    except KeyboardInterrupt:
        on_failure()
        # Whoever interrupts does not want to wait: tasks end by themselves, and nobody hears them.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    except BaseException:
        on_failure()
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    else:
        pool.shutdown(wait=True)
