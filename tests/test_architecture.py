"""The page of the architecture shows what is there: the files, the protocols, the imports."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(?:py)?\n# (\S+)\n(.*?)^```$", PAGE, flags=re.M | re.S)


def load_script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("path", "text"), BLOCKS)
def test_what_the_page_shows_stands_in_the_file(path: str, text: str) -> None:
    """Line by line, in the same order; lines in between may be left out."""
    lines = iter((ROOT / path).read_text(encoding="utf-8").splitlines())
    for line in text.splitlines():
        assert any(line == other for other in lines), f"{path}: {line!r} is not there"


def test_the_page_has_every_part_of_the_example_package() -> None:
    shown = {path for path, _ in BLOCKS}
    files = (ROOT / "examples" / "plugin" / "src" / "nacre_example").glob("*.py")
    assert {path.relative_to(ROOT).as_posix() for path in files if path.stem[0] != "_"} <= shown
    assert len(BLOCKS) == 3 * 6


def test_every_room_is_in_the_table() -> None:
    rooms = {path.parent.name for path in (ROOT / "src" / "nacre").glob("*/__init__.py")}
    assert rooms <= set(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.M))


def test_the_picture_is_what_the_imports_are() -> None:
    script = load_script("draw_architecture")
    layers = script.read_layers()
    arrows = script.find_arrows(layers)
    assert ("advice", "estimators") in arrows
    assert ("logs", "policies") not in arrows
    drawn = script.draw(layers, script.reduce_arrows(arrows, layers))
    assert script.PICTURE.read_text(encoding="utf-8") == drawn
    rooms = {path.parent.name for path in (ROOT / "src" / "nacre").glob("*/__init__.py")}
    assert {room for layer in layers for room in layer} == rooms


def test_arrows_that_follow_from_others_are_left_out() -> None:
    script = load_script("draw_architecture")
    layers = [["a"], ["b", "c"], ["d"]]
    arrows = {("a", "b"), ("b", "d"), ("a", "d"), ("b", "c"), ("d", "a")}
    assert script.reduce_arrows(arrows, layers) == {("a", "b"), ("b", "d"), ("b", "c")}
