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
from nacre.report.terms import add_unit
from nacre.report.text import clean, format_number

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
            returns=draw_returns(context.evidence),
            returns_caption=state_returns(context),
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


def draw_returns(evidence: Evidence) -> Markup | None:
    """Histogram of what the episodes are worth, with their mean as a line.

    Where episodes were cut off, bars hold the predicted rest, too, and an outline shows what was
    seen.
    """
    seen = evidence.returns
    whole = seen + evidence.tails if evidence.tails.size else seen
    finite = np.isfinite(seen) & np.isfinite(whole)
    seen, whole = seen[finite], whole[finite]
    if len(whole) < 2:
        return None
    low, high = float(min(seen.min(), whole.min())), float(max(seen.max(), whole.max()))
    room = 0.04 * (high - low) or 1.0
    axis = Axis(low - room, high + room, LEFT, RIGHT)
    counts, edges = np.histogram(whole, BARS, (low - room, high + room))
    seen_counts, _ = np.histogram(seen, edges)
    unit = (HEIGHT - 24) / max(counts.max(), seen_counts.max())
    parts = draw_scale(axis, HEIGHT)
    places = [axis.place(float(edge)) for edge in edges]
    for count, start, end in zip(counts, places[:-1], places[1:], strict=True):
        height = float(count * unit)
        parts.append(
            element(
                "rect",
                x=start,
                y=HEIGHT - height,
                width=end - start - 1,
                height=height,
                class_="old-bar",
            )
        )
    if has_tails(evidence):
        steps = [
            f"{x:.2f},{HEIGHT - float(count * unit):.2f}"
            for count, start, end in zip(seen_counts, places[:-1], places[1:], strict=True)
            for x in (start, end)
        ]
        parts.append(element("polyline", points=" ".join(steps), class_="curve other"))
    x = axis.place(float(whole.mean()))
    parts.append(line(x, 10, x, HEIGHT, "whisker old"))
    return picture("What the episodes in the log are worth", HEIGHT + 22, *parts)


def has_tails(evidence: Evidence) -> bool:
    """Whether something was added to what was seen."""
    return bool(evidence.tails.size and np.any(evidence.tails != 0))


def state_returns(context: Context) -> str:
    """What the histogram shows."""
    evidence = context.evidence
    if not has_tails(evidence):
        unit = f", in {context.unit}" if context.unit else ""
        return f"Discounted return of each episode{unit}; the line is their mean"
    seen, added = float(np.mean(evidence.returns)), float(np.mean(evidence.tails))
    whole, *parts = (
        add_unit(format_number(number), context.unit) for number in (seen + added, seen, added)
    )
    return (
        "Value of each episode: what was seen, and a prediction of the rest where the episode was "
        f"cut off. The line is the mean: {whole} = {parts[0]} seen + {parts[1]} "
        "predicted. Outline: what was seen alone"
    )
