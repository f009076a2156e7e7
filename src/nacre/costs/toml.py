"""Reading and writing cost.toml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from nacre.costs import forms
from nacre.costs.description import describe_cost
from nacre.costs.family import SwitchingCost
from nacre.costs.wording import describe_problem
from nacre.errors import InputError, check_arguments
from nacre.files.commit import write_whole
from nacre.logs.checks.problems import show_path
from nacre.logs.documents import format_document, parse_document, read_document

_COST: TypeAdapter[Any] = TypeAdapter(forms.CostForm)


@check_arguments
def read_cost(path: str | os.PathLike[str]) -> SwitchingCost:
    """Read a switching cost from a cost.toml file.

    Raises:
        InputError: With every problem found: the file, the key, the value and what was expected.
    """
    return build_cost(read_document(Path(path), "a cost.toml"), show_path(path))


def parse_cost(text: str, source: str = "cost.toml") -> SwitchingCost:
    """The switching cost that a text in the form of cost.toml describes.

    Args:
        text: The TOML document.
        source: What to call it in messages.
    """
    return build_cost(parse_document(text, source), source)


def build_cost(document: Mapping[str, Any], source: str = "cost") -> SwitchingCost:
    """The switching cost that a document describes, e.g. one made by `describe_cost`."""
    try:
        form = _COST.validate_python(dict(document))
        cost = form.name(form.build())
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
    write_whole(Path(path), format_cost(cost).encode())


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
    return format_document(form)
