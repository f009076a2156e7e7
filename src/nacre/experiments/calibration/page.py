"""The page of calibration: tables and a reliability diagram, generated from the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nacre.experiments.calibration.ablation import compare_variants, tabulate_variants
from nacre.experiments.calibration.case import LEVELS
from nacre.experiments.calibration.records import find_path, read_suite
from nacre.experiments.calibration.run import SUITES
from nacre.experiments.calibration.summary import summarise, tabulate, tabulate_rules
from nacre.experiments.pages import format_markdown
from nacre.files.commit import commit_files
from nacre.report import svg

TITLES = {
    "finite": "Finite worlds",
    "control": "Control with vector states",
    "robots": "Robots and traffic",
}
INTRODUCTION = """# Calibration: is the confidence true?

`nacre calibrate` asks for whole advices in worlds whose truth is known and counts how often they
are wrong: at 95 %, one in twenty may be. The records make this page:

```bash
nacre calibrate finite --seeds 1000-1009 --out results/calibration
nacre calibrate finite --summary --docs docs --out results/calibration
```

- `finite`: sixteen families of tables, with exact truth.
- `control`: eleven worlds with vector states, simulated in pairs.
- `robots`: Hopper, HalfCheetah, Ant and traffic lights, simulated.

Candidates are truly bad, truly good, or of equal value. A case follows from its family, kind of old
policy and seed. A stopped run goes on. Records name their commit and configuration, and rules are
never mixed: where the rule changed since, a suite has to be run again. Constants are chosen on
seeds 100 to 199; those from 1000 on are run once, by one commit.

- *Wrong switches*: the advice said switch, and the true net gain is not above zero.
- *False claims*: it said "at least X with 95 % confidence", and the true net gain is below X.
- *Covers*: the interval contains the true net gain.
- *Clear gains taken*: a candidate gains more than 10 % of the value range after its cost, and the
  advice switched to a policy that gains. *Of those the log can show*: without logs of an old policy
  without noise, and without logs in which all rewards and ends are alike.
- *Net value*: sum of the true net gains of all switches, as shares of the value range.
- *Width / experiment*: median width over that of an experiment which runs the candidate for as many
  episodes as the log has.
"""
SIZE = 300.0
MARGIN = 48.0


def write_page(out: Path, docs: Path) -> list[Path]:
    """Write `calibration.md` and a reliability diagram for each suite that has records."""
    sections, files = [INTRODUCTION], {}
    for suite in SUITES:
        lines = read_suite(find_path(out, suite), suite)
        if not lines:
            continue
        summary = summarise(lines)
        figure = f"calibration-{suite}.svg"
        files[figure] = draw_reliability(summary, TITLES[suite]).encode()
        sections.append(_write_section(suite, summary, figure, lines))
    if not files:
        sections.append("There are no records yet.\n")
    files = {"calibration.md": "\n".join(sections).encode(), **files}
    commit_files(docs, files)
    return [docs / name for name in files]


def _write_section(
    suite: str, summary: dict[str, Any], figure: str, lines: list[dict[str, Any]]
) -> str:
    seeds = sorted({int(line["seed"]) for line in lines})
    return "\n".join(
        [
            f"## {TITLES[suite]}\n",
            f"{summary['decisions']} decisions, seeds {seeds[0]} to {seeds[-1]}, commit "
            f"`{summary['commit']}`.\n",
            f"![Nominal against actual coverage]({figure})\n",
            "Beside it, plain ways to decide by a point estimate, on the same candidates:\n",
            format_markdown(*tabulate_rules(summary)) + "\n",
            "The same estimates under the rule as it is now, parts of it, and other penalties for "
            "what lies outside of the log:\n",
            format_markdown(*tabulate_variants(compare_variants(lines))) + "\n",
            "By world:\n",
            format_markdown(*tabulate(summary, "worlds")) + "\n",
            "By kind of old policy:\n",
            format_markdown(*tabulate(summary, "kinds")) + "\n",
        ]
    )


def draw_reliability(summary: dict[str, Any], title: str) -> str:
    """Actual against nominal coverage, as SVG; on the line or above it is what is claimed."""
    across = svg.Axis(0.0, 1.0, MARGIN, svg.WIDTH - 12.0)
    upward = svg.Axis(0.0, 1.0, SIZE - MARGIN, 12.0)
    parts = [
        svg.line(across.place(0), upward.place(0), across.place(1), upward.place(1), "ideal"),
        svg.line(across.place(0), upward.place(0), across.place(1), upward.place(0), "axis"),
        svg.line(across.place(0), upward.place(0), across.place(0), upward.place(1), "axis"),
        svg.text(across.place(0.5), SIZE - 8.0, "nominal level", anchor="middle"),
        svg.text(4.0, 10.0, "share of intervals that contain the truth"),
    ]
    for tick in (0.0, 0.5, 0.8, 0.9, 1.0):
        label = f"{100 * tick:.0f} %"
        parts.append(svg.text(MARGIN - 4.0, upward.place(tick) + 4.0, label, anchor="end"))
    for tick in (0.0, 0.5, 0.8, 0.95):
        label = f"{100 * tick:.0f} %"
        parts.append(svg.text(across.place(tick), SIZE - MARGIN + 16.0, label, anchor="middle"))
    for level in LEVELS:
        actual = summary["coverage"][f"{level:g}"]
        if actual is not None:
            x, y = across.place(level), upward.place(actual)
            parts.append(svg.element("circle", cx=x, cy=y, r=4.0, class_="point"))
    style = (
        "text{font:12px sans-serif;fill:#555}.axis{stroke:#888}"
        ".ideal{stroke:#aaa;stroke-dasharray:4 3}.point{fill:#0072b2}"
    )
    drawing = svg.picture(
        f"{title}: nominal against actual coverage", SIZE, svg.element("style", style), *parts
    )
    return str(drawing).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"
