"""Coverage-guided fuzzing of every reader, by atheris: nothing leaves but a clear refusal.

    PYTHONPATH=. python scripts/campaigns/fuzz_readers.py --seconds 600 --out results/faults

Each reader begins with one small good file, and with the same file without nacre's digest where it
has one: whoever makes a file to do harm leaves it out. It looks for files that reach other lines of
nacre. Files are opened without the isolation, so that the lines count. One that ends the process,
or takes too long, is opened again as users open it: there it must be refused, or read in time where
only the clock had run out.

Seconds are those that the processor spent on opening files; neither the clock counts nor what comes
before the first file. Readers take turns, the one with the fewest seconds first. Each turn leaves a
record at its end, and the files that reached new lines in the folder `--work`: whatever ends the
campaign costs one turn, and the same command goes on. Needs atheris, which is not among the extras:
put it into an environment of its own that sees the packages of nacre too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fuzzed_files import MAKERS, Reader, make_reader

STATE = "state.json"
LONGEST = 20
"""Seconds on the clock for one file."""
SAVED = 1.0
"""Processor seconds between two savings of what was counted."""


def open_once(reader: Reader, path: Path) -> str:
    """One word for what came of a file, or the place of what was raised."""
    from nacre.errors import InputError

    try:
        reader.read(path)
    except InputError as error:
        clear = error.problems and not any("\n" in line for line in error.problems)
        return "refused" if clear else "refused in several lines"
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        line = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        return f"raised {type(error).__name__} at {line.rpartition('/')[2]}"
    return "read"


def fuzz(name: str, folder: Path, seconds: float) -> None:
    """In a process of its own, which ends when it has spent so many processor seconds."""
    import atheris

    with atheris.instrument_imports(include=["nacre"]):
        reader = make_reader(name, folder / "files")
    path, corpus = folder / "files" / reader.name, folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, content in enumerate(reader.contents):
        (corpus / f"good-{number}").write_bytes(content)
    counts: Counter[str] = Counter()
    began = saved = time.process_time()

    def save() -> None:
        spent = time.process_time() - began
        (folder / STATE).write_text(json.dumps({"spent": spent, "counts": counts}))

    def try_one(content: bytes) -> None:
        nonlocal saved
        path.write_bytes(content)
        said = open_once(reader, path)
        if said.startswith("raised") and said not in counts:
            (folder / f"raised-{len(counts)}").write_bytes(content)
        counts[said] += 1
        now = time.process_time()
        if now - saved > SAVED or now - began >= seconds:
            saved = now
            save()
        if now - began >= seconds:
            os._exit(0)

    save()
    options = ["-max_total_time=0", f"-timeout={LONGEST}", "-rss_limit_mb=4000"]
    largest = f"-max_len={2 * max(map(len, reader.contents)) + 100}"
    prefix = f"-artifact_prefix={folder}/ended-"
    atheris.Setup([sys.argv[0], *options, largest, prefix, str(corpus)], try_one)
    atheris.Fuzz()


def run(words: Sequence[str], *, isolation: str) -> subprocess.CompletedProcess[str]:
    """This script, in another process."""
    environment = os.environ | {"NACRE_ISOLATION": isolation, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, __file__, *words]
    return subprocess.run(  # noqa: S603 - this script
        command, env=environment, capture_output=True, text=True, errors="replace"
    )


def take_turn(name: str, folder: Path, seconds: float) -> dict[str, Any]:
    """One reader for so many processor seconds; what ends its process is opened again."""
    ended: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    spent, coverage = 0.0, 0
    while spent < seconds:
        words = ["--fuzz", name, "--folder", str(folder), "--seconds", str(seconds - spent)]
        done = run(words, isolation="off")
        coverage = max([coverage, *map(int, re.findall(r"\bcov: (\d+)", done.stderr))])
        state = json.loads((folder / STATE).read_text()) if (folder / STATE).exists() else {}
        files = sorted(folder.glob("ended-*"))
        if not state or (done.returncode and not files):
            raise SystemExit(f"{name}: {done.stderr[-2000:]}")
        counts.update(state["counts"])
        spent += state["spent"]
        (folder / STATE).unlink()
        for file in files:
            ended[open_again(name, file)] += 1
            file.unlink()
    kept = [file.stat().st_size for file in (folder / "corpus").iterdir()]
    return {
        "reader": name,
        "processor_seconds": round(spent, 1),
        "inputs": counts.total() + ended.total(),
        "counts": dict(counts),
        "ended_a_parser": ended.total(),
        "again": dict(ended),
        "coverage": coverage,
        "corpus": len(kept),
        "corpus_bytes": sum(kept),
        "clean": set(counts) <= {"refused", "read"} and set(ended) <= {"refused", "read in time"},
    }


def open_again(name: str, file: Path) -> str:
    """What users are told of a file that ended the process."""
    with TemporaryDirectory() as place:
        words = ["--again", name, str(file), "--folder", place]
        again = run(words, isolation="on")
    said = again.stdout.strip() or f"ended with {again.returncode}"
    slow = file.name.startswith(("ended-timeout", "ended-slow"))
    # It took long on the clock of a busy machine.
    return "read in time" if said == "read" and slow else said


def count_spent(records: Sequence[dict[str, Any]]) -> Counter[str]:
    """Processor seconds of each reader so far; what only a clock had counted is none."""
    spent: Counter[str] = Counter()
    for record in records:
        spent[record["reader"]] += record.get("processor_seconds", 0)
    return spent


def choose(names: Sequence[str], spent: Counter[str], seconds: float) -> str | None:
    """Whose turn it is: the reader with the fewest seconds, if it still lacks some."""
    name = min(names, key=lambda one: spent[one])
    return name if spent[name] < seconds else None


def main() -> None:
    """Turn after turn, until every reader has its seconds."""
    from nacre.experiments.records import append_line, read_lines
    from nacre.versions import find_commit

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--seconds", type=float, default=600, help="Of the processor, for each.")
    parser.add_argument("--turn", type=float, default=60, help="Processor seconds of one turn.")
    parser.add_argument("--only", nargs="*", default=list(MAKERS), choices=list(MAKERS))
    parser.add_argument("--work", type=Path, help="A folder to go on with; else a passing one.")
    options = parser.parse_args()
    file = options.out / "fuzzing.jsonl"
    spent = count_spent(read_lines(file))
    with TemporaryDirectory() as passing:
        work = (options.work or Path(passing)).resolve()
        while (name := choose(options.only, spent, options.seconds)) is not None:
            folder = work / name.replace(" ", "-")
            folder.mkdir(parents=True, exist_ok=True)
            turn = min(options.turn, options.seconds - spent[name])
            record = take_turn(name, folder, turn)
            append_line(file, record | {"commit": find_commit()})
            spent[name] += record["processor_seconds"]
            print(record, flush=True)


def work_alone() -> bool:
    """What this script does in the processes that it starts; False where nothing of that was asked.

    Nothing of nacre may be imported here before it is made countable.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--fuzz")
    parser.add_argument("--again", nargs=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seconds", type=float)
    options, _ = parser.parse_known_args()
    if options.fuzz:
        fuzz(options.fuzz, options.folder, options.seconds)
    elif options.again:
        reader = make_reader(options.again[0], options.folder / "files")
        path = options.folder / "files" / reader.name
        path.write_bytes(Path(options.again[1]).read_bytes())
        print(open_once(reader, path))
    return bool(options.fuzz or options.again)


if __name__ == "__main__":
    if not work_alone():
        main()
