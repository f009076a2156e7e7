"""Draw the page's pictures: `python scripts/draw_report.py [FOLDER]`.

The page of an advice is opened in Chromium and photographed at the widths of a phone and a desk.
FOLDER is what `nacre advise --out` wrote; if it is not given, a small random world is advised on.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from nacre.advice.config import suggest_config
from nacre.advice.pipeline import advise
from nacre.advice.result import Advice
from nacre.costs import FiniteStates, TransportCost, groups
from nacre.policies import TabularPolicy
from nacre.simulators import random_policy, random_world

ROOT = Path(__file__).resolve().parent.parent
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


def decide() -> Advice:
    """Advise on a random world of 12 states and 4 actions."""
    world = random_world(SEED, 12, 4, discount=DISCOUNT, terminating=False).starting_at(0)
    old = 0.8 * random_policy(SEED, world) + 0.2 / 4
    log = world.sample_log(old, 20_000, seed=SEED, horizon=100)
    cost = TransportCost(20.0, 2.0, groups.halves(), state_measure=FiniteStates())
    config = suggest_config(log, DISCOUNT)
    policy = TabularPolicy.from_probabilities(old)
    return advise(log, policy, cost, config=config, seed=SEED)


def draw(page_file: Path, folder: Path) -> None:
    """Photograph the page from its top, as wide as a phone and as a desk."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for width, height in SIZES.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(page_file.resolve().as_uri())
            page.screenshot(path=folder / f"report-{width}.png")
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("advice", nargs="?", type=Path, help="What `nacre advise` wrote.")
    parser.add_argument("--out", type=Path, default=PICTURES, help="Folder for the pictures.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        advice = options.advice or decide().save(Path(place) / "advice")
        draw(advice / "report.html", options.out)


if __name__ == "__main__":
    main()
