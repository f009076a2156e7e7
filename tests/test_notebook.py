"""The notebook of the docs: it ran in Jupyter, and its page is made of it.

That its code still runs, and prints the same, `tests/test_docs.py` checks on the page.
"""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "run_notebook.py"))


@pytest.fixture(scope="module")
def notebook(script: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(script["NOTEBOOK"].read_text(encoding="utf-8"))
    return content


def test_the_page_is_made_of_the_notebook(script: dict[str, Any], notebook: dict[str, Any]) -> None:
    text, pictures = script["render"](notebook)
    assert script["PAGE"].read_text(encoding="utf-8") == text
    for name, content in pictures.items():
        assert (script["PICTURES"] / name).read_bytes() == content


def test_every_cell_ran_and_showed_something(notebook: dict[str, Any]) -> None:
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert all(cell["outputs"] for cell in cells)
    shown = [output.get("data", {}) for cell in cells for output in cell["outputs"]]
    assert sum("text/html" in data for data in shown) == 3
    assert sum("image/png" in data for data in shown) == 1
    # What is left of the progress once it is done.
    assert any(str(data.get("text/plain", "")).startswith("done in") for data in shown)


def test_outputs_become_markdown(script: dict[str, Any]) -> None:
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["a\n"]},
        {"output_type": "stream", "name": "stderr", "text": ["warned\n"]},
        {"output_type": "display_data", "data": {"text/html": ["<p>b</p>\n", "\n", "<p>c</p>"]}},
        {"output_type": "display_data", "data": {"text/plain": "<d>"}},
    ]
    cell = {"cell_type": "code", "source": ["x"], "outputs": outputs}
    text, pictures = script["render"]({"cells": [cell]})
    assert text == (
        "```python\nx\n```\n\n```text\na\n```\n\n<div>\n<p>b</p>\n<p>c</p>\n</div>\n\n"
        "<pre>&lt;d&gt;</pre>\n"
    )
    assert pictures == {}
