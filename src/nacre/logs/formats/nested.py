"""Nested Arrow tables made flat: structs by name, and rows that hold whole episodes.

Three forms are known. Columns of structs (dictionaries of observations) become `name.field`. A
column `steps` of lists of structs is RLDS: the last step of an episode only holds the observation
behind the last transition. Lists of rewards and of vectors, an episode a row, are spread out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nacre.logs.formats.arrow_columns import is_list
from nacre.logs.schema.masks import normalise_name
from nacre.logs.schema.recognition import ALIASES

STEPS = "steps"
_ENDS = ("is_first", "is_last", "is_terminal")


def is_nested(schema: Any) -> bool:
    """Return whether a table has columns that have to be made flat."""
    return any(
        pa.types.is_struct(kind)
        or (is_list(kind) and (is_list(kind.value_type) or pa.types.is_struct(kind.value_type)))
        for kind in schema.types
    ) or any(_is_reward_list(field) for field in schema)


def flatten(table: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the table with a row for each transition or step, and notes on what was done."""
    table, notes = _flatten_structs(table)
    if STEPS in table.schema.names and is_list(table.schema.field(STEPS).type):
        return _read_steps(table), (*notes, "episodes were read as RLDS keeps them, step by step")
    if any(_is_reward_list(field) and _has_several(table, field) for field in table.schema):
        return _spread(table), (*notes, "every row of the file is a whole episode")
    return table, notes


def _is_reward_list(field: Any) -> bool:
    return is_list(field.type) and normalise_name(field.name) in ALIASES["reward"]


def _has_several(table: Any, field: Any) -> bool:
    """Whether some rows hold more than one number: lists of one are numbers in a wrapping."""
    longest = pc.max(pc.list_value_length(table.column(field.name))).as_py()
    return longest is not None and longest > 1


def _flatten_structs(table: Any) -> tuple[Any, tuple[str, ...]]:
    """Structs by name, as deep as they go; pictures and other bytes are left out."""
    left_out: list[str] = []
    while True:
        bytes_in = [field.name for field in table.schema if _holds_bytes(field.type)]
        left_out += bytes_in
        table = table.drop_columns(bytes_in)
        if not any(pa.types.is_struct(kind) for kind in table.schema.types):
            break
        table = table.flatten()
    notes = tuple(f"the column '{name}' holds bytes and was left out" for name in left_out)
    return table, notes


def _holds_bytes(kind: Any) -> bool:
    """Whether values are bytes, or a struct of them beside a path, as pictures are kept."""
    if pa.types.is_struct(kind):
        return any(_holds_bytes(field.type) for field in kind if not pa.types.is_struct(field.type))
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _explode(column: Any) -> tuple[Any, NDArray[np.int64]]:
    """The entries of lists one after the other, and the row that each comes from."""
    whole = column.combine_chunks()
    rows = pc.list_parent_indices(whole).to_numpy(zero_copy_only=False)
    return pc.list_flatten(whole), np.asarray(rows, np.int64)


def _read_steps(table: Any) -> Any:
    steps, episode = _explode(table.column(STEPS))
    flat, _ = _flatten_structs(pa.Table.from_struct_array(steps))
    # The last step of an episode is no transition, but the observation behind the last one.
    inner = np.flatnonzero(episode[1:] == episode[:-1])
    columns: dict[str, Any] = {"episode": pa.array(episode[inner])}
    for name in flat.schema.names:
        if name in _ENDS:
            continue
        columns[name] = flat.column(name).take(pa.array(inner))
        if name == "observation" or name.startswith("observation."):
            columns[f"next_{name}"] = flat.column(name).take(pa.array(inner + 1))
    ended = {name: _flags(flat, name)[inner + 1] for name in ("is_terminal", "is_last")}
    columns["terminated"] = pa.array(ended["is_terminal"])
    columns["truncated"] = pa.array(ended["is_last"] & ~ended["is_terminal"])
    return pa.table(columns)


def _flags(table: Any, name: str) -> NDArray[np.bool_]:
    if name not in table.schema.names:
        return np.zeros(table.num_rows, np.bool_)
    return np.asarray(table.column(name).to_numpy(), np.bool_)


def _spread(table: Any) -> Any:
    reward = next(field.name for field in table.schema if _is_reward_list(field))
    _, episode = _explode(table.column(reward))
    columns: dict[str, Any] = {"episode": pa.array(episode)}
    for field in table.schema:
        if field.name == "episode":
            continue
        column = table.column(field.name)
        if not is_list(field.type):
            columns[field.name] = column.take(pa.array(episode))
            continue
        entries, rows = _explode(column)
        if np.array_equal(rows, episode):
            columns[field.name] = entries
    return pa.table(columns)
