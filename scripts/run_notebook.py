"""Run the notebook of the docs and write its page: `python scripts/run_notebook.py [--page]`.

The notebook runs in Jupyter's own kernel, in an empty directory, and is kept with what its cells
showed. That needs nbclient and ipykernel, which nothing else here does. The page is made of the
notebook; with `--page` nothing is run.
"""

from __future__ import annotations

import argparse
import base64
import importlib
import json
import re
import tempfile
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs" / "notebooks" / "desk.ipynb"
PAGE = ROOT / "docs" / "desk_notebook.md"
PICTURES = ROOT / "docs" / "pictures"
SECONDS = 600


def run(path: Path) -> None:
    """Execute the cells and keep what they show."""
    nbformat, nbclient = (importlib.import_module(name) for name in ("nbformat", "nbclient"))
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        nbclient.NotebookClient(notebook, timeout=SECONDS, resources=resources).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    text = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def render(notebook: dict[str, Any]) -> tuple[str, dict[str, bytes]]:
    """The page in Markdown, and its pictures by name."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            if output["output_type"] == "stream" and output["name"] == "stdout":
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
                continue
            data = output.get("data", {})
            if "image/png" in data:
                name = f"desk_notebook_{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode(data["image/png"])
                parts.append(f"![What the cell above drew](pictures/{name})")
            elif "text/html" in data:
                # Lines that are empty would end the block of HTML.
                text = re.sub(r"\n\s*\n", "\n", "".join(data["text/html"]))
                parts.append(f"<div>\n{text}\n</div>")
            elif "text/plain" in data:
                parts.append(f"<pre>{escape(''.join(data['text/plain']))}</pre>")
    return "\n\n".join(parts) + "\n", pictures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="run nothing, write the page anew")
    if not parser.parse_args().page:
        run(NOTEBOOK)
    text, pictures = render(json.loads(NOTEBOOK.read_text(encoding="utf-8")))
    PAGE.write_text(text, encoding="utf-8")
    for name, content in pictures.items():
        (PICTURES / name).write_bytes(content)


if __name__ == "__main__":
    main()
