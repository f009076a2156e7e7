"""Workers that are other processes: what all engines but threads have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol

from nacre.errors import InputError
from nacre.parallel.payload import (
    Answer,
    Figures,
    Made,
    Names,
    describe_code,
    name_content,
    pack,
    run_task,
    unpack,
)

MOST_TRIES = 5
"""How often a task is begun whose workers are lost."""


class Transport(Protocol):
    """How an engine carries bytes to its workers."""

    @property
    def dashboard(self) -> str:
        """Where the engine shows its own state; nothing if it does not."""
        ...

    @property
    def lost(self) -> tuple[type[BaseException], ...]:
        """What a future raises whose worker was lost, or what it had been given."""
        ...

    def put(self, content: bytes) -> Any:
        """Something to give to `send`, from which the worker gets these bytes or their file."""
        ...

    def send(self, function: Callable[..., Answer], *args: Any) -> Future[Answer]:
        """Call a function in a worker."""
        ...


class TaskFuture(Future[Any]):
    """A result that is on its way, and what its task took once it is there."""

    figures: Figures | None = None


class RemoteWorkers:
    """Tasks travel as bytes, shared objects as names; a task whose worker is lost begins again.

    Args:
        transport: Carries them.
    """

    here = False

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._names = Names()
        self._needs: dict[str, tuple[str, ...]] = {}
        self._contents: dict[str, bytes] = {}
        self._places: dict[str, Any] = {}
        self._lock = threading.Lock()
        # Apart from the other lock, which is held while something is sent.
        self._ends = threading.Lock()
        self._open: set[TaskFuture] = set()

    @property
    def dashboard(self) -> str:
        """Where the engine shows its own state."""
        return self._transport.dashboard

    def share(self, value: Any, make: Callable[[], Any] | None = None) -> None:
        """Let tasks that hold this object find it where they run."""
        content, needs = pack(value if make is None else Made(make), self._names)
        name = name_content(content)
        self._needs[name] = (*(one for need in needs for one in self._needs[need]), *needs)
        self._contents[name] = content
        self._names.add(name, value)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> TaskFuture:
        """Begin a task as soon as a worker is free."""
        task, needs = pack((function, args, kwargs), self._names)
        names = tuple(dict.fromkeys(one for need in needs for one in (*self._needs[need], need)))
        future = TaskFuture()
        future.set_running_or_notify_cancel()
        with self._ends:
            self._open.add(future)
        self._begin(future, task, names, tries=1)
        return future

    def give_up(self, error: BaseException) -> None:
        """Let every task that is not done fail: nobody is there to run it."""
        with self._ends:
            futures = list(self._open)
        for future in futures:
            self._settle(future, error=error)

    def _settle(
        self, future: TaskFuture, result: Any = None, error: BaseException | None = None
    ) -> None:
        """End a task once; what comes later is not heard."""
        with self._ends:
            if future not in self._open:
                return
            self._open.remove(future)
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def _begin(self, future: TaskFuture, task: bytes, names: tuple[str, ...], tries: int) -> None:
        try:
            contents = [self._find_place(name) for name in names]
            sent = self._transport.send(run_task, describe_code(), task, names, *contents)
        except BaseException as error:
            self._settle(future, error=error)
            return

        def hear(done: Future[Answer]) -> None:
            try:
                answer = done.result()
                result = unpack(answer.content, self._names)
            except self._transport.lost as error:
                if tries >= MOST_TRIES:
                    self._settle(future, error=_give_up(error, tries))
                    return
                with self._lock:
                    self._places.clear()
                self._begin(future, task, names, tries + 1)
            except BaseException as error:
                self._settle(future, error=error)
            else:
                future.figures = answer.figures
                self._settle(future, result, result if answer.failed else None)

        sent.add_done_callback(hear)

    def _find_place(self, name: str) -> Any:
        """Where workers find what a shared object is made from."""
        with self._lock:
            if name not in self._places:
                self._places[name] = self._transport.put(self._contents[name])
            return self._places[name]


def _give_up(error: BaseException, tries: int) -> InputError:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError(
        f"a task lost its worker {tries} times ({text[:200]}); look at the workers' memory and "
        "their logs"
    )
