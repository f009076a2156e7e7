"""Commands killed at random moments: nothing finished is lost, nothing mixed is accepted.

    PYTHONPATH=. python scripts/campaigns/kills.py --out results/faults

Every kill runs a command in a folder that has an earlier result, kills it, looks at what a reader
would find, and runs the command again to its end. A reader must find the old result or the new one.
The end must be the same as without a kill, without leftovers, and finished work must not be done
again. Moments are random in the processor time of the command, or the n-th call that changes a
file. Kills that have a record are not done again.
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from small_commands import (
    COMMANDS,
    COMMIT,
    Run,
    Stage,
    count_seconds,
    find_leftovers,
    find_state,
    import_all,
    list_kept,
    run_command,
)

from nacre.experiments.records import append_line, read_lines
from tests.support.faults import die

RANDOM = {
    "report": 80,
    "convert": 60,
    "convert with a cache": 30,
    "collect": 60,
    "advise": 40,
    "train-online": 30,
    "reproduce": 12,
}
"""How many kills at random moments."""
AT_CALLS = ("report", "convert with a cache", "collect", "train-online", "reproduce", "advise")
"""Killed at every call that changes a file."""


def kill_once(
    name: str, stage: Stage, folder: Path, moment: dict[str, Any], expected: tuple[Run, Any, Any]
) -> dict[str, Any]:
    """One kill, and the run after it."""
    whole, before, after = expected
    stage.prepare(name, folder)
    words = COMMANDS[name].words
    if "call" in moment:
        ended = run_command(words, folder, at=moment["call"], action=die)
    else:
        ended = run_command(words, folder, processor_seconds=moment["share"] * whole.processor)
    state, kept = find_state(folder, before, after), list_kept(folder)
    again = run_command(words, folder)
    written = {_find_target(place) for call, place in again.calls if call == "open"}
    record = {
        "command": name,
        **moment,
        "killed": ended.code == -9,
        "found": state,
        "code": again.code,
        "end": find_state(folder, before, after),
        "leftovers": find_leftovers(folder),
        "finished": len(kept),
        "done_again": len(kept & written),
        "calls": len(whole.calls),
        "commit": COMMIT,
    }
    shutil.rmtree(folder)
    return record | {"clean": is_clean(record)}


def _find_target(place: str) -> str:
    """The file that a part is going to be: `.NAME.0123456789abcdef.part` is a part of NAME."""
    path = Path(place)
    found = re.fullmatch(r"\.(.+)\.[0-9a-f]{16}\.part", path.name)
    return str(path if found is None else path.with_name(found[1]))


def is_clean(record: dict[str, Any]) -> bool:
    """Whether all that is promised was found."""
    return (
        record["found"] in ("old", "new")
        and record["end"] == "new"
        and not record["leftovers"]
        and not record["done_again"]
        and record["code"] == 0
    )


def list_moments(name: str, n_calls: int, every: int, most: int) -> list[dict[str, Any]]:
    """Shares of the processor time, drawn once for all, then the calls."""
    shares = np.random.default_rng(100).uniform(0.0, 1.0, RANDOM.get(name, 0))[:most]
    moments: list[dict[str, Any]] = [{"share": round(float(share), 4)} for share in shares]
    if name in AT_CALLS:
        moments += [{"call": call} for call in range(0, n_calls, every)]
    return moments


def identify(record: dict[str, Any]) -> tuple[Any, ...]:
    """What tells kills apart."""
    return record["command"], record.get("share"), record.get("call")


def main() -> None:
    """All kills that have no record yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--only", nargs="*", default=list(RANDOM))
    parser.add_argument("--every", type=int, default=1, help="Only each n-th of the calls.")
    parser.add_argument("--most", type=int, default=99, help="At random moments, of each command.")
    parser.add_argument("--work", type=Path, help="A folder to go on with; else a passing one.")
    options = parser.parse_args()
    file = options.out / "kills.jsonl"
    done = {identify(record) for record in read_lines(file)}
    import_all()
    with TemporaryDirectory() as root:
        stage = Stage((options.work or Path(root)).resolve())
        for name in options.only:
            expected = stage.expect(name)
            moments = list_moments(name, len(expected[0].calls), options.every, options.most)
            for moment in moments:
                if identify({"command": name, **moment}) in done:
                    continue
                record = kill_once(name, stage, stage.root / "killed", moment, expected)
                append_line(file, record)
                if not record["clean"]:
                    print(record, flush=True)
            print(f"{name}: {len(moments)} kills, {count_seconds():.0f} s", flush=True)


if __name__ == "__main__":
    main()
