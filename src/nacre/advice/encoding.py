"""Results of tasks as bytes and back, bit for bit, without pickles.

A result is a tree: our dataclasses and modules, tuples, lists, dictionaries, plain values, spaces
and arrays. Arrays become tensors of a safetensors file, the rest its description. Only classes of
nacre are made again, by their fields alone: no code of theirs runs.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from nacre.files.documents import parse_json
from nacre.logs import Log
from nacre.logs.schema.spaces import space_from_json, space_to_json
from nacre.policies.formats.tensors import Tensors, digest_tensors, pack_tensors

LARGEST = 2**28
_PLAIN = (str, int, float, bool, type(None))


class NotEncodableError(ValueError):
    """A result that holds something else; it is made again instead of being kept."""


def encode(result: Any) -> bytes:
    """The bytes of a result.

    Raises:
        NotEncodableError: If a part of it is of another kind, or it is too large to be kept.
    """
    tensors: Tensors = {}
    text = json.dumps(_encode(result, tensors))
    if sum(tensor.nbytes for tensor in tensors.values()) > LARGEST:
        raise NotEncodableError("too large")
    metadata = {"tree": text, "sha256": digest_tensors(tensors, text)}
    return pack_tensors(tensors, metadata)


def decode(content: bytes) -> Any:
    """The result of such bytes.

    Raises:
        ValueError: If they are not what was encoded.
    """
    try:
        tensors = safetensors.numpy.load(content)
        size = int.from_bytes(content[:8], "little")
        header = parse_json(content[8 : 8 + size], largest=LARGEST)
        metadata = header["__metadata__"]
        if metadata["sha256"] != digest_tensors(tensors, metadata["tree"]):
            raise ValueError("its digest does not fit")
        return _decode(parse_json(metadata["tree"].encode(), largest=LARGEST), tensors)
    except (safetensors.SafetensorError, KeyError, TypeError, AttributeError, ImportError) as error:
        raise ValueError(str(error)) from None


def _encode(part: Any, tensors: Tensors) -> Any:
    if type(part) in _PLAIN:
        return part
    if isinstance(part, gymnasium.Space):
        return {"space": space_to_json(part)}
    if isinstance(part, np.ndarray | np.generic | jax.Array):
        return _encode_array(part, tensors)
    if isinstance(part, dict) and all(type(key) in (str, int) for key in part):
        pairs = [[key, _encode(value, tensors)] for key, value in part.items()]
        return {"dict": pairs}
    if type(part) in (tuple, list):
        return {type(part).__name__: [_encode(one, tensors) for one in part]}
    if isinstance(part, tuple) and hasattr(part, "_fields"):
        return _encode_fields(part, list(part._fields), tensors)
    if dataclasses.is_dataclass(part) and not isinstance(part, type | Log):
        return _encode_fields(part, [one.name for one in dataclasses.fields(part)], tensors)
    raise NotEncodableError(type(part).__name__)


def _encode_array(part: Any, tensors: Tensors) -> dict[str, Any]:
    kind = "numpy"
    if isinstance(part, jax.Array):
        if jnp.issubdtype(part.dtype, jax.dtypes.prng_key):
            kind, part = "key", jax.random.key_data(part)
        elif part.weak_type:
            raise NotEncodableError("a weakly typed array")
        else:
            kind = "jax"
    kind = "scalar" if isinstance(part, np.generic) else kind
    array = np.asarray(part, order="C")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise NotEncodableError(f"an array of {array.dtype}")
    name = str(len(tensors))
    tensors[name] = array
    return {kind: name, "writeable": bool(isinstance(part, np.ndarray) and part.flags.writeable)}


def _encode_fields(part: Any, names: list[str], tensors: Tensors) -> dict[str, Any]:
    cls = type(part)
    if not cls.__module__.startswith("nacre.") or "<" in cls.__qualname__:
        raise NotEncodableError(f"a {cls.__module__}.{cls.__qualname__}")
    fields = {name: _encode(getattr(part, name), tensors) for name in names if hasattr(part, name)}
    return {"class": [cls.__module__, cls.__qualname__], "fields": fields}


def _decode(part: Any, tensors: Tensors) -> Any:
    if not isinstance(part, dict):
        return part
    if "class" in part:
        module, name = part["class"]
        return _decode_fields(module, name, part["fields"], tensors)
    (kind, value), *_ = part.items()
    if kind in ("tuple", "list"):
        items = [_decode(one, tensors) for one in value]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict":
        return {key: _decode(one, tensors) for key, one in value}
    if kind == "space":
        return space_from_json(value)
    array = np.array(tensors[value])
    if kind == "jax":
        return jnp.asarray(array)
    if kind == "key":
        return jax.random.wrap_key_data(jnp.asarray(array))
    if kind == "scalar":
        return array[()]
    if kind != "numpy":
        raise ValueError(f"{kind!r:.40} is of no known kind")
    array.flags.writeable = part["writeable"]
    return array


def _decode_fields(module: str, name: str, fields: dict[str, Any], tensors: Tensors) -> Any:
    if not module.startswith("nacre."):
        raise ValueError(f"{module}.{name} is not one of ours")
    cls: Any = importlib.import_module(module)
    for one in name.split("."):
        cls = getattr(cls, one)
    values = {key: _decode(value, tensors) for key, value in fields.items()}
    if isinstance(cls, type) and issubclass(cls, tuple):
        return tuple.__new__(cls, [values[key] for key in cls._fields])  # type: ignore[attr-defined]
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise ValueError(f"{module}.{name} is no class of results")
    made = object.__new__(cls)
    for key, value in values.items():
        object.__setattr__(made, key, value)
    return made
