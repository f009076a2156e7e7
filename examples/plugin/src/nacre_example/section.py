"""A section of the page: how many estimators were informative, in one sentence.

Registered in this package's `pyproject.toml`:

    [project.entry-points."nacre.report_sections"]
    estimator_count = "nacre_example.section:EstimatorCount"
"""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from nacre.report import Context


@dataclass(frozen=True)
class EstimatorCount:
    """One sentence about the finalist that the verdict is about."""

    name: str = "estimator_count"

    def render(self, context: Context) -> Markup | None:
        """Nothing where no estimate was recorded. `format` escapes what it is given."""
        estimates = context.chosen.estimates
        if not estimates:
            return None
        informative = sum(one.informative for one in estimates)
        return Markup(
            "<section><p>{} of {} estimators were informative about <bdi>{}</bdi>.</p></section>"
        ).format(informative, len(estimates), context.chosen.name)
