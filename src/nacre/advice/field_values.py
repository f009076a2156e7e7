"""Values of a dataclass's fields as TOML and JSON write them: checked against the field's type."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal

NOTHING = "none"
"""Stands for None in TOML, which has no word for it."""
UNFIT: Any = object()
"""What a value is that its field cannot hold."""
WORDS = {
    bool: ("true or false", "true or false"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("text", "texts"),
}
"""One and several."""


def read_hints(cls: type) -> dict[str, Any]:
    """The types of a class's fields; none where they cannot be found."""
    try:
        return typing.get_type_hints(cls)
    except (NameError, TypeError):
        return {}


def list_classes(hint: Any) -> list[type]:
    """The dataclasses that a field of this type may hold."""
    options = _split_union(hint)
    return [one for one in options if isinstance(one, type) and dataclasses.is_dataclass(one)]


def name_class(cls: type) -> str:
    """The kind of a dataclass within a part: StoppingRule is stopping_rule."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


def read_plain(hint: Any, value: Any) -> Any:
    """A value as a field of this type holds it, or `UNFIT`; tables of dataclasses are not read."""
    options = _split_union(hint)
    if types.NoneType in options and value in (None, NOTHING):
        return None
    found = (_read_one(option, value) for option in options)
    return next((one for one in found if one is not UNFIT), UNFIT)


def describe_kind(hint: Any) -> str:
    """What a field of this type holds, for messages."""
    return " or ".join(dict.fromkeys(map(_describe_one, _split_union(hint))))


def _split_union(hint: Any) -> tuple[Any, ...]:
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return typing.get_args(hint) if union else (hint,)


def _read_one(hint: Any, value: Any) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if hint is float:
        return _read_number(value)
    if hint in WORDS:
        return value if type(value) is hint else UNFIT
    if origin is Literal:
        same = (one for one in inner if type(one) is type(value) and one == value)
        return next(same, UNFIT)
    if origin in (tuple, list) and isinstance(value, list | tuple):
        return _read_list(origin, inner, value)
    if origin in (dict, Mapping) and isinstance(value, Mapping):
        entries = {name: read_plain(inner[1], entry) for name, entry in value.items()}
        return UNFIT if any(one is UNFIT for one in entries.values()) else entries
    return UNFIT


def _read_number(value: Any) -> Any:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return UNFIT
    try:
        return float(value)
    except OverflowError:
        return UNFIT


def _read_list(origin: type, inner: tuple[Any, ...], values: Any) -> Any:
    """A list of any length, or a tuple with a type for each place."""
    any_length = origin is list or inner[1:] == (Ellipsis,)
    hints = inner[:1] * len(values) if any_length else inner
    if len(hints) != len(values):
        return UNFIT
    found = [read_plain(hint, one) for hint, one in zip(hints, values, strict=True)]
    return UNFIT if any(one is UNFIT for one in found) else origin(found)


def _describe_one(hint: Any) -> str:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is types.NoneType:
        return f'"{NOTHING}"'
    if hint in WORDS:
        return WORDS[hint][0]
    if origin is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if origin in (tuple, list):
        many = WORDS.get(inner[0], ("", ""))[1] if len(set(inner) - {Ellipsis}) == 1 else ""
        return f"a list of {many}" if many else "a list"
    if origin in (dict, Mapping) or dataclasses.is_dataclass(hint):
        return "a table"
    return "left out: no file has a form for it"
