"""Run a suite: whole advices, the truth of every finalist, a line of record for each case."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.experiments.calibration import control, finite, robots
from nacre.experiments.calibration.advised import (
    Answer,
    Finalist,
    digest_configuration,
    plain,
    read_answer,
    run_advice,
)
from nacre.experiments.calibration.baselines import judge_plainly
from nacre.experiments.calibration.case import LEVELS, ORACLE_LEVEL, Case, Problem
from nacre.experiments.calibration.oracle import find_oracle_width
from nacre.experiments.calibration.records import (
    append_line,
    case_of,
    find_code,
    find_path,
    read_suite,
    refuse_mixture,
)
from nacre.experiments.calibration.tables import KINDS
from nacre.parallel.engine import EngineSource, map_tasks

SUITES = ("finite", "control", "robots")


@dataclass(frozen=True)
class Plan:
    """What is to be run.

    Args:
        suite: One of `SUITES`.
        seeds: Seeds of the cases.
        out: Folder of the records, or their file.
        worlds: Names of worlds; all of the suite if empty.
        kinds: Kinds of old policies; all of the suite if empty.
        old_policies: Folder of the published old policies, for robots; else those of the package.
        baselines: Whether plain ways to decide are run beside the advice.
    """

    suite: str
    seeds: tuple[int, ...]
    out: Path
    worlds: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    old_policies: Path | None = None
    baselines: bool = True

    def __post_init__(self) -> None:
        if self.suite not in SUITES:
            raise InputError(f"no suite is called {self.suite!r}: give one of {', '.join(SUITES)}")
        known = list_names(self.suite)
        for what, given, allowed in (
            ("world", self.worlds, known[0]),
            ("kind of old policy", self.kinds, known[1]),
        ):
            unknown = [name for name in given if name not in allowed]
            if unknown:
                raise InputError(
                    f"no {what} of the suite {self.suite} is called {unknown[0]!r}: give one of "
                    f"{', '.join(allowed)}"
                )

    @property
    def path(self) -> Path:
        """The file of the records."""
        return find_path(self.out, self.suite)

    def list_cases(self) -> list[Case]:
        """All cases, done or not."""
        worlds, kinds = list_names(self.suite)
        return [
            Case(self.suite, world, kind, seed)
            for seed in self.seeds
            for world in (self.worlds or worlds)
            for kind in (self.kinds or kinds)
        ]


def list_names(suite: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The worlds of a suite and its kinds of old policies."""
    return {
        "finite": (tuple(finite.WORLDS), KINDS),
        "control": (tuple(control.WORLDS), tuple(control.KINDS)),
        "robots": (tuple(robots.WORLDS), tuple(robots.KINDS)),
    }[suite]


@dataclass(frozen=True)
class Task:
    """One case to be run, in any process."""

    case: Case
    plan: Plan


def run_plan(plan: Plan, *, engine: EngineSource | None = None) -> Iterator[dict[str, Any]]:
    """Run the cases that the file does not have yet; yields each line when it is written.

    Raises:
        InputError: If the file has lines of another commit or configuration.
    """
    commit, configuration = find_code(), digest_configuration()
    lines = read_suite(plan.path, plan.suite)
    refuse_mixture(lines, commit, configuration, plan.path)
    done = {case_of(line) for line in lines}
    tasks = [Task(case, plan) for case in plan.list_cases() if case not in done]
    for _, line in map_tasks(run_task, tasks, engine=engine):
        line |= {"commit": commit, "configuration": configuration}
        append_line(plan.path, line)
        yield line


def build_problem(case: Case, plan: Plan) -> Problem:
    """The case made real."""
    if case.suite == "finite":
        return finite.build(case)
    if case.suite == "control":
        return control.build(case)
    return robots.build(case, plan.old_policies, plan.path.parent / ".cache")


def run_task(task: Task) -> dict[str, Any]:
    """Build a case, ask for advice, find the truth, run the baselines: a line of the record."""
    clock = Clock()
    problem = build_problem(task.case, task.plan)
    clock.lap("build")
    try:
        answer = read_answer(*run_advice(problem))
    except InputError as error:
        answer = Answer("refused", None, None, str(error))
    clock.lap("advice")
    return describe(problem, answer, clock, baselines=task.plan.baselines)


def describe(
    problem: Problem, answer: Answer, clock: Clock, *, baselines: bool = True
) -> dict[str, Any]:
    """The line of a case: what was said, and what is true."""
    case = problem.case
    finalists = [describe_finalist(problem, one) for one in answer.finalists]
    names = {one["name"] for one in finalists}
    unheard = [
        describe_finalist(problem, Finalist(one.name, one.policy, float("nan"), {}))
        for one in (*problem.candidates, *answer.others)
        if one.name not in names
    ]
    clock.lap("truth")
    plainly: dict[str, dict[str, Any]] = {}
    if baselines and finalists:
        costs = {one["name"]: one["cost"] for one in finalists}
        nets = {one["name"]: one["true_net_gain"] for one in finalists}
        policies = {one.name: one.policy for one in answer.finalists}
        for name, said in judge_plainly(problem, policies, costs).items():
            plainly[name] = said | {"true_net_gain": nets.get(said["chosen"])}
    clock.lap("baselines")
    return {
        "suite": case.suite,
        "world": case.world,
        "kind": case.kind,
        "seed": case.seed,
        "facts": dict(problem.facts),
        "old_value": problem.old_value,
        "value_range": list(problem.value_range),
        "verdict": answer.verdict,
        "reason": answer.reason,
        "claim": plain(answer.claim),
        "chosen": None if answer.chosen is None else finalists[answer.chosen],
        "finalists": finalists,
        "not_finalists": unheard,
        "baselines": plainly,
        "seconds": clock.laps,
    }


def describe_finalist(problem: Problem, finalist: Finalist) -> dict[str, Any]:
    """What was estimated of a finalist, and its truth."""
    truth, cost = problem.find_truth(finalist.policy), problem.find_cost(finalist.policy)
    return {
        "name": finalist.name,
        "net_gain": plain(finalist.net_gain),
        "intervals": {
            f"{level:g}": [plain(bound) for bound in finalist.intervals[level]]
            for level in LEVELS
            if level in finalist.intervals
        },
        "estimates": [
            {key: plain(value) if isinstance(value, float) else value for key, value in one.items()}
            for one in finalist.estimates
        ],
        "overlap": dict(finalist.overlap),
        "cost": cost,
        "true_gain": truth.gain,
        "standard_error": truth.standard_error,
        "true_net_gain": truth.gain - cost,
        "oracle_width": find_oracle_width(problem, truth, ORACLE_LEVEL),
    }


class Clock:
    """Seconds between laps."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.laps: dict[str, float] = {}
        self._now = now
        self._last = now()

    def lap(self, name: str) -> None:
        """End a lap."""
        now = self._now()
        self.laps[name], self._last = round(now - self._last, 2), now
