"""The page of a table of decisions: what each came to, to be sorted by any column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from nacre.report.page import forbid_all_but
from nacre.report.templates import read_asset, render

ORDER = ("switch", "undecided", "keep", "failed", "waiting")


def dump_overview(lines: Sequence[Mapping[str, Any]]) -> bytes:
    """The content of the page's file."""
    style, script = read_asset("page.css"), read_asset("overview.js")
    counts = Counter(str(line["verdict"]) for line in lines)
    page = render(
        "overview.html",
        policy=forbid_all_but(style, script),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        counts=[(verdict, counts[verdict]) for verdict in ORDER if counts[verdict]],
        total=len(lines),
        rows=[_describe(line) for line in lines],
    )
    return page.encode()


def _describe(line: Mapping[str, Any]) -> dict[str, Any]:
    """What the template needs of a line; unknown numbers are None."""
    gain = line.get("net_gain") or {}
    made = not line.get("error") and bool(line.get("folder"))
    return {
        "name": line["name"],
        "page": f"{line['folder']}/report.html" if made else "",
        "verdict": line["verdict"],
        "place": ORDER.index(line["verdict"]) if line["verdict"] in ORDER else len(ORDER),
        "mean": gain.get("mean"),
        "low": gain.get("low"),
        "high": gain.get("high"),
        "cost": line.get("cost"),
        "probability": line.get("probability"),
        "q_value": line.get("q_value"),
        "q_value_any_dependence": line.get("q_value_any_dependence"),
        "text": line.get("error") or line.get("reason") or "",
    }
