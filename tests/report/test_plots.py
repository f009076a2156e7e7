"""Figures show the numbers of the record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import pytest

from nacre.advice.record import DecisionRecord, check_decision
from nacre.errors import InputError
from nacre.report import plots
from nacre.report.prices import build_prices


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    mpl.use("Agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def test_every_estimator_and_the_net_gain_have_a_row(record: DecisionRecord) -> None:
    axes = plots.plot_gain(record)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [one.estimator for one in record.chosen_entry.estimates] + ["net gain"]
    assert record.verdict in axes.get_title()


def test_the_line_is_zero_where_the_expected_gain_is(record: DecisionRecord) -> None:
    axes = plots.plot_break_even(record)
    x, y = axes.get_lines()[0].get_data()
    line = build_prices(record).lines[list(record.candidates).index(record.chosen_entry)]
    assert y[0] == pytest.approx(line.gain - line.cost_at(0.0, 2.0))
    assert y[-1] == pytest.approx(line.gain - line.cost_at(float(x[-1]), 2.0))


def test_figures_can_be_drawn_into_one(record: DecisionRecord) -> None:
    from matplotlib import pyplot

    _, axes = pyplot.subplots(1, 2)
    assert plots.plot_frontier(record, axes[0]) is axes[0]
    assert plots.plot_overlap(record, axes[1]) is axes[1]
    assert len(axes[0].texts) == len(record.candidates)
    widths = [patch.get_width() for patch in axes[1].patches]
    assert widths[0] == pytest.approx(100 * record.candidates[0].overlap["outside"])


def test_a_cost_without_weights_has_no_break_even(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry["price"] |= {"learning_mass": 0.0, "transaction_mass": 0.0}
    with pytest.raises(InputError, match="no weight to draw over"):
        plots.plot_break_even(check_decision(document))


def test_unknown_numbers_are_left_out(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry |= {"estimates": [], "overlap": {}}
    record = check_decision(document)
    for plot in (plots.plot_gain, plots.plot_frontier, plots.plot_overlap):
        plot(record)
