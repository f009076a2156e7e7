"""Files of every format, damaged at random: each is refused, or harmless and equal.

    python scripts/campaigns/mutations.py --rounds 100 --out results/faults

A round flips bits in, cuts or splices each kind of file 20 times. Rounds that have a record are not
run again. "different" is what was read as if it were right but holds something else; it must not
occur where nacre writes digests. Files are opened many in one process, without the isolation, which
is the harder test and takes little time. One that ends that process is opened again as users open
it: in a process of its own.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import numpy as np

from nacre.errors import InputError
from nacre.experiments.records import append_line, read_lines
from nacre.files.isolation import SWITCH

PER_ROUND = 20
LONGEST = 10
"""Seconds on the clock for one file."""


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Args:
        name: The file, whose suffix tells what it is.
        write: Writes a good one.
        read: A digest of what it holds.
        digests: Whether nacre writes a digest into it, or beside it.
    """

    name: str
    write: Callable[[Path], None]
    read: Callable[[Path], Any]
    digests: bool = True


def make_log() -> Any:
    """A log with vectors, numbers and a further column."""
    from nacre.logs import Log

    n, rng = 400, np.random.default_rng(100)
    rows = rng.normal(size=(n + 1, 3)).astype(np.float32)
    return Log.from_arrays(
        observations=rows[:-1],
        actions=rng.integers(0, 3, n),
        rewards=rng.normal(size=n),
        next_observations=rows[1:],
        terminated=np.arange(n) % 40 == 39,
        truncated=np.zeros(n, bool),
        episode=np.arange(n) // 40,
        provenance={"made": "by a campaign"},
    )


def write_log_to(path: Path) -> None:
    from nacre.logs import write_log

    write_log(make_log(), path)


def read_log_from(path: Path) -> Any:
    from nacre.logs import read_log

    log = read_log(path)
    return log.fingerprint(), log.provenance.get("made")


def write_policy_to(path: Path) -> None:
    from nacre.policies import TabularPolicy, write_policy

    table = np.random.default_rng(100).dirichlet(np.ones(4), 6)
    write_policy(TabularPolicy.from_probabilities(table), path, {"made": "by a campaign"})


def read_policy_from(path: Path) -> Any:
    from nacre.policies import fingerprint, read_policy_with_provenance

    policy, provenance = read_policy_with_provenance(path)
    return fingerprint(policy) if path.suffix != ".onnx" else policy.outputs_at(np.arange(6)), (  # type: ignore[attr-defined]
        provenance.get("made") if path.suffix != ".onnx" else None
    )


def write_cost_to(path: Path) -> None:
    from nacre.costs import TransportCost, groups, write_cost

    write_cost(TransportCost(4.0, 1.0, groups.halves()), path)


def read_cost_from(path: Path) -> Any:
    from nacre.costs import describe_cost, read_cost

    return describe_cost(read_cost(path))


def write_folder(path: Path) -> None:
    from nacre.files.commit import commit_files

    commit_files(path.parent, {path.name: b'{"verdict": "keep", "gain": 1.25}' * 20}, kind="advice")


def read_folder(path: Path) -> Any:
    from nacre.files.manifest import read_checked

    return read_checked(path, 10**6)


def write_kept(path: Path) -> None:
    from nacre.advice.encoding import encode

    path.write_bytes(encode({"a": np.arange(50.0), "b": ("text", 1.5)}))


def read_kept(path: Path) -> Any:
    from nacre.advice.encoding import decode

    try:
        found = decode(path.read_bytes())
    except ValueError as error:
        raise InputError(str(error)) from None
    return found["a"].tolist(), found["b"]


def write_hdf5(path: Path) -> None:
    import h5py

    log = make_log()
    with h5py.File(path, "w") as file:
        for name, values in (
            ("observations", log.observations),
            ("actions", log.actions),
            ("rewards", log.rewards),
            ("terminals", log.terminated),
        ):
            file.create_dataset(name, data=np.asarray(values), compression="gzip", fletcher32=True)


KINDS = {
    "parquet": Kind("log.parquet", write_log_to, read_log_from),
    "arrow": Kind("log.arrow", write_log_to, read_log_from),
    "npz": Kind("log.npz", write_log_to, read_log_from),
    "csv": Kind("log.csv", write_log_to, read_log_from, digests=False),
    "hdf5": Kind("log.hdf5", write_hdf5, read_log_from, digests=False),
    "safetensors": Kind("p.safetensors", write_policy_to, read_policy_from),
    "onnx": Kind("p.onnx", write_policy_to, read_policy_from),
    "cost": Kind("cost.toml", write_cost_to, read_cost_from, digests=False),
    "record": Kind("decision.json", write_folder, read_folder),
    "kept task": Kind("task.safetensors", write_kept, read_kept),
}


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """One to three flipped bits, a cut, or a part put over another."""
    changed = bytearray(content)
    way = rng.integers(4)
    if way < 2:
        for place in rng.integers(0, 8 * len(changed), rng.integers(1, 4)):
            changed[place // 8] ^= 1 << int(place % 8)
        return bytes(changed)
    if way == 2:
        return bytes(changed[: rng.integers(0, len(changed))])
    size = int(rng.integers(1, max(2, len(changed) // 4)))
    source, target = rng.integers(0, len(changed) - size + 1, 2)
    changed[target : target + size] = content[source : source + size]
    return bytes(changed)


def try_one(kind: Kind, path: Path, content: bytes, expected: str) -> tuple[str, str]:
    """What comes of a file with this content, and what was said if that is not as it should be."""
    path.write_bytes(content)
    try:
        return ("equal" if str(kind.read(path)) == expected else "different"), ""
    except InputError as error:
        return ("refused" if "\n" not in error.problems[0] else "several lines"), ""
    except Exception as error:
        return "raised", f"{type(error).__name__}: {error!s:.100}"


def run_isolated(kind: Kind, path: Path, content: bytes, expected: str) -> tuple[str, str]:
    """The same for a file that ended the process: as users open it, in a process of its own."""
    os.environ[SWITCH] = "on"
    try:
        return try_one(kind, path, content, expected)
    finally:
        os.environ[SWITCH] = "off"


def serve(name: str, folder: Path, place: tuple[int, int], last: int, answers: IO[str]) -> None:
    """In a fork: try one mutation after the other from a place on, and say what came of each."""
    kind, path = KINDS[name], folder / KINDS[name].name
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    kind.write(path)
    good, expected = path.read_bytes(), str(kind.read(path))
    for number in range(place[0], last):
        rng, began = np.random.default_rng([100, number]), time.process_time()
        for index in range(PER_ROUND):
            content = mutate(good, rng)
            if (number, index) < place:
                continue
            # Whatever hangs is ended, and tried again under the limits of the isolation.
            signal.alarm(LONGEST)
            outcome = try_one(kind, path, content, expected)
            signal.alarm(0)
            seconds = time.process_time() - began
            print(json.dumps([number, index, *outcome, seconds]), file=answers, flush=True)


def run_rounds(name: str, first: int, last: int, folder: Path) -> Iterator[dict[str, Any]]:
    """The records of some rounds, many mutations in one process; it is replaced where it dies."""
    place = (first, 0)
    outcomes: list[tuple[str, str]] = []
    deaths, seconds = 0, 0.0
    while place[0] < last:
        for number, index, *outcome, seconds in _fork(name, folder, place, last):
            outcomes.append((outcome[0], outcome[1]))
            place = (number, index + 1)
            if index + 1 == PER_ROUND:
                yield _describe(name, number, outcomes, deaths, seconds)
                outcomes, deaths, place = [], 0, (number + 1, 0)
        if place[0] == last:
            return
        # The one whose turn it was ended the process.
        outcomes.append(_try_again(name, folder, place))
        deaths += 1
        place = (place[0], place[1] + 1)
        if place[1] == PER_ROUND:
            yield _describe(name, place[0], outcomes, deaths, seconds)
            outcomes, deaths, place = [], 0, (place[0] + 1, 0)


def _fork(name: str, folder: Path, place: tuple[int, int], last: int) -> Iterator[list[Any]]:
    """What a fork says, line by line, until it ends."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with contextlib.suppress(BaseException), os.fdopen(writing, "w") as answers:
            serve(name, folder, place, last, answers)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        for line in lines:
            yield json.loads(line)
    os.waitpid(child, 0)


def _try_again(name: str, folder: Path, place: tuple[int, int]) -> tuple[str, str]:
    """A mutation that ended the process, opened as users open it; in a fork again."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        kind, path = KINDS[name], folder / KINDS[name].name
        kind.write(path)
        good, expected = path.read_bytes(), str(kind.read(path))
        rng = np.random.default_rng([100, place[0]])
        content = [mutate(good, rng) for _ in range(place[1] + 1)][-1]
        with os.fdopen(writing, "w") as answer:
            json.dump(run_isolated(kind, path, content, expected), answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    outcome, told = json.loads(said) if said else ("aborted", f"mutation {place}")
    return outcome, told


def _describe(
    name: str, number: int, outcomes: list[tuple[str, str]], deaths: int, seconds: float
) -> dict[str, Any]:
    return {
        "kind": name,
        "round": number,
        "digests": KINDS[name].digests,
        "outcomes": dict(collections.Counter(outcome for outcome, _ in outcomes)),
        "told": [told for _, told in outcomes if told],
        "ended_a_parser": deaths,
        "processor_seconds": round(seconds, 2),
    }


def main() -> None:
    """Run the rounds that have no record yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--at-once", type=int, default=10, help="Rounds of one kind in a row.")
    parser.add_argument("--only", nargs="*", default=list(KINDS))
    options = parser.parse_args()
    file = options.out / "mutations.jsonl"
    done = {(record["kind"], record["round"]) for record in read_lines(file)}
    os.environ[SWITCH] = "off"
    import_all()
    for first in range(0, options.rounds, options.at_once):
        for name in options.only:
            last = min(first + options.at_once, options.rounds)
            left = [number for number in range(first, last) if (name, number) not in done]
            if not left:
                continue
            with TemporaryDirectory() as folder:
                for record in run_rounds(name, left[0], last, Path(folder)):
                    append_line(file, record)
                    print(name, record["round"], record["outcomes"], record["told"], flush=True)


def import_all() -> None:
    """Import what the forks need; nothing is computed here."""
    import h5py  # noqa: F401
    import onnx  # noqa: F401
    import onnxruntime  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    from nacre import costs, logs, policies  # noqa: F401
    from nacre.advice import encoding  # noqa: F401


if __name__ == "__main__":
    main()
