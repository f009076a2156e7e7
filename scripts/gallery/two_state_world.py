"""The two-state world of the paper, drawn and solved.

`python scripts/gallery/two_state_world.py [FILE.svg]` draws docs/pictures/two_state_world.svg,
unless another file is named.

Left, the world: two states, two actions, a reward of 1 for every step that leads to s_α. Right,
the net value of the old policy and of the four deterministic ones, from either start. The best
policy to switch to depends on where the next episode starts.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from nacre.estimators import exact
from nacre.learners.switch_optimal import switch_optimal
from nacre.simulators import two_state_cost, two_state_policies, two_state_world

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "pictures" / "two_state_world.svg"
STATES = ("s_α", "s_β")
PLACES, RADIUS = (0.0, 2.4), 0.5
BLUE, ORANGE, INK, FAINT = "#0072b2", "#c1560a", "#1f2430", "#8a8f98"
# The same world gives the same file, and its words stay words.
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "nacre",
    "font.family": "sans-serif",
}


@dataclass(frozen=True)
class Solution:
    """Net values (P, 2) of the policies from both starts, and the best policy from each."""

    names: tuple[str, ...]
    costs: tuple[float, ...]
    net_values: np.ndarray
    best: tuple[str, ...]


def solve() -> Solution:
    """Net values by linear solves; the best of all policies by search, ties to the old one."""
    world, policies = two_state_world(), two_state_policies()
    old = policies["old"]
    known = {table.tobytes(): name for name, table in policies.items()}
    found = [switch_optimal(world, old, two_state_cost, start=start) for start in range(2)]
    return Solution(
        names=tuple(policies),
        costs=tuple(
            float(exact.switching_cost(old, table, two_state_cost)) for table in policies.values()
        ),
        net_values=np.array(
            [exact.net_values(world, old, table, two_state_cost) for table in policies.values()]
        ),
        best=tuple(known[result.policy.tobytes()] for result in found),
    )


def draw(solution: Solution) -> Figure:
    """World and answer side by side."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.0, 3.8), layout="constrained")
        world, answer = figure.subplots(1, 2, width_ratios=(1.0, 1.35))
        _draw_world(world)
        _draw_answer(answer, solution)
    return figure


def _draw_world(axes: Any) -> None:
    axes.set(xlim=(-1.0, 3.4), ylim=(-1.7, 1.9), aspect="equal")
    axes.axis("off")
    axes.set_title("Two states, two actions", fontsize=11, weight="bold")
    for x, name, colour in zip(PLACES, STATES, (BLUE, ORANGE), strict=True):
        axes.add_patch(Circle((x, 0.0), RADIUS, color=colour))
        axes.text(x, 0.0, name, color="white", ha="center", va="center", fontsize=13)
    left, right = PLACES
    for start, end, bend in (
        ((left + 0.42, 0.3), (right - 0.42, 0.3), -0.3),
        ((right - 0.42, -0.3), (left + 0.42, -0.3), -0.3),
        ((left - 0.25, 0.45), (left + 0.25, 0.45), -1.9),
        ((right - 0.25, 0.45), (right + 0.25, 0.45), -1.9),
    ):
        arrow = {"arrowstyle": "-|>", "color": INK, "lw": 1.4, "shrinkA": 0, "shrinkB": 0}
        arrow["connectionstyle"] = f"arc3,rad={bend}"
        axes.annotate("", xy=end, xytext=start, arrowprops=arrow)
    for x, y, text in (
        (1.2, 0.84, "alt, 0"),
        (1.2, -0.84, "alt, 1"),
        (left, 1.25, "self, 1"),
        (right, 1.25, "self, 0"),
    ):
        axes.text(x, y, text, ha="center", va="center", fontsize=10, color=INK)
    axes.text(1.2, -1.45, "action, reward", ha="center", fontsize=9, color=FAINT)


def _draw_answer(axes: Any, solution: Solution) -> None:
    places = np.arange(len(solution.names))
    for start, (state, colour) in enumerate(zip(STATES, (BLUE, ORANGE), strict=True)):
        shift = (start - 0.5) * 0.36
        values = solution.net_values[:, start]
        axes.bar(places + shift, values, 0.34, color=colour, label=f"from {state}")
        best = solution.names.index(solution.best[start])
        for place, value in enumerate(values):
            below = value < 0
            axes.annotate(
                f"{value:.4g}" + (" ★" if place == best else ""),
                (place + shift, value),
                xytext=(0, -3 if below else 3),
                textcoords="offset points",
                ha="center",
                va="top" if below else "bottom",
                fontsize=8,
                weight="bold" if place == best else "normal",
            )
    axes.axhline(0.0, color=INK, lw=0.8)
    axes.set_xticks(
        places,
        [f"{n}\ncost {c:g}" for n, c in zip(solution.names, solution.costs, strict=True)],
    )
    axes.set(ylabel="net value", ylim=(-66, 98))
    axes.set_title("Value minus switching cost; ★ is the best", fontsize=11, weight="bold")
    axes.legend(frameon=False, fontsize=9, loc="upper right")
    axes.spines[["top", "right"]].set_visible(False)


def main(target: Path = PICTURE) -> None:
    solution = solve()
    with mpl.rc_context(STYLE):
        draw(solution).savefig(target, metadata={"Date": None})
    for state, name in zip(STATES, solution.best, strict=True):
        sys.stdout.write(f"from {state}: {'keep' if name == 'old' else 'switch to ' + name}\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
