"""The graph of one advice: it can be pickled, and gives what threads give."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import pytest

from nacre.advice import finalists
from nacre.advice.finalists import MOST_FINALISTS
from nacre.advice.plan import plan_tasks
from nacre.learners.scale_noise import ScaleNoise
from nacre.parallel.graph import check_graph
from tests.support.advice import make_quick_learner
from tests.support.rooms import (
    BEST,
    BETTER,
    CONFIG,
    GIVEN_ALONE,
    ask_about_rooms,
    find_rooms_advice,
    make_candidate,
    make_setting,
)

MINE = make_candidate("best", BEST)


def test_tasks_can_be_pickled_and_give_the_same_numbers() -> None:
    graph = pickle.loads(pickle.dumps(plan_tasks(make_setting(), [MINE])))  # noqa: S301 - our own
    results: dict[str, Any] = {}
    for task in graph:
        given = {keyword: results[name] for keyword, name in task.inputs.items()}
        results[task.name] = task.function(report=lambda event: None, **given)
    assert [one.name for one in results["finalists"]] == ["best"]
    # Places that stay empty.
    assert results["estimate tabular 1"] is results["overlap 2"] is None
    expected = find_rooms_advice().chosen.estimates[0]
    assert results["estimate tabular 0"].gain == expected.gain


def test_every_task_can_be_pickled_with_learners_that_learn() -> None:
    learners = (make_quick_learner(0.1), ScaleNoise())
    graph = plan_tasks(make_setting(dataclasses.replace(CONFIG, learners=learners)), [MINE])
    check_graph(graph)
    for task in graph:
        again = pickle.loads(pickle.dumps(task))  # noqa: S301 - our own
        assert (again.name, again.inputs, again.work) == (task.name, task.inputs, task.work)


@pytest.mark.parametrize("n_given", [0, 1, 4])
def test_there_are_as_many_places_as_may_be_tested(n_given: int) -> None:
    """Smaller steps compete beside a candidate: one that is given may come to three finalists."""
    given = [make_candidate(f"number {i}", BETTER) for i in range(n_given)]
    for config in (GIVEN_ALONE, CONFIG):
        names = [task.name for task in plan_tasks(make_setting(config), given)]
        assert sum(name.startswith("overlap") for name in names) == MOST_FINALISTS


def test_one_candidate_and_its_steps_are_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finalists, "list_best", lambda scores: list(range(len(scores))))
    advice = ask_about_rooms(config=GIVEN_ALONE, candidates=[MINE])
    assert [one.name for one in advice.finalists] == ["best", "best-step0.5", "best-step0.2"]


def test_nothing_that_learns_or_is_chosen_needs_a_test() -> None:
    """Finalists follow from the learners and the split; estimates follow from them."""
    by_name = {task.name: task for task in plan_tasks(make_setting(), [MINE])}
    assert set(by_name["finalists"].inputs.values()) == {"split", "learn noise-0.3"}
    assert set(by_name["learn noise-0.3"].inputs.values()) == {"learning problem"}
    assert set(by_name["learning problem"].inputs.values()) == {"split"}
    assert set(by_name["estimate tabular 0"].inputs.values()) == {
        "split",
        "finalists",
        "prepare tabular",
    }
    assert all(task.work > 0 for task in by_name.values())
