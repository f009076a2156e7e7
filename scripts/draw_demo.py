"""Draw the bundled switch: `python scripts/draw_demo.py [FILE.svg]`, docs/demo.svg by default.

Left, what both controllers do in the state where the switch costs most. Right, where the mass of
all states of the log goes. Every figure in the picture is computed here.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from nacre import examples
from nacre.costs import CostBreakdown, TransportCost, groups
from nacre.policies import Gaussian, Policy

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "demo.svg"

OLD, NEW, MOVED, INK, FAINT = "#3b6fb5", "#d9822b", "#b03a6f", "#222222", "#8a8a8a"
WIDTH, HEIGHT = 880, 370
BASE, TOP = 285.0, 105.0
SIDES = ("push left", "push right")


@dataclass(frozen=True)
class Push:
    """A controller's push in one state: normal, cut at zero into two groups."""

    mean: float
    std: float
    masses: tuple[float, float]

    def density(self, pushes: np.ndarray) -> np.ndarray:
        """Density at given pushes."""
        z = (pushes - self.mean) / self.std
        return np.exp(-0.5 * z**2) / (self.std * math.sqrt(2 * math.pi))


def draw() -> str:
    """The whole picture as SVG."""
    example = examples.load()
    breakdown = example.cost.evaluate(example.old_policy, example.new_policy, example.log)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{INK}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#ffffff"/>',
        *_draw_state(example, breakdown),
        *_draw_flows(breakdown),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _draw_state(example: examples.Example, breakdown: CostBreakdown) -> list[str]:
    state = example.log.observations[[int(breakdown.per_state.argmax())]]
    # The price stays when cart and push are mirrored: draw the state that is pushed to the left.
    state = state if example.old_policy(jnp.asarray(state)).mode()[0, 0] < 0 else -state
    old, new = (_read_push(policy, state) for policy in (example.old_policy, example.new_policy))
    alone = TransportCost(
        example.cost.learning_weight, example.cost.transaction_weight, groups.sign(0)
    ).evaluate(example.old_policy, example.new_policy, state)
    reach = 4.0 * max(old.std, new.std)
    pushes = np.linspace(-reach, reach, 161)
    highest = max(float(push.density(pushes).max()) for push in (old, new))
    left, right = 40.0, 400.0
    x = left + (right - left) * (pushes + reach) / (2 * reach)
    zero = (left + right) / 2
    parts = [_text(220, 32, "In the state where the switch costs most", size=15, weight="bold")]
    for push, colour in ((old, OLD), (new, NEW)):
        y = BASE - (BASE - TOP) * push.density(pushes) / highest
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        parts.append(
            f'<polygon points="{left:.1f},{BASE} {points} {right:.1f},{BASE}" fill="{colour}" '
            f'fill-opacity="0.25" stroke="{colour}" stroke-width="2"/>'
        )
    parts += [
        f'<line x1="{left}" y1="{BASE}" x2="{right}" y2="{BASE}" stroke="{INK}"/>',
        f'<line x1="{zero}" y1="75" x2="{zero}" y2="{BASE}" stroke="{INK}" '
        'stroke-dasharray="4 4"/>',
        _text(90, 110, "old controller", colour=OLD),
        _text(90, 128, "new controller", colour=NEW),
    ]
    for i, centre in enumerate(((left + zero) / 2, (zero + right) / 2)):
        change = f"{old.masses[i]:.0%} → {new.masses[i]:.0%}"
        parts += [
            _text(centre, BASE + 20, SIDES[i]),
            _text(centre, BASE + 38, change, colour=FAINT),
        ]
    moved = f"{alone.learning_mass:.0%} of the mass changes its group, price {alone.total:.3g}"
    return [*parts, _text(220, BASE + 68, moved, colour=MOVED)]


def _read_push(policy: Policy, state: np.ndarray) -> Push:
    distribution = policy(jnp.asarray(state))
    assert isinstance(distribution, Gaussian)  # noqa: S101 - the example's policies are
    below, above = np.asarray(distribution.mass(groups.sign(0)), float)[0]
    return Push(float(distribution.location[0, 0]), float(distribution.std[0, 0]), (below, above))


def _draw_flows(breakdown: CostBreakdown) -> list[str]:
    """Bands from the groups under the old controller to those under the new one."""
    left, right, gap = 560.0, 760.0, 24.0
    scale = BASE - TOP - gap
    flows = breakdown.flows
    sources = _stack(flows.sum(axis=1) * scale, gap)
    targets = _stack(flows.sum(axis=0) * scale, gap)
    parts = [
        _text(660, 32, "Over all states of the log", size=15, weight="bold"),
        _text(left, 80, "under the old", colour=OLD),
        _text(right, 80, "under the new", colour=NEW),
    ]
    # Kept mass first, so that what moves lies on top.
    filled_out, filled_in = list(sources), list(targets)
    bands = {}
    for i in range(2):
        for j in range(2):
            width = flows[i, j] * scale
            bands[i, j] = (filled_out[i], filled_in[j], width)
            filled_out[i] += width
            filled_in[j] += width
    for i, j in ((0, 0), (1, 1), (0, 1), (1, 0)):
        parts.append(_band(left, right, *bands[i, j], FAINT if i == j else MOVED))
    for i in range(2):
        for x, tops, masses, colour, anchor in (
            (left - 10, sources, flows.sum(axis=1), OLD, "end"),
            (right, targets, flows.sum(axis=0), NEW, "start"),
        ):
            height = masses[i] * scale
            parts.append(
                f'<rect x="{x:.1f}" y="{tops[i]:.1f}" width="10" height="{height:.1f}" '
                f'fill="{colour}"/>'
            )
            label = x - 8 if anchor == "end" else x + 18
            middle = tops[i] + height / 2
            parts += [
                _text(label, middle, SIDES[i], anchor=anchor),
                _text(label, middle + 17, f"{masses[i]:.1%}", anchor=anchor, colour=FAINT),
            ]
    moved = (
        f"{breakdown.learning_mass:.0%} of the mass changes its group, price {breakdown.total:.3g}"
    )
    return [*parts, _text(660, BASE + 68, moved, colour=MOVED)]


def _stack(heights: np.ndarray, gap: float) -> list[float]:
    """Tops of bars below one another."""
    return [TOP, TOP + float(heights[0]) + gap]


def _band(left: float, right: float, start: float, end: float, width: float, colour: str) -> str:
    middle = (left + right) / 2
    return (
        f'<path d="M{left},{start:.1f} C{middle},{start:.1f} {middle},{end:.1f} {right},{end:.1f} '
        f"V{end + width:.1f} C{middle},{end + width:.1f} {middle},{start + width:.1f} "
        f'{left},{start + width:.1f} Z" fill="{colour}" fill-opacity="0.5"/>'
    )


def _text(
    x: float,
    y: float,
    content: str,
    *,
    anchor: str = "middle",
    colour: str = INK,
    size: int = 13,
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
        f'font-size="{size}" font-weight="{weight}">{content}</text>'
    )


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    target.write_text(draw(), encoding="utf-8")
