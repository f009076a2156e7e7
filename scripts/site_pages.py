"""Pages of the documentation that lie elsewhere in the repository: the changelog.

MkDocs calls this while it builds the site (`hooks` in mkdocs.yml).
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"changelog.md": ROOT / "CHANGELOG.md"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to those under docs/; links to docs/ lead to the same pages there."""
    for name, source in PAGES.items():
        content = source.read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, name, content=content))
    return files
