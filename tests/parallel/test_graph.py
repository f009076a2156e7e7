"""The graph of tasks: order, results, failures."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from nacre.errors import InputError
from nacre.parallel.graph import Task, check_graph, find_needed, run_graph


def give(number: float, *, report: Callable[[Any], None]) -> float:
    report(number)
    return number


def add(*, first: float, second: float, report: Callable[[Any], None]) -> float:
    return first + second


def fail(*, report: Callable[[Any], None], **inputs: float) -> float:
    raise ValueError("broken")


GRAPH = [
    Task("two", partial(give, 2.0)),
    Task("three", partial(give, 3.0)),
    Task("five", add, {"first": "two", "second": "three"}),
    Task("seven", add, {"first": "two", "second": "five"}),
]


@pytest.mark.parametrize("threads", [1, 4])
def test_results_do_not_depend_on_the_number_of_threads(threads: int) -> None:
    heard: list[tuple[str, float]] = []
    done: list[str] = []

    def listen(name: str) -> Callable[[Any], None]:
        return lambda event: heard.append((name, event))

    with ThreadPoolExecutor(threads) as executor:
        results = run_graph(GRAPH, executor, listen, lambda name, _: done.append(name))
    assert results == {"two": 2.0, "three": 3.0, "five": 5.0, "seven": 7.0}
    assert sorted(heard) == [("three", 3.0), ("two", 2.0)]
    assert done[-2:] == ["five", "seven"]


def test_tasks_can_be_pickled() -> None:
    graph = pickle.loads(pickle.dumps(GRAPH))  # noqa: S301 - our own bytes
    with ThreadPoolExecutor(1) as executor:
        assert run_graph(graph, executor, lambda name: lambda event: None)["seven"] == 7.0


def test_the_first_failure_ends_it() -> None:
    with ThreadPoolExecutor(1) as executor, pytest.raises(ValueError, match="broken"):
        run_graph(
            [*GRAPH[:2], Task("bad", fail, {"one": "two"}), Task("after", fail, {"one": "bad"})],
            executor,
            lambda name: lambda event: None,
        )


def refuse(*, report: Callable[[Any], None], **inputs: float) -> float:
    raise AssertionError("began after a failure")


def test_what_needs_a_failed_task_never_begins() -> None:
    done: list[str] = []
    graph = [Task("bad", fail), Task("after", refuse, {"one": "bad"})]
    with ThreadPoolExecutor(2) as executor, pytest.raises(ValueError, match="broken"):
        run_graph(
            graph, executor, lambda name: lambda event: None, lambda name, _: done.append(name)
        )
    assert done == []


def wait_for(event: threading.Event, *, report: Callable[[Any], None]) -> bool:
    return event.wait(60.0)


def set_off(event: threading.Event, *, report: Callable[[Any], None], **inputs: Any) -> None:
    event.set()


def test_a_task_begins_as_soon_as_its_own_inputs_are_there() -> None:
    """The first goes on until the third has begun, which needs the second only."""
    event = threading.Event()
    graph = [
        Task("long", partial(wait_for, event)),
        Task("short", partial(give, 1.0)),
        Task("next", partial(set_off, event), {"given": "short"}),
    ]
    with ThreadPoolExecutor(2) as executor:
        results = run_graph(graph, executor, lambda name: lambda event: None)
    assert results["long"] is True
    # Whichever is done first, the results have the order of the graph.
    assert list(results) == ["long", "short", "next"]


def test_tasks_of_one_level_begin_in_the_order_given() -> None:
    begun: list[float] = []
    graph = [Task(f"number {i}", partial(give, float(i))) for i in range(5)]
    with ThreadPoolExecutor(1) as executor:
        run_graph(graph, executor, lambda name: begun.append)
    assert begun == [0.0, 1.0, 2.0, 3.0, 4.0]


def test_no_tasks_no_results() -> None:
    with ThreadPoolExecutor(1) as executor:
        assert run_graph([], executor, lambda name: lambda event: None) == {}


@pytest.mark.parametrize("graph", [[GRAPH[2]], [GRAPH[0], GRAPH[0]]])
def test_a_graph_names_only_what_stands_before(graph: list[Task]) -> None:
    with pytest.raises(InputError, match="is not a task listed before it, or is listed twice"):
        check_graph(graph)


def test_what_is_known_does_not_run_nor_what_only_that_would_need() -> None:
    graph = [
        Task("prepared", refuse, for_others=True),
        Task("known", refuse, {"one": "prepared"}),
        Task("also prepared", partial(give, 2.0), for_others=True),
        Task("five", add, {"first": "known", "second": "also prepared"}),
    ]
    done: list[tuple[str, Any]] = []
    assert [task.name for task in find_needed(graph, {"known": 3.0})] == ["also prepared", "five"]
    with ThreadPoolExecutor(1) as executor:
        results = run_graph(
            graph,
            executor,
            lambda name: lambda event: None,
            lambda name, future: done.append((name, future.result())),
            {"known": 3.0},
        )
    assert results == {"known": 3.0, "also prepared": 2.0, "five": 5.0}
    assert done == [("also prepared", 2.0), ("five", 5.0)]
