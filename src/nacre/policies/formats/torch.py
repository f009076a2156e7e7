"""Tensors of a PyTorch file (`.pth`), read without PyTorch and without running its pickle.

Such a file is a zip archive: `data.pkl` says which tensor is which stretch of which storage,
`data/<key>` are the storages, raw.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nacre.errors import InputError
from nacre.policies.formats.archives import Archive
from nacre.policies.formats.pickles import Constructors, Name, read_plain, show
from nacre.policies.formats.tensors import Tensors

_STORAGES = {
    "torch.HalfStorage": "f2",
    "torch.FloatStorage": "f4",
    "torch.DoubleStorage": "f8",
    "torch.CharStorage": "i1",
    "torch.ShortStorage": "i2",
    "torch.IntStorage": "i4",
    "torch.LongStorage": "i8",
    "torch.ByteStorage": "u1",
    "torch.BoolStorage": "?",
}
_REMEDY = "save the algorithm again with a current Stable-Baselines3, or export the policy to ONNX"


def read_torch(content: bytes, name: str, constructors: Constructors | None = None) -> Any:
    """What a `.pth` file holds: plain containers with arrays in place of tensors.

    Args:
        content: The file.
        name: What to call it in messages.
        constructors: What to build for further names; nothing beside tensors if not given.

    Raises:
        InputError: If it is something else than weights, or is damaged.
    """
    if not content.startswith(b"PK"):
        raise InputError(f"{name}: is no zip archive as PyTorch writes since 1.6; {_REMEDY}")
    archive = Archive(content, name)
    roots = {member.partition("/")[0] for member in archive.names}
    if len(roots) != 1 or f"{(root := roots.pop())}/data.pkl" not in archive.names:
        raise InputError(f"{name}: has no data.pkl in its only folder; {_REMEDY}")
    strange = [member for member in archive.names if not _is_known(member.partition("/")[2])]
    if strange:
        raise InputError(
            [
                f"{name}: member {member!r:.80} belongs to no weights; {_REMEDY}"
                for member in strange
            ]
        )
    storages = _Storages(archive, root)
    try:
        return read_plain(
            archive.read(f"{root}/data.pkl"),
            {
                "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
                "torch._utils._rebuild_parameter": _rebuild_parameter,
                "collections.OrderedDict": _make_dictionary,
                **(constructors or {}),
            },
            frozenset(_STORAGES),
            storages.open,
        )
    except InputError as error:
        raise InputError(
            [
                f"{name}: {problem.removeprefix(f'{name}: ')}; {_REMEDY}"
                for problem in error.problems
            ]
        ) from None


def read_state_dict(content: bytes, name: str) -> Tensors:
    """The named tensors of a module."""
    state = read_torch(content, name)
    if not isinstance(state, dict) or not all(
        isinstance(key, str) and isinstance(value, np.ndarray) for key, value in state.items()
    ):
        raise InputError(f"{name}: is not a dictionary of named tensors; {_REMEDY}")
    return state


def _is_known(member: str) -> bool:
    plain = ("data.pkl", "byteorder", "version", ".format_version", ".storage_alignment")
    folder, _, key = member.rpartition("/")
    return member in plain or folder == ".data" or (folder == "data" and key.isdecimal())


class _Storages:
    """The raw arrays of an archive, each read once."""

    def __init__(self, archive: Archive, root: str) -> None:
        self._archive, self._root = archive, root
        self._arrays: dict[tuple[str, str], np.ndarray] = {}
        order = archive.read(f"{root}/byteorder") if f"{root}/byteorder" in archive.names else b""
        self._order = {b"": "<", b"little": "<", b"big": ">"}.get(order)
        if self._order is None:
            raise InputError(f"{archive.name}: byte order {order!r:.40}, expected little or big")

    def open(self, identifier: Any) -> np.ndarray:
        """The storage of a persistent identifier ("storage", type, key, device, size)."""
        match identifier:
            case ("storage", Name(kind), str(key), str(), int(count)) if kind in _STORAGES:
                pass
            case _:
                raise InputError(
                    f"refers to {_show_all(identifier)}, which is no storage of numbers"
                )
        if (kind, key) not in self._arrays:
            raw = self._archive.read(f"{self._root}/data/{key}")
            dtype = np.dtype(f"{self._order}{_STORAGES[kind]}")
            if count < 0 or len(raw) != count * dtype.itemsize:
                raise InputError(
                    f"storage {key!r:.40} has {len(raw)} bytes, {count} numbers of type "
                    f"{dtype.name} take {count * dtype.itemsize}"
                )
            self._arrays[kind, key] = np.frombuffer(raw, dtype)
        return self._arrays[kind, key]


def _rebuild_tensor(
    storage: Any, offset: Any, size: Any, stride: Any, *_ignored: Any
) -> np.ndarray:
    """A copy of the stretch of a storage that a tensor is."""
    numbers = (offset, *size, *stride)
    if not isinstance(storage, np.ndarray) or len(size) != len(stride):
        raise InputError("has a tensor without a storage, size and stride that fit each other")
    if any(not isinstance(number, int) or number < 0 for number in numbers):
        raise InputError(
            f"has a tensor of size {_show_all(size)} with stride {_show_all(stride)}, expected "
            "whole numbers"
        )
    count = math.prod(size)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    # A stride of zero would make a large tensor of a single number.
    if count and (last >= len(storage) or count > len(storage)):
        raise InputError(
            f"has a tensor of size {_show_all(size)}, offset {offset} and stride "
            f"{_show_all(stride)}, which reaches beyond its storage of {len(storage)} numbers"
        )
    if not count:
        return np.zeros(size, storage.dtype.newbyteorder("="))
    strides = [step * storage.itemsize for step in stride]
    view = np.lib.stride_tricks.as_strided(storage[offset:], size, strides, writeable=False)
    return view.astype(storage.dtype.newbyteorder("="))


def _rebuild_parameter(tensor: Any, *_ignored: Any) -> Any:
    return tensor


def _make_dictionary(*arguments: Any) -> dict[Any, Any]:
    if arguments:
        raise InputError("builds a dictionary in a way that PyTorch does not")
    return {}


def _show_all(values: Any) -> str:
    if not isinstance(values, tuple | list):
        return show(values)
    return f"({', '.join(show(value) for value in values[:5])})"
