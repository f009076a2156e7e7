"""How to read the page."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from nacre.report.sections.base import Context
from nacre.report.templates import render


@dataclass(frozen=True)
class Words:
    """The words of the page with their meanings."""

    name: str = "words"

    def render(self, context: Context) -> Markup:
        """The rule of the paper decides in another way."""
        return render("sections/words.html", points=context.record.rule == "paper")
