"""The public surface: one list of names, the same for type checkers, and typed signatures."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import nacre

SOURCE = Path(inspect.getfile(nacre))


def find_typed_names() -> dict[str, set[str]]:
    """Names by the module that they are imported from, for type checkers only."""
    (block,) = (
        node
        for node in ast.parse(SOURCE.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    found: dict[str, set[str]] = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name
            found.setdefault(node.module or "", set()).add(alias.name)
    return found


def test_type_checkers_see_the_same_names() -> None:
    assert find_typed_names() == {home: set(names) for home, names in nacre.PUBLIC.items()}
    names = [name for names in nacre.PUBLIC.values() for name in names]
    assert len(names) == len(set(names))
    assert set(nacre.__all__) == {"__version__", *names}


@pytest.mark.parametrize("name", sorted(set(nacre.__all__) - {"__version__"}))
def test_every_name_is_there_and_has_no_nameless_options(name: str) -> None:
    thing = getattr(nacre, name)
    if inspect.ismodule(thing):
        assert thing is importlib.import_module(thing.__name__)
        return
    assert thing.__doc__
    if inspect.isfunction(thing):
        parameters = inspect.signature(thing).parameters.values()
        assert all(one.kind is not inspect.Parameter.VAR_KEYWORD for one in parameters)
        assert all(one.annotation is not inspect.Parameter.empty for one in parameters)


def test_what_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'guess'"):
        _ = nacre.guess


def test_evaluate_stands_beside_advise() -> None:
    """The same questions have the same names."""
    asked, valued = (inspect.signature(one).parameters for one in (nacre.advise, nacre.evaluate))
    assert {"log", "old_policy", "start", "discount", "confidence", "config", "seed"} <= set(asked)
    assert {"log", "old_policy", "start", "discount", "confidence", "config", "seed"} <= set(valued)


def test_importing_nacre_imports_nothing_large() -> None:
    code = "import sys, nacre; dir(nacre); print({'jax', 'numpy', 'pyarrow'} & set(sys.modules))"
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"
