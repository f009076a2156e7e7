"""What every estimator says of every finalist, whether it counts, and why not."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from nacre.advice.record import CandidateEntry, EstimateEntry, Interval, finite
from nacre.inference.intervals import bound_above, bound_below, list_informative
from nacre.report.charts import Row, draw_rows
from nacre.report.sections.base import Context
from nacre.report.sentences import state_interval, state_level
from nacre.report.templates import render
from nacre.report.text import clean, format_number

BASES = {"data": "outcomes in the log", "model": "a fitted model"}


@dataclass(frozen=True)
class EstimateRow:
    """One row of the table: an estimator about a finalist."""

    candidate: CandidateEntry
    estimate: EstimateEntry
    interval: Interval
    counts: bool

    @property
    def basis(self) -> str:
        """What the estimate rests on."""
        return BASES[self.estimate.basis]

    @property
    def remark(self) -> str:
        """Why it does not count, or what it says of itself."""
        said = clean(self.estimate.reason)
        return said or ("" if self.counts else "no usable number")


@dataclass(frozen=True)
class Estimators:
    """A drawing and a table: one row for each estimator and finalist."""

    name: str = "estimators"

    def render(self, context: Context) -> Markup | None:
        """Nothing where no estimate was kept."""
        record = context.record
        chosen = context.chosen
        entries = [chosen, *(one for one in record.candidates if one is not chosen)]
        rows = [row for entry in entries for row in list_rows(entry, record.interval_level)]
        if not rows:
            return None
        drawn, listed = rows[: context.drawing.most_rows], rows[: context.drawing.most_listed]
        return render(
            "sections/estimators.html",
            level=state_level(record),
            all_have_to_prove_it=record.rule == "bounds",
            chart=draw_rows(
                "Gain before the cost by each estimator",
                [_draw(one, chosen, context.unit) for one in drawn],
            ),
            rows=listed,
            more_drawn=len(rows) - len(drawn),
            more_listed=len(rows) - len(listed),
            unit=context.unit,
            inapplicable=context.record.not_applicable,
        )


def list_rows(entry: CandidateEntry, level: float) -> list[EstimateRow]:
    """Every estimate of one finalist with the bounds that decide, whether it counts or not."""
    # What could rule it out alone shares the level with the guardrails.
    shared = entry.as_evidence().share_level(level)
    found = []
    for one in entry.estimates:
        estimate = one.as_estimate()
        low, high = finite(bound_below(estimate, level)), finite(bound_above(estimate, shared))
        # Who abstains has no error: its gain is no number that was found.
        gain = None if one.standard_error is None else one.gain
        interval = Interval(mean=gain, low=low, high=high)
        found.append(EstimateRow(entry, one, interval, bool(list_informative([estimate]))))
    return found


def _draw(row: EstimateRow, chosen: CandidateEntry, unit: str) -> Row:
    """The gain against the cost, grey where the estimator does not count."""
    kind = "unused" if not row.counts else "new" if row.candidate is chosen else "other"
    interval = row.interval
    note = state_interval(interval, unit) if row.counts else "does not count"
    return Row(
        f"{clean(row.estimate.estimator, 30)}: {clean(row.candidate.name, 60)}",
        kind,
        interval.mean,
        interval.low,
        interval.high,
        mark=row.candidate.cost.total,
        note=note if interval.mean is not None else format_number(None),
    )
