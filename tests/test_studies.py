"""Tables in the docs are those of the studies' records."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "write_tables.py"))
PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_tables_in_the_docs_are_those_of_the_records() -> None:
    shown = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert SCRIPT["render"](text) == text, f"{page.name}: run scripts/write_tables.py"
        shown += [name for _, name, _ in SCRIPT["PLACE"].findall(text)]
    assert sorted(shown) == sorted(SCRIPT["WRITERS"])


def test_a_page_is_filled_from_the_records(tmp_path: Path) -> None:
    looks = [{"true": value, "cost": 1.0} for value in (101.0, 111.0)]
    record = {"world": "hopper", "variant": "base", "seed": 100, "old": 12.0, "healthy": True}
    (tmp_path / "studies").mkdir()
    records = tmp_path / "studies" / "learner.jsonl"
    records.write_text(json.dumps({**record, "looks": looks}) + "\n")
    page = "before\n<!-- table: learner -->\nold\n<!-- end -->\nafter\n"
    filled = SCRIPT["render"](page, tmp_path)
    assert filled.startswith("before\n<!-- table: learner -->\n| variant | hopper |\n")
    assert filled.endswith("| base | 100 → 110 |\n<!-- end -->\nafter\n")
    assert SCRIPT["render"](filled, tmp_path) == filled
    with pytest.raises(KeyError, match="unknown"):
        SCRIPT["render"]("<!-- table: unknown -->\n<!-- end -->", tmp_path)
