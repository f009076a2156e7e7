"""What the switch costs, and which mass it moves between groups of actions."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from nacre.report.charts import draw_cost, draw_flows
from nacre.report.sections.base import Context
from nacre.report.templates import render
from nacre.report.terms import add_unit
from nacre.report.text import format_number


@dataclass(frozen=True)
class Cost:
    """The parts of the cost, and the flows."""

    name: str = "cost"

    def render(self, context: Context) -> Markup:
        """Always there."""
        cost, price = context.record.cost, context.chosen.price
        flows = context.chosen.cost
        return render(
            "sections/cost.html",
            cost=cost,
            total=add_unit(format_number(cost.total), context.unit),
            weights=(price.learning_weight, price.transaction_weight),
            error=price.error,
            unit=context.unit,
            cost_chart=draw_cost(cost.learning, cost.transaction, context.unit),
            flow_chart=draw_flows(flows.groups, flows.flows) if flows.flows else None,
        )
