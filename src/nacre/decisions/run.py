"""Run a table of decisions: each is kept as soon as it is made; failures stop nobody else."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from typing import Any

from nacre.decisions.overview import dump_overview
from nacre.decisions.table import Entry
from nacre.decisions.work import Outcome, Work, decide, prepare
from nacre.errors import InputError
from nacre.files.commit import commit_files, settle
from nacre.inference.false_discovery import find_q_values
from nacre.parallel.engine import EngineSource, Workers, open_engine
from nacre.parallel.remote import TaskFuture
from nacre.report.saving import KIND, POLICY_FILES

LINE = "line.json"
LINES, PAGE = "decisions.jsonl", "index.html"
PAUSE = 60.0
"""Seconds between two overviews of a run that goes on."""

Line = dict[str, Any]


def run_decisions(
    entries: Sequence[Entry],
    out: Path,
    engine: EngineSource = "local",
    *,
    fresh: bool = False,
    on_open: Callable[[Workers], None] = lambda workers: None,
    on_line: Callable[[Line, int], None] = lambda line, left: None,
) -> list[Line]:
    """Make all decisions of a table that are not made yet.

    Writes a folder for each with its record and page, `decisions.jsonl` and `index.html`.

    Args:
        entries: The decisions.
        out: Where everything goes.
        engine: Where they are made.
        fresh: Make all of them again.
        on_open: Hears of the workers when they are there.
        on_line: Hears each line when its decision is made, and how many are left.

    Returns:
        A line for each decision, in the order of the table, with its false-discovery rates.
    """
    lines, works = _look_up(entries, out, fresh=fresh)
    for line in lines.values():
        on_line(line, len(works))
    written = time.monotonic()
    with contextlib.ExitStack() as stack:
        waiting: dict[Future[Outcome], Work] = {}
        if works:
            workers = stack.enter_context(open_engine(engine))
            on_open(workers)
            waiting = {workers.submit(decide, work): work for work in works}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                work = waiting.pop(future)
                line = _keep(out / work.entry.name, work, future)
                lines[work.entry.name] = line
                on_line(line, len(waiting))
            if waiting and time.monotonic() - written > PAUSE:
                write_overview(_arrange(entries, lines), out)
                written = time.monotonic()
    arranged = _arrange(entries, lines)
    write_overview(arranged, out)
    return arranged


def _look_up(
    entries: Sequence[Entry], out: Path, *, fresh: bool
) -> tuple[dict[str, Line], list[Work]]:
    """Lines of decisions that are made already or cannot be made, and what is left to do."""
    lines: dict[str, Line] = {}
    works: list[Work] = []
    for entry in entries:
        try:
            work = prepare(entry)
        except InputError as error:
            lines[entry.name] = _fail(entry.name, error)
            continue
        kept = None if fresh else _read_line(out / entry.name, work.identity)
        if kept is None:
            works.append(work)
        else:
            lines[entry.name] = kept
    return lines, works


def write_overview(lines: Sequence[Line], out: Path) -> None:
    """Write the lines as JSONL and as a page, both or neither."""
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    commit_files(out, {LINES: text.encode(), PAGE: dump_overview(lines)})


def _keep(folder: Path, work: Work, future: Future[Outcome]) -> Line:
    """Put the files of a decision into their places, with its line among them."""
    try:
        outcome = future.result()
        figures = future.figures if isinstance(future, TaskFuture) else None
        execution = {} if figures is None else dataclasses.asdict(figures)
        line = {**outcome.line, "folder": work.entry.name, "error": "", "execution": execution}
        files = {**outcome.files, LINE: json.dumps(line, allow_nan=False).encode()}
        commit_files(folder, files, kind=KIND, absent=POLICY_FILES)
    except Exception as error:
        return _fail(work.entry.name, error)
    return line


def _fail(name: str, error: Exception) -> Line:
    if isinstance(error, InputError):
        text = "; ".join(error.problems)
    else:
        text = f"failed: {type(error).__name__}: {error} (a fault of nacre: please report it)"
    return {"name": name, "verdict": "failed", "folder": "", "error": " ".join(text.split())}


def _read_line(folder: Path, identity: str) -> Line | None:
    """The line of a decision that was made before from the same."""
    with contextlib.suppress(OSError, ValueError):
        settle(folder)
        line = json.loads((folder / LINE).read_bytes())
        if isinstance(line, dict) and line.get("identity") == identity:
            return line
    return None


def _arrange(entries: Sequence[Entry], lines: Mapping[str, Line]) -> list[Line]:
    """In the order of the table, with false-discovery rates over all of it.

    What failed, is forbidden by its log or is not done yet counts as no switch.
    """
    blank = {"verdict": "waiting", "folder": "", "error": ""}
    arranged = [lines.get(one.name, {"name": one.name, **blank}) for one in entries]
    probabilities = [
        0.0 if line.get("forbidden") else float(line.get("probability") or 0.0) for line in arranged
    ]
    simple = find_q_values(probabilities)
    dependent = find_q_values(probabilities, any_dependence=True)
    return [
        {**line, "q_value": q, "q_value_any_dependence": r}
        for line, q, r in zip(arranged, simple, dependent, strict=True)
    ]


def count_failures(lines: Sequence[Line]) -> int:
    """Decisions that could not be made."""
    return sum(line["verdict"] == "failed" for line in lines)
