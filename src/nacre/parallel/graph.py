"""A small explicit graph of named tasks: what each needs, and the order that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any, Protocol

from nacre.errors import InputError

Report = Callable[[Any], None]
"""Hears of the progress of one task, in the task's own terms."""


class Submits(Protocol):
    """Where tasks run: an executor, or the workers of an engine."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Begin a task."""
        ...


@dataclass(frozen=True)
class Task:
    """A function and where its arguments come from.

    Args:
        name: By which others name it, and people hear of it.
        function: Called with the results of `inputs` by keyword, and with `report`. It and its
            other arguments (a `functools.partial`) can be pickled; it never waits for a task.
        inputs: Names of tasks by the keyword that takes their result.
        work: How much work it is, in any unit that all tasks share.
        for_others: Whether its result matters to other tasks only.
    """

    name: str
    function: Callable[..., Any]
    inputs: Mapping[str, str] = field(default_factory=dict)
    work: float = 1.0
    for_others: bool = False


def check_graph(tasks: Sequence[Task]) -> None:
    """Raise unless every name is unique and every input is a task listed before."""
    known: set[str] = set()
    for task in tasks:
        missing = [name for name in task.inputs.values() if name not in known]
        if missing or task.name in known:
            raise InputError(
                f"task {task.name!r}: {missing or task.name!r} is not a task listed before it, or "
                "is listed twice"
            )
        known.add(task.name)


def run_graph(
    tasks: Sequence[Task],
    executor: Submits,
    report: Callable[[str], Report],
    on_done: Callable[[str, Future[Any]], None] = lambda name, future: None,
    known: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The results of all tasks, by name and in their order, whichever is done first.

    A task begins as soon as all that it needs is there.

    Args:
        tasks: Each after those that it needs.
        executor: Where they run.
        report: Makes, for the task of a name, what hears of its progress.
        on_done: Hears the name of every task that has ended, and what holds its result.
        known: Results of tasks that need not run. What only they would need does not run either.
    """
    check_graph(tasks)
    results = dict(known or {})
    waiting = find_needed(tasks, results)
    running: dict[Future[Any], str] = {}
    while waiting or running:
        ready = [task for task in waiting if all(name in results for name in task.inputs.values())]
        for task in ready:
            given = {keyword: results[name] for keyword, name in task.inputs.items()}
            future = executor.submit(task.function, report=report(task.name), **given)
            running[future] = task.name
            waiting.remove(task)
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            name = running.pop(future)
            results[name] = future.result()
            on_done(name, future)
    return {task.name: results[task.name] for task in tasks if task.name in results}


def find_needed(tasks: Sequence[Task], known: Mapping[str, Any]) -> list[Task]:
    """The tasks that have to run once the results of some are known."""
    needed: list[Task] = []
    wanted: set[str] = set()
    for task in reversed(tasks):
        if task.name not in known and (not task.for_others or task.name in wanted):
            needed.insert(0, task)
            wanted.update(task.inputs.values())
    return needed
