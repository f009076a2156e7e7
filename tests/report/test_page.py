"""The page is whole, harmless and small, whatever the decision holds."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup

from nacre.advice.record import check_decision
from nacre.errors import InputError
from nacre.plugins.registry import Registry
from nacre.report.evidence import Evidence, read_evidence
from nacre.report.page import format_report, render_sections, write_report
from nacre.report.sections.base import Context
from nacre.report.text import clean
from tests.report.conftest import DOCUMENT, FIRST_DOCUMENT, FIRST_EXAMPLE
from tests.support.hostile import LONG, STRINGS, poison

LARGEST_PAGE = 6_000_000
VOID = {"meta", "input", "br", "link", "img", "hr"}
TAGS = re.findall(
    r"\w+",
    """a bdi body button circle dd defs details div dl dt em fieldset figcaption figure footer form
    g h1 h2 head header html input label legend li line main meta noscript output p path pattern
    polygon polyline pre rect script section small span strong style summary svg table tbody td
    text th thead title tr ul""",
)


class Page(HTMLParser):
    """Elements in order; nesting is checked on the way."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"{tag}: an attribute twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def find(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def shown(self) -> str:
        parts = (text for tag, texts in self.texts.items() for text in texts if tag != "script")
        return "\n".join(parts)


def _check_harmless(page: Page) -> None:
    assert not page.open
    names = {name for name, _ in page.elements}
    assert names <= set(TAGS)
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), f"{tag} has {name}"
            assert name not in ("style", "src", "action", "formaction", "srcdoc", "xlink:href")
            if name == "href":
                assert value == "#verdict"
    assert len(page.find("script")) == 2
    assert len(page.find("style")) == 1
    assert len(page.find("meta")) == 5


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(format_report(DOCUMENT, read_evidence(FIRST_EXAMPLE)))


def test_the_page_is_well_formed_and_harmless(page: Page) -> None:
    _check_harmless(page)
    identifiers = [a["id"] for _, a in page.elements if "id" in a]
    assert len(identifiers) == len(set(identifiers))
    for attributes in page.find("label"):
        assert attributes["for"] in identifiers
    for _, attributes in page.elements:
        if "aria-labelledby" in attributes:
            assert attributes["aria-labelledby"] in identifiers


def test_sections_come_in_their_order(page: Page) -> None:
    assert [text.strip() for text in page.texts["h2"]] == [
        "Next steps",
        "What is gained",
        "What each estimator says",
        "What switching costs",
        "At other weights of the cost",
        "Candidates",
        "What if we are wrong?",
        "What the log lacks",
        "Checks of the log",
        "How the candidates were learned",
        "Where the change happens",
        "Words",
        "Record",
    ]
    assert page.texts["h1"] == ["Switch"]


def test_the_first_format_has_its_page() -> None:
    page = Page(format_report(FIRST_DOCUMENT, read_evidence(FIRST_EXAMPLE)))
    _check_harmless(page)
    assert "Replace the old policy by “learned-0.02”" in page.shown
    assert "recorded by another version" in page.shown


class Loud:
    """A section of another package."""

    name = "loud"

    def render(self, context: Context) -> Markup | None:
        return Markup("<section><p>{}</p></section>").format(f"<{context.record.verdict}>")


class Plain(Loud):
    """It returns text without markup."""

    def render(self, context: Context) -> Markup | None:
        return "<b>plain</b>"  # type: ignore[return-value]


class Broken(Loud):
    """It fails."""

    def render(self, context: Context) -> Markup | None:
        raise KeyError("<script>")


class Part:
    """An entry point that needs no installed package."""

    name = "loud"

    def __init__(self, section: type[Loud]) -> None:
        self.section = section

    def load(self) -> type[Loud]:
        return self.section


@pytest.mark.parametrize(
    ("section", "shown"),
    [
        (Loud, "<p>&lt;switch&gt;</p>"),
        (Plain, "&lt;b&gt;plain&lt;/b&gt;"),
        (Broken, "could not be drawn"),
    ],
)
def test_another_package_adds_a_section_before_the_words(
    context: Context, monkeypatch: pytest.MonkeyPatch, section: type[Loud], shown: str
) -> None:
    ours = {
        name: f"nacre.report.sections.{name}:{name.title()}"
        for name in ("verdict", "words", "record")
    }
    monkeypatch.setattr("nacre.plugins.registry.entry_points", lambda group: [Part(section)])
    monkeypatch.setattr(
        "nacre.report.page.SECTIONS", Registry("nacre.report_sections", "section", ours)
    )
    rendered = render_sections(context)
    assert len(rendered) == 4
    assert shown in rendered[-3]
    assert "<script>" not in rendered[-3]


def test_only_our_style_and_script_may_run(page: Page) -> None:
    policy = next(a["content"] for a in page.find("meta") if "http-equiv" in a)
    style = "".join(page.texts["style"])
    # The data come first; the parser hands every script over as one piece.
    script = page.texts["script"][-1]
    digests = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digests[0]}'; script-src 'sha256-{digests[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"\beval\b|new Function|innerHTML|document\.write|fetch\(", script)


def test_nothing_points_into_the_network() -> None:
    text = format_report(DOCUMENT, read_evidence(FIRST_EXAMPLE))
    assert not re.search(r"https?://|//[a-z]+\.|@import|url\((?!#)", text)


def test_the_page_is_small_and_always_the_same(tmp_path: Path) -> None:
    path = write_report(DOCUMENT, tmp_path / "report.html")
    assert path.stat().st_size < 150_000
    assert path.read_text(encoding="utf-8") == format_report(DOCUMENT)


def test_the_record_is_complete(page: Page) -> None:
    for expected in (
        DOCUMENT["log"]["sha256"],
        DOCUMENT["policy"]["sha256"],
        DOCUMENT["versions"]["jax"],
        "learning_share",
        f"--seed {DOCUMENT['seed']}",
    ):
        assert expected in page.shown
    raw = max(page.texts["pre"], key=len)
    assert json.loads(raw) == check_decision(DOCUMENT).as_json()


def test_a_recorded_command_is_shown_as_it_is(document: dict[str, Any]) -> None:
    document["command"] = "nacre advise --log 'my log.csv' --seed 4"
    assert "nacre advise --log 'my log.csv' --seed 4" in Page(format_report(document)).shown


def test_sliders_stand_at_the_recorded_weights(page: Page) -> None:
    sliders = {a["id"]: a for a in page.find("input") if a["type"] == "range"}
    for name in ("learning-weight", "transaction-weight"):
        recorded = DOCUMENT["cost_model"][name.replace("-", "_")]
        assert float(str(sliders[name]["value"])) == recorded
        assert float(str(sliders[name]["max"])) > recorded


@pytest.mark.parametrize("index", range(len(STRINGS)))
def test_hostile_strings_are_text(index: int) -> None:
    text = STRINGS[index]
    document = copy.deepcopy(DOCUMENT)
    poison(document, [text])
    html = format_report(document)
    assert len(html.encode()) < LARGEST_PAGE
    page = Page(html)
    _check_harmless(page)
    assert clean(text, 40).rstrip("…").strip() in page.shown
    assert "\x00" not in html
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]", html)
    data = json.loads(page.texts["script"][0])
    assert [one["name"] for one in data["lines"]] == [clean(text, 80)] * 3


def test_all_hostile_strings_at_once_fit_on_a_page() -> None:
    document = copy.deepcopy(DOCUMENT)
    first = document["candidates"][0]
    document["candidates"] = []
    for index, text in enumerate(STRINGS):
        entry = copy.deepcopy(first)
        entry |= {"name": text, "origin": text, "notes": [text]}
        groups = STRINGS[index : index + 1] * 2
        entry["cost"]["groups"] = groups
        document["candidates"].append(entry)
    document["chosen"] = STRINGS[0]
    document["notes"] = STRINGS
    document["versions"] = dict.fromkeys(STRINGS, STRINGS)
    html = format_report(document)
    assert len(html.encode()) < LARGEST_PAGE
    page = Page(html)
    _check_harmless(page)
    assert "Too long for this page" in page.shown


def test_only_so_much_is_listed(document: dict[str, Any]) -> None:
    document["candidates"] *= 70
    document["further"] = {str(index): index for index in range(1000)}
    page = Page(format_report(document))
    assert "10 more candidates stand in decision.json" in page.shown
    assert "the rest stands in decision.json" in page.shown


def test_a_page_that_is_too_large_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nacre.report.page.LARGEST_PAGE", 10_000)
    with pytest.raises(InputError, match="more than 10,000; compare fewer candidates"):
        write_report(DOCUMENT, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_command_is_told_where_none_was_recorded(document: dict[str, Any]) -> None:
    document["rule"] = "paper"
    assert "--discount 0.95 --rule paper --seed 2" in Page(format_report(document)).shown


def test_hostile_evidence_is_text() -> None:
    names = tuple(STRINGS[:20])
    hostile = Evidence(
        curve_names=names,
        curves=np.zeros((20, 3)),
        stop_reasons=names,
        state_names=names,
        state_costs=np.zeros(20),
        action_names=(*names[:4], *LONG[:2]),
        old_actions=np.full((20, 6), 1 / 6),
        new_actions=np.full((20, 6), 1 / 6),
    )
    _check_harmless(Page(format_report(DOCUMENT, hostile)))


def test_numbers_are_never_hostile(document: dict[str, Any]) -> None:
    document["log"]["episodes"] = "<script>"
    page = Page(format_report(document))
    _check_harmless(page)
    assert "Evaluated from <script>" not in page.shown
    document["candidates"][0]["price"]["learning_mass"] = "<script>"
    with pytest.raises(InputError, match="learning_mass"):
        format_report(document)


def test_a_decision_with_nothing_known_has_a_page(document: dict[str, Any]) -> None:
    nothing = {"mean": None, "low": None, "high": None}
    document |= {"verdict": "undecided", "probability": 0.5, "net_gain": nothing}
    document |= {"new_value": nothing, "old_value": nothing, "reason": "", "basis": []}
    for entry in document["candidates"]:
        entry |= {"estimates": [], "net_gain": nothing, "value": nothing, "overlap": {}}
    for name in ("log_checks", "config", "log", "versions", "policy", "cost_model", "break_even"):
        document.pop(name)
    page = Page(format_report(document))
    _check_harmless(page)
    assert "this log cannot tell what" in page.shown
    assert "no estimator counts" in page.shown.lower()


def test_a_bad_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(DOCUMENT, tmp_path / "file" / "report.html")
