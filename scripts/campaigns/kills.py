"""Commands killed at random moments: nothing finished is lost, nothing mixed is accepted.

    python scripts/campaigns/kills.py --kills 50 --out results/faults

Every kill runs a command until a random moment, kills it, and then runs it to its end. The result
must be the same bits as without a kill, and nothing may be left over. Kills that have a record are
not run again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from nacre.experiments.records import append_line, read_lines

LOG = Path(__file__).parent.parent.parent / "src" / "nacre" / "examples" / "treatment"
MAP = f"--columns={LOG / 'map.toml'}"
COMMANDS = {
    "convert": ["convert", str(LOG / "log.csv"), "{folder}/log.parquet", MAP],
    "convert cached": [
        "convert",
        str(LOG / "log.csv"),
        "{folder}/log.npz",
        MAP,
        "--cache-dir={folder}/c",
    ],
    "report": ["report", "{folder}/advice"],
    "advise": [
        "advise",
        f"--log={LOG / 'log.csv'}",
        MAP,
        f"--cost={LOG / 'cost.toml'}",
        "--out={folder}/advice",
        "--quiet",
    ],
}
LEFTOVERS = (".nacre-staging-*", ".nacre-commit", ".nacre-partial-*", "*.part", ".nacre-tasks")


def run(command: str, folder: Path, seconds: float | None) -> tuple[bool, float]:
    """Run a command; whether it was killed after so many seconds, and how long it ran."""
    words = [word.format(folder=folder) for word in COMMANDS[command]]
    began = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "nacre", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, told = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True, time.perf_counter() - began
    if process.returncode:
        raise SystemExit(f"{command}: {told.decode()}")
    return False, time.perf_counter() - began


def digest(folder: Path) -> dict[str, str]:
    """SHA-256 of all files, without what says how long it took."""
    found = {}
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        content = path.read_bytes()
        name = path.relative_to(folder).as_posix()
        if name.endswith("decision.json"):
            document = json.loads(content)
            del document["wall_seconds"]
            content = json.dumps(document, sort_keys=True).encode()
        if not name.endswith(("manifest.json", "report.html", "entry.json")):
            found[name] = hashlib.sha256(content).hexdigest()
    return found


def kill_once(
    command: str, number: int, expected: dict[str, str], longest: float
) -> dict[str, Any]:
    """One kill, and the run after it."""
    rng = np.random.default_rng([100, number])
    with TemporaryDirectory() as name:
        folder = Path(name)
        if command == "report":
            run("advise", folder, None)
        moment = float(rng.uniform(0.0, longest))
        killed, _ = run(command, folder, moment)
        run(command, folder, None)
        left = [path.name for pattern in LEFTOVERS for path in folder.rglob(pattern)]
        same = digest(folder) == expected
        advice = folder / "advice"
        whole = not advice.exists() or verify(advice)
    return {
        "command": command,
        "kill": number,
        "moment": round(moment, 3),
        "killed": killed,
        "same": same,
        "whole": whole,
        "leftovers": left,
    }


def verify(folder: Path) -> bool:
    """Whether an advice is unchanged."""
    from nacre.files.manifest import find_changes, read_manifest

    manifest = read_manifest(folder)
    return manifest is not None and not find_changes(folder, manifest)


def main() -> None:
    """Kill every command so many times, as far as there is no record yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=list(COMMANDS))
    options = parser.parse_args()
    file = options.out / "kills.jsonl"
    done = {(record["command"], record["kill"]) for record in read_lines(file)}
    for command in options.only:
        left = [number for number in range(options.kills) if (command, number) not in done]
        if not left:
            continue
        with TemporaryDirectory() as name:
            folder = Path(name)
            if command == "report":
                run("advise", folder, None)
            _, longest = run(command, folder, None)
            expected = digest(folder)
        for number in left:
            record = kill_once(command, number, expected, longest)
            append_line(file, record)
            print(*record.values(), flush=True)


if __name__ == "__main__":
    main()
