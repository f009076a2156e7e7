"""This machine: threads of this process, or processes that are started for the work."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from nacre.parallel.payload import Answer, count_processors, name_content
from nacre.parallel.remote import RemoteWorkers

if TYPE_CHECKING:
    from nacre.parallel.engine import Engine

TASK_THREAD = "nacre-task"
"""How the names of threads begin that are at work on a task."""


class Threads(ThreadPoolExecutor):
    """Threads that begin their tasks in the order given; a task may wait for those before it."""

    here = True
    dashboard = ""

    def share(self, value: Any, make: Callable[[], Any] | None = None) -> None:
        """Nothing is to be done: everybody here holds the same object."""


def limit_threads() -> None:
    """Linear algebra has one thread, for this thread at least."""
    threadpool_limits(limits=1)


@contextlib.contextmanager
def open_here(engine: Engine) -> Iterator[Threads]:
    """Threads of this process, in each of which linear algebra has one thread.

    When the block is left by an exception, tasks that have not begun are forgotten; those that have
    are waited for. Only an interruption by the user does not wait.
    """
    # Some libraries have a limit for the whole process, others one for each thread.
    pool = Threads(engine.workers or count_processors(), TASK_THREAD, limit_threads)
    try:
        with threadpool_limits(limits=1):
            yield pool
    except BaseException as error:
        # Whoever interrupts does not want to wait: tasks end by themselves, and nobody hears them.
        pool.shutdown(wait=not isinstance(error, KeyboardInterrupt), cancel_futures=True)
        raise
    else:
        pool.shutdown(wait=True)


@contextlib.contextmanager
def open_processes(engine: Engine) -> Iterator[RemoteWorkers]:
    """New processes of this machine, each kept to one processor."""
    with tempfile.TemporaryDirectory(prefix="nacre-shared-", ignore_cleanup_errors=True) as folder:
        processes = Processes(engine.workers or count_processors(), Path(folder))
        try:
            yield RemoteWorkers(processes)
        except BaseException:
            # Tasks take hours: whoever fails or is interrupted does not wait for the others.
            processes.close(at_once=True)
            raise
        else:
            processes.close()


class Processes:
    """Processes, each with a pool of its own: a task that kills its worker harms no other.

    Args:
        workers: How many.
        folder: For what they share.
    """

    dashboard = ""
    lost = (BrokenProcessPool,)

    def __init__(self, workers: int, folder: Path) -> None:
        self._folder = folder
        self._threads = ThreadPoolExecutor(workers, "nacre-worker")
        self._idle: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._pools: dict[int, ProcessPoolExecutor] = {}
        self._closed = False
        for place in range(workers):
            self._idle.put(place)

    def put(self, content: bytes) -> Path:
        """A file."""
        path = self._folder / name_content(content)
        path.write_bytes(content)
        return path

    def send(self, function: Callable[..., Answer], *args: Any) -> Future[Answer]:
        """Call a function in the next process that is free."""
        return self._threads.submit(self._run, function, args)

    def close(self, *, at_once: bool = False) -> None:
        """End all processes; `at_once` whatever they do."""
        self._closed = True
        self._threads.shutdown(wait=not at_once, cancel_futures=True)
        for pool in list(self._pools.values()):
            if at_once:
                for process in list((pool._processes or {}).values()):
                    process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, function: Callable[..., Answer], args: tuple[Any, ...]) -> Answer:
        place = self._idle.get()
        try:
            if self._closed:
                raise CancelledError
            pool = self._pools.get(place) or self._open(place)
            try:
                return pool.submit(function, *args).result()
            except BrokenProcessPool:
                self._pools.pop(place).shutdown(wait=False)
                raise
        finally:
            self._idle.put(place)

    def _open(self, place: int) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(1, mp_context=context, initializer=settle, initargs=(place,))
        self._pools[place] = pool
        return pool


def settle(place: int) -> None:
    """Keep this process to one processor before the numerical libraries count them.

    It ends with the process that began it, even one that was killed: whoever starts the same work
    again must not meet it.
    """
    if hasattr(os, "sched_setaffinity"):
        available = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {available[place % len(available)]})
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
