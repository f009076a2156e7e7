"""Every write of every command failed once: each ends with a clear line, and nothing is broken.

    PYTHONPATH=. python scripts/campaigns/write_faults.py --out results/faults

Each call of a command that changes a file (open to write, write, fsync, rename, mkdir, unlink and
the like) fails once, by one of five errors in turn. Beyond that the place where a command writes is
taken by a file, or vanishes while it runs. A command must end with code 2 and one line that names
the place and the reason, or do its job in spite of it. A reader must find the old result or the new
one. Run again, it must end as ever, without leftovers. Faults that have a clean record are not
tried again; of several records of a fault the last one counts.
"""

from __future__ import annotations

import argparse
import collections
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from small_commands import (
    COMMANDS,
    COMMIT,
    Run,
    Stage,
    count_seconds,
    find_leftovers,
    find_state,
    import_all,
    run_command,
)

from nacre.experiments.records import append_line, read_lines
from tests.support.faults import ERRORS, raise_error

CLEAR = (
    *("cannot be", "is a file", "is a folder", "is a directory"),
    *("no such folder", "no folder can be made", "no records of"),
)
TARGETS = {"--out", "--render", "--cache-dir", "--docs", "--tensorboard"}


def find_target(name: str) -> str:
    """Where a command writes."""
    words = COMMANDS[name].words.split()
    named = [words[i + 1] for i, word in enumerate(words) if word in TARGETS]
    return named[-1] if named else words[2 if words[0] == "convert" else 1]


def list_faults(name: str, n_calls: int) -> Iterator[dict[str, Any]]:
    """All faults of a command: the calls, then the places."""
    for call in range(n_calls):
        yield {"call": call, "fault": errno.errorcode[ERRORS[call % len(ERRORS)]]}
    if COMMANDS[name].words.split()[0] != "report":
        yield {"call": -1, "fault": "a file is there"}
        yield {"call": -1, "fault": "a file is above"}
    for part in (0.3, 0.7):
        yield {"call": int(part * n_calls), "fault": "vanishes"}


def run_with(fault: dict[str, Any], name: str, folder: Path) -> Run:
    """Run a command with a fault."""
    words, target = COMMANDS[name].words, find_target(name)
    if fault["fault"] == "vanishes":
        return run_command(words, folder, at=fault["call"], action=_remover(folder / target))
    if fault["call"] >= 0:
        action = raise_error(getattr(errno, fault["fault"]))
        return run_command(words, folder, at=fault["call"], action=action)
    _remover(folder / target)()
    if fault["fault"] == "a file is there":
        # For a command that writes a file: a folder is there.
        place = folder / target
        if place.suffix:
            place.mkdir()
        else:
            place.write_text("mine")
        return run_command(words, folder)
    (folder / "file").write_text("mine")
    return run_command(words.replace(f" {target}", f" file/{target}", 1), folder)


def _remover(place: Path) -> Any:
    def remove() -> None:
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)

    return remove


def fail_once(
    name: str, stage: Stage, folder: Path, fault: dict[str, Any], expected: tuple[Run, Any, Any]
) -> dict[str, Any]:
    """One fault, and the run after it."""
    _, before, after = expected
    stage.prepare(name, folder)
    ended = run_with(fault, name, folder)
    what, place = ended.calls[fault["call"]] if 0 <= fault["call"] < len(ended.calls) else ("", "")
    told = [line for line in ended.err.splitlines() if line.strip()]
    record = {
        "command": name,
        **fault,
        "what": what,
        "place": os.path.relpath(place, folder) if place else "",
        "code": ended.code,
        "told": told[-1].replace(f"{folder}/", "") if told else "",
        "traceback": "Traceback" in ended.err,
        "answered": bool(ended.out.strip()),
        "found": "" if fault["fault"][0] in "av" else find_state(folder, before, after),
    }
    if fault["call"] < 0:
        shutil.rmtree(folder)
        stage.prepare(name, folder)
    record["end"], record["leftovers"] = record["found"], []
    if record["found"] != "new" or COMMANDS[name].repeats:
        again = run_command(COMMANDS[name].words, folder)
        well = again.code == COMMANDS[name].code
        record["end"] = find_state(folder, before, after) if well else again.err[-300:]
        record["leftovers"] = find_leftovers(folder)
    shutil.rmtree(folder)
    made = {"calls": len(expected[0].calls), "commit": COMMIT}
    return record | {"outcome": classify(record)} | made


def classify(record: dict[str, Any]) -> str:
    """One word or two for the table; what is not clean begins with "not"."""
    code = COMMANDS[record["command"]].code
    if record["code"] not in (code, 2):
        return "not told: a fault of nacre"
    if record["found"] not in ("", "old", "new"):
        return "not whole"
    if record["end"] != "new" or record["leftovers"]:
        return "not gone on with"
    if record["code"] == code:
        return "done" if record["found"] in ("", "new") else "not done, not told"
    if record["traceback"] or not any(words in record["told"] for words in CLEAR):
        return "not clear"
    return "refused, new" if record["found"] == "new" else "refused"


def identify(record: dict[str, Any]) -> tuple[Any, ...]:
    """What tells faults apart."""
    return record["command"], record["call"], record["fault"]


def main() -> None:
    """All faults that have no record yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--only", nargs="*", default=list(COMMANDS))
    parser.add_argument("--every", type=int, default=1, help="Only each n-th of the faults.")
    parser.add_argument("--work", type=Path, help="A folder to go on with; else a passing one.")
    options = parser.parse_args()
    file = options.out / "write_faults.jsonl"
    last = {identify(record): record["outcome"] for record in read_lines(file)}
    done = {fault for fault, outcome in last.items() if not outcome.startswith("not")}
    import_all()
    with TemporaryDirectory() as root:
        stage = Stage((options.work or Path(root)).resolve())
        for name in options.only:
            expected = stage.expect(name)
            alone = stage.expect(name, earlier=False) if COMMANDS[name].adds else expected
            faults = list(list_faults(name, len(expected[0].calls)))[:: options.every]
            outcomes: collections.Counter[str] = collections.Counter()
            for fault in faults:
                if identify({"command": name, **fault}) in done:
                    continue
                goal = alone if fault["fault"] == "vanishes" else expected
                record = fail_once(name, stage, stage.root / "failed", fault, goal)
                append_line(file, record)
                outcomes[record["outcome"]] += 1
                if record["outcome"].startswith("not"):
                    print(record, flush=True)
            print(f"{name}: {dict(outcomes)}, {count_seconds():.0f} s", flush=True)


if __name__ == "__main__":
    main()
