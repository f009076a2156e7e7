"""The graph of tasks: order, results, failures."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from nacre.errors import InputError
from nacre.parallel.graph import Task, check_graph, run_graph


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
        results = run_graph(GRAPH, executor, listen, done.append)
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


@pytest.mark.parametrize("graph", [[GRAPH[2]], [GRAPH[0], GRAPH[0]]])
def test_a_graph_names_only_what_stands_before(graph: list[Task]) -> None:
    with pytest.raises(InputError, match="is not a task listed before it, or is listed twice"):
        check_graph(graph)
