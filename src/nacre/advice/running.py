"""The tasks of one advice on an engine: those that are kept do not run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from nacre.advice.kept_tasks import KeptTasks
from nacre.advice.meter import Meter
from nacre.advice.setting import Setting
from nacre.logs import Log
from nacre.parallel.engine import EngineSource, open_engine
from nacre.parallel.graph import Task, find_needed, run_graph
from nacre.training.progress import NoProgress, Progress, ProgressEvent


def run_tasks(
    graph: Sequence[Task],
    kept: KeptTasks,
    progress: Progress,
    setting: Setting,
    engine: EngineSource,
) -> dict[str, Any]:
    """The results of all tasks; those that are kept do not run again."""
    meter = Meter(progress, {task.name: task.work for task in graph})
    known = kept.read(task.name for task in graph)
    left = {task.name for task in find_needed(graph, known)}
    for name in {task.name for task in graph} - left:
        meter.finish(name)

    with open_engine(engine, meter.stop) as workers:
        listen = meter.listen if workers.here else _ignore
        if not workers.here:
            workers.share(setting.log, _find_opener(setting.log))
            workers.share(setting)

        def finish(name: str, result: Any) -> None:
            kept.add(name, result)
            if not workers.here:
                meter.listen(name)(ProgressEvent(name, 0, 1, 0))
            meter.finish(name)

        return run_graph(graph, workers, listen, finish, known)


def _ignore(name: str) -> Progress:
    """Tasks in other processes tell nothing before they are done."""
    return NoProgress()


def _find_opener(log: Log) -> Callable[[], Log] | None:
    """What opens the same log in another process; None for a log that has no file."""
    return None if log.reference is None else partial(log.reference.open, log.fingerprint())
