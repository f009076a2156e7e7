"""Seconds of one whole `nacre advise`, by kind and size of the log, against the first version.

Every measurement is a fresh process of the command line: reading, compiling, learning, estimating
and deciding. The first version is a commit from before the decision was rebuilt, checked out into a
temporary folder; both versions read the same files and take turns, so that a busy moment of the
machine hits both. Kept are seconds by the clock, processor seconds, the peak of resident memory and
the verdict.

Logs are made by `make_bench_logs.py` and kept in a cache. The record is written after every round;
what this commit has recorded is not run again. A million rows of Hopper take minutes to collect:
`--largest 300000` leaves out everything larger.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from advice_timings import describe_runs, tabulate
from bench_records import RESULTS, ROOT, find_commit, git, make_document

# A large parent would count as its child's peak of memory: nothing large is imported here.

COMMAND = "python scripts/bench_advice.py"
FIRST_COMMIT = "17388848c5da217d8ca4f67f2ff1f7747774eca9"
"""The last commit before modules were moved and the decision was rebuilt."""
CACHE = ROOT / "results" / ".cache" / "bench-advice"
GROWTH = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
LONGEST = 3600.0
"""Seconds after which a process is stopped."""


@dataclass(frozen=True)
class BenchLog:
    """A log that advice is timed on.

    Args:
        kind: What `--kinds` calls it.
        maker: What `make_bench_logs.py` calls it.
        rows: Its transitions.
        target: Seconds that an advice should take at most, if there is an aim.
    """

    kind: str
    maker: str
    rows: int
    target: float | None = None

    @property
    def name(self) -> str:
        """Unique among the logs."""
        return f"{self.maker}-{self.rows}"


LOGS = (
    BenchLog("finite", "finite", 20_000, 10.0),
    BenchLog("bandit", "contexts", 100_000, 20.0),
    BenchLog("bandit", "bandit", 100_000, 20.0),
    BenchLog("control", "control", 20_000, 90.0),
    BenchLog("hopper", "hopper", 200_000),
    BenchLog("hopper", "hopper", 1_000_000, 180.0),
    *(BenchLog("growth", "control", rows) for rows in GROWTH),
)
KINDS = tuple(dict.fromkeys(log.kind for log in LOGS))


def provide(log: BenchLog, cache: Path) -> Path:
    """The folder with the files of a log; they are made if they are not there."""
    folder = cache / log.name
    # The log is written last: without it the others are not complete.
    if not (folder / "log.parquet").is_file():
        report(f"making {log.name}")
        script = Path(__file__).with_name("make_bench_logs.py")
        command = [sys.executable, str(script), log.maker, str(log.rows), str(folder)]
        subprocess.run(command, check=True, env=point_to(ROOT / "src"))  # noqa: S603
    return folder


def point_to(source: Path) -> dict[str, str]:
    """The environment in which `nacre` is the one below this folder."""
    return os.environ | {"PYTHONPATH": str(source)}


@contextlib.contextmanager
def check_out(commit: str) -> Iterator[Path]:
    """The source of a commit, in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="bench-advice-") as folder:
        tree = Path(folder) / "tree"
        git("worktree", "add", "--detach", str(tree), commit)
        try:
            yield tree / "src"
        finally:
            git("worktree", "remove", "--force", str(tree))


def compile_modules(source: Path) -> None:
    """Byte code for all modules, so that no measurement holds the writing of it."""
    command = [sys.executable, "-m", "compileall", "-q", str(source)]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL)  # noqa: S603


def measure(source: Path, folder: Path, longest: float = LONGEST) -> dict[str, Any]:
    """One advice by the code below `source` on the files of a log, in a process of its own."""
    files = {"log": "log.parquet", "policy": "old.safetensors", "cost": "cost.toml"}
    given = [word for name in files for word in (f"--{name}", str(folder / files[name]))]
    command = [sys.executable, "-m", "nacre", "advise", *given]
    command += ["--json", "--quiet", "--seed", "0"]
    # An empty folder: no settings lie there, and nothing of it can be imported.
    with tempfile.TemporaryDirectory() as empty, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2)]
        began = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603
            command, cwd=empty, env=point_to(source), stdout=streams[0], stderr=streams[1]
        )
        limit = threading.Timer(longest, process.kill)
        limit.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        for stream in streams:
            stream.seek(0)
        printed, problems = (stream.read() for stream in streams)
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss * unit / 1e6,
        **read_outcome(process.returncode, printed, problems.replace(f"{folder}/", "")),
    }


def read_outcome(exit_code: int, printed: str, problems: str) -> dict[str, Any]:
    """The verdict, or what went wrong."""
    if exit_code == 0:
        return {"verdict": json.loads(printed)["verdict"]}
    lines = problems.strip().splitlines() or ["nothing was printed"]
    return {"verdict": None, "error": f"exit code {exit_code}: {lines[-1]}"}


def run_round(number: int, folder: Path, sources: Mapping[str, Path]) -> dict[str, Any]:
    """Each version once; who begins changes from round to round."""
    order = list(sources)[:: 1 if number % 2 == 0 else -1]
    measured = {}
    for version in order:
        measured[version] = measure(sources[version], folder)
        report(f"{folder.name}, round {number + 1}, {version}: {describe_runs(measured[version])}")
    return {"round": number, **{version: measured[version] for version in sources}}


def load(path: Path) -> dict[str, Any] | None:
    """The record, if there is one."""
    if not path.is_file():
        return None
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def open_record(path: Path, commit: str) -> dict[str, Any]:
    """The record of this commit so far; one of another commit is begun anew."""
    document = load(path)
    if document is not None and document["commit"] == commit:
        return document
    return make_document(COMMAND, commit, {"first_commit": FIRST_COMMIT, "logs": {}})


def open_entry(document: dict[str, Any], log: BenchLog, folder: Path) -> dict[str, Any]:
    """What the record holds of a log; rounds on other files than these are forgotten."""
    content = hashlib.sha256()
    for name in ("log.parquet", "old.safetensors", "cost.toml"):
        content.update((folder / name).read_bytes())
    facts = {
        "kind": log.kind,
        "maker": log.maker,
        "rows": log.rows,
        "target_seconds": log.target,
        "sha256": content.hexdigest(),
    }
    logs: dict[str, Any] = document["figures"]["logs"]
    entry: dict[str, Any] = logs.get(log.name, {})
    if entry.get("sha256") != facts["sha256"]:
        entry = {**facts, "rounds": []}
    logs[log.name] = entry
    return entry


def is_done(entry: Mapping[str, Any], number: int, versions: Mapping[str, Path]) -> bool:
    """Whether a round is recorded with all of these versions."""
    return any(
        one["round"] == number and all(version in one for version in versions)
        for one in entry["rounds"]
    )


def run(options: argparse.Namespace, logs: list[BenchLog]) -> dict[str, Any]:
    """Measure what is not there yet; the record is written after every round."""
    document = open_record(options.out, find_commit())
    with contextlib.ExitStack() as stack:
        sources = {"now": ROOT / "src"}
        if not options.no_old:
            sources["first"] = stack.enter_context(check_out(FIRST_COMMIT))
        for source in sources.values():
            compile_modules(source)
        for number in range(options.rounds):
            for log in logs:
                folder = provide(log, options.cache)
                entry = open_entry(document, log, folder)
                if is_done(entry, number, sources):
                    continue
                others = [one for one in entry["rounds"] if one["round"] != number]
                entry["rounds"] = [*others, run_round(number, folder, sources)]
                options.out.parent.mkdir(parents=True, exist_ok=True)
                options.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return document


def report(line: str) -> None:
    """For whoever watches."""
    print(line, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--rounds", type=int, default=3, help="Turns of each version.")
    parser.add_argument("--largest", type=int, help="Leave out logs with more rows.")
    parser.add_argument("--no-old", action="store_true", help="Leave out the first version.")
    parser.add_argument("--cache", type=Path, default=CACHE, help="Where logs are kept.")
    parser.add_argument("--out", type=Path, default=RESULTS / "advice.json")
    parser.add_argument("--table", action="store_true", help="Run nothing, print the table.")
    options = parser.parse_args(arguments)
    if options.table:
        document = load(options.out)
        print("nothing is recorded" if document is None else tabulate(document["figures"]))
        return
    logs = [
        log
        for log in LOGS
        if log.kind in options.kinds and (options.largest is None or log.rows <= options.largest)
    ]
    print(json.dumps(run(options, logs)["figures"], indent=2))


if __name__ == "__main__":
    main()
