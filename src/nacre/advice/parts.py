"""Parts of a configuration as plain data and back: dataclasses as tables, fields by their names."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from nacre.advice.field_values import (
    UNFIT,
    describe_kind,
    list_classes,
    name_class,
    read_hints,
    read_plain,
)
from nacre.errors import InputError, suggest_name
from nacre.logs.checks.problems import show
from nacre.plugins.registry import Registry


def describe_part(registry: Registry[Any], part: Any) -> dict[str, Any]:
    """A part as plain data: the name of its kind, its own name, and its fields."""
    kind = registry.find_name(type(part)) or type(part).__name__
    return {"kind": kind, "name": part.name, **describe_fields(part)}


def describe_fields(part: Any) -> dict[str, Any]:
    """The fields of a dataclass as plain data.

    A dataclass within says its kind where the field may hold one of several.
    """
    hints = read_hints(type(part))
    return {
        name: _describe_value(getattr(part, name), hints.get(name, Any))
        for name in list_fields(part)
    }


def list_fields(part: Any) -> list[str]:
    """Names of the fields that can be given."""
    if not dataclasses.is_dataclass(part):
        return []
    return [one.name for one in dataclasses.fields(part) if one.init]


def _describe_value(value: Any, hint: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = {"kind": name_class(type(value))} if len(list_classes(hint)) > 1 else {}
        return kind | describe_fields(value)
    if isinstance(value, Mapping):
        return {name: _describe_value(entry, Any) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_describe_value(entry, Any) for entry in value]
    return value


def build_part(registry: Registry[Any], entry: Any, place: str, problems: list[str]) -> Any:
    """The part that an entry describes, or None if there is a problem.

    Args:
        registry: Where its kind is found.
        entry: The name of the kind, or a table with `kind` and those fields that are not as the
            kind has them by itself.
        place: What to call it in messages.
        problems: Gets a line for each problem.
    """
    if not isinstance(entry, str | Mapping):
        problems.append(
            f"{place} = {show(entry)}: must be the name of a {registry.kind}, or a table with its "
            "kind"
        )
        return None
    table = {"kind": entry} if isinstance(entry, str) else dict(entry)
    kind = table.pop("kind", None)
    if not isinstance(kind, str):
        what = "has no kind" if kind is None else f"kind = {show(kind)}: must be text"
        problems.append(f"{place}: {what}; known are {', '.join(registry.names)}")
        return None
    try:
        part = registry.find(kind)()
    except InputError as error:
        problems += [f"{place}: {problem}" for problem in error.problems]
        return None
    # Some are named after their settings: records have that name, and no field holds it.
    named = None if "name" in list_fields(part) else table.pop("name", None)
    part = change_part(part, table, place, problems, kind)
    if part is not None and named not in (None, part.name):
        problems.append(
            f"{place}.name = {show(named)}: its settings name it {part.name!r}; leave it out"
        )
    return part


def change_part(
    part: Any, table: Mapping[str, Any], place: str, problems: list[str], kind: str
) -> Any:
    """A dataclass with those fields changed that a table names, or None if there is a problem."""
    before = len(problems)
    changes = read_fields(part, table, place, problems, kind)
    if len(problems) > before:
        return None
    try:
        return dataclasses.replace(part, **changes) if changes else part
    except InputError as error:
        problems += [_locate(place, problem, part) for problem in error.problems]
        return None


def read_fields(
    part: Any, table: Mapping[str, Any], place: str, problems: list[str], kind: str
) -> dict[str, Any]:
    """The values of a table by field, each of the type that its field has."""
    names, hints = list_fields(part), read_hints(type(part))
    changes = {}
    for name, value in table.items():
        here = f"{place}.{name}" if place else name
        if name not in names:
            hint = suggest_name(name, names)
            problems.append(f"{here} = {show(value)}: {kind} has no such field; {hint}")
            continue
        found = _read_value(hints.get(name, Any), value, getattr(part, name), here, problems)
        if found is not UNFIT:
            changes[name] = found
    return changes


def _read_value(hint: Any, value: Any, present: Any, place: str, problems: list[str]) -> Any:
    """What a field gets, or `UNFIT` after a problem; a table changes what the field has now."""
    classes = list_classes(hint)
    if isinstance(value, Mapping) and classes:
        table = dict(value)
        cls = _choose_class(classes, table, present, place, problems)
        if cls is None:
            return UNFIT
        try:
            # What another class had says nothing of this one.
            start = present if type(present) is cls else cls()
        except TypeError:
            problems.append(f"{place}: {name_class(cls)} has no defaults; give it in Python")
            return UNFIT
        changed = change_part(start, table, place, problems, name_class(cls))
        return UNFIT if changed is None else changed
    found = read_plain(hint, value)
    if found is UNFIT:
        problems.append(f"{place} = {show(value)}: must be {describe_kind(hint)}")
    return found


def _choose_class(
    classes: Sequence[type],
    table: dict[str, Any],
    present: Any,
    place: str,
    problems: list[str],
) -> type | None:
    """The class that a table is about: the one that it names, else the one that is there now."""
    known = {name_class(cls): cls for cls in classes}
    kind = table.pop("kind", None) if len(classes) > 1 else None
    if kind is None:
        now = type(present)
        chosen = now if now in classes else classes[0] if len(classes) == 1 else None
        if chosen is None:
            problems.append(f"{place}: has no kind; known are {', '.join(known)}")
        return chosen
    if str(kind) not in known:
        problems.append(f"{place}.kind = {show(kind)}: {suggest_name(str(kind), known)}")
    return known.get(str(kind))


def _locate(place: str, problem: str, part: Any) -> str:
    """What a part complains of, with the whole way to the field."""
    last = re.split(r"[.\]]", place)[-1]
    if last and problem.startswith(f"{last}."):
        return f"{place}{problem.removeprefix(last)}"
    named = re.match(r"\w+", problem)
    if named is not None and named.group() in list_fields(part):
        return f"{place}.{problem}" if place else problem
    return f"{place}: {problem}" if place else problem
