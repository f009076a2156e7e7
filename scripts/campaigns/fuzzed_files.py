"""Every reader of files that the threat model does not trust, and a small good file for each."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "policies" / "fixtures"


@dataclass(frozen=True)
class Reader:
    """A reader: the name of the file, what to begin with, and what opens it.

    The other files that it needs lie beside the file.
    """

    name: str
    contents: tuple[bytes, ...]
    read: Callable[[Path], object]


Maker = Callable[[Path], Reader]


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


def make_damaged(name: str, folder: Path) -> Reader:
    """A kind of file of the campaign of damaged files."""
    from mutations import KINDS

    kind = KINDS[name]
    kind.write(folder / kind.name)
    contents = [(folder / kind.name).read_bytes()]
    if name in BARE:
        BARE[name](folder / kind.name)
        kind.read(folder / kind.name)
        contents.append((folder / kind.name).read_bytes())
    return Reader(kind.name, tuple(contents), kind.read)


def make_compressed(suffix: str, folder: Path) -> Reader:
    """A compressed CSV."""
    from mutations import make_log

    from nacre.logs import read_log, write_log

    path = folder / f"log.csv.{suffix}"
    write_log(make_log(), path)
    return Reader(path.name, (path.read_bytes(),), read_log)


def make_minari(part: str, folder: Path) -> Reader:
    """The arrays of a Minari dataset, or its description."""
    import h5py

    from nacre.logs import read_log

    data = folder / "set" / "data"
    data.mkdir(parents=True, exist_ok=True)
    box = {"type": "Box", "shape": [2], "low": [-1.0] * 2, "high": [1.0] * 2, "dtype": "float32"}
    told = {
        "data_format": "hdf5",
        "dataset_id": "a/b-v0",
        "observation_space": json.dumps(box),
        "action_space": json.dumps({"type": "Discrete", "n": 3, "start": 0, "dtype": "int64"}),
    }
    (data / "metadata.json").write_text(json.dumps(told))
    with h5py.File(data / "main_data.hdf5", "w") as file:
        for number in range(2):
            group = file.create_group(f"episode_{number}")
            group["observations"] = np.zeros((4, 2), np.float32)
            group["actions"] = np.arange(3)
            group["rewards"] = np.ones(3)
            group["terminations"] = np.array([False, False, True])
            group["truncations"] = np.zeros(3, bool)
    path = data / part
    return Reader(
        str(path.relative_to(folder)), (path.read_bytes(),), lambda _: read_log(folder / "set")
    )


def make_cache(folder: Path) -> Reader:
    """What is written beside the arrays of a cache."""
    from mutations import make_log

    from nacre.logs import read_log, write_log

    log, kept = folder / "log.npz", folder / "kept"
    write_log(make_log(), log)
    read_log(log, cache_dir=kept)
    (path,) = kept.glob("*/*.json")
    return Reader(
        str(path.relative_to(folder)),
        (path.read_bytes(),),
        lambda _: read_log(log, cache_dir=kept),
    )


def make_text(name: str, folder: Path) -> Reader:
    """What people write, and other programs."""
    from nacre.advice.config_file import read_changes
    from nacre.cli.settings import Option, read_settings
    from nacre.decisions.table import read_entries
    from nacre.logs import read_log
    from nacre.logs.schema.mapping import read_columns
    from nacre.policies.signatures import read_signature

    commands = {
        "advise": {
            "seed": Option("seed", "seed", int, default=0, low=0),
            "quiet": Option("quiet", "quiet", bool, default=False),
        }
    }
    space = '[observation_space]\ntype = "box"\nlow = [0.0]\nhigh = [inf]\n'
    texts: dict[str, tuple[str, str, Callable[[Path], object]]] = {
        "vw": ("log.vw", "1:2:0.4 | a c:0.5\n2:-1:0.2 |user age:30 b\n", read_log),
        "column map": ("map.toml", 'reward = "r"\n[labels]\naction = ["a", "b"]\n', read_columns),
        "advice": ("a.toml", 'discount = 0.9\n[[estimators]]\nkind = "tabular"\n', read_changes),
        "decisions": ("d.toml", '[[decision]]\nname = "a"\nlog = "l"\ncost = "c"\n', read_entries),
        "settings": (
            "s.toml",
            "seed = 1\n[advise]\nquiet = true\n",
            lambda path: read_settings(path, commands),
        ),
        "spaces": (
            "spaces.toml",
            f'{space}[action_space]\ntype = "discrete"\nn = 3\n',
            read_signature,
        ),
    }
    file, text, read = texts[name]
    return Reader(file, (text.encode(),), read)


def make_plan(folder: Path) -> Reader:
    """The plan of a roll-out."""
    from nacre.rollout.plan_record import read_plan
    from nacre.rollout.planning import make_plan
    from tests.support.rollout import make_record

    plan = make_plan(make_record(), np.random.default_rng(100).normal(size=200))
    return Reader("plan.json", (json.dumps(plan.as_json()).encode(),), read_plan)


def make_rule(folder: Path) -> Reader:
    """A rule, which is read with its log."""
    from nacre.examples import find_sources
    from nacre.logs import read_log
    from nacre.policies import read_policy

    given = find_sources("desk")
    log = read_log(given.log, columns=given.columns)
    content = Path(given.policy).read_bytes()
    return Reader("rule.toml", (content,), lambda path: read_policy(path, log=log))


def make_zip(folder: Path) -> Reader:
    """A policy of Stable-Baselines3."""
    from nacre.policies import read_policy

    return Reader("p.zip", ((FIXTURES / "dqn.zip").read_bytes(),), read_policy)


def make_statistics(folder: Path) -> Reader:
    """Statistics of observations, in arrays."""
    from nacre.policies.formats.normalization import read_normalization

    path = FIXTURES / "ppo_normalized_statistics.npz"
    return Reader("statistics.npz", (path.read_bytes(),), read_normalization)


def make_pickle(folder: Path) -> Reader:
    """The same in a pickle, which is read as data and never run."""
    from nacre.policies.formats.normalization import read_normalization
    from tests.policies.formats import test_vecnormalize

    with _stand_in(test_vecnormalize) as classes:
        path = test_vecnormalize.write(folder / "statistics.pkl", classes)
    return Reader(path.name, (path.read_bytes(),), read_normalization)


@contextmanager
def _stand_in(module: Any) -> Iterator[dict[str, Any]]:
    """Classes of the names that a library has, for as long as a pickle is written."""
    made: dict[str, Any] = {}
    places: dict[str, Any] = {}
    for home, name in ((module.NORMALIZE, "VecNormalize"), (module.STATISTICS, "RunningMeanStd")):
        parts = home.split(".")
        above = [".".join(parts[: depth + 1]) for depth in range(len(parts))]
        places |= {place: mock.MagicMock() for place in above if place not in places}
        made[name] = type(name, (), {"__module__": home})
        setattr(places[home], name, made[name])
    with mock.patch.dict(sys.modules, places):
        yield made


def make_published(folder: Path) -> Reader:
    """Policy tensors of the published experiments."""
    from nacre.policies import read_policy
    from tests.policies.formats.test_published import published, save

    path = save(folder / "p.safetensors", *published("squashed_gaussian_mlp"))
    return Reader(path.name, (path.read_bytes(),), read_policy)


def make_torch(folder: Path) -> Reader:
    """A published file of PyTorch, whose pickle is read as data and never run."""
    from nacre.experiments.published_files import read_published
    from tests.experiments import test_published_files as made

    path = made.save(made.make_published("discrete"), folder / "p.pt")
    return Reader(path.name, (path.read_bytes(),), read_published)


def make_advice(name: str, folder: Path) -> Reader:
    """A file of an advice; without a manifest, which would refuse every change."""
    from nacre.advice.record import read_decision
    from nacre.report.evidence import read_evidence

    content = (ROOT / "tests" / "report" / "example" / name).read_bytes()
    if name == "decision.json":
        return Reader(name, (content,), read_decision)
    return Reader(name, (content,), lambda path: read_evidence(path.parent))


def make_manifest(folder: Path) -> Reader:
    """What says which files belong together, and with which digests."""
    from nacre.files.commit import commit_files
    from nacre.files.manifest import find_changes, read_manifest

    commit_files(folder / "of", {"a.json": b"{}", "inner/b.bin": b"b"}, kind="advice")

    def read(path: Path) -> object:
        manifest = read_manifest(path.parent)
        return manifest and find_changes(path.parent, manifest)

    content = (folder / "of" / "manifest.json").read_bytes()
    return Reader("of/manifest.json", (content,), read)


def make_checkpoint(folder: Path) -> Reader:
    """The state of learning."""
    from nacre.learners.net_actor_critic.checkpoint import read_checkpoint, write_checkpoint

    state, path = {"a": np.arange(6.0).reshape(2, 3)}, folder / "run.safetensors"
    write_checkpoint(path, state, "mine", [{"epoch": 0, "loss": 1.0}])
    return Reader(
        path.name, (path.read_bytes(),), lambda path: read_checkpoint(path, state, "mine")
    )


def make_lines(folder: Path) -> Reader:
    """Records of a study."""
    from nacre.experiments.records import read_lines

    return Reader("records.jsonl", (b'{"a": 1.5, "b": [null, "x"]}\n{"a": 2}\n',), read_lines)


def make_table(name: str, folder: Path) -> Reader:
    """A table of records, as `nacre verify` reads it."""
    from nacre.experiments.manifest import check_manifest, write_manifest

    record = {"row": "a", "seed": 1, "learner": {"steps": 3}, "commit": "c", "versions": {"x": "1"}}
    (folder / "table").mkdir()
    (folder / "table" / "paper.jsonl").write_text(json.dumps(record) + "\n")
    write_manifest(folder / "table")
    content = (folder / "table" / name).read_bytes()
    return Reader(f"table/{name}", (content,), lambda path: check_manifest(path.parent))


TEXTS = ("vw", "column map", "advice", "decisions", "settings", "spaces")
MAKERS: dict[str, Maker] = {
    **{
        name: partial(make_damaged, name)
        for name in ("parquet", "arrow", "npz", "csv", "hdf5", "safetensors", "onnx", "cost")
    },
    "record": partial(make_damaged, "record"),
    "kept task": partial(make_damaged, "kept task"),
    "csv.gz": partial(make_compressed, "gz"),
    "csv.zst": partial(make_compressed, "zst"),
    "minari": partial(make_minari, "main_data.hdf5"),
    "minari description": partial(make_minari, "metadata.json"),
    "cache": make_cache,
    **{name: partial(make_text, name) for name in TEXTS},
    "plan": make_plan,
    "rule": make_rule,
    "zip of a policy": make_zip,
    "statistics": make_statistics,
    "statistics in a pickle": make_pickle,
    "published policy": make_published,
    "published pickle": make_torch,
    "decision": partial(make_advice, "decision.json"),
    "evidence": partial(make_advice, "evidence.npz"),
    "manifest": make_manifest,
    "checkpoint": make_checkpoint,
    "records": make_lines,
    "table": partial(make_table, "paper.jsonl"),
    "manifest of a table": partial(make_table, "manifest.json"),
}
"""What makes each reader in a folder, by its name."""


def make_reader(name: str, folder: Path) -> Reader:
    """A reader, with the files that it needs in an empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    reader = MAKERS[name](folder)
    for content in reader.contents:
        path = folder / reader.name
        path.write_bytes(content)
        reader.read(path)
    return reader
