"""Tables about engines, from the records that `scripts` leave under results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from nacre.experiments.listing import format_markdown
from nacre.experiments.records import Record

DECISIONS = 10_000
"""A day, of the plan."""
SECONDS_A_DAY = 86_400


def write_engines(records: Sequence[Record]) -> str:
    """Every measurement, in its order; what the first ones did not record is left open."""

    def show(record: Record, name: str) -> str:
        return f"{record[name]:.0f}" if name in record else ""

    rows = [
        [
            f"`{one['engine']}`",
            f"{one['tasks']}",
            f"{one['efficiency']:.2f}",
            show(one, "first_answer_seconds"),
            show(one, "start_seconds"),
            show(one, "load_before"),
        ]
        for one in records
    ]
    header = ["engine", "tasks", "efficiency", "first worker, s", "all workers, s", "load before"]
    return format_markdown(header, rows)


def write_lost_workers(records: Sequence[Record]) -> str:
    """One sentence about each commit: kills, decisions, and whether the records were the same."""
    runs = [one for one in records if "decisions" in one]
    if not runs:
        return "There are no records yet."
    told = []
    for commit in dict.fromkeys(one["commit"] for one in runs):
        same = [one for one in runs if one["commit"] == commit]
        kills, decisions = (sum(one[key] for one in same) for key in ("kills", "decisions"))
        equal = sum(one["same"] for one in same)
        told.append(
            f"Commit {str(commit)[:7]}: {kills} kills while {decisions} decisions were made, of "
            f"which {sum(one['failed'] for one in same)} failed; the same records in {equal} of "
            f"{len(same)} runs."
        )
    return "\n".join(told)


def write_same_bits(records: Sequence[Record]) -> str:
    """By case: the last digest of each engine, and whether all are the same."""
    if not records:
        return "There are no records yet."
    last = {(one["case"], one["engine"]): one for one in records}
    engines = list(dict.fromkeys(engine for _, engine in last))
    rows = []
    for case in dict.fromkeys(case for case, _ in last):
        found = [last[case, engine]["sha256"] for engine in engines if (case, engine) in last]
        shown = [last[case, one]["sha256"][:8] if (case, one) in last else "" for one in engines]
        rows.append([case, *shown, "yes" if len(Counter(found)) == 1 else "no"])
    return format_markdown(["case", *engines, "the same"], rows)


def write_plan(records: Sequence[Record]) -> str:
    """By suite: how long an advice took, and how many processors as many as planned need a day."""
    rows = []
    for suite in dict.fromkeys(one["suite"] for one in records):
        seconds = sorted(one["seconds"]["advice"] for one in records if one["suite"] == suite)
        sizes = [one["facts"]["rows"] for one in records if one["suite"] == suite]
        mean = sum(seconds) / len(seconds)
        rows.append(
            [
                suite,
                f"{len(seconds):,}",
                f"{min(sizes):,} to {max(sizes):,}",
                f"{mean:.0f}",
                f"{seconds[int(0.95 * len(seconds))]:.0f}",
                f"{DECISIONS * mean / SECONDS_A_DAY:.1f}",
            ]
        )
    header = ["suite", "advices", "transitions", "mean, s", "95th percentile, s"]
    return format_markdown([*header, "processors for 10⁴ a day"], rows)


TABLES: dict[str, tuple[Path, Callable[[Sequence[Record]], str]]] = {
    "engines": (Path("bench/engines.jsonl"), write_engines),
    "plan-finite": (Path("calibration/suite-finite.jsonl"), write_plan),
    "plan-control": (Path("calibration/suite-control.jsonl"), write_plan),
    "lost-workers": (Path("faults/lost_workers.jsonl"), write_lost_workers),
    "same-bits": (Path("faults/same_bits.jsonl"), write_same_bits),
}
"""By the names that pages call them: the file below the folder of results, and its writer."""
