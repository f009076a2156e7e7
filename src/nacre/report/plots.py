"""Figures of a decision for notebooks and papers, by matplotlib (extra `figures`)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nacre.advice.record import DecisionRecord
from nacre.errors import InputError
from nacre.report.price_map import find_reach
from nacre.report.sections.base import build_context
from nacre.report.sections.estimators import list_rows
from nacre.report.terms import add_unit
from nacre.report.text import clean, format_number

POINTS = 101
COLOURS = {"old": "#0072b2", "new": "#c2560a", "net": "#8a4b8f", "other": "#5b6575"}
LONGEST_NAME = 40


def plot_gain(record: DecisionRecord, axes: Any = None) -> Any:
    """Gain before the cost by each estimator, and the net gain, each with its bounds."""
    context = build_context(record)
    axes = _open(axes)
    rows = [
        (
            clean(row.estimate.estimator, LONGEST_NAME),
            row.interval,
            "new" if row.counts else "other",
        )
        for row in list_rows(context.chosen, record.interval_level)
        if row.interval.mean is not None
    ]
    rows.append(("net gain", record.net_gain, "net"))
    for place, (_, interval, kind) in enumerate(rows):
        _draw_interval(axes, interval.mean, interval.low, interval.high, place, COLOURS[kind])
    axes.axvline(0.0, color="black", linewidth=1)
    axes.axvline(record.cost.total, color=COLOURS["other"], linestyle=":", label="cost")
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows])
    axes.invert_yaxis()
    axes.set_xlabel(_label("gain", context.unit))
    axes.set_title(f"{clean(record.chosen, LONGEST_NAME)}: {record.verdict}")
    axes.legend()
    return axes


def plot_break_even(record: DecisionRecord, axes: Any = None) -> Any:
    """Net gain of the chosen finalist over the learning weight, with its bounds."""
    context = build_context(record)
    prices, line = context.prices, context.line
    if not prices.can_be_tried:
        raise InputError(
            "break-even: this cost is not linear in its weights, or nothing is moved; there is no "
            "weight to draw over"
        )
    axes = _open(axes)
    weights = np.linspace(0.0, find_reach(prices).learning, POINTS)
    found = np.array([line.bounds_at(line.cost_at(one, prices.weights[1])) for one in weights])
    axes.plot(weights, found[:, 0], color=COLOURS["new"], label="net gain")
    if np.isfinite(found).all():
        axes.fill_between(weights, found[:, 1], found[:, 2], color=COLOURS["new"], alpha=0.2)
    axes.axhline(0.0, color="black", linewidth=1)
    axes.axvline(prices.weights[0], color=COLOURS["other"], linestyle=":", label="today")
    ends = prices.find_ends(0, prices.weights[1])
    for name, end in (("switch up to", ends.proven), ("keep from", ends.possible)):
        if 0 < end <= weights[-1]:
            label = f"{name} {add_unit(format_number(end), context.unit)}"
            axes.axvline(end, color=COLOURS["old"], linestyle="--", label=label)
    axes.set_xlabel(_label("learning weight", context.unit))
    axes.set_ylabel(_label("net gain", context.unit))
    axes.legend()
    return axes


def plot_frontier(record: DecisionRecord, axes: Any = None) -> Any:
    """Gain before the cost against the cost; above the line a switch pays."""
    context = build_context(record)
    axes = _open(axes)
    costs = []
    for line in context.prices.lines:
        cost = line.cost_at(*context.prices.weights)
        if not math.isfinite(line.gain):
            continue
        costs.append(cost)
        bounds = (line.gain_low, line.gain_high)
        errors = None
        if all(map(math.isfinite, bounds)):
            errors = [[line.gain - bounds[0]], [bounds[1] - line.gain]]
        kind = "new" if line is context.line else "other"
        axes.errorbar(cost, line.gain, errors, fmt="o", capsize=4, color=COLOURS[kind])
        # To the left: the most expensive one stands at the right edge.
        place = {"xytext": (-6, 6), "textcoords": "offset points", "ha": "right"}
        axes.annotate(clean(line.name, LONGEST_NAME), (cost, line.gain), **place)
    most = max(costs, default=0.0) or 1.0
    axes.plot([0, most], [0, most], color="black", linewidth=1, label="gain = cost")
    axes.set_xlabel(_label("cost", context.unit))
    axes.set_ylabel(_label("gain", context.unit))
    axes.legend()
    return axes


def plot_overlap(record: DecisionRecord, axes: Any = None) -> Any:
    """Share of what each finalist does, and of what the old policy does, outside of the log."""
    axes = _open(axes)
    most = 1.0
    for kind, name, shift in (("new", "outside", -0.2), ("old", "outside_old", 0.2)):
        shares = [_read_share(one.overlap.get(name)) for one in record.candidates]
        places = np.arange(len(shares)) + shift
        label = "candidate" if kind == "new" else "old policy"
        axes.barh(places, shares, height=0.38, color=COLOURS[kind], label=label)
        most = max(most, *shares)
    axes.set_xlim(0.0, 1.05 * most)
    names = [clean(one.name, LONGEST_NAME) for one in record.candidates]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("outside of the log, %")
    axes.legend()
    return axes


def _read_share(share: Any) -> float:
    known = isinstance(share, int | float) and not isinstance(share, bool)
    return 100.0 * float(share) if known else 0.0


def _draw_interval(
    axes: Any, mean: float | None, low: float | None, high: float | None, place: int, colour: str
) -> None:
    if mean is None:
        return
    errors = None if low is None or high is None else [[mean - low], [high - mean]]
    axes.errorbar(mean, place, xerr=errors, fmt="o", capsize=4, color=colour)


def _label(what: str, unit: str) -> str:
    return f"{what}, {unit}" if unit else what


def _open(axes: Any) -> Any:
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError:
        raise InputError(
            "figures need matplotlib: install the extra, pip install 'nacre[figures]'"
        ) from None
    return pyplot.subplots(layout="constrained")[1]
