"""Rules of the house that no other tool checks: words, sizes, and who may know whom."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "nacre"
MODULES = sorted(SOURCE.rglob("*.py"))
LOOSE = {"__init__.py", "__main__.py", "errors.py", "versions.py"}
LONGEST_FUNCTION = 60
LONGEST_MODULE = 350
MOST_IMPORTS = 12
DECISION = ("advice", "inference", "estimators", "diagnostics")
WORDS = (
    "court",
    "school",
    "hearing",
    "appeal",
    "thrift",
    "lesson",
    "panel",
    "calm",
    "doubt",
    "incumbent",
    "brought",
    "sparing",
    "dear",
    "telling",
)
"""Names of our own where the field has a word. English words that contain them are fine."""
SPELLED = re.compile(rf"(?<![a-z])({'|'.join(WORDS)})(s|ed|ing|est|er|y|ful)?(?![a-z])", re.I)
ALLOWED = {
    # Words of other people's interfaces, and a reader of old records.
    "src/nacre/advice/record_1.py": {"doubt"},
    "src/nacre/cli/app.py": {"panel"},
    "src/nacre/cli/console.py": {"Panel", "panel"},
    "src/nacre/cli/groups.py": {"panel"},
}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def our_imports(path: Path) -> Iterator[tuple[str, str]]:
    """Modules of ours and the names taken from them."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nacre"):
            for alias in node.names:
                yield node.module or "", alias.name


def test_nothing_lies_loose_at_the_root() -> None:
    assert {path.name for path in SOURCE.glob("*.py")} == LOOSE


def test_every_module_of_the_source_has_a_size_one_can_read() -> None:
    long = [name(path) for path in MODULES if len(path.read_text().splitlines()) > LONGEST_MODULE]
    assert long == []


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{name(path)}:{node.lineno} {node.name}"
        for path in MODULES
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION and not is_command(node)
    ]
    assert long == []


def is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Commands list their options as parameters: many lines, no logic."""
    return any("app.command" in ast.unparse(one) for one in node.decorator_list)


def test_no_private_name_is_used_across_modules() -> None:
    used = [
        f"{name(path)}: {module}.{taken}"
        for path in MODULES
        for module, taken in our_imports(path)
        if taken.startswith("_") and not taken.startswith("__")
    ]
    assert used == []


@pytest.mark.parametrize("room", DECISION)
def test_a_module_of_the_decision_knows_at_most_twelve_others(room: str) -> None:
    many = {
        name(path): len({module for module, _ in our_imports(path)})
        for path in (SOURCE / room).rglob("*.py")
    }
    assert {path: count for path, count in many.items() if count > MOST_IMPORTS} == {}


def test_the_source_speaks_the_words_of_the_field() -> None:
    found = []
    for path in MODULES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for match in SPELLED.finditer(line.replace("_", " ")):
                if match.group(0) not in ALLOWED.get(name(path), set()):
                    found.append(f"{name(path)}:{number}: {match.group(0)}")
    assert found == []


def test_the_documentation_speaks_them_too() -> None:
    pages = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    found = [
        f"{name(path)}:{number}: {match.group(0)}"
        for path in pages
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        for match in SPELLED.finditer(line.replace("_", " "))
    ]
    assert found == []


def test_no_test_imports_another_test_file() -> None:
    found = [
        f"{name(path)}: {node.module}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ImportFrom)
        and any(part.startswith("test_") for part in (node.module or "").split("."))
    ]
    assert found == []
