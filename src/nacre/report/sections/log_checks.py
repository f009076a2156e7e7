"""Whether the log is what it is taken for, and what it says of the old policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from nacre.advice.record import DecisionRecord
from nacre.report.charts import LEFT, RIGHT, draw_scale
from nacre.report.evidence import Evidence
from nacre.report.sections.base import Context
from nacre.report.sentences import capitalise, flatten
from nacre.report.svg import Axis, element, line, picture
from nacre.report.templates import render
from nacre.report.text import clean

BARS = 24
HEIGHT = 130.0


@dataclass(frozen=True)
class LogChecks:
    """Notes, the checks with their numbers, and the returns of the episodes."""

    name: str = "log_checks"

    def render(self, context: Context) -> Markup:
        """Always there: what no check can see has to be said, too."""
        record, most = context.record, context.drawing
        return render(
            "sections/log_checks.html",
            forbidden=capitalise(clean(record.forbidden)),
            notes=list_notes(record)[: most.most_notes],
            checks=_list_checks(record, most.most_facts),
            returns=draw_returns(context.evidence, record),
        )


def list_notes(record: DecisionRecord) -> list[str]:
    """Each once: what the checks found, and what else the record notes."""
    problems = record.log_checks.get("problems", ())
    problems = problems if isinstance(problems, list | tuple) else ()
    notes = [capitalise(clean(note)) for note in (*record.notes, *problems)]
    forbidden = capitalise(clean(record.forbidden))
    return [note for note in dict.fromkeys(notes) if note and note != forbidden]


def _list_checks(record: DecisionRecord, most: int) -> list[tuple[str, list[tuple[str, str]]]]:
    """Name and numbers of each check; single facts of the record's part together."""
    groups = {name: facts for name, facts in record.log_checks.items() if _is_group(facts)}
    single = {
        name: fact
        for name, fact in record.log_checks.items()
        if name not in groups and name != "problems"
    }
    if single:
        groups["further"] = single
    return [
        (capitalise(clean(name.replace("_", " "))).rstrip("."), flatten(facts, most=most))
        for name, facts in groups.items()
    ]


def _is_group(facts: object) -> bool:
    return isinstance(facts, Mapping) and bool(facts)


def draw_returns(evidence: Evidence, record: DecisionRecord) -> Markup | None:
    """Histogram of the episodes' returns, with the old policy's value as a line."""
    returns = evidence.returns[np.isfinite(evidence.returns)]
    if len(returns) < 2:
        return None
    low, high = float(returns.min()), float(returns.max())
    room = 0.04 * (high - low) or 1.0
    axis = Axis(low - room, high + room, LEFT, RIGHT)
    counts, edges = np.histogram(returns, BARS, (low - room, high + room))
    unit = (HEIGHT - 24) / counts.max()
    parts = draw_scale(axis, HEIGHT)
    for count, start, end in zip(counts, edges[:-1], edges[1:], strict=True):
        x, height = axis.place(float(start)), float(count * unit)
        width = axis.place(float(end)) - x - 1
        parts.append(
            element("rect", x=x, y=HEIGHT - height, width=width, height=height, class_="old-bar")
        )
    if record.old_value.mean is not None:
        x = axis.place(record.old_value.mean)
        parts.append(line(x, 10, x, HEIGHT, "whisker old"))
    return picture("Returns of the episodes in the log", HEIGHT + 22, *parts)
