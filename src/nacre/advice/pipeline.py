"""The whole way: split → checks → learners → finalists → estimators × finalists → rule → record."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from functools import partial

import numpy as np
from jaxtyping import ArrayLike

from nacre.advice import tasks
from nacre.advice.assembly import build_advice
from nacre.advice.config import AdviceConfig, suggest_config
from nacre.advice.meter import Meter
from nacre.advice.result import Advice
from nacre.advice.tasks import MOST_FINALISTS, Setting
from nacre.costs.family import SwitchingCost, check_same_spaces
from nacre.errors import InputError
from nacre.learners.base import Candidate
from nacre.learners.net_actor_critic.run import check_fit
from nacre.logs import Log
from nacre.parallel.graph import Task, run_graph
from nacre.parallel.local import open_threads
from nacre.policies.policy import Policy
from nacre.training.fitted_evaluation import as_rows
from nacre.training.progress import Reporter, Silent

LEAST_EPISODES = 4


def advise(
    log: Log,
    old_policy: Policy,
    cost: SwitchingCost,
    start: ArrayLike | None = None,
    *,
    candidates: Sequence[Candidate] = (),
    discount: float | None = None,
    confidence: float | None = None,
    config: AdviceConfig | None = None,
    uncertainty: float = 0.0,
    seed: int = 0,
    reporter: Reporter | None = None,
) -> Advice:
    """Should we replace the old policy, by what, and how sure is that?

    Args:
        log: Episodes of the old policy.
        old_policy: The policy in force.
        cost: The cost of leaving it.
        start: The state or states that the next episode starts from; the log's own if not given.
        candidates: Policies of your own, to be compared with the learned ones.
        discount: γ; the configuration's, or 0.99, if not given.
        confidence: Probability with which the decision has to be right; the configuration's, or
            0.95, if not given.
        config: Learners, estimators and rule; what fits the log if not given.
        uncertainty: Share of the old policy's probability that may lie on the wrong actions, where
            it is a clone of the log: `nacre.policies.find_uncertainty` of its provenance.
        seed: Everything random follows from it.
        reporter: Hears of the progress of every task.
    """
    began = time.perf_counter()
    config = config or suggest_config(log)
    config = dataclasses.replace(
        config,
        discount=config.discount if discount is None else discount,
        confidence=config.confidence if confidence is None else confidence,
    )
    _check_inputs(log, old_policy, cost, candidates, uncertainty)
    rows = np.asarray(as_rows(log.starts if start is None else start, old_policy.signature))
    setting = Setting(log, old_policy, cost, rows, config, uncertainty, seed)
    graph = plan_tasks(setting, candidates)
    meter = Meter(reporter or Silent(), {task.name: task.work for task in graph})
    with open_threads(meter.stop) as threads:
        results = run_graph(graph, threads, meter.listen, meter.finish)
    return build_advice(setting, results, given_start=start is not None, began=began)


def plan_tasks(setting: Setting, candidates: Sequence[Candidate] = ()) -> list[Task]:
    """The graph of one advice; finalists have places, of which some may stay empty."""
    config, split = setting.config, {"split": "split"}
    graph = [
        Task("log checks", partial(tasks.check_log, setting), work=0.5),
        Task("split", partial(tasks.split_log, setting), {"checks": "log checks"}, work=0.1),
    ]
    for estimator in config.estimators:
        run = partial(tasks.prepare_estimator, setting, estimator)
        graph.append(Task(f"prepare {estimator.name}", run, split, work=2.0))
    learned = {}
    for number, learner in enumerate(config.learners):
        run = partial(tasks.learn_candidates, setting, learner)
        graph.append(Task(f"learn {learner.name}", run, split, work=4.0))
        learned[f"learner_{number}"] = f"learn {learner.name}"
    choose = partial(tasks.choose_finalists, setting, tuple(candidates))
    graph.append(Task("finalists", choose, {**split, **learned}, work=0.1))
    # A learner may propose several; without learners it is known how many there are.
    places = MOST_FINALISTS if config.learners else max(1, min(MOST_FINALISTS, len(candidates)))
    chosen = {**split, "finalists": "finalists"}
    graph.append(Task("costs", partial(tasks.charge_finalists, setting), chosen, work=0.3))
    for place in range(places):
        run = partial(tasks.find_overlap, setting, place)
        graph.append(Task(f"overlap {place}", run, chosen, work=0.3))
        for estimator in config.estimators:
            run = partial(tasks.estimate_gain, setting, estimator, place)
            needs = {**chosen, "prepared": f"prepare {estimator.name}"}
            graph.append(Task(f"estimate {estimator.name} {place}", run, needs, work=2.0))
    return graph


def _check_inputs(
    log: Log,
    old_policy: Policy,
    cost: SwitchingCost,
    candidates: Sequence[Candidate],
    uncertainty: float,
) -> None:
    """Before anything is learned: what the user gives has to fit."""
    check_fit(log, old_policy, cost)
    problems = []
    if log.n_episodes < LEAST_EPISODES:
        problems.append(
            f"the log has {log.n_episodes} episodes; advice needs at least {LEAST_EPISODES}, some "
            "to learn from and others to test on"
        )
    if not 0.0 <= uncertainty <= 1.0:
        problems.append(f"uncertainty = {uncertainty}: a share lies between 0 and 1")
    for candidate in candidates:
        try:
            check_same_spaces(old_policy, candidate.policy)
        except InputError as error:
            problems += [f"candidate {candidate.name}: {problem}" for problem in error.problems]
    if problems:
        raise InputError(problems)
