"""Reading and writing cost.toml."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from nacre.costs import forms
from nacre.costs.description import describe_cost
from nacre.costs.family import SwitchingCost
from nacre.costs.wording import describe_problem
from nacre.errors import InputError
from nacre.logs.checks.problems import show_path

LARGEST_FILE = 1_000_000

_COST: TypeAdapter[Any] = TypeAdapter(forms.CostForm)


def read_cost(path: str | os.PathLike[str]) -> SwitchingCost:
    """Read a switching cost from a cost.toml file.

    Raises:
        InputError: With every problem found: the file, the key, the value and what was expected.
    """
    return parse_cost(_read_text(Path(path)), show_path(path))


def parse_cost(text: str, source: str = "cost.toml") -> SwitchingCost:
    """The switching cost that a text in the form of cost.toml describes.

    Args:
        text: The TOML document.
        source: What to call it in messages.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{source}: {_syntax_problem(str(error))}") from None
    except (ValueError, RecursionError):
        raise InputError(
            f"{source}: holds a number too long or lists too deep to be read; shorten it"
        ) from None
    return build_cost(document, source)


def build_cost(document: Mapping[str, Any], source: str = "cost") -> SwitchingCost:
    """The switching cost that a document describes, e.g. one made by `describe_cost`."""
    try:
        cost = _COST.validate_python(dict(document)).build()
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=True)
        raise InputError([f"{source}: {describe_problem(detail)}" for detail in details]) from None
    except InputError as error:
        raise InputError([f"{source}: {problem}" for problem in error.problems]) from None
    return cast(SwitchingCost, cost)


def write_cost(cost: SwitchingCost, path: str | os.PathLike[str]) -> None:
    """Write a cost as a cost.toml file that `read_cost` reads back.

    Raises:
        InputError: If a part of the cost is Python code, which a file cannot hold.
    """
    Path(path).write_text(format_cost(cost), encoding="utf-8")


def format_cost(cost: SwitchingCost) -> str:
    """The cost as the text of a cost.toml."""
    form = describe_cost(cost)
    try:
        build_cost(form)
    except InputError as error:
        raise InputError(
            f"this cost has no file form, a part of it is Python code ({error.problems[0]}); keep "
            "it in Python, or use one of the named parts"
        ) from None
    plain = {key: value for key, value in form.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in form.items() if isinstance(value, dict)}
    blocks = [_format_pairs(plain)]
    blocks += [f"[{name}]\n{_format_pairs(table)}" for name, table in tables.items()]
    return "\n".join(blocks)


def _format_pairs(pairs: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {_format_value(value)}\n" for key, value in pairs.items())


def _format_value(value: Any) -> str:
    if isinstance(value, dict):
        inside = ", ".join(f"{key} = {_format_value(entry)}" for key, entry in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list):
        return f"[{', '.join(_format_value(entry) for entry in value)}]"
    # Every string here is a known word: build_cost has accepted it.
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _read_text(path: Path) -> str:
    place = show_path(path)
    if not path.is_file():
        what = "is no regular file" if path.exists() else "does not exist"
        what = "is a directory" if path.is_dir() else what
        raise InputError(f"{place}: {what}; give the path of a cost.toml")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise InputError(f"{place}: cannot be read ({error.strerror}); mend its access") from None
    if len(content) > LARGEST_FILE:
        raise InputError(f"{place}: larger than 1 MB, which no description of a cost is")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{place}: byte {error.start} is not UTF-8; save the file in that encoding"
        ) from None


def _syntax_problem(text: str) -> str:
    """The parser ends its messages with "(at line 1, column 2)"; places come first here."""
    what, _, where = text.rpartition(" (at ")
    return f"{where.removesuffix(')')}: not valid TOML: {what}"
