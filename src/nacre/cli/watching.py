"""Looks at a live log, one or as many as it takes."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from nacre.cli import console
from nacre.cli.joining import read_live
from nacre.cli.rollout import describe_look, record_look
from nacre.errors import InputError
from nacre.logs import ColumnMap, Log
from nacre.policies import Policy
from nacre.report.rollout_pages import WATCH_PAGE, format_watch
from nacre.rollout.live_files import join_files
from nacre.rollout.plan_record import Plan
from nacre.rollout.verdicts import LiveVerdict
from nacre.rollout.watching import look_at

PATIENCE = 3
"""Looks in a row that may fail while a log is being written."""
NOTHING_YET = re.compile("the log is empty|is an empty file|has no whole episode yet")
"""What is said of a live log in which nothing is over yet."""


@dataclass(frozen=True)
class Watch:
    """What is watched, and how it is told; `logs` are the files of one live log."""

    plan: Plan
    logs: tuple[str, ...]
    stage: int
    policies: Mapping[str, Policy | None]
    columns: ColumnMap
    folder: Path
    as_json: bool
    quiet: bool


def take_look(job: Watch, seconds: int | None = None) -> LiveVerdict:
    """One look: recorded, shown on the page, and printed."""
    found = look_at(job.plan, _read(job), job.stage, job.policies, " and ".join(job.logs))
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
    """Look whenever a file has changed, until the verdict asks for something to be done.

    A file that is just being written may not be readable: it is tried again a few times. One
    without any whole episode is waited for, as one that is not there yet.
    """
    last, failed = None, 0
    while True:
        changed = _find_state(job.logs)
        if changed is not None and changed != last:
            try:
                verdict = take_look(job, max(1, round(every)))
            except InputError as error:
                failed += not NOTHING_YET.search(str(error))
                if failed >= PATIENCE:
                    raise
            else:
                last, failed = changed, 0
                if verdict not in ("keep collecting", "go on"):
                    return verdict
        time.sleep(every)


def _find_state(paths: Sequence[str]) -> list[tuple[int, int]] | None:
    """Times and sizes of all files, also of those in folders; None if one is not there."""
    found = []
    try:
        for path in map(Path, paths):
            files = sorted(path.rglob("*")) if path.is_dir() else [path]
            found += [(stat.st_mtime_ns, stat.st_size) for stat in (one.stat() for one in files)]
    except OSError:
        return None
    return found


def _read(job: Watch) -> Log:
    """The live log, in the spaces of the policies where they are known."""
    options: dict[str, Any] = {"columns": job.columns}
    known = next((policy for policy in job.policies.values() if policy is not None), None)
    if known is not None:
        options |= {name: getattr(known, name) for name in ("observation_space", "action_space")}
    return join_files(read_live(job.logs, **options))
