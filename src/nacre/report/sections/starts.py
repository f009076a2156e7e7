"""The answer for each start state, where several were given."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from nacre.report.sections.base import Context
from nacre.report.templates import render


@dataclass(frozen=True)
class Starts:
    """A row for each start."""

    name: str = "starts"

    def render(self, context: Context) -> Markup | None:
        """Nothing where no start was given."""
        # A gain without its interval says nothing about one state.
        starts = [
            one
            for one in context.record.starts
            if one.net_gain.low is not None and one.net_gain.high is not None
        ][: context.drawing.most_listed]
        if not starts:
            return None
        return render("sections/starts.html", starts=starts, names=context.names, unit=context.unit)
