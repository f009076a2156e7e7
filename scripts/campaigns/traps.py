"""Files made to do harm, by name: each must be refused with one clear line, soon and cheaply.

    python scripts/campaigns/traps.py --out results/faults

A trap that was sprung already is not sprung again; delete its line to do so. Seconds are those of
the processor, here and in the process that opens files; megabytes are the larger of what was added
here and of what the other process had.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import pickle
import struct
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from nacre.errors import InputError
from nacre.experiments.records import append_line, read_lines
from nacre.files.isolation import LAST_USE
from nacre.versions import find_commit

Trap = Callable[[Path], tuple[str, Path]]
TRAPS: dict[str, Trap] = {}
LONGEST_SECONDS = 5.0
MOST_MEGABYTES = 500


class Canary:
    """Unpickled, it leaves a file behind."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, ("canary",)


def trap(kind: str, name: str) -> Callable[[Callable[[Path], None]], Callable[[Path], None]]:
    """Register what writes such a file under the name that it gets, in an own folder."""

    def register(make: Callable[[Path], None]) -> Callable[[Path], None]:
        def build(folder: Path) -> tuple[str, Path]:
            path = folder / name
            make(path)
            return kind, path

        TRAPS[make.__name__] = build
        return make

    return register


def open_trap(kind: str, path: Path) -> None:
    """Open a file as a user of nacre does."""
    from nacre.advice.record import read_decision
    from nacre.costs import read_cost
    from nacre.logs import read_log
    from nacre.policies import read_policy
    from nacre.report.evidence import read_evidence
    from nacre.rollout.plan_record import read_plan

    openers: dict[str, Callable[[Path], object]] = {
        "log": read_log,
        "policy": read_policy,
        "cost": read_cost,
        "columns": lambda place: read_log(place.with_name("log.csv"), columns=place),
        "plan": read_plan,
        "decision": lambda place: read_decision(place.parent),
        "evidence": lambda place: read_evidence(place.parent),
    }
    openers[kind](path)


# ONNX


def write_onnx(path: Path, nodes: list[Any], constants: list[Any] = [], **further: Any) -> None:  # noqa: B006
    """A model with one input and one output of any size."""
    import onnx
    from onnx import TensorProto, helper

    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [given], [out], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], **further)
    model.ir_version = 8
    path.write_bytes(onnx.ModelProto.SerializeToString(model))


def node(kind: str, inputs: list[str], output: str = "logits", **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(kind, inputs, [output], **attributes)


def constant(name: str, values: Any, kind: Any = np.int64) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(np.asarray(values, kind), name)


def external(name: str) -> Any:
    from onnx import TensorProto

    tensor = constant(name, np.zeros((2, 2)), np.float32)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../../../../etc/passwd"
    return tensor


@trap("policy", "p.onnx")
def onnx_external_weights(path: Path) -> None:
    write_onnx(path, [node("MatMul", ["x", "w"])], [external("w")])


@trap("policy", "p.onnx")
def onnx_external_constant(path: Path) -> None:
    made = node("Constant", [], "w", value=external("w"))
    write_onnx(path, [made, node("MatMul", ["x", "w"])])


@trap("policy", "p.onnx")
def onnx_external_in_a_branch(path: Path) -> None:
    from onnx import TensorProto, helper

    inner = helper.make_graph(
        [node("Identity", ["w"], "y")],
        "then",
        [],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [external("w")],
    )
    flag = constant("c", True, np.bool_)
    write_onnx(path, [node("If", ["c"], then_branch=inner, else_branch=inner)], [flag])


@trap("policy", "p.onnx")
def onnx_external_sparse(path: Path) -> None:
    import onnx

    write_onnx(path, [node("MatMul", ["x", "w"])])
    model = onnx.load_model_from_string(path.read_bytes())
    sparse = model.graph.sparse_initializer.add()
    sparse.values.CopyFrom(external("w"))
    sparse.dims.extend([2, 2])
    path.write_bytes(model.SerializeToString())


@trap("policy", "p.onnx")
def onnx_external_in_a_function(path: Path) -> None:
    from onnx import helper

    made = helper.make_function(
        "d",
        "F",
        ["a"],
        ["b"],
        [node("Constant", [], "w", value=external("w")), node("MatMul", ["a", "w"], "b")],
        [helper.make_opsetid("", 13)],
    )
    call = helper.make_node("F", ["x"], ["logits"], domain="d")
    write_onnx(path, [call], functions=[made])


@trap("policy", "p.onnx")
def onnx_endless_loop(path: Path) -> None:
    from onnx import TensorProto, helper

    body = helper.make_graph(
        [node("Identity", ["c"], "c2"), node("Identity", ["a"], "a2")],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("a", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("c2", TensorProto.BOOL, []),
            helper.make_tensor_value_info("a2", TensorProto.FLOAT, None),
        ],
    )
    times = constant("m", 2**62)
    write_onnx(
        path, [node("Loop", ["m", "t", "x"], body=body)], [times, constant("t", True, np.bool_)]
    )


@trap("policy", "p.onnx")
def onnx_four_gigabytes_of_zeros(path: Path) -> None:
    write_onnx(path, [node("ConstantOfShape", ["s"])], [constant("s", [10**9, 1])])


@trap("policy", "p.onnx")
def onnx_expanded_without_measure(path: Path) -> None:
    shape = constant("s", [10**5, 10**5, 2])
    write_onnx(path, [node("Expand", ["y", "s"])], [shape, constant("y", [[1.0]], np.float32)])


@trap("policy", "p.onnx")
def onnx_tiled_without_measure(path: Path) -> None:
    write_onnx(path, [node("Tile", ["x", "s"])], [constant("s", [10**5, 10**5])])


@trap("policy", "p.onnx")
def onnx_size_from_the_observation(path: Path) -> None:
    nodes = [node("Cast", ["x"], "i", to=7), node("ConstantOfShape", ["i"])]
    write_onnx(path, nodes)


@trap("policy", "p.onnx")
def onnx_outer_products(path: Path) -> None:
    long = constant("a", np.zeros((50_000, 1)), np.float32)
    nodes = [node("Transpose", ["a"], "b"), node("MatMul", ["a", "b"])]
    write_onnx(path, nodes, [long])


@trap("policy", "p.onnx")
def onnx_random_numbers(path: Path) -> None:
    write_onnx(path, [node("RandomNormal", [], shape=[10**9])])


@trap("policy", "p.onnx")
def onnx_foreign_operator(path: Path) -> None:
    write_onnx(path, [node("Shell", ["x"], domain="com.evil")])


@trap("policy", "p.onnx")
def onnx_of_many_operators(path: Path) -> None:
    steps = [node("Relu", [f"v{i}" if i else "x"], f"v{i + 1}") for i in range(25_000)]
    write_onnx(path, [*steps, node("Identity", ["v25000"])])


@trap("policy", "p.onnx")
def onnx_garbage(path: Path) -> None:
    path.write_bytes(b"\x08\x08" + os.urandom(2000))


# Parquet, Arrow, HDF5, archives


def small_log() -> Any:
    from nacre.logs import Log

    n = 2000
    return Log.from_arrays(
        observations=np.arange(2 * n, dtype=np.float32).reshape(n, 2),
        actions=np.arange(n) % 3,
        rewards=np.linspace(0, 1, n),
        next_observations=np.arange(2 * n, dtype=np.float32).reshape(n, 2) + 2,
        terminated=np.zeros(n, bool),
        truncated=np.arange(n) % 50 == 49,
        episode=np.arange(n) // 50,
    )


def damage(path: Path, place: float, width: int = 1) -> None:
    """Flip all bits of some bytes."""
    content = bytearray(path.read_bytes())
    begin = int(place * len(content))
    for i in range(begin, begin + width):
        content[i] ^= 255
    path.write_bytes(content)


def write_small(path: Path) -> None:
    from nacre.logs import write_log

    write_log(small_log(), path)


@trap("log", "log.parquet")
def parquet_damaged_page(path: Path) -> None:
    write_small(path)
    damage(path, 0.3)


@trap("log", "log.parquet")
def parquet_damaged_footer(path: Path) -> None:
    write_small(path)
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[-8:-4], "little")
    for i in range(len(content) - 8 - size, len(content) - 8, 40):
        content[i] ^= 255
    path.write_bytes(content)


@trap("log", "log.parquet")
def parquet_cut_off(path: Path) -> None:
    write_small(path)
    path.write_bytes(path.read_bytes()[:-100])


@trap("log", "log.parquet")
def parquet_footer_beyond_the_file(path: Path) -> None:
    path.write_bytes(b"PAR1" + b"\0" * 50 + struct.pack("<I", 2**31 - 1) + b"PAR1")


@trap("log", "log.parquet")
def parquet_of_two_hundred_million_zeros(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    zeros = pa.array(np.zeros(10**7, np.int8))
    names = ["episode", "observation", "action", "reward", "terminated"]
    table = pa.table(dict.fromkeys(names, zeros))
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(table, row_group_size=10**7)


@trap("log", "log.parquet")
def parquet_that_is_a_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps(Canary()))


@trap("log", "log.arrow")
def arrow_damaged(path: Path) -> None:
    write_small(path)
    damage(path, 0.02, 200)


@trap("log", "log.arrow")
def arrow_cut_off(path: Path) -> None:
    write_small(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@trap("log", "log.arrow")
def arrow_garbage(path: Path) -> None:
    path.write_bytes(b"ARROW1\0\0" + os.urandom(500) + b"ARROW1")


@trap("log", "log.hdf5")
def hdf5_external_link(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file["observations"] = h5py.ExternalLink("/etc/hostname", "/x")


@trap("log", "log.hdf5")
def hdf5_values_in_another_file(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        for name in ("observations", "actions", "rewards", "terminals"):
            file.create_dataset(name, (10,), "f4", external=[("/etc/hostname", 0, 40)])


@trap("log", "log.hdf5")
def hdf5_that_claims_a_terabyte(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        for name in ("observations", "actions", "rewards", "terminals"):
            file.create_dataset(name, (2**38,), "f4", chunks=(2**16,), compression="gzip")


@trap("log", "log.hdf5")
def hdf5_garbage(path: Path) -> None:
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + os.urandom(3000))


def write_zip(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@trap("log", "log.npz")
def npz_bomb(path: Path) -> None:
    write_zip(path, {f"{i}.npy": bytes(5 * 10**7) for i in range(4)})


@trap("log", "log.npz")
def npz_with_a_pickle(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, observations=np.array([Canary()], dtype=object))


@trap("log", "log.npz")
def npz_that_leads_elsewhere(path: Path) -> None:
    write_zip(path, {"../../rewards.npy": b"x", "/etc/passwd": b"y"})


@trap("log", "log.csv.gz")
def csv_bomb(path: Path) -> None:
    import gzip

    head = b"episode,observation,action,reward,terminated\n"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(head)
        for _ in range(50):
            file.write(b"0,0,0,0,0\n" * 10**6)


@trap("log", "log.csv")
def csv_of_one_endless_line(path: Path) -> None:
    path.write_bytes(b"episode," * 3_000_000)


@trap("policy", "p.zip")
def zip_bomb(path: Path) -> None:
    write_zip(path, {"data": bytes(2 * 10**8), "policy.pth": bytes(2 * 10**8)})


@trap("policy", "p.zip")
def zip_that_leads_elsewhere(path: Path) -> None:
    write_zip(path, {"../data": b"{}", "/policy.pth": b"x"})


@trap("policy", "p.zip")
def zip_with_a_link(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("policy.pth")
        info.external_attr = 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
        archive.writestr("data", "{}")


@trap("policy", "p.zip")
def zip_with_a_pickle(path: Path) -> None:
    inner = io.BytesIO()
    write_zip_to(inner, {"archive/data.pkl": pickle.dumps(Canary()), "archive/version": b"3"})
    write_zip(path, {"data": b"{}", "policy.pth": inner.getvalue()})


def write_zip_to(stream: io.BytesIO, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


# Safetensors, pickles by name, documents


@trap("policy", "p.safetensors")
def safetensors_with_an_endless_header(path: Path) -> None:
    path.write_bytes(struct.pack("<Q", 2**60) + b"{}")


@trap("policy", "p.safetensors")
def safetensors_that_claim_a_terabyte(path: Path) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2**38], "data_offsets": [0, 2**40]}})
    path.write_bytes(struct.pack("<Q", len(header)) + header.encode())


@trap("policy", "p.safetensors")
def safetensors_with_a_deep_description(path: Path) -> None:
    header = json.dumps({"__metadata__": {"nacre": "[" * 10**6}})
    path.write_bytes(struct.pack("<Q", len(header)) + header.encode())


@trap("policy", "p.safetensors")
def safetensors_damaged(path: Path) -> None:
    from nacre.policies import TabularPolicy, write_policy

    write_policy(TabularPolicy.from_probabilities(np.full((5, 4), 0.25)), path)
    damage(path, 0.99)


@trap("policy", "p.pkl")
def pickle_by_name(path: Path) -> None:
    path.write_bytes(pickle.dumps(Canary()))


@trap("policy", "p.pt")
def torch_pickle_by_name(path: Path) -> None:
    path.write_bytes(pickle.dumps(Canary()))


@trap("cost", "cost.toml")
def toml_deep_lists(path: Path) -> None:
    path.write_text("x = " + "[" * 400_000)


@trap("cost", "cost.toml")
def toml_deep_tables(path: Path) -> None:
    path.write_text("[" + "a." * 300_000 + "b]")


@trap("cost", "cost.toml")
def toml_endless_number(path: Path) -> None:
    path.write_text("x = " + "9" * 900_000)


@trap("cost", "cost.toml")
def toml_of_two_megabytes(path: Path) -> None:
    path.write_text("# " + "x" * 2_000_000)


@trap("cost", "rule.toml")
def toml_that_is_binary(path: Path) -> None:
    path.write_bytes(os.urandom(5000))


@trap("decision", "decision.json")
def json_deep(path: Path) -> None:
    path.write_text('{"a":' * 10**6)


@trap("decision", "decision.json")
def json_of_a_gigabyte(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**30)


@trap("decision", "decision.json")
def json_with_a_lying_manifest(path: Path) -> None:
    path.write_text("{}")
    (path.parent / "manifest.json").write_text('{"files": {"../../etc/passwd": {}}}')


@trap("evidence", "evidence.npz")
def evidence_bomb(path: Path) -> None:
    write_zip(path, {"returns.npy": bytes(2 * 10**8)})


@trap("evidence", "evidence.npz")
def evidence_with_a_pickle(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, returns=np.array([Canary()], dtype=object))


# Places that are no files


@trap("log", "log.parquet")
def fifo_as_a_log(path: Path) -> None:
    os.mkfifo(path)


@trap("policy", "p.onnx")
def fifo_as_a_policy(path: Path) -> None:
    os.mkfifo(path)


@trap("cost", "cost.toml")
def fifo_as_a_cost(path: Path) -> None:
    os.mkfifo(path)


@trap("decision", "decision.json")
def fifo_as_a_decision(path: Path) -> None:
    os.mkfifo(path)


@trap("log", "log.csv")
def endless_zeros_as_a_log(path: Path) -> None:
    path.symlink_to("/dev/zero")


@trap("policy", "p.safetensors")
def endless_zeros_as_a_policy(path: Path) -> None:
    path.symlink_to("/dev/zero")


@trap("cost", "cost.toml")
def endless_zeros_as_a_cost(path: Path) -> None:
    path.symlink_to("/dev/zero")


@trap("log", "log.parquet")
def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


@trap("log", "log.parquet")
def folder_as_a_log(path: Path) -> None:
    path.mkdir()


@trap("columns", "map.toml")
def endless_zeros_as_a_column_map(path: Path) -> None:
    path.symlink_to("/dev/zero")
    path.with_name("log.csv").write_text("a,b\n1,2\n")


@trap("columns", "map.toml")
def pipe_as_a_column_map(path: Path) -> None:
    os.mkfifo(path)
    path.with_name("log.csv").write_text("a,b\n1,2\n")


@trap("columns", "map.toml")
def column_map_of_deep_lists(path: Path) -> None:
    path.write_text("x = " + "[" * 400_000)
    path.with_name("log.csv").write_text("a,b\n1,2\n")


@trap("plan", "plan.json")
def pipe_as_a_plan(path: Path) -> None:
    os.mkfifo(path)


@trap("log", "log.vw")
def action_of_nine_digits(path: Path) -> None:
    path.write_text("1:1:0.5 | a\n999999999:1:0.5 | a\n")


def spring(name: str, folder: Path) -> dict[str, Any]:
    """Open a trap; what came of it, and what it cost here and in the process that opens files."""
    kind, path = TRAPS[name](folder)
    before = Path.cwd()
    os.chdir(folder)
    LAST_USE.clear()
    Path("/proc/self/clear_refs").write_text("5")
    resident, used = read_memory("VmRSS"), time.process_time()
    try:
        open_trap(kind, path)
        outcome, told = "accepted", ""
    except InputError as error:
        outcome, told = "refused", error.problems[0].replace(f"{folder}/", "")
    except Exception as error:
        outcome, told = "raised", f"{type(error).__name__}: {error}"
    finally:
        os.chdir(before)
    if (folder / "canary").exists():
        outcome = "ran code"
    return {
        "trap": name,
        "outcome": outcome,
        "told": told,
        "processor_seconds": round(time.process_time() - used + LAST_USE.get("seconds", 0.0), 3),
        "megabytes": round(max(read_memory("VmHWM") - resident, LAST_USE.get("megabytes", 0.0)), 1),
    }


def read_memory(name: str) -> float:
    """Megabytes that this process has, or had at most since the mark was set back."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def main() -> None:
    """Spring every trap that has no record yet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/faults"))
    parser.add_argument("--only", nargs="*", default=list(TRAPS))
    options = parser.parse_args()
    file, commit = options.out / "traps.jsonl", find_commit()
    done = {record["trap"] for record in read_lines(file)}
    for name in (one for one in options.only if one not in done):
        with TemporaryDirectory() as folder:
            record = spring(name, Path(folder).resolve())
        append_line(file, record | {"commit": commit})
        print(*record.values(), flush=True)


if __name__ == "__main__":
    main()
