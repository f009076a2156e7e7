"""Dask: workers of a scheduler that runs already, or of a small cluster on this machine."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from typing import Any

from nacre.errors import InputError
from nacre.parallel.engine import Engine
from nacre.parallel.payload import SINGLE_THREAD, Answer, count_processors
from nacre.parallel.remote import RemoteWorkers

PATIENCE = "30s"
"""How long a scheduler may take to answer."""
LONGEST_WITHOUT = 300.0
"""Seconds without any worker after which nobody waits longer."""


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
    """A scheduler and workers of this machine; a worker that is killed is started again.

    Dask gives a killed worker 15 seconds to come back and then drops it for good; on a busy machine
    it takes longer. One that dies while it starts Dask drops as well. So workers that are missing
    for longer are asked for anew. A new process imports what the script imports that began it, so
    that its threads are counted before the first task: their number is set before the process
    begins.
    """
    import dask
    import distributed

    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": f"{LONGEST_WITHOUT / 2:g}s"}),
        dask.config.set(
            {f"distributed.nanny.pre-spawn-environ.{one}": "1" for one in SINGLE_THREAD}
        ),
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        _repeat(lambda: cluster.scale(workers)),
    ):
        yield cluster


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
