"""Published model files (`.pt`) as the files that the tables read, without running their pickles.

    python -m nacre.experiments.published_files model.pt published/ant_optimal

writes the policy, `published/ant_optimal.safetensors`, and the two critics that are stored with
it, `published/ant_optimal_critics.safetensors`.

A published file is a whole module: policy `pi` and critics `q1`, `q2`. Its pickle is followed by
`nacre.policies.formats.pickles`, which builds nothing: a module stays a name with a state, from
which the tensors are taken. Names that are not on the list below end the reading.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from nacre.errors import InputError
from nacre.files.commit import write_whole
from nacre.policies.formats.pickles import Constructors, Inert
from nacre.policies.formats.tensors import Tensors
from nacre.policies.formats.torch import read_torch

MODULES = (
    *(
        f"{module}.{name}"
        for module in ("algs.core", "core")
        for name in ("MLPActorCritic", "SquashedGaussianMLPActor", "MLPQFunction")
    ),
    *(
        f"{module}.{name}"
        for module in ("algs.core_discrete", "core_discrete")
        for name in ("DiscreteMLPActorCritic", "DiscreteMLPActor", "DiscreteMLPQFunction")
    ),
    *(
        f"torch.nn.modules.{name}"
        for name in ("container.Sequential", "linear.Linear", "linear.Identity", "activation.ReLU")
    ),
)
"""Modules of published files; each is kept as a name with its state."""
LARGEST_FILE = 2**26
DEEPEST = 6
LAYERS = {
    "pi": ("net.0", "net.2", "mu_layer", "log_std_layer", "logits"),
    "q1": ("q.0", "q.2", "q.4"),
    "q2": ("q.0", "q.2", "q.4"),
}


class Module(Inert):
    """A module that was never built: its parameters and parts lie in its state."""

    def __init__(self, name: str, *_arguments: Any) -> None:
        self.name = name
        self.state: dict[str, Any] = {}

    def set_state(self, state: Any) -> None:
        """Keep the state."""
        if not isinstance(state, dict):
            raise InputError(f"gives {self.name} a state that is no dictionary")
        self.state = state

    def list_tensors(self, prefix: str = "", depth: int = 0) -> Tensors:
        """All parameters by their dotted names."""
        if depth > DEEPEST:
            raise InputError(f"has modules inside of modules, more than {DEEPEST} deep")
        found: dict[str, np.ndarray] = {}
        parameters, parts = self.state.get("_parameters"), self.state.get("_modules")
        for name, value in (parameters if isinstance(parameters, dict) else {}).items():
            if isinstance(value, np.ndarray):
                found[f"{prefix}{name}"] = value
        for name, part in (parts if isinstance(parts, dict) else {}).items():
            if isinstance(part, Module):
                found |= part.list_tensors(f"{prefix}{name}.", depth + 1)
        return found


class _Dtype(Inert):
    """The type of a NumPy number, by its short name and byte order."""

    def __init__(self, name: Any, *_ignored: Any) -> None:
        self.name, self.order = str(name), "<"

    def set_state(self, state: Any) -> None:
        self.order = ">" if isinstance(state, tuple) and ">" in state[1:2] else "<"


def _read_scalar(dtype: Any, content: Any) -> float:
    if not isinstance(dtype, _Dtype) or dtype.name not in ("f4", "f8"):
        raise InputError("has a number of a type that is no float")
    kind = np.dtype(f"{dtype.order}{dtype.name}")
    if not isinstance(content, bytes) or len(content) != kind.itemsize:
        raise InputError("has a number whose bytes do not fit its type")
    return float(np.frombuffer(content, kind)[0])


def _encode(text: Any, encoding: Any) -> bytes:
    """Bytes, which pickles of PyTorch keep as text."""
    if not isinstance(text, str) or encoding != "latin1":
        raise InputError("has bytes that are written in another way than PyTorch's")
    return text.encode("latin1")


CONSTRUCTORS: Constructors = {
    **{name: partial(Module, name) for name in MODULES},
    **{f"{module}.set": tuple for module in ("builtins", "__builtin__")},
    **{f"numpy.{core}.multiarray.scalar": _read_scalar for core in ("core", "_core")},
    "numpy.dtype": _Dtype,
    "_codecs.encode": _encode,
}


def read_published(path: Path) -> tuple[Tensors, Tensors, dict[str, str]]:
    """Tensors of the policy and of the critics, and what a policy file says of itself.

    Raises:
        InputError: If the file is something else, or damaged.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path}: larger than {LARGEST_FILE:,} bytes, no published file is")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: could not be read ({error.strerror or error})") from None
    whole = read_torch(content, str(path), CONSTRUCTORS)
    if not isinstance(whole, Module):
        raise InputError(f"{path}: holds no module with a policy and critics; give a published .pt")
    try:
        tensors = whole.list_tensors()
    except InputError as error:
        raise InputError([f"{path}: {problem}" for problem in error.problems]) from None
    policy = _take(tensors, "pi")
    critics = {
        f"{q}.{name}": value for q in ("q1", "q2") for name, value in _take(tensors, q).items()
    }
    discrete = "logits.weight" in policy
    wanted = ("net.0", "net.2", *(("logits",) if discrete else ("mu_layer", "log_std_layer")))
    absent = [layer for layer in wanted if f"{layer}.weight" not in policy]
    if absent or len(critics) != 12:
        missing = absent[0] if absent else "q1 or q2"
        raise InputError(f"{path}: has no layer {missing}; give a published .pt")
    if discrete:
        return policy, critics, {"kind": "categorical_mlp"}
    limit = whole.state["_modules"]["pi"].state.get("act_limit", 1.0)
    if not isinstance(limit, int | float):
        raise InputError(f"{path}: its act_limit is no number; give a published .pt")
    return policy, critics, {"kind": "squashed_gaussian_mlp", "action_limit": repr(float(limit))}


def _take(tensors: Tensors, part: str) -> dict[str, np.ndarray]:
    """The layers of one part, as float32, without the part's name."""
    found = {}
    for layer in LAYERS[part]:
        for kind in ("weight", "bias"):
            value = tensors.get(f"{part}.{layer}.{kind}")
            if value is not None:
                found[f"{layer}.{kind}"] = np.ascontiguousarray(value, np.float32)
    return found


def convert_published(path: Path, target: Path) -> tuple[Path, Path]:
    """Write policy and critics beside each other; returns both paths.

    Args:
        path: A published `.pt` file.
        target: Folder and name of the policy, without a suffix, such as `published/ant_optimal`.
    """
    policy, critics, metadata = read_published(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    files = (
        target.with_name(f"{target.name}.safetensors"),
        target.with_name(f"{target.name}_critics.safetensors"),
    )
    write_whole(files[0], save(dict(policy), metadata))
    write_whole(files[1], save(dict(critics), {"kind": "two critics"}))
    return files


def main(arguments: Sequence[str] | None = None) -> None:
    """Convert one file."""
    parser = argparse.ArgumentParser(description="Read a published .pt file without running it.")
    parser.add_argument("file", type=Path, help="such as model.pt")
    parser.add_argument("target", type=Path, help="such as published/ant_optimal")
    options = parser.parse_args(arguments)
    try:
        for path in convert_published(options.file, options.target):
            print(f"written: {path}")
    except InputError as error:
        parser.exit(2, "".join(f"{problem}\n" for problem in error.problems))


if __name__ == "__main__":
    main()
