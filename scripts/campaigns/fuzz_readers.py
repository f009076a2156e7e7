"""Coverage-guided fuzzing of every reader, by atheris: nothing leaves but a clear refusal.

    PYTHONPATH=. python scripts/campaigns/fuzz_readers.py --seconds 600 --out results/faults

Each reader begins with one small good file, and with the same file without nacre's digest where it
has one: whoever makes a file to do harm leaves it out. It looks for files that reach other lines of
nacre. Files are opened without the isolation, so that the lines count. One that ends the process,
or takes too long, is opened again as users open it: there it must be refused, or read in time where
only the clock had run out. Seconds are those on the clock, with those of the processor beside them.
A reader that has fewer in its lines than asked for goes on. Needs atheris, which is not among the
extras: put it into an environment of its own that sees the packages of nacre too.
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

import numpy as np

COUNTS = "counts.json"
LONGEST = 20
"""Seconds for one file."""


@dataclass(frozen=True)
class Reader:
    """A reader: the name of the file, what to begin with, and what opens it."""

    name: str
    contents: tuple[bytes, ...]
    read: Callable[[Path], object]


def bare_table(path: Path) -> None:
    """A log in Parquet or Arrow as other programs write it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        pq.write_table(pq.read_table(path).replace_schema_metadata(None), path)
        return
    with pa.OSFile(str(path), "rb") as file:
        table = pa.ipc.open_file(file).read_all().replace_schema_metadata(None)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def bare_arrays(path: Path) -> None:
    """A log in npz of arrays alone."""
    with np.load(path) as arrays:
        kept = {name: arrays[name] for name in arrays.files if name != "nacre"}
    np.savez(path, **kept)


def bare_tensors(path: Path) -> None:
    """A policy of the first format, which had no digest."""
    from safetensors import safe_open
    from safetensors.numpy import save_file

    with safe_open(path, "np") as file:
        described = json.loads(file.metadata()["nacre"]) | {"format": 1}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, path, {"nacre": json.dumps(described)})


def bare_model(path: Path) -> None:
    """The same for ONNX."""
    import onnx

    model = onnx.load(path)
    (entry,) = [entry for entry in model.metadata_props if entry.key == "nacre"]
    described = json.dumps(json.loads(entry.value) | {"format": 1})
    del model.metadata_props[:]
    model.metadata_props.add(key="nacre", value=described)
    onnx.save(model, path)


BARE = {
    "parquet": bare_table,
    "arrow": bare_table,
    "npz": bare_arrays,
    "safetensors": bare_tensors,
    "onnx": bare_model,
}
"""What takes the digest out of a file of nacre."""


def list_readers(folder: Path) -> dict[str, Reader]:
    """All readers by name. Those of the campaign of damaged files, and of what people write."""
    from mutations import KINDS

    from nacre.advice.config_file import read_changes
    from nacre.cli.settings import Option, read_settings
    from nacre.decisions.table import read_entries
    from nacre.logs import read_log
    from nacre.logs.schema.mapping import read_columns
    from nacre.policies import read_policy
    from nacre.rollout.plan_record import read_plan
    from nacre.rollout.planning import make_plan
    from tests.support.rollout import make_record

    commands = {
        "advise": {
            "seed": Option("seed", "seed", int, default=0, low=0),
            "quiet": Option("quiet", "quiet", bool, default=False),
        }
    }
    plan = make_plan(make_record(), np.random.default_rng(100).normal(size=200))
    readers = {}
    for name, kind in KINDS.items():
        kind.write(folder / kind.name)
        contents = [(folder / kind.name).read_bytes()]
        if name in BARE:
            BARE[name](folder / kind.name)
            kind.read(folder / kind.name)
            contents.append((folder / kind.name).read_bytes())
        readers[name] = Reader(kind.name, tuple(contents), kind.read)
    texts: dict[str, tuple[str, str, Callable[[Path], object]]] = {
        "vw": ("log.vw", "1:2:0.4 | a c:0.5\n2:-1:0.2 |user age:30 b\n", read_log),
        "column map": ("map.toml", 'reward = "r"\n[labels]\naction = ["a", "b"]\n', read_columns),
        "advice": ("a.toml", 'discount = 0.9\n[[estimators]]\nkind = "tabular"\n', read_changes),
        "decisions": ("d.toml", '[[decision]]\nname = "a"\nlog = "l"\ncost = "c"\n', read_entries),
        "settings": (
            "s.toml",
            "seed = 1\n[advise]\nquiet = true\n",
            lambda p: read_settings(p, commands),
        ),
        "plan": ("plan.json", json.dumps(plan.as_json()), read_plan),
    }
    readers |= {
        name: Reader(file, (text.encode(),), read) for name, (file, text, read) in texts.items()
    }
    archive = Path(__file__).parents[2] / "tests/policies/fixtures/dqn.zip"
    readers["zip of a policy"] = Reader("p.zip", (archive.read_bytes(),), read_policy)
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
    for number, content in enumerate(reader.contents):
        (corpus / f"good-{number}").write_bytes(content)
    counts = Counter(json.loads((folder / COUNTS).read_text()))

    def try_one(content: bytes) -> None:
        path.write_bytes(content)
        counts[open_once(reader, path)] += 1
        (folder / COUNTS).write_text(json.dumps(counts))

    options = [f"-max_total_time={seconds}", f"-timeout={LONGEST}", "-rss_limit_mb=4000"]
    largest = f"-max_len={2 * max(map(len, reader.contents)) + 100}"
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
        n_good = len(list_readers(folder)[name].contents)
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
                said = again.stdout.strip() or f"ended with {again.returncode}"
                if said == "read" and file.name.startswith("ended-timeout"):
                    # It took long on the clock of a busy machine.
                    said = "read in time"
                ended[said] += 1
                file.unlink()
        counts = json.loads((folder / COUNTS).read_text())
        kept = [file.stat().st_size for file in (folder / "corpus").iterdir()]
    return {
        "reader": name,
        "begun_with": n_good,
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
        and set(ended) <= {"refused", "read in time"},
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
