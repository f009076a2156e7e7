"""Looks at a live log, one or as many as it takes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from nacre.cli import console
from nacre.cli.rollout import describe_look, record_look
from nacre.errors import InputError
from nacre.logs import Log, read_log
from nacre.policies import Policy
from nacre.report.rollout_pages import WATCH_PAGE, format_watch
from nacre.rollout.plan_record import Plan
from nacre.rollout.verdicts import LiveVerdict
from nacre.rollout.watching import look_at

PATIENCE = 3
"""Looks in a row that may fail while a log is being written."""


@dataclass(frozen=True)
class Watch:
    """What is watched, and how it is told."""

    plan: Plan
    log: str
    stage: int
    policies: Mapping[str, Policy | None]
    columns: Path | None
    folder: Path
    as_json: bool
    quiet: bool


def take_look(job: Watch, seconds: int | None = None) -> LiveVerdict:
    """One look: recorded, shown on the page, and printed."""
    found = look_at(job.plan, _read(job), job.stage, job.policies, job.log)
    try:
        document = record_look(
            found.document, job.folder, lambda dated: format_watch(job.plan, dated, seconds)
        )
    except InputError:
        # Only the saving failed.
        _print(job, found.document)
        raise
    _print(job, document)
    if document["look"] == 1 and not (job.as_json or job.quiet):
        typer.echo(f"the page: {job.folder / WATCH_PAGE}")
    return found.verdict


def _print(job: Watch, document: dict[str, Any]) -> None:
    if job.as_json:
        console.print_json(document)
    elif job.quiet:
        typer.echo(document["verdict"])
    else:
        typer.echo("\n".join(describe_look(document)))


def follow_log(job: Watch, every: float) -> LiveVerdict:
    """Look whenever the file has changed, until the verdict asks for something to be done.

    A file that is just being written may not be readable: it is tried again a few times.
    """
    last, failed = None, 0
    while True:
        changed = _find_state(job.log)
        if changed is not None and changed != last:
            try:
                verdict = take_look(job, max(1, round(every)))
            except InputError:
                failed += 1
                if failed >= PATIENCE:
                    raise
            else:
                last, failed = changed, 0
                if verdict not in ("keep collecting", "go on"):
                    return verdict
        time.sleep(every)


def _find_state(path: str) -> tuple[int, int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _read(job: Watch) -> Log:
    """The live log, in the spaces of the policies where they are known."""
    known = next((policy for policy in job.policies.values() if policy is not None), None)
    if known is None:
        return read_log(job.log, columns=job.columns)
    return read_log(
        job.log,
        columns=job.columns,
        observation_space=known.observation_space,
        action_space=known.action_space,
    )
