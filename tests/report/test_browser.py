"""The page in a real browser: nothing is loaded, nothing overflows, the sliders say what we say."""

from __future__ import annotations

import copy
import math
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.report import read_evidence, write_report
from nacre.report.case import Case, build_case
from nacre.report.document import check_decision
from nacre.report.price_map import find_reach
from nacre.report.text import format_number
from tests.report.conftest import DOCUMENT, EXAMPLE
from tests.support.hostile import STRINGS, poison

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTHS = (375, 1440)


def _find_chromium() -> str | None:
    given = os.environ.get("CHROMIUM")
    return given or next((path for name in NAMES if (path := shutil.which(name))), None)


try:
    from playwright.sync_api import Browser, Page, sync_playwright
except ImportError:
    pytest.skip("no playwright: pip install playwright", allow_module_level=True)
if _find_chromium() is None:
    pytest.skip(
        "no Chromium: install Debian's package chromium, or name one in CHROMIUM",
        allow_module_level=True,
    )


@dataclass
class Opened:
    """A page and what it complained of or asked for."""

    page: Page
    address: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def check_quiet(self) -> None:
        assert self.complaints == []
        assert self.requests == [self.address]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=_find_chromium(), args=list(FLAGS))
        yield started
        started.close()


def _open(browser: Browser, path: Path, width: int = 1440, **settings: Any) -> Opened:
    page = browser.new_page(viewport={"width": width, "height": 900}, **settings)
    opened = Opened(page, path.as_uri())
    page.on("console", lambda message: opened.complaints.append(message.text))
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("request", lambda request: opened.requests.append(request.url))
    page.goto(opened.address)
    return opened


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(DOCUMENT, path, read_evidence(EXAMPLE))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_loaded_and_nothing_overflows(
    browser: Browser, report: Path, width: int, scheme: str
) -> None:
    opened = _open(browser, report, width, color_scheme=scheme)
    _open_details(opened.page)
    assert _find_overflowing(opened.page) == []
    opened.check_quiet()
    opened.page.close()


def test_dark_is_dark(browser: Browser, report: Path) -> None:
    shades = {}
    for scheme in ("light", "dark"):
        page = _open(browser, report, color_scheme=scheme).page
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades[scheme] = sum(int(part) for part in colour[4:-1].split(","))
        page.close()
    assert shades["light"] > 700 > 200 > shades["dark"]


def _open_details(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")


def _find_overflowing(page: Page) -> list[str]:
    """Elements that reach beyond the window, and words in drawings that are cut off."""
    found = page.evaluate(
        """() => {
          const wide = document.documentElement.clientWidth;
          const out = document.documentElement.scrollWidth > wide ? ["page"] : [];
          for (const one of document.querySelectorAll("main *:not(defs *)")) {
            const box = one.getBoundingClientRect();
            const drawing = one.tagName === "text" ? one.ownerSVGElement : null;
            const edge = drawing ? drawing.getBoundingClientRect() : { left: 0, right: wide };
            if (one.closest("thead")) continue;
            if (box.width && (box.right > edge.right + 1 || box.left < edge.left - 1)) {
              out.push(`${one.tagName} ${one.className.baseVal ?? one.className}: ` +
                       one.textContent.slice(0, 40));
            }
          }
          return out;
        }"""
    )
    return list(found)


def _grid(case: Case) -> list[tuple[float, float]]:
    """25 pairs of weights: a grid over the sliders, from nothing to their ends."""
    reach = find_reach(case)
    return [
        (float(learning), float(transaction))
        for learning in np.linspace(0.0, reach.learning, 5)
        for transaction in np.linspace(0.0, reach.transaction, 5)
    ]


def _set(page: Page, learning: float, transaction: float) -> None:
    for name, value in (("learning-weight", learning), ("transaction-weight", transaction)):
        page.evaluate(
            """([name, value]) => {
              const slider = document.getElementById(name);
              slider.value = value;
              slider.dispatchEvent(new Event("input", { bubbles: true }));
            }""",
            [name, value],
        )


def _read(page: Page) -> dict[str, Any]:
    data = page.evaluate(
        """() => Object.fromEntries(["verdict", "candidate", "cost", "gain", "confidence"].map(
             (name) => [name, { ...document.getElementById(`tried-${name}`).dataset }]))"""
    )
    return dict(data)


def _compare(page: Page, case: Case, learning: float, transaction: float) -> str:
    """The page's figures are the library's to 1e-6."""
    _set(page, learning, transaction)
    shown = _read(page)
    expected = case.judge_at(learning, transaction)
    gain = case.reprice(expected.chosen, learning, transaction)
    low, high = gain.interval(case.confidence_level)
    assert shown["verdict"]["verdict"] == expected.verdict
    assert int(shown["candidate"]["index"]) == expected.chosen
    more = shown["gain"]["more"]
    assert (int(more) if more else None) == expected.more_episodes
    for place, figure in (
        (shown["cost"]["value"], gain.cost),
        (shown["gain"]["mean"], gain.mean),
        (shown["gain"]["low"], low),
        (shown["gain"]["high"], high),
        (shown["confidence"]["value"], expected.confidence),
    ):
        number = float(place.replace("Infinity", "inf"))
        assert number == pytest.approx(figure, rel=1e-6, abs=1e-6, nan_ok=True)
    assert page.inner_text("#tried-cost") == format_number(gain.cost)
    return expected.verdict


def _vary(change: str) -> dict[str, Any]:
    """The kept decision with something in it that makes the rule take another way."""
    document = copy.deepcopy(DOCUMENT)
    entries = document["candidates"]
    if change == "noisy":
        for index, entry in enumerate(entries):
            entry["cost"]["standard_error"] = 0.2 + 0.1 * index
            entry["doubt"] = 1.5
    elif change == "unsupported":
        for entry in entries[1:]:
            entry["support"] |= {"excess": 0.3, "supported": False}
            entry["pessimistic"] = 2.5
    elif change == "paper":
        document["config"]["rule"] = "paper"
    elif change == "foreign":
        document["behaviour"]["on_policy"] = False
    elif change == "odd":
        # Fewer members, so that t has an odd number of degrees of freedom, one of them lost.
        for entry in entries:
            entry["differences"] = entry["differences"][:4]
        entries[0]["differences"][1] = None
        entries[1]["trusted"] = False
    elif change == "failed":
        for entry in entries:
            entry["differences"][0] = None
    return document


@pytest.mark.parametrize(
    ("change", "verdicts"),
    [
        ("none", {"switch", "keep"}),
        ("noisy", {"switch", "undecided", "keep"}),
        ("unsupported", {"switch", "undecided", "keep"}),
        ("paper", {"switch", "keep"}),
        ("foreign", {"undecided", "keep"}),
        ("odd", {"switch", "undecided", "keep"}),
        ("failed", {"keep"}),
    ],
)
def test_sliders_decide_as_the_library_does_at_25_prices(
    browser: Browser, tmp_path: Path, change: str, verdicts: set[str]
) -> None:
    document = _vary(change)
    case = build_case(check_decision(document))
    opened = _open(browser, write_report(document, tmp_path / "report.html"))
    found = {_compare(opened.page, case, *weights) for weights in _grid(case)}
    assert found == verdicts
    opened.check_quiet()
    opened.page.close()


def test_the_verdict_turns_at_the_same_price(browser: Browser, report: Path) -> None:
    case = build_case(check_decision(DOCUMENT))
    opened = _open(browser, report)
    limits = case.find_limits()
    for name, held in (("proven", "switch"), ("expected", "undecided")):
        turn = max(
            (getattr(limit, name) - 2.0 * price.transaction_mass) / price.learning_mass
            for limit, price in zip(limits, case.prices, strict=True)
        )
        assert _compare(opened.page, case, turn * (1 - 1e-7), 2.0) == held
        assert _compare(opened.page, case, turn * (1 + 1e-7), 2.0) != held
    opened.page.close()


def test_the_page_begins_with_the_recorded_decision(browser: Browser, report: Path) -> None:
    opened = _open(browser, report)
    shown = _read(opened.page)
    assert shown["verdict"]["verdict"] == DOCUMENT["verdict"]
    for name in ("mean", "low", "high"):
        assert float(shown["gain"][name]) == pytest.approx(DOCUMENT["net_gain"][name], abs=1e-9)
    assert opened.page.inner_text("#tried-candidate") == DOCUMENT["chosen"]
    opened.page.close()


def test_everything_can_be_done_by_keyboard(browser: Browser, report: Path) -> None:
    opened = _open(browser, report)
    page = opened.page
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        if reached[-1] == "learning-weight":
            break
    assert reached[-1] == "learning-weight", reached
    before = float(page.input_value("#learning-weight"))
    page.keyboard.press("ArrowRight")
    assert float(page.input_value("#learning-weight")) > before
    page.keyboard.press("End")
    assert page.inner_text("#tried-verdict") == "Keep"
    assert page.get_attribute("#learning-weight", "aria-valuetext") == "200"
    page.keyboard.press("Home")
    assert page.inner_text("#tried-verdict") == "Switch"
    assert page.is_visible("#tried-warning")
    page.focus("#reset")
    page.keyboard.press("Enter")
    assert float(page.input_value("#learning-weight")) == before
    assert not page.is_visible("#tried-warning")
    page.focus("summary >> nth=0")
    page.keyboard.press("Enter")
    assert page.is_visible("text=Expected discounted reward")
    opened.check_quiet()
    page.close()


def test_exact_prices_can_be_typed_and_picked_on_the_map(browser: Browser, report: Path) -> None:
    case = build_case(check_decision(DOCUMENT))
    reach = find_reach(case)
    opened = _open(browser, report)
    page = opened.page
    page.fill("#learning-weight-exact", "61.25")
    gain = case.reprice(case.judge_at(61.25, 2.0).chosen, 61.25, 2.0)
    assert float(_read(page)["cost"]["value"]) == pytest.approx(gain.cost, abs=1e-9)
    page.fill("#learning-weight-exact", "")
    assert float(_read(page)["cost"]["value"]) == pytest.approx(gain.cost, abs=1e-9)
    box = page.locator("#map svg").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.99, box["y"] + box["height"] * 0.01)
    assert float(page.input_value("#learning-weight")) == pytest.approx(reach.learning)
    assert float(page.input_value("#transaction-weight")) == pytest.approx(reach.transaction)
    assert page.inner_text("#tried-verdict") == "Keep"
    opened.check_quiet()
    page.close()


def test_printing_opens_the_record(browser: Browser, report: Path) -> None:
    page = _open(browser, report).page
    assert len(page.pdf()) > 20_000
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.close()


def test_the_page_says_the_same_without_script(browser: Browser, report: Path) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(report.as_uri())
    assert page.is_visible("noscript p")
    assert not page.is_visible("#tried")
    assert page.is_visible("text=Replace the old policy")
    page.close()


@pytest.mark.parametrize("first", range(0, len(STRINGS), 10))
def test_hostile_strings_do_nothing(browser: Browser, tmp_path: Path, first: int) -> None:
    document = copy.deepcopy(DOCUMENT)
    poison(document, STRINGS[first : first + 10])
    opened = _open(browser, write_report(document, tmp_path / "report.html"), 375)
    _open_details(opened.page)
    _set(opened.page, 1.0, 0.5)
    assert math.isfinite(float(_read(opened.page)["cost"]["value"]))
    assert opened.page.evaluate("typeof window.hacked") == "undefined"
    assert _find_overflowing(opened.page) == []
    opened.check_quiet()
    opened.page.close()
