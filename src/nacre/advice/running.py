"""The tasks of one advice on an engine: those that are kept do not run again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from nacre.advice.kept_tasks import KeptTasks
from nacre.advice.meter import Meter
from nacre.advice.setting import Setting
from nacre.logs import Log
from nacre.parallel.engine import EngineSource as EngineSource
from nacre.parallel.engine import Workers, open_engine
from nacre.parallel.graph import Task, find_needed, run_graph
from nacre.parallel.remote import TaskFuture
from nacre.training.progress import NoProgress, Progress, ProgressEvent


def run_tasks(
    graph: Sequence[Task],
    kept: KeptTasks,
    progress: Progress,
    setting: Setting,
    engine: EngineSource,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The results of all tasks, and what they took. Those that are kept do not run again."""
    meter = Meter(progress, {task.name: task.work for task in graph})
    known = kept.read(task.name for task in graph)
    left = {task.name for task in find_needed(graph, known)}
    for name in {task.name for task in graph} - left:
        meter.finish(name)

    with open_engine(engine, meter.stop) as workers:
        execution = _describe(engine, workers)
        listen = meter.listen if workers.here else _ignore
        if not workers.here:
            workers.share(setting.log, _find_opener(setting.log))
            workers.share(setting)

        def finish(name: str, future: Future[Any]) -> None:
            kept.add(name, future.result())
            if isinstance(future, TaskFuture) and future.figures is not None:
                execution["tasks"][name] = dataclasses.asdict(future.figures)
            if not workers.here:
                meter.listen(name)(ProgressEvent(name, 0, 1, 0))
            meter.finish(name)

        return run_graph(graph, workers, listen, finish, known), execution


def _describe(engine: EngineSource, workers: Workers) -> dict[str, Any]:
    """For the record: where tasks run, if not in this process; what each takes comes later."""
    if workers.here:
        return {}
    name = engine if isinstance(engine, str) else engine.name
    return {"engine": name, "dashboard": workers.dashboard, "tasks": {}}


def _ignore(name: str) -> Progress:
    """Tasks in other processes tell nothing before they are done."""
    return NoProgress()


def _find_opener(log: Log) -> Callable[[], Log] | None:
    """What opens the same log in another process; None for a log that has no file."""
    return None if log.reference is None else partial(log.reference.open, log.fingerprint())
