"""The page in a real browser: nothing is loaded, nothing overflows, the sliders say what we say."""

from __future__ import annotations

import copy
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.advice.record import check_decision
from nacre.files.commit import write_whole
from nacre.report.evidence import read_evidence
from nacre.report.page import write_report
from nacre.report.price_map import find_reach
from nacre.report.prices import Prices, build_prices
from nacre.report.rollout_pages import format_plan, format_watch
from nacre.report.sections.prices import REASONS
from nacre.report.text import format_number
from nacre.rollout.planning import PlanOptions, make_plan
from nacre.rollout.watching import look_at
from tests.report.conftest import DOCUMENT, FIRST_EXAMPLE
from tests.support.browser import MISSING, find_chromium, is_needed
from tests.support.estimates import add_guardrails
from tests.support.hostile import STRINGS, poison
from tests.support.rollout import make_record, play_design

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


try:
    from playwright.sync_api import Browser, Page, sync_playwright
except ImportError:
    if is_needed():
        raise
    pytest.skip("no playwright: pip install playwright", allow_module_level=True)
if find_chromium() is None:
    if is_needed():
        raise RuntimeError(MISSING)
    pytest.skip(MISSING, allow_module_level=True)


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
        started = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
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
    return write_report(DOCUMENT, path, read_evidence(FIRST_EXAMPLE))


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


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_of_a_roll_out_fit(browser: Browser, tmp_path: Path, width: int) -> None:
    returns = np.random.default_rng(100).normal(1.0, 0.8, 200)
    plan = make_plan(make_record(verdict="undecided", chosen="x" * 400), returns)
    look = look_at(plan, play_design(plan.design(plan.stages[1]), 100), 2).document
    for text in (format_plan(plan), format_watch(plan, look, 60)):
        file = tmp_path / "page.html"
        file.write_text(text, encoding="utf-8")
        opened = _open(browser, file, width)
        assert _find_overflowing(opened.page) == []
        opened.check_quiet()
        opened.page.close()


def test_the_page_of_a_watch_loads_itself_again(browser: Browser, tmp_path: Path) -> None:
    """From its own file, which a later look replaces; nothing else is asked for."""
    returns = np.random.default_rng(100).normal(1.0, 0.8, 200)
    plan = make_plan(make_record(), returns, PlanOptions(shares=(0.5, 1.0)))
    design, file = plan.design(plan.stages[0]), tmp_path / "watch.html"
    few, many = (look_at(plan, play_design(design, n), 1).document for n in (10, 100))
    file.write_text(format_watch(plan, few, 1), encoding="utf-8")
    opened = _open(browser, file)
    opened.page.get_by_text("Keep collecting.").first.wait_for()
    write_whole(file, format_watch(plan, many, 1).encode())
    opened.page.get_by_text("Next stage.").first.wait_for(timeout=60_000)
    assert opened.complaints == []
    assert {*opened.requests} == {opened.address}
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


def _draw_weights(prices: Prices) -> list[tuple[float, float]]:
    """100 random pairs of weights between nothing and the sliders' ends."""
    reach = find_reach(prices)
    ends = (reach.learning, reach.transaction)
    pairs = np.random.default_rng(101).uniform((0.0, 0.0), ends, (100, 2))
    return [(float(learning), float(transaction)) for learning, transaction in pairs]


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
        """() => Object.fromEntries(["verdict", "candidate", "cost", "gain"].map(
             (name) => [name, { ...document.getElementById(`tried-${name}`).dataset }]))"""
    )
    return dict(data)


def _compare(page: Page, prices: Prices, learning: float, transaction: float) -> str:
    """The page's figures are the library's to 1e-9."""
    _set(page, learning, transaction)
    shown = _read(page)
    expected = prices.decide_at(learning, transaction)
    assert shown["verdict"]["verdict"] == expected.verdict
    assert int(shown["candidate"]["index"]) == expected.chosen
    for place, figure in (
        (shown["cost"]["value"], expected.cost),
        (shown["gain"]["mean"], expected.mean),
        (shown["gain"]["low"], expected.low),
        (shown["gain"]["high"], expected.high),
    ):
        number = float(place.replace("Infinity", "inf"))
        assert number == pytest.approx(figure, rel=1e-9, abs=1e-9, nan_ok=True)
    assert page.inner_text("#tried-cost") == format_number(expected.cost)
    return expected.verdict


def _vary(change: str) -> dict[str, Any]:
    """The kept decision with something in it that leads the rule another way."""
    document = copy.deepcopy(DOCUMENT)
    entries = document["candidates"]
    if change == "uncertain":
        for index, entry in enumerate(entries):
            entry["price"]["error"] = 0.2 + 0.1 * index
    elif change == "paper":
        document["rule"] = "paper"
    elif change.startswith("forbidden"):
        document["rule"] = "paper" if change.endswith("paper") else "bounds"
        document["forbidden"] = "most of the log was not made by the given old policy"
    elif change == "unknown":
        for estimate in entries[0]["estimates"]:
            estimate["informative"] = False
    elif change == "guardrail":
        add_guardrails(document, 0.0)
    return document


@pytest.mark.parametrize(
    ("change", "verdicts"),
    [
        ("none", {"switch", "undecided", "keep"}),
        ("uncertain", {"switch", "undecided", "keep"}),
        ("paper", {"switch", "keep"}),
        ("forbidden", {"undecided", "keep"}),
        ("forbidden paper", {"undecided", "keep"}),
        ("unknown", {"switch", "undecided"}),
        ("guardrail", {"undecided", "keep"}),
    ],
)
def test_sliders_decide_as_the_library_does_at_100_random_prices(
    browser: Browser, tmp_path: Path, change: str, verdicts: set[str]
) -> None:
    document = _vary(change)
    prices = build_prices(check_decision(document))
    opened = _open(browser, write_report(document, tmp_path / "report.html"))
    found = {_compare(opened.page, prices, *weights) for weights in _draw_weights(prices)}
    assert found == verdicts
    opened.check_quiet()
    opened.page.close()


def _collect(page: Page, pairs: list[tuple[float, float]]) -> list[dict[str, str]]:
    """What people read at each pair of weights."""
    found = page.evaluate(
        """(pairs) => pairs.map(([learning, transaction]) => {
          for (const [name, value] of
               [["learning-weight", learning], ["transaction-weight", transaction]]) {
            const slider = document.getElementById(name);
            if (!slider) continue;
            slider.value = value;
            slider.dispatchEvent(new Event("input", { bubbles: true }));
          }
          const bar = document.querySelector("#tried-interval line");
          const zero = bar.ownerSVGElement.querySelector(".zero").getAttribute("x1");
          const drawn = ["x1", "x2"].map((end) => bar.getAttribute(end) - zero);
          return Object.fromEntries(
            ["verdict", "candidate", "cost", "gain", "confidence", "reason"].map((name) => [
              name, document.getElementById(`tried-${name}`)?.textContent ?? ""])
            .concat([["drawn", drawn.join(" ")]]));
        })""",
        pairs,
    )
    return list(found)


def _side(text: str) -> int:
    """On which side of zero a bound is shown."""
    if text.startswith("just"):
        return 1 if text.endswith("above 0") else -1
    return -1 if text.startswith("\u2212") else 1


def _check_words(shown: dict[str, str], asked: float, names: list[str], guarded: bool) -> str:
    """Verdict, interval, drawing, confidence and sentence of one position say the same."""
    mean, low, high = re.fullmatch(r"(\S+) \((.+) to (.+)\)", shown["gain"]).groups()  # type: ignore[union-attr]
    below, above = _side(low), _side(high)
    headline, reason, confidence = shown["verdict"], shown["reason"], shown["confidence"]
    digits = float(re.sub("[^0-9.]", "", confidence))
    sure = digits > 100 * asked or "just above" in confidence or "or more" in confidence
    assert shown["candidate"] in names
    assert _side(mean) <= above
    assert below <= above
    first, last = map(float, shown["drawn"].split())
    assert below * first >= -0.01 <= above * last, shown
    if headline == "Switch":
        assert (below, above, sure) == (1, 1, True), shown
        assert reason == REASONS["above"]
    elif reason in (REASONS["guardrail"], REASONS["ruled_out"]):
        assert (guarded, sure) == (True, False), shown
        assert headline == "Keep" or below == 1
    elif headline == "Keep":
        assert (below, above, sure) == (-1, -1, False), shown
        assert reason == REASONS["below"]
    else:
        assert (below, sure) == (-1, False), shown
        assert reason == REASONS["both" if above > 0 else "other"]
    return headline


def _make_up(rng: np.random.Generator) -> dict[str, Any]:
    """The kept decision with random estimates, costs and errors."""
    document = copy.deepcopy(DOCUMENT)
    document["confidence_level"] = float(rng.choice([0.8, 0.9, 0.95, 0.975]))
    share = (1.0 - document["confidence_level"]) / 3
    document["interval_level"] = 1.0 - share
    for entry in document["candidates"]:
        price = entry["price"]
        price |= {"error": float(rng.exponential(0.1)), "learning_mass": float(rng.uniform(0, 1))}
        scale = float(10.0 ** rng.uniform(-2, 2))
        for estimate in entry["estimates"]:
            estimate |= {
                "gain": scale * float(rng.normal(1, 0.5)),
                "standard_error": scale * float(rng.exponential(0.15)) + 1e-6,
                "overlap_penalty": scale * float(rng.exponential(0.1)),
                "overlap_allowance": None,
                "informative": True,
            }
    return document


def test_no_contradiction_at_1000_random_positions(browser: Browser, tmp_path: Path) -> None:
    rng = np.random.default_rng(104)
    headlines: Counter[str] = Counter()
    for turn in range(10):
        document = _make_up(rng)
        if turn % 2:
            # Of the first finalist it is open, of the others it holds, or is broken.
            add_guardrails(document, -1.0, 9.0 if turn % 4 == 1 else -9.0)
        record = check_decision(document)
        reach = find_reach(build_prices(record))
        # Half of them near to nothing: there the answer changes most often.
        pairs = rng.uniform(0, 1, (100, 2)) ** rng.choice([1.0, 6.0], (100, 1))
        weights = [(reach.learning * float(x), reach.transaction * float(y)) for x, y in pairs]
        opened = _open(browser, write_report(document, tmp_path / "report.html"))
        names = [one.name for one in record.candidates]
        for shown in _collect(opened.page, weights):
            guarded = bool(record.candidates[0].guardrails)
            headlines[_check_words(shown, record.confidence_level, names, guarded)] += 1
        opened.check_quiet()
        opened.page.close()
    assert headlines.total() == 1000
    assert min(headlines.values()) >= 50
    assert len(headlines) == 3


def test_a_weight_that_is_no_number_is_told(browser: Browser, report: Path) -> None:
    opened = _open(browser, report)
    page = opened.page
    assert not page.is_visible("#weight-problem")
    page.fill("#learning-weight-exact", "-3")
    assert page.inner_text("#weight-problem").endswith(
        "Give a number from 0 up; the answer below is for 20."
    )
    assert page.get_attribute("#learning-weight-exact", "aria-invalid") == "true"
    page.fill("#learning-weight-exact", "3")
    assert not page.is_visible("#weight-problem")
    page.fill("#learning-weight-exact", "")
    page.click("#reset")
    assert not page.is_visible("#weight-problem")
    opened.check_quiet()
    page.close()


def test_at_most_five_pages_are_printed_at_the_recorded_weights(
    browser: Browser, report: Path
) -> None:
    opened = _open(browser, report)
    page = opened.page
    _set(page, 0.0, 0.0)
    assert 1 <= _count_pages(page) <= 5
    page.emulate_media(media="print")
    assert not page.is_visible("#tried")
    assert not page.is_visible("#map-marker")
    assert not page.is_visible("pre")
    assert page.is_visible("text=What if we are wrong?")
    page.close()


def _fill(document: dict[str, Any]) -> dict[str, Any]:
    """The same with very many candidates, guardrails, segments and notes, and long names."""
    add_guardrails(document, 9.0)
    first = document["candidates"][0]
    document["candidates"] += [{**first, "name": f"{place} {'w' * 60}"} for place in range(30)]
    gain = {"mean": 1.0, "low": -1.0, "high": 2.0}
    for entry in document["candidates"]:
        guardrail = entry["guardrails"][0]
        entry["guardrails"] = [{**guardrail, "column": f"outcome {n}"} for n in range(30)]
        entry["segments"] = [
            {"column": "region", "label": f"{n}", "episodes": 5, "share": 0.005, "gain": gain}
            for n in range(200)
        ]
    document["notes"] = [f"{place}: {'a long note ' * 12}" for place in range(40)]
    document["value"] = {"unit": "€", "episodes": 1.0}
    return document


def test_a_long_record_has_no_more_pages(browser: Browser, tmp_path: Path) -> None:
    document = _fill(copy.deepcopy(DOCUMENT))
    path = write_report(document, tmp_path / "report.html", read_evidence(FIRST_EXAMPLE))
    opened = _open(browser, path)
    page = opened.page
    assert _count_pages(page) <= 5
    page.emulate_media(media="print")
    shown = page.evaluate(
        """() => [...document.querySelectorAll(".long")].map((one) =>
             [...one.querySelectorAll("tbody tr, li")]
               .filter((row) => row.checkVisibility()).length)"""
    )
    assert max(shown) <= 7
    # The finalist that the answer is about stands in it, wherever it is in the record.
    assert page.is_visible(".candidates .chosen")
    opened.check_quiet()
    page.close()


def _count_pages(page: Page) -> int:
    """Of the PDF that the page is printed to."""
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", page.pdf(format="A4")))


def test_the_verdict_changes_at_the_same_weight(browser: Browser, report: Path) -> None:
    prices = build_prices(check_decision(DOCUMENT))
    opened = _open(browser, report)
    ends = prices.find_ends(0, 2.0)
    for end, held in ((ends.proven, "switch"), (ends.possible, "undecided")):
        assert _compare(opened.page, prices, end * (1 - 1e-7), 2.0) == held
        assert _compare(opened.page, prices, end * (1 + 1e-7), 2.0) != held
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
    end = find_reach(build_prices(check_decision(DOCUMENT))).learning
    assert page.get_attribute("#learning-weight", "aria-valuetext") == format_number(end)
    page.keyboard.press("Home")
    assert page.inner_text("#tried-verdict") == "Switch"
    assert page.is_visible("#tried-warning")
    page.focus("#reset")
    page.keyboard.press("Enter")
    assert float(page.input_value("#learning-weight")) == before
    assert not page.is_visible("#tried-warning")
    page.focus("summary:has-text('How to read')")
    page.keyboard.press("Enter")
    assert page.is_visible("text=Expected discounted reward")
    opened.check_quiet()
    page.close()


def test_exact_prices_can_be_typed_and_picked_on_the_map(browser: Browser, report: Path) -> None:
    prices = build_prices(check_decision(DOCUMENT))
    reach = find_reach(prices)
    opened = _open(browser, report)
    page = opened.page
    page.fill("#learning-weight-exact", "61.25")
    cost = prices.decide_at(61.25, 2.0).cost
    assert float(_read(page)["cost"]["value"]) == pytest.approx(cost, abs=1e-9)
    page.fill("#learning-weight-exact", "")
    assert float(_read(page)["cost"]["value"]) == pytest.approx(cost, abs=1e-9)
    box = page.locator("#map svg").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.99, box["y"] + box["height"] * 0.01)
    assert float(page.input_value("#learning-weight")) == pytest.approx(reach.learning)
    assert float(page.input_value("#transaction-weight")) == pytest.approx(reach.transaction)
    assert page.inner_text("#tried-verdict") == "Keep"
    opened.check_quiet()
    page.close()


def test_the_record_is_not_printed(browser: Browser, report: Path) -> None:
    page = _open(browser, report).page
    assert page.is_visible("#record-title")
    assert len(page.pdf()) > 20_000
    page.emulate_media(media="print")
    assert not page.is_visible("#record-title")
    assert page.is_visible("#verdict-title")
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
