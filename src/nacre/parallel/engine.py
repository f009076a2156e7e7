"""Which engine runs independent tasks, and how it is opened."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from nacre.errors import InputError
from nacre.plugins.registry import Registry

Task = TypeVar("Task")
Result = TypeVar("Result")

ENGINES: Registry[Callable[[Engine], contextlib.AbstractContextManager[Workers]]] = Registry(
    "nacre.engines",
    "engine",
    {
        "threads": "nacre.parallel.local:open_here",
        "local": "nacre.parallel.local:open_processes",
        "dask": "nacre.parallel.dask_engine:open_dask",
        "ray": "nacre.parallel.ray_engine:open_ray",
    },
)
"""What opens the engine of each name."""


@dataclass(frozen=True)
class Engine:
    """Where independent tasks run.

    Args:
        name: threads (of this process), local (processes of this machine), dask or ray.
        address: Of a Dask scheduler or a Ray cluster that runs already; without one, workers are
            started on this machine and ended with the work.
        workers: How many are started here, each for one task at a time; one for each processor if
            not given.
    """

    name: str = "threads"
    address: str | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        ENGINES.find(self.name)
        if self.address is not None and self.name not in ("dask", "ray"):
            raise InputError(
                f"address {self.address}: the engine {self.name} runs on this machine; give the "
                "engine dask or ray, or leave the address out"
            )
        if self.workers is not None and self.workers < 1:
            raise InputError(f"workers = {self.workers}: give at least 1")
        if self.address is not None and self.workers is not None:
            raise InputError(
                f"workers = {self.workers}: the cluster at {self.address} has its own; leave the "
                "workers out"
            )


EngineSource = Engine | str
"""An engine, or its name."""


class Workers(Protocol):
    """An open engine, in the spirit of `concurrent.futures.Executor`."""

    @property
    def here(self) -> bool:
        """Whether tasks run in this process: they can tell of their progress then."""
        ...

    @property
    def dashboard(self) -> str:
        """Where the engine shows its own state; nothing if it does not."""
        ...

    def share(self, value: Any, make: Callable[[], Any] | None = None) -> None:
        """Let tasks that hold this object find it where they run, instead of taking it along.

        Args:
            value: Nobody changes it.
            make: Makes the same there, such as a function that opens a file. The object itself is
                sent once if not given.
        """
        ...

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Begin a task as soon as a worker is free."""
        ...


@contextlib.contextmanager
def open_engine(
    engine: EngineSource, on_failure: Callable[[], None] = lambda: None
) -> Iterator[Workers]:
    """The workers of an engine; those that were started for it end with the block.

    Args:
        engine: Which one.
        on_failure: Called when the block is left by an exception, before workers are ended.
    """
    chosen = engine if isinstance(engine, Engine) else Engine(engine)
    with ENGINES.find(chosen.name)(chosen) as workers:
        try:
            yield workers
        except BaseException:
            on_failure()
            raise


def map_tasks(
    function: Callable[[Task], Result],
    tasks: Sequence[Task],
    *,
    engine: EngineSource | None = None,
) -> Iterator[tuple[int, Result]]:
    """Apply a function to every task; results come as they are done, each with its task's index.

    Both function and tasks must be importable or picklable. The first failure ends everything.

    Args:
        function: A function of a module.
        tasks: What to apply it to.
        engine: Where to run; here, one task after the other, if not given.
    """
    if engine is None or not tasks:
        for index, task in enumerate(tasks):
            yield index, function(task)
        return
    with open_engine(engine) as workers:
        waiting = {workers.submit(function, task): index for index, task in enumerate(tasks)}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield waiting.pop(future), future.result()
