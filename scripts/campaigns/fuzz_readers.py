"""Coverage-guided fuzzing of every reader, by atheris: nothing leaves but a clear refusal.

    PYTHONPATH=. python scripts/campaigns/fuzz_readers.py --seconds 600 --out results/faults

Each reader begins with one small good file and looks for files that reach other lines of nacre.
Files are opened without the isolation, so that the lines count. One that ends the process, or takes
too long, is opened again as users open it: there it must be refused. Seconds are those on the
clock, with those of the processor beside them. A reader that has fewer in its lines than asked for
goes on. Needs atheris, which is not among the extras: put it into an environment of its own that
sees the packages of nacre too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

COUNTS = "counts.json"
LONGEST = 20
"""Seconds for one file."""


@dataclass(frozen=True)
class Reader:
    """A reader: the name of the file, the content to begin with, and what opens it."""

    name: str
    content: bytes
    read: Callable[[Path], object]


def list_readers(folder: Path) -> dict[str, Reader]:
    """All readers by name. Those of the campaign of damaged files, and of what people write."""
    from mutations import KINDS

    from nacre.advice.config_file import read_changes
    from nacre.cli.settings import read_settings
    from nacre.decisions.table import read_entries
    from nacre.logs import read_log
    from nacre.logs.schema.mapping import read_columns
    from nacre.policies import read_policy
    from nacre.rollout.plan_record import read_plan

    readers = {}
    for name, kind in KINDS.items():
        kind.write(folder / kind.name)
        readers[name] = Reader(kind.name, (folder / kind.name).read_bytes(), kind.read)
    texts: dict[str, tuple[str, str, Callable[[Path], object]]] = {
        "vw": ("log.vw", "1:2:0.4 | a c:0.5\n2:-1:0.2 |user age:30 b\n", read_log),
        "column map": ("map.toml", 'reward = "r"\n[labels]\naction = ["a", "b"]\n', read_columns),
        "advice": ("a.toml", 'discount = 0.9\n[[estimators]]\nkind = "tabular"\n', read_changes),
        "decisions": ("d.toml", '[[decision]]\nname = "a"\nlog = "l"\ncost = "c"\n', read_entries),
        "settings": (
            "s.toml",
            "seed = 1\n[advise]\nquiet = true\n",
            lambda p: read_settings(p, {}),
        ),
        "plan": ("plan.json", '{"format": 1, "stages": []}', read_plan),
    }
    readers |= {
        name: Reader(file, text.encode(), read) for name, (file, text, read) in texts.items()
    }
    archive = Path(__file__).parents[2] / "tests/policies/fixtures/dqn.zip"
    readers["zip of a policy"] = Reader("p.zip", archive.read_bytes(), read_policy)
    return readers


def open_once(reader: Reader, path: Path) -> str:
    """One word for what came of a file, or the place of what was raised."""
    from nacre.errors import InputError

    try:
        reader.read(path)
    except InputError:
        return "refused"
    except Exception as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        line = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        return f"raised {type(error).__name__} at {line.rpartition('/')[2]}"
    return "read"


def fuzz(name: str, folder: Path, seconds: int) -> None:
    """In a process of its own, which ends when the time is over."""
    import atheris

    with atheris.instrument_imports(include=["nacre"]):
        reader = list_readers(folder)[name]
    path, corpus = folder / reader.name, folder / "corpus"
    corpus.mkdir(exist_ok=True)
    (corpus / "good").write_bytes(reader.content)
    counts = Counter(json.loads((folder / COUNTS).read_text()))

    def try_one(content: bytes) -> None:
        path.write_bytes(content)
        counts[open_once(reader, path)] += 1
        (folder / COUNTS).write_text(json.dumps(counts))

    options = [f"-max_total_time={seconds}", f"-timeout={LONGEST}", "-rss_limit_mb=4000"]
    largest = f"-max_len={2 * len(reader.content) + 100}"
    prefix = f"-artifact_prefix={folder}/ended-"
    atheris.Setup(
        [sys.argv[0], *options, largest, prefix, "-print_final_stats=1", str(corpus)], try_one
    )
    atheris.Fuzz()


def run(words: list[str], *, isolation: str) -> subprocess.CompletedProcess[str]:
    """This script, in another process."""
    environment = os.environ | {"NACRE_ISOLATION": isolation}
    command = [sys.executable, __file__, *words]
    return subprocess.run(  # noqa: S603 - this script
        command, env=environment, capture_output=True, text=True, errors="replace"
    )


def fuzz_reader(name: str, seconds: int) -> dict[str, Any]:
    """One reader for so long; whatever ends its process is opened again with the isolation."""
    ended: Counter[str] = Counter()
    coverage = 0
    with TemporaryDirectory() as place:
        folder = Path(place).resolve()
        (folder / COUNTS).write_text("{}")
        began, used = time.monotonic(), _count_seconds()
        while (left := round(seconds - (time.monotonic() - began))) > 0:
            words = ["--fuzz", name, "--folder", str(folder), "--seconds", str(left)]
            done = run(words, isolation="off")
            coverage = max([coverage, *map(int, re.findall(r"\bcov: (\d+)", done.stderr))])
            files = sorted(folder.glob("ended-*"))
            if done.returncode and not files:
                raise SystemExit(f"{name}: {done.stderr[-2000:]}")
            for file in files:
                again = run(["--again", name, str(file), "--folder", str(folder)], isolation="on")
                ended[again.stdout.strip() or f"ended with {again.returncode}"] += 1
                file.unlink()
        counts = json.loads((folder / COUNTS).read_text())
        kept = [file.stat().st_size for file in (folder / "corpus").iterdir()]
    return {
        "reader": name,
        "seconds": seconds,
        "processor_seconds": round(_count_seconds() - used),
        "inputs": sum(counts.values()) + ended.total(),
        "counts": counts,
        "ended_a_parser": ended.total(),
        "again": dict(ended),
        "coverage": coverage,
        "corpus": len(kept),
        "corpus_bytes": sum(kept),
        "clean": not any(word.startswith("raised") for word in counts)
        and set(ended) <= {"refused"},
    }


def _count_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """All readers that have not been fuzzed for so long yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--seconds", type=int, default=600, help="Of each reader.")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--fuzz", help=argparse.SUPPRESS)
    parser.add_argument("--again", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fuzz:
        fuzz(options.fuzz, options.folder, options.seconds)
    elif options.again:
        reader = list_readers(options.folder)[options.again[0]]
        path = options.folder / reader.name
        path.write_bytes(Path(options.again[1]).read_bytes())
        print(open_once(reader, path))
    else:
        fuzz_all(options.out, options.seconds, options.only)


def fuzz_all(out: Path, seconds: int, only: list[str] | None) -> None:
    """One reader after the other."""
    from nacre.experiments.records import append_line, read_lines
    from nacre.versions import find_commit

    file, spent = out / "fuzzing.jsonl", Counter[str]()
    for line in read_lines(file):
        spent[line["reader"]] += line["seconds"]
    with TemporaryDirectory() as folder:
        names = list(list_readers(Path(folder).resolve()))
    for name in only or names:
        if spent[name] < seconds:
            record = fuzz_reader(name, seconds - spent[name])
            append_line(file, record | {"commit": find_commit()})
            print(record, flush=True)


if __name__ == "__main__":
    main()
