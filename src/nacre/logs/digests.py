"""Digests of a log: the same in whichever file format it lies."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator

import numpy as np

from nacre.logs.checks.assembly import ROW_ARRAYS, Content
from nacre.logs.schema.spaces import space_to_json
from nacre.logs.storage.stores import blocks


def fingerprint(content: Content) -> str:
    """The SHA-256 of arrays and spaces."""
    digest = hashlib.sha256()
    for part in _list_bytes(content):
        digest.update(part)
    return digest.hexdigest()


def checksum(content: Content) -> str:
    """The CRC-32 of the same, as eight hexadecimal digits."""
    value = 0
    for part in _list_bytes(content):
        value = zlib.crc32(part, value)
    return f"{value:08x}"


def _list_bytes(content: Content) -> Iterator[bytes | memoryview]:
    spaces = [space_to_json(content.observation_space), space_to_json(content.action_space)]
    yield json.dumps(spaces, sort_keys=True).encode()
    arrays = {name: getattr(content, name) for name in (*ROW_ARRAYS, "offsets")}
    further = {f"columns/{name}": content.columns[name] for name in sorted(content.columns)}
    for name, values in (arrays | further).items():
        yield f"{name}:{values.dtype.str}:{values.shape}".encode()
        for rows in blocks(values):
            part = values[rows]
            # Adding zero makes -0.0 and 0.0 the same: they are the same log.
            plain = part if part.dtype.kind == "b" else part + part.dtype.type(0)
            yield np.ascontiguousarray(plain).data
