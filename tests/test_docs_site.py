"""The site of the docs: no warning, no link into nowhere, every public name in the reference."""

from __future__ import annotations

import importlib
import inspect
import logging
import pkgutil
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote, urlsplit

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

import nacre

ROOT = Path(__file__).resolve().parent.parent
# Made by the theme, not by us: where pages that do not exist lead, relative to any address.
UNLINKED = "404.html"


class _Page(HTMLParser):
    """What a page links to and loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(values.get("href", ""))
        elif tag in ("script", "img", "iframe", "source") and "src" in values:
            self.loaded.append(values["src"])


class _Heard(logging.Handler):
    """Everything said at the level of a warning or above."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(f"{record.name}: {record.getMessage()}")


@pytest.fixture(scope="module")
def heard() -> Iterator[_Heard]:
    """MkDocs and all its plugins log below one name."""
    handler = _Heard()
    logger = logging.getLogger("mkdocs")
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, heard: _Heard) -> dict[Path, _Page]:
    """The pages of the site, built anew."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")
        build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    assert not heard.messages
    return {path: _Page(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}


def test_site_has_a_page_for_every_file(site: dict[Path, _Page]) -> None:
    names = {path.name for path in site}
    for source in [*(ROOT / "docs").rglob("*.md"), ROOT / "CHANGELOG.md"]:
        assert f"{source.stem.lower()}.html" in names


def test_links_lead_somewhere(site: dict[Path, _Page]) -> None:
    for path, page in site.items():
        if path.name == UNLINKED:
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{path.name}: {link} leads nowhere"
            if parts.fragment and target in site:
                anchor = unquote(parts.fragment)
                assert anchor in site[target].anchors, f"{path.name}: {link} has no such place"


def test_nothing_is_loaded_from_elsewhere(site: dict[Path, _Page]) -> None:
    for path, page in site.items():
        for address in page.loaded:
            parts = urlsplit(address)
            assert parts.scheme in ("", "data"), f"{path.name} loads {address}"
            assert not parts.netloc, f"{path.name} loads {address}"


def _packages() -> list[ModuleType]:
    """nacre and those of its packages that say what is public in them."""
    names = [found.name for found in pkgutil.iter_modules(nacre.__path__, "nacre.") if found.ispkg]
    modules = [nacre, *map(importlib.import_module, names)]
    return [module for module in modules if hasattr(module, "__all__")]


PUBLIC = [(module, name) for module in _packages() for name in module.__all__ if name[0] != "_"]


def _paths(module: ModuleType, name: str) -> set[str]:
    """The names that a public thing may have in the reference: where it is offered, its home."""
    found = getattr(module, name)
    home = getattr(found, "__module__", None)
    offered = {f"{other.__name__}.{name}" for other, also in PUBLIC if also == name}
    if inspect.ismodule(found):
        return offered | {found.__name__}
    return offered | {f"{home}.{getattr(found, '__qualname__', name)}"}


def test_public_names_are_in_the_reference(site: dict[Path, _Page]) -> None:
    reference = set().union(*(page.anchors for path, page in site.items() if "api" in path.parts))
    for module, name in PUBLIC:
        assert _paths(module, name) & reference, f"{module.__name__}.{name} is not in docs/api"


def test_public_names_are_described() -> None:
    for module, name in PUBLIC:
        found = getattr(module, name)
        if inspect.ismodule(found) or inspect.isclass(found) or inspect.isfunction(found):
            # What a class inherits says nothing about it.
            own = vars(found).get("__doc__") if inspect.isclass(found) else found.__doc__
            assert own, f"{module.__name__}.{name} has no docstring"
            assert not own.startswith(f"{name}("), (
                f"{module.__name__}.{name} has no words of its own"
            )


def test_public_names_of_nacre_are_on_the_first_page_of_the_reference() -> None:
    page = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(?:nacre\.)?(\w+)`", page))
    assert set(nacre.__all__) <= listed
