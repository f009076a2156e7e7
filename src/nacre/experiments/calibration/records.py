"""Lines of a calibration run: one JSON object a case, never of two rules in one file."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.experiments.calibration.case import Case
from nacre.experiments.records import read_lines
from nacre.files.commit import append_whole
from nacre.versions import find_commit

FORMAT = 1


def find_code() -> str:
    """The commit that runs, with a mark where the sources have been changed since."""
    commit = find_commit()
    if commit is None:
        return "unknown"
    source = Path(__file__).parents[2]
    changed = subprocess.run(  # noqa: S603
        ["git", "status", "--porcelain", "--", str(source)],  # noqa: S607
        cwd=source,
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    return f"{commit}+changes" if changed.stdout.strip() else commit


def find_path(out: Path, suite: str) -> Path:
    """The file of a suite's records below a folder, or the file that is named itself."""
    return out if out.suffix == ".jsonl" else out / f"suite-{suite}.jsonl"


def read_suite(path: Path, suite: str) -> list[dict[str, Any]]:
    """All lines of a suite."""
    lines = [line for line in read_lines(path) if line.get("suite") == suite]
    unknown = {line.get("format") for line in lines} - {FORMAT}
    if unknown:
        raise InputError(f"{path}: lines of format {unknown.pop()}, known is {FORMAT}; run again")
    return lines


def refuse_mixture(
    lines: Sequence[dict[str, Any]], commit: str, configuration: str, path: Path
) -> None:
    """Raise `InputError` if lines come from another commit or configuration than this."""
    for name, wanted in (("commit", commit), ("configuration", configuration)):
        others = {str(line.get(name)) for line in lines} - {wanted}
        if others:
            raise InputError(
                f"{path}: has lines of {name} {sorted(others)[0]}, this run is {wanted}; records "
                "of different rules are not mixed in one file: give another --out, or --summary "
                "to read what is there"
            )


def case_of(line: dict[str, Any]) -> Case:
    """Which case a line is of."""
    return Case(line["suite"], line["world"], line["kind"], int(line["seed"]))


def append_line(path: Path, line: dict[str, Any]) -> None:
    """Add a line, written at once."""
    text = json.dumps({"format": FORMAT, **line}, allow_nan=False, separators=(",", ":"))
    append_whole(path, f"{text}\n".encode())
