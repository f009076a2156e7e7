"""A figure for each table: every run of every row, by the true and by the published measure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from markupsafe import Markup

from nacre.experiments.summary import Summary
from nacre.report import svg

LEFT, RIGHT = 92.0, svg.WIDTH - 10.0
LANE = 13.0
ABOVE, BELOW = 24.0, 24.0
LEGEND = 52.0
STYLE = (
    "text{font:10px sans-serif;fill:#555}.name{font-weight:bold;fill:#222}"
    ".axis{stroke:#888}.zero{stroke:#aaa}.published{stroke:#555;stroke-width:2}"
    ".spread{stroke:#555;stroke-width:1}"
    ".paper{stroke:#0072b2;fill:none}.paper.switched{fill:#0072b2}"
    ".authors{stroke:#117733;fill:none}.authors.switched{fill:#117733}"
    ".default{stroke:#d55e00;fill:none}.default.switched{fill:#d55e00}"
)


def draw_table(summaries: Sequence[Summary], title: str) -> str:
    """The figure as SVG: a scale for each row of the table, and two lanes for each configuration.

    A circle is the true net improvement of one run, a square the same run by the published measure;
    filled if the run switched. The published mean is a line across, with its standard deviation.
    """
    parts, top = _draw_legend(summaries), LEGEND
    for _, same in itertools.groupby(summaries, lambda summary: summary.row.name):
        together = list(same)
        parts += _draw_row(together, top)
        top += ABOVE + 2 * LANE * len(together) + BELOW
    drawing = svg.picture(title, top, svg.element("style", STYLE), *parts)
    return str(drawing).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n"


def _draw_row(summaries: Sequence[Summary], top: float) -> list[Markup]:
    published = summaries[0].row.published
    mean, spread = published.improvement_mean, published.improvement_std or 0.0
    marks = [] if mean is None else [mean - spread, mean, mean + spread]
    numbers = [n for one in summaries for n in (*one.improvements, *one.published_improvements)]
    axis = svg.fit_axis([*numbers, *marks], LEFT, RIGHT)
    first = top + ABOVE
    bottom = first + 2 * LANE * len(summaries)
    zero = axis.place(0.0)
    parts = [
        svg.text(4.0, top + 12.0, summaries[0].row.name, class_="name"),
        svg.line(zero, first - 2.0, zero, bottom, "zero"),
        svg.line(axis.first, bottom, axis.last, bottom, "axis"),
    ]
    for tick in axis.ticks:
        x = axis.place(tick)
        parts.append(svg.line(x, bottom, x, bottom + 3.0, "axis"))
        parts.append(svg.text(x, bottom + 13.0, axis.label(tick), anchor="middle"))
    if mean is not None:
        low, middle, high = map(axis.place, marks)
        parts.append(svg.line(low, first - 3.0, high, first - 3.0, "spread"))
        parts.append(svg.line(middle, first - 6.0, middle, bottom, "published"))
    for place, summary in enumerate(summaries):
        parts += _draw_runs(summary, axis, first + 2 * LANE * place)
    return parts


def _draw_runs(summary: Summary, axis: svg.Axis, top: float) -> list[Markup]:
    true, style = top + 0.5 * LANE, top + 1.5 * LANE
    parts = [svg.text(4.0, top + LANE + 3.0, f"{summary.config}, {len(summary.seeds)}")]
    runs = zip(summary.decisions, summary.improvements, summary.published_improvements, strict=True)
    for decision, gain, published in runs:
        kind = f"{summary.config} switched" if decision == "switch" else summary.config
        parts.append(_circle(axis.place(gain), true, kind))
        if published is not None:
            parts.append(_square(axis.place(published), style, kind))
    return parts


def _draw_legend(summaries: Sequence[Summary]) -> list[Markup]:
    parts = [
        _circle(10.0, 10.0, "default switched"),
        svg.text(18.0, 13.5, "true net improvement of a run"),
        _square(10.0, 26.0, "default switched"),
        svg.text(18.0, 29.5, "the same run, published style"),
        svg.line(200.0, 4.0, 200.0, 16.0, "published"),
        svg.text(208.0, 13.5, "published mean ± spread"),
        _circle(200.0, 26.0, "default"),
        svg.text(208.0, 29.5, "hollow: did not switch"),
    ]
    names = list(dict.fromkeys(summary.config for summary in summaries))
    for place, name in enumerate(names):
        parts.append(_circle(10.0 + 70.0 * place, 42.0, f"{name} switched"))
        parts.append(svg.text(18.0 + 70.0 * place, 45.5, name))
    return parts


def _circle(x: float, y: float, kind: str) -> Markup:
    return svg.element("circle", cx=x, cy=y, r=3.4, class_=kind)


def _square(x: float, y: float, kind: str) -> Markup:
    return svg.element("rect", x=x - 3.0, y=y - 3.0, width=6.0, height=6.0, class_=kind)
