"""What every section of the page is given, and what it gives: a piece of HTML, or nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from markupsafe import Markup

from nacre.advice.names import Names
from nacre.advice.record import CandidateEntry, DecisionRecord
from nacre.report.evidence import Evidence
from nacre.report.prices import Line, Prices, build_prices


@dataclass(frozen=True)
class Drawing:
    """How much is drawn and listed, the same for all sections.

    Args:
        most_rows: Intervals below one another in one drawing.
        most_listed: Rows of a table.
        most_notes: Notes in a list.
        most_facts: Facts of one part of the record.
    """

    most_rows: int = 12
    most_listed: int = 200
    most_notes: int = 20
    most_facts: int = 400


@dataclass(frozen=True)
class Context:
    """All that a section may show.

    Args:
        record: The decision.
        evidence: Arrays beside it; each may be empty.
        prices: The finalists at other weights.
        drawing: How much is drawn.
    """

    record: DecisionRecord
    evidence: Evidence
    prices: Prices
    drawing: Drawing = field(default_factory=Drawing)

    @property
    def chosen(self) -> CandidateEntry:
        """The finalist that the verdict is about."""
        return self.record.chosen_entry

    @property
    def line(self) -> Line:
        """Its net gain at any cost."""
        return self.prices.lines[list(self.record.candidates).index(self.chosen)]

    @property
    def names(self) -> Names:
        """What the log calls states and actions."""
        return Names.of_record(self.record.names)

    @property
    def unit(self) -> str:
        """Of reward and cost, or nothing."""
        return self.prices.unit


@runtime_checkable
class Section(Protocol):
    """One section of the page. Implementations are frozen dataclasses without arguments.

    Text from outside has to be escaped: `markupsafe.Markup.format` and `nacre.report.svg.element`
    do so. The page runs no script but its own and has no inline style.
    """

    @property
    def name(self) -> str:
        """What it is called in the registry."""

    def render(self, context: Context) -> Markup | None:
        """A whole `<section>`, or nothing where there is nothing to show."""


def build_context(record: DecisionRecord, evidence: Evidence | None = None) -> Context:
    """The same for every section of one page."""
    return Context(record, evidence or Evidence(), build_prices(record))
