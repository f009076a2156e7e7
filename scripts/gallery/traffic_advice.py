"""A full advice on the bundled traffic log, and its picture.

`python scripts/gallery/traffic_advice.py [FOLDER]` advises as `nacre demo` does, writes page,
record and policy to the folder (`advice` by default), and draws docs/pictures/traffic_advice.svg.
If the folder holds a decision already, that one is drawn. Where Chromium is installed, its page is
photographed for docs/pictures/demo-1440.png too.

Left, what each candidate is expected to gain after the switching cost. Right, the gain of the
chosen one at other learning weights, and the weight up to which a switch is proven.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from nacre import examples
from nacre.advice.config import AdviceConfig
from nacre.advice.pipeline import advise
from nacre.advice.result import Advice
from nacre.cli.demo import demo_config
from nacre.report import read_decision

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
BLUE, ORANGE, INK, FAINT = "#0072b2", "#c1560a", "#1f2430", "#8a8f98"
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "nacre",
    "font.family": "sans-serif",
}
# What headless Chromium needs as root and without a network.
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


def find_advice(config: AdviceConfig | None = None, seed: int = 0) -> Advice:
    """Advice on the bundled log of an intersection."""
    example = examples.load_traffic()
    return advise(
        example.log,
        example.old_policy,
        example.cost,
        config=config or demo_config(example),
        seed=seed,
    )


def draw(document: Mapping[str, Any]) -> Figure:
    """The picture of a decision."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 3.4), layout="constrained")
        gains, weights = figure.subplots(1, 2)
        _draw_gains(gains, document)
        _draw_weights(weights, document)
        figure.suptitle(f"{document['verdict']}: {document['reason']}", fontsize=11, color=INK)
    return figure


def _draw_gains(axes: Any, document: Mapping[str, Any]) -> None:
    candidates = document["candidates"]
    for place, candidate in enumerate(candidates):
        gain = candidate["net_gain"]
        if None in (gain["mean"], gain["low"], gain["high"]):
            # Nothing is known of it: a line without an interval.
            continue
        colour = ORANGE if candidate["name"] == document["chosen"] else FAINT
        axes.plot([gain["low"], gain["high"]], [place, place], color=colour, lw=3)
        axes.plot([gain["mean"]], [place], "o", color=colour)
        text = f"{gain['mean']:.3g} ({gain['low']:.3g} to {gain['high']:.3g})"
        axes.annotate(
            text, (gain["mean"], place), xytext=(0, 8), textcoords="offset points", ha="center"
        )
    axes.axvline(0.0, color=INK, lw=0.8)
    axes.set_yticks(range(len(candidates)), [candidate["name"] for candidate in candidates])
    axes.set(ylim=(-0.6, len(candidates) - 0.3), xlabel="net gain, in units of discounted reward")
    axes.margins(x=0.25)
    axes.set_title("Candidates", fontsize=11, weight="bold")
    axes.spines[["top", "right", "left"]].set_visible(False)


def _draw_weights(axes: Any, document: Mapping[str, Any]) -> None:
    """Another learning weight moves the bounds of the net gain and leaves their distance."""
    mass = document["cost"]["learning_mass"]
    weight = document["cost_model"]["learning_weight"]
    proven = document["break_even"]["learning_weight"]
    weights = np.linspace(0.0, 1.6 * max(weight, proven or 0.0), 50)
    saved = (weight - weights) * mass
    gain = document["net_gain"]
    if None not in (gain["low"], gain["high"]):
        axes.fill_between(weights, gain["low"] + saved, gain["high"] + saved, color=BLUE, alpha=0.2)
    if gain["mean"] is not None:
        axes.plot(weights, gain["mean"] + saved, color=BLUE)
    axes.axhline(0.0, color=INK, lw=0.8)
    axes.axvline(weight, color=ORANGE, lw=1.4, label=f"today's weight, {weight:g}")
    if proven:
        axes.axvline(proven, color=INK, lw=1.2, ls="--", label=f"switch up to {proven:.3g}")
    axes.set(xlabel="learning weight, c_l", ylabel="net gain")
    axes.set_title("At other weights", fontsize=11, weight="bold")
    axes.legend(frameon=False, fontsize=9, loc="lower left")
    axes.spines[["top", "right"]].set_visible(False)


def photograph(page_file: Path, target: Path) -> bool:
    """Photograph a page as on a desk, from its top; return whether that could be done here."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        return False
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1440, "height": 1750})
        page.goto(page_file.resolve().as_uri())
        page.screenshot(path=target)
        browser.close()
    return True


def main(
    folder: Path = Path("advice"), pictures: Path = PICTURES, config: AdviceConfig | None = None
) -> None:
    if not (folder / "decision.json").exists():
        find_advice(config).save(folder)
    document = read_decision(folder).as_json()
    with mpl.rc_context(STYLE):
        draw(document).savefig(pictures / "traffic_advice.svg", metadata={"Date": None})
    photograph(folder / "report.html", pictures / "demo-1440.png")
    sys.stdout.write(f"{document['verdict']}: {document['reason']}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("advice"))
