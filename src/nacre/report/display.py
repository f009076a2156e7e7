"""A decision as a notebook shows it: the answer in words, and two tables."""

from __future__ import annotations

from html import escape

from nacre.advice.record import DecisionRecord
from nacre.logs.display import format_table
from nacre.report.sections.base import build_context
from nacre.report.sections.estimators import list_rows
from nacre.report.sections.verdict import state_bounds, state_remedy, state_verdict
from nacre.report.segments import state_shares
from nacre.report.sentences import HEADLINES, state_interval
from nacre.report.terms import add_unit, state_highest_cost, state_payback, state_scope
from nacre.report.text import clean, format_number


def format_decision(record: DecisionRecord) -> str:
    """HTML without style or script; every text is escaped."""
    context = build_context(record)
    sentences = (
        state_verdict(record),
        state_payback(record),
        state_bounds(record),
        state_highest_cost(context.line, record),
        state_remedy(record),
        state_scope(record),
        *state_shares(context.chosen.segments),
    )
    candidates = [
        (
            clean(one.name, 60),
            state_interval(one.net_gain, context.unit),
            add_unit(format_number(one.cost.total), context.unit),
            "chosen" if one is context.chosen and record.verdict == "switch" else "",
        )
        for one in record.candidates
    ]
    estimates = [
        (clean(row.estimate.estimator, 60), state_interval(row.interval, context.unit), row.remark)
        for row in list_rows(context.chosen, record.interval_level)
    ]
    return "\n".join(
        [
            f"<h3>{escape(HEADLINES[record.verdict])}</h3>",
            *(f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence),
            format_table("Candidates", candidates, ("", "net gain", "cost", "")),
            format_table(
                f"Gain of {clean(context.chosen.name, 60)} before the cost",
                estimates,
                ("estimator", "gain", "remark"),
            ),
        ]
    )
