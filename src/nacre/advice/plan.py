"""The graph of one advice: named tasks, and what each needs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nacre.advice import tasks
from nacre.advice.charges import charge_finalists
from nacre.advice.finalists import MOST_FINALISTS, choose_finalists
from nacre.advice.guardrails import open_outcome
from nacre.advice.segments import plan_segments
from nacre.advice.setting import Setting
from nacre.learners.base import Candidate
from nacre.parallel.graph import Task


def plan_tasks(setting: Setting, candidates: Sequence[Candidate] = ()) -> list[Task]:
    """The graph of one advice; finalists have places, of which some may stay empty."""
    config, split = setting.config, {"split": "split"}
    graph = [
        Task("log checks", partial(tasks.check_log, setting), work=0.5),
        Task("split", partial(tasks.split_log, setting), {"checks": "log checks"}, work=0.1),
    ]
    meter = {"meter": "prepare overlap"}
    graph.append(Task(meter["meter"], partial(tasks.prepare_overlap, setting), split, work=0.3))
    graph += _plan_preparation(setting, "split")
    guardrails = [name_guardrail(number) for number in range(len(setting.cost.terms.guardrails))]
    for name, terms in zip(guardrails, setting.cost.terms.guardrails, strict=True):
        opened = partial(open_outcome, setting, terms)
        graph.append(Task(name, opened, {**split, "checks": "log checks"}, work=0.1))
        graph += _plan_preparation(setting, name, f"{name} ")
    pose = partial(tasks.pose_learning, setting)
    graph.append(Task("learning problem", pose, split, work=0.1))
    learned = {}
    for number, learner in enumerate(config.learners):
        run = partial(tasks.learn_candidates, setting, learner)
        problem = {"problem": "learning problem"}
        graph.append(Task(f"learn {learner.name}", run, problem, work=4.0))
        learned[f"learner_{number}"] = f"learn {learner.name}"
    choose = partial(choose_finalists, setting, tuple(candidates))
    graph.append(Task("finalists", choose, {**split, **learned}, work=0.1))
    chosen = {**split, "finalists": "finalists"}
    graph.append(Task("costs", partial(charge_finalists, setting), chosen, work=0.3))
    # A learner may propose several candidates, and smaller steps compete beside each.
    for place in range(MOST_FINALISTS):
        measure = partial(tasks.find_overlap, setting, place)
        needs = {"finalists": "finalists", **meter}
        graph.append(Task(f"overlap {place}", measure, needs, work=0.3))
        graph += _plan_estimates(setting, place, "split")
        for name in guardrails:
            graph += _plan_estimates(setting, place, name, f"{name} ")
    return graph + plan_segments(setting)


def name_guardrail(number: int) -> str:
    """The task of a guardrail's outcome; names of the tasks that follow from it begin with it."""
    return f"guardrail {number}"


def _plan_preparation(setting: Setting, split: str, prefix: str = "") -> list[Task]:
    """Every estimator, with the reward or the outcome that a split holds."""
    graph = []
    for estimator in setting.config.estimators:
        run = partial(tasks.prepare_estimator, setting, estimator)
        name = f"{prefix}prepare {estimator.name}"
        graph.append(Task(name, run, {"split": split}, work=2.0, for_others=True))
    return graph


def _plan_estimates(setting: Setting, place: int, split: str, prefix: str = "") -> list[Task]:
    graph = []
    for estimator in setting.config.estimators:
        run = partial(tasks.estimate_gain, setting, estimator, place)
        prepared = f"{prefix}prepare {estimator.name}"
        needs = {"split": split, "finalists": "finalists", "prepared": prepared}
        graph.append(Task(f"{prefix}estimate {estimator.name} {place}", run, needs, work=2.0))
    return graph
