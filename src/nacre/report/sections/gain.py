"""Net gain and values, each with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from nacre.advice.record import Interval, finite
from nacre.report.charts import Row, draw_rows
from nacre.report.sections.base import Context
from nacre.report.sentences import name_method, state_interval, state_level
from nacre.report.templates import render
from nacre.report.terms import state_scope


@dataclass(frozen=True)
class Gain:
    """What the switch brings."""

    name: str = "gain"

    def render(self, context: Context) -> Markup:
        """Always there."""
        record = context.record
        line = context.line
        before = Interval(
            mean=finite(line.gain), low=finite(line.gain_low), high=finite(line.gain_high)
        )
        net = shift(record.new_value, -record.cost.total)
        return render(
            "sections/gain.html",
            scope=state_scope(record),
            level=state_level(record),
            old_level=None if record.old_value.low is None else record.confidence_level,
            old_method=name_method(record.old_value),
            new_method=name_method(record.new_value),
            gain_chart=_draw(
                "Net gain with its interval, against zero",
                [("before the cost", "other", before), ("net gain", "net", record.net_gain)],
                context.unit,
            ),
            value_chart=_draw(
                "Value of the old and the new policy",
                [
                    ("old policy", "old", record.old_value),
                    ("new policy", "new", record.new_value),
                    ("new policy minus cost", "net", net),
                ],
                context.unit,
            ),
        )


def shift(interval: Interval, amount: float) -> Interval:
    """The interval with an amount added to all of it."""
    ends = (interval.mean, interval.low, interval.high)
    mean, low, high = (None if end is None else end + amount for end in ends)
    return Interval(mean=mean, low=low, high=high)


def _draw(title: str, rows: Sequence[tuple[str, str, Interval]], unit: str) -> Markup:
    drawn = [
        Row(name, kind, one.mean, one.low, one.high, note=state_interval(one, unit))
        for name, kind, one in rows
    ]
    return draw_rows(title, drawn)
