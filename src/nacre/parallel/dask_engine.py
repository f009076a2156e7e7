"""Dask: workers of a scheduler that runs already, or of a small cluster on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import multiprocessing
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from typing import Any

from nacre.errors import InputError
from nacre.parallel.engine import Engine
from nacre.parallel.local import settle
from nacre.parallel.payload import Answer, count_processors
from nacre.parallel.remote import RemoteWorkers

PATIENCE = "30s"
"""How long a scheduler may take to answer."""
LONGEST_WITHOUT = 300.0
"""Seconds without any worker after which nobody waits longer."""
REST = 0.5
"""Seconds after which a worker that has ended is begun again."""


@contextlib.contextmanager
def open_dask(engine: Engine) -> Iterator[RemoteWorkers]:
    """The workers of a Dask scheduler."""
    try:
        import distributed
    except ImportError:
        raise InputError(
            "engine dask: Dask is not installed; install it with pip install 'nacre[dask]'"
        ) from None
    with contextlib.ExitStack() as stack:
        if engine.address is None:
            cluster = stack.enter_context(start_cluster(engine.workers or count_processors()))
        else:
            cluster = engine.address
        try:
            client = stack.enter_context(distributed.Client(cluster, timeout=PATIENCE))
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(
                f"engine dask: no scheduler answers at {engine.address} "
                f"({str(error).splitlines()[0][:200]}); check the address, or start one with dask "
                "scheduler"
            ) from None
        workers = RemoteWorkers(DaskTransport(client))
        stack.enter_context(_watch(client, workers))
        yield workers


@contextlib.contextmanager
def start_cluster(workers: int) -> Iterator[Any]:
    """A scheduler and workers of this machine, each kept to one processor.

    A worker that ends is started again, whatever ended it and however often. Dask's own keepers
    give up one that dies while it starts or that takes longer than they wait.
    """
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=0, processes=True, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        tempfile.TemporaryDirectory(prefix="nacre-dask-", ignore_cleanup_errors=True) as folder,
        contextlib.ExitStack() as stack,
    ):
        for place in range(workers):
            options = {"memory_limit": 1.0 / workers, "local_directory": folder}
            stack.enter_context(_keep_running(cluster.scheduler_address, place, options))
        yield cluster


@contextlib.contextmanager
def _keep_running(address: str, place: int, options: dict[str, Any]) -> Iterator[None]:
    """A process with a worker, begun again whenever it ends, as long as the block lasts."""
    context, ended = multiprocessing.get_context("spawn"), threading.Event()

    def begin() -> Any:
        process = context.Process(target=_serve, args=(address, place, options))
        process.start()
        return process

    process = begin()

    def keep() -> None:
        nonlocal process
        while not ended.is_set():
            process.join(REST)
            if not process.is_alive() and not ended.wait(REST):
                process = begin()

    thread = threading.Thread(target=keep, name="nacre-keep", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        process.kill()
        process.join()


def _serve(address: str, place: int, options: dict[str, Any]) -> None:
    """A worker of a scheduler, until that ends it."""
    settle(place)
    import distributed

    async def work() -> None:
        async with distributed.Worker(address, nthreads=1, **options) as worker:
            await worker.finished()

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    asyncio.run(work())


@contextlib.contextmanager
def _watch(client: Any, workers: RemoteWorkers) -> Iterator[None]:
    """Let tasks fail where no worker comes back: Dask itself would wait for ever."""
    seen = time.monotonic()

    def look() -> None:
        nonlocal seen
        with contextlib.suppress(Exception):
            if client.nthreads():
                seen = time.monotonic()
        if time.monotonic() - seen > LONGEST_WITHOUT:
            workers.give_up(_name_lack())

    with _repeat(look):
        yield


@contextlib.contextmanager
def _repeat(action: Callable[[], None]) -> Iterator[None]:
    """Do something from time to time as long as the block lasts."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(LONGEST_WITHOUT / 10):
            with contextlib.suppress(Exception):
                action()

    thread = threading.Thread(target=run, name="nacre-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _name_lack() -> InputError:
    return InputError(
        f"engine dask: no worker for {LONGEST_WITHOUT:g} seconds; look at the workers' logs, start "
        "some, and call the same again"
    )


class DaskTransport:
    """Futures of Dask as those of `concurrent.futures`."""

    def __init__(self, client: Any) -> None:
        from distributed import KilledWorker
        from distributed.client import FutureCancelledError

        self._client = client
        self._executor = client.get_executor(pure=False)
        self.lost = (KilledWorker, FutureCancelledError, CancelledError)

    @property
    def dashboard(self) -> str:
        """The scheduler's page, where the package for it is installed."""
        with contextlib.suppress(ImportError):
            import bokeh  # noqa: F401

            return str(self._client.dashboard_link or "")
        return ""

    def put(self, content: bytes) -> Any:
        """In the memory of a worker; others fetch it from there."""
        try:
            return self._client.scatter(content, hash=False, timeout=LONGEST_WITHOUT)
        except TimeoutError:
            raise _name_lack() from None

    def send(self, function: Callable[..., Answer], *args: Any) -> Future[Answer]:
        """Call a function in a worker."""
        future: Future[Answer] = self._executor.submit(function, *args)
        return future
