"""Draw the rooms of the house and who imports whom: `python scripts/draw_architecture.py`.

The layers are those of the import contract in `pyproject.toml`, the arrows the imports that exist.
An arrow that a chain of other arrows says already is left out. Writes
`docs/pictures/architecture.svg`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from xml.sax.saxutils import escape

import grimp

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "architecture.svg"
WIDTH, BOX_WIDTH, BOX_HEIGHT, GAP, MARGIN, LANE = 860, 168, 44, 74, 20, 12
ABOUT = {
    "cli": "commands, console",
    "experiments": "tables, calibration",
    "tracking": "TensorBoard, MLflow",
    "examples": "bundled logs",
    "report": "the page",
    "rollout": "plan, watch",
    "advice": "the pipeline",
    "inference": "rules, bounds",
    "learners": "candidates",
    "estimators": "gains",
    "diagnostics": "overlap, log checks",
    "training": "critics, batches",
    "costs": "what a switch costs",
    "simulators": "known worlds",
    "policies": "policies, formats",
    "logs": "logs, formats",
    "files": "commits, digests",
    "parallel": "the task graph",
    "plugins": "registries",
}
LEFT_OUT = {"errors", "versions"}
"""Everybody may use these; their arrows would hide all others."""

Layers = list[list[str]]
Arrows = set[tuple[str, str]]


def read_layers() -> Layers:
    """The rooms from top to bottom, as the import contract orders them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    layers = [re.split(r"\s*[|:]\s*", layer) for layer in contract["layers"]]
    kept = ([room for room in layer if room not in LEFT_OUT] for layer in layers)
    return [layer for layer in kept if layer]


def find_arrows(layers: Layers) -> Arrows:
    """Which room imports which, anywhere in it."""
    rooms = [room for layer in layers for room in layer]
    graph = grimp.build_graph("nacre", cache_dir=None)
    for room in rooms:
        graph.squash_module(f"nacre.{room}")
    return {
        (room, other)
        for room in rooms
        for other in rooms
        if room != other
        and graph.direct_import_exists(importer=f"nacre.{room}", imported=f"nacre.{other}")
    }


def reduce_arrows(arrows: Arrows, layers: Layers) -> Arrows:
    """Without arrows that a chain of others says already, and only those that point downwards."""
    place = {room: number for number, layer in enumerate(layers) for room in layer}
    down = {(one, other) for one, other in arrows if place[one] < place[other]}
    beside = {(one, other) for one, other in arrows if place[one] == place[other]}
    return {
        (one, other) for one, other in down if not _is_reached(one, other, down - {(one, other)})
    } | beside


def _is_reached(source: str, target: str, arrows: Arrows) -> bool:
    reached, open_rooms = {source}, [source]
    while open_rooms:
        room = open_rooms.pop()
        for one, other in arrows:
            if one == room and other not in reached:
                reached.add(other)
                open_rooms.append(other)
    return target in reached


def place_boxes(layers: Layers) -> dict[str, tuple[float, float]]:
    """Upper left corners, each layer in the middle of its row."""
    corners: dict[str, tuple[float, float]] = {}
    for row, layer in enumerate(layers):
        step = BOX_WIDTH + 40
        left = (WIDTH - (len(layer) * step - 40)) / 2
        for column, room in enumerate(layer):
            corners[room] = (left + column * step, MARGIN + row * (BOX_HEIGHT + GAP))
    return corners


def draw_arrow(source: str, target: str, corners: dict[str, tuple[float, float]], lane: int) -> str:
    """A line from the lower edge to the upper edge; long ones go down a lane beside all boxes.

    Lanes count from 1 outwards to inwards, on the left with a minus; 0 is a straight line.
    """
    (x, y), (u, v) = corners[source], corners[target]
    begin, end = x + BOX_WIDTH / 2, u + BOX_WIDTH / 2
    top = y + BOX_HEIGHT
    if y == v:
        start, stop = (x + BOX_WIDTH, u) if x < u else (x, u + BOX_WIDTH)
        path = f"M{start:g} {y + BOX_HEIGHT / 2:g} H{stop:g}"
    elif lane == 0:
        path = f"M{begin:g} {top:g} L{end:g} {v:g}"
    else:
        side, depth = (1, lane - 1) if lane > 0 else (-1, -lane - 1)
        shift = side * (14 + 9 * depth)
        across = MARGIN / 2 + LANE * depth
        place = WIDTH - across if side > 0 else across
        path = (
            f"M{begin + shift:g} {top:g} V{top + 12 + 4 * depth:g} H{place:g} "
            f"V{v - 14 - 4 * depth:g} H{end + shift:g} V{v:g}"
        )
    return f'<path class="arrow" d="{path}" marker-end="url(#head)"/>'


def choose_lanes(
    arrows: Arrows, layers: Layers, corners: dict[str, tuple[float, float]]
) -> dict[tuple[str, str], int]:
    """A lane for each arrow that passes a layer, on the side where it lies; 0 for the others."""
    place = {room: number for number, layer in enumerate(layers) for room in layer}
    lengths = {arrow: place[arrow[1]] - place[arrow[0]] for arrow in arrows}
    far = sorted((arrow for arrow in arrows if lengths[arrow] > 1), key=lambda a: (-lengths[a], a))
    lanes, used = dict.fromkeys(arrows, 0), {-1: 0, 1: 0}
    for arrow in far:
        middle = sum(corners[room][0] + BOX_WIDTH / 2 for room in arrow) / 2
        side = 1 if middle > WIDTH / 2 or (middle == WIDTH / 2 and used[1] <= used[-1]) else -1
        used[side] += 1
        lanes[arrow] = side * used[side]
    return lanes


def draw(layers: Layers, arrows: Arrows) -> str:
    """The whole picture. Its colours follow the reader's choice of light or dark."""
    corners = place_boxes(layers)
    height = 2 * MARGIN + len(layers) * (BOX_HEIGHT + GAP) - GAP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Rooms of nacre in layers; arrows point from importer to imported">',
        "<style>",
        ".box{fill:#e8f3f1;stroke:#00796b}.name{font:bold 15px sans-serif;fill:#10302c}",
        ".about{font:12px sans-serif;fill:#33504c}.arrow{fill:none;stroke:#607d8b;"
        "stroke-width:1.4}.head{fill:#607d8b}",
        "@media (prefers-color-scheme:dark){.box{fill:#17322f;stroke:#4db6ac}"
        ".name{fill:#e0f2f1}.about{fill:#b2cfcb}.arrow{stroke:#90a4ae}.head{fill:#90a4ae}}",
        "</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>',
    ]
    lanes = choose_lanes(arrows, layers, corners)
    lines += [draw_arrow(*arrow, corners, lanes[arrow]) for arrow in sorted(arrows)]
    for room, (x, y) in corners.items():
        middle = x + BOX_WIDTH / 2
        lines += [
            f'<rect class="box" x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" '
            'rx="6"/>',
            f'<text class="name" x="{middle:g}" y="{y + 19:g}" text-anchor="middle">{room}</text>',
            f'<text class="about" x="{middle:g}" y="{y + 35:g}" text-anchor="middle">'
            f"{escape(ABOUT.get(room, ''))}</text>",
        ]
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    layers = read_layers()
    picture = draw(layers, reduce_arrows(find_arrows(layers), layers))
    PICTURE.write_text(picture, encoding="utf-8")
    print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
