"""Pages of a roll-out: the plan, and what the latest look at the live log says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from nacre.report.page import forbid_all_but
from nacre.report.rollout_charts import draw_curve, draw_path, draw_stages
from nacre.report.templates import read_asset, render
from nacre.rollout.plan_record import Plan

PLAN_PAGE = "plan.html"
WATCH_PAGE = "watch.html"
CLASSES = {
    "next stage": "switch",
    "go on": "switch",
    "stop": "undecided",
    "step back": "undecided",
    "keep collecting": "keep",
}
"""Colours of the page by verdict: those of the decision."""


def format_plan(plan: Plan) -> str:
    """The page of a plan as text."""
    return _render("plan.html", plan=plan, stairs=draw_stages(plan), curve=draw_curve(plan.curve))


def format_watch(plan: Plan, look: Mapping[str, Any], seconds: int | None = None) -> str:
    """The page of a look as text; with `seconds` it loads itself again that often."""
    return _render(
        "watch.html",
        plan=plan,
        look=look,
        seconds=seconds,
        verdict_class=CLASSES[look["verdict"]],
        path=draw_path(look),
    )


def _render(template: str, **values: Any) -> str:
    style = read_asset("page.css")
    return render(
        template,
        policy=forbid_all_but(style, ""),
        style=Markup(style),  # noqa: S704 - our own file
        **values,
    )
