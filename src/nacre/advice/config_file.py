"""A configuration of advice as a document, in a TOML file or in a record, and back.

Names are those of Python: the fields of `AdviceConfig` at the top, and for each learner and each
estimator a table with its `kind`, the name in the registry, and the fields that are to be changed.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nacre.advice.config import AdviceConfig
from nacre.advice.field_values import NOTHING
from nacre.advice.parts import (
    build_part,
    describe_fields,
    describe_part,
    list_fields,
    read_fields,
)
from nacre.errors import InputError
from nacre.estimators import ESTIMATORS
from nacre.inference import RULES
from nacre.learners import LEARNERS
from nacre.logs.checks.problems import show, show_path
from nacre.logs.documents import format_document, parse_document, read_document
from nacre.plugins.registry import Registry

LISTS: dict[str, Registry[Any]] = {"learners": LEARNERS, "estimators": ESTIMATORS}
WHAT = "an advice configuration in TOML"


def read_changes(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of `AdviceConfig` that a TOML file sets, and their values.

    Raises:
        InputError: One line for each problem: the file, the place, the value and the remedy.
    """
    return build_changes(read_document(Path(path), WHAT), show_path(path))


def build_changes(document: Mapping[str, Any], source: str = "config") -> dict[str, Any]:
    """The fields that a document sets, such as one that `describe_config` made.

    Args:
        document: Fields by name. Lists of learners and estimators are whole: nothing is added.
        source: What to call the document in messages.
    """
    table, plain = dict(document), AdviceConfig()
    problems: list[str] = []
    changes: dict[str, Any] = {
        name: _build_list(registry, table.pop(name), name, problems)
        for name, registry in LISTS.items()
        if name in table
    }
    if "rule" in table:
        changes["rule"] = build_part(RULES, table.pop("rule"), "rule", problems)
    changes |= read_fields(plain, table, "", problems, "an advice configuration")
    if not problems:
        try:
            dataclasses.replace(plain, **changes)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError([f"{source}: {problem}" for problem in problems])
    return changes


def describe_config(config: AdviceConfig) -> dict[str, Any]:
    """All values as plain data; a rule is its name where it is as it comes."""
    kind = RULES.find_name(type(config.rule))
    default = kind is not None and RULES.find(kind)() == config.rule
    parts = {
        name: [describe_part(registry, part) for part in getattr(config, name)]
        for name, registry in LISTS.items()
    }
    rule = kind if default else describe_part(RULES, config.rule)
    return {**describe_fields(config), **parts, "rule": rule}


def format_config(config: AdviceConfig) -> str:
    """The configuration as the text of a TOML file.

    Raises:
        InputError: If a part of it is not registered, or holds what TOML has no form for.
    """
    document = describe_config(config)
    for name in LISTS:
        document[name] = [
            {key: value for key, value in entry.items() if key in ("kind", *list_fields(part))}
            for entry, part in zip(document[name], getattr(config, name), strict=True)
        ]
    try:
        text = format_document(_name_nothing(document))
        again = dataclasses.replace(AdviceConfig(), **build_changes(parse_document(text, "config")))
    except InputError as error:
        raise InputError(
            f"this configuration has no file form ({error.problems[0]}); keep it in Python, or "
            "register its parts"
        ) from None
    if again != config:
        raise InputError(
            "this configuration has no file form, what a file says of it is another one; keep it "
            "in Python"
        )
    return text


def _build_list(
    registry: Registry[Any], entries: Any, name: str, problems: list[str]
) -> tuple[Any, ...]:
    if not isinstance(entries, list | tuple):
        problems.append(
            f"{name} = {show(entries)}: must be a list; write [[{name}]] above each of them"
        )
        return ()
    found = (
        build_part(registry, entry, f"{name}[{place}]", problems)
        for place, entry in enumerate(entries)
    )
    return tuple(part for part in found if part is not None)


def _name_nothing(value: Any) -> Any:
    """The same with the word that stands for None."""
    if isinstance(value, Mapping):
        return {name: _name_nothing(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_name_nothing(entry) for entry in value]
    return NOTHING if value is None else value
