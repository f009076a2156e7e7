"""Files of every format, damaged at random: each is refused, or harmless and equal.

    python scripts/campaigns/mutations.py --rounds 10 --out results/faults

A round flips bits in, cuts or splices each kind of file 20 times. Rounds that have a record are not
run again. "different" is what was read as if it were right but holds something else; it must not
occur where nacre writes digests.
"""

from __future__ import annotations

import argparse
import collections
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from nacre.errors import InputError
from nacre.experiments.records import append_line, read_lines

PER_ROUND = 20


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


def run_round(name: str, number: int, folder: Path) -> dict[str, Any]:
    """The outcomes of one round of mutations of one kind."""
    kind, rng = KINDS[name], np.random.default_rng([100, number])
    path = folder / kind.name
    kind.write(path)
    good, expected = path.read_bytes(), str(kind.read(path))
    counts: collections.Counter[str] = collections.Counter()
    told = []
    began = time.process_time()
    for _ in range(PER_ROUND):
        content = mutate(good, rng)
        path.write_bytes(content)
        try:
            same = str(kind.read(path)) == expected
            outcome = "equal" if same else "different"
        except InputError as error:
            outcome = "refused" if "\n" not in error.problems[0] else "several lines"
        except Exception as error:
            outcome = "raised"
            told.append(f"{type(error).__name__}: {error!s:.100}")
        counts[outcome] += 1
    return {
        "kind": name,
        "round": number,
        "digests": kind.digests,
        "outcomes": dict(counts),
        "told": told,
        "processor_seconds": round(time.process_time() - began, 2),
    }


def main() -> None:
    """Run the rounds that have no record yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=list(KINDS))
    options = parser.parse_args()
    file = options.out / "mutations.jsonl"
    done = {(record["kind"], record["round"]) for record in read_lines(file)}
    for number in range(options.rounds):
        for name in (one for one in options.only if (one, number) not in done):
            with TemporaryDirectory() as folder:
                record = run_round(name, number, Path(folder))
            append_line(file, record)
            print(name, number, record["outcomes"], record["told"], flush=True)


if __name__ == "__main__":
    main()
