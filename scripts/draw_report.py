"""Draw the page's pictures: `python scripts/draw_report.py [--decide]`.

The page is made from the kept decision about a small random world, opened in Chromium, and
photographed at the widths of a phone and a desk. With --decide that decision is made anew first.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from nacre.advice.config import suggest_config
from nacre.advice.pipeline import advise
from nacre.costs import FiniteStates, TransportCost, groups
from nacre.policies import TabularPolicy
from nacre.report import read_decision, read_evidence, write_report
from nacre.simulators import random_policy, random_world

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "tests" / "report" / "example"
PICTURES = ROOT / "docs" / "pictures"
SIZES = {375: 1500, 1440: 1750}
CHROMIUM = "/usr/bin/chromium"
# What headless Chromium needs as root and without a network.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
SEED = 2
DISCOUNT = 0.95


def decide(folder: Path) -> None:
    """Advise on a random world of 12 states and 4 actions, and keep the decision."""
    world = random_world(SEED, 12, 4, discount=DISCOUNT, terminating=False).starting_at(0)
    old = 0.8 * random_policy(SEED, world) + 0.2 / 4
    log = world.sample_log(old, 2500, seed=SEED, horizon=100)
    cost = TransportCost(20.0, 2.0, groups.halves(), state_measure=FiniteStates())
    advice = advise(
        log,
        TabularPolicy.from_probabilities(old),
        cost,
        start=0,
        config=suggest_config(log, DISCOUNT),
        seed=SEED,
    )
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        advice.save(place)
        for name in ("decision.json", "evidence.npz"):
            shutil.copyfile(Path(place) / name, folder / name)


def draw(folder: Path) -> None:
    """Photograph the page from its top, as wide as a phone and as a desk."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        page_file = Path(place) / "report.html"
        write_report(read_decision(EXAMPLE), page_file, read_evidence(EXAMPLE))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for width, height in SIZES.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(page_file.as_uri())
            page.screenshot(path=folder / f"report-{width}.png")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decide", action="store_true", help="Make the decision anew.")
    parser.add_argument("--out", type=Path, default=PICTURES, help="Folder for the pictures.")
    options = parser.parse_args()
    if options.decide:
        decide(EXAMPLE)
    draw(options.out)


if __name__ == "__main__":
    main()
