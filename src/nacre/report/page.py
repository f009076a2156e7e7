"""The page: one self-contained HTML file, made from a decision alone."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import os
import shlex
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from nacre.errors import InputError
from nacre.logs.checks.problems import show_path
from nacre.policies.writing import write_whole
from nacre.report import charts, sentences
from nacre.report.case import Case, build_case
from nacre.report.document import CandidateEntry, Decision, check_decision
from nacre.report.evidence import Evidence
from nacre.report.evidence_charts import draw_evidence
from nacre.report.price_map import FRAME, Reach, draw_map, find_reach
from nacre.report.svg import Axis
from nacre.report.text import (
    clean,
    clean_lines,
    format_level,
    format_number,
    format_percent,
    format_share,
)

ASSETS = Path(__file__).parent / "assets"
LARGEST_PAGE = 6_000_000
LARGEST_RECORD = 1_000_000
MOST_DRAWN = 12
MOST_LISTED = 200
MOST_FACTS = 400
MOST_NOTES = 20
SCRIPTS = ("decision.js", "page.js")


def write_report(
    document: Mapping[str, Any],
    path: str | os.PathLike[str],
    evidence: Evidence | None = None,
) -> Path:
    """Write the page of a decision, whole or not at all.

    Args:
        document: What `Advice.as_json` gives and `read_decision` reads.
        path: The HTML file.
        evidence: Arrays that let the page show more; it does without.

    Raises:
        InputError: If the document is no decision, or the file cannot be written.
    """
    path = Path(path)
    content = format_report(document, evidence).encode()
    if len(content) > LARGEST_PAGE:
        raise InputError(
            f"{show_path(path)}: the page would have {len(content):,} bytes, more than "
            f"{LARGEST_PAGE:,}; judge fewer candidates at once"
        )
    write_whole(path, content)
    return path


def format_report(document: Mapping[str, Any], evidence: Evidence | None = None) -> str:
    """The page as text."""
    decision = check_decision(document)
    case = build_case(decision)
    reach = find_reach(case) if case.linear else None
    style, script = _read_asset("page.css"), "\n".join(map(_read_asset, SCRIPTS))
    return _open_template().render(
        policy=_forbid_all_but(style, script),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        data=_embed(_describe_for_script(case, decision, reach)),
        decision=decision,
        chosen=decision.chosen_entry,
        listed=decision.candidates[:MOST_LISTED],
        most_notes=MOST_NOTES,
        headline=sentences.HEADLINES[decision.verdict],
        turns=sentences.state_turns(case) if case.linear else [],
        more=sentences.state_more(decision),
        gain_chart=_draw_gain(decision),
        value_chart=_draw_values(decision),
        cost_chart=charts.draw_cost(decision.cost.learning, decision.cost.transaction),
        flow_chart=_draw_flow(decision.chosen_entry),
        map_chart=None if reach is None else draw_map(case, reach),
        tried_chart=charts.draw_tried(_find_axis(case)),
        reach=reach,
        weights=case.weights,
        two_prices=any(price.transaction_mass for price in case.prices),
        members_chart=_draw_members(decision),
        old_chart=_draw_old(decision),
        extra=draw_evidence(evidence or Evidence(), decision),
        facts=_list_facts(decision),
        command=_write_command(decision),
        raw=_write_raw(document),
        sentences=sentences,
    )


@cache
def _open_template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "clean": clean,
        "number": format_number,
        "percent": format_percent,
        "share": format_share,
        "level": format_level,
    }
    return environment.get_template("page.html")


@cache
def _read_asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _forbid_all_but(style: str, script: str) -> str:
    """The content-security policy: our style and our script, by their digests, and nothing else."""
    digests = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    )
    allowed_style, allowed_script = (f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; style-src {allowed_style}; script-src {allowed_script}; "
        "base-uri 'none'; form-action 'none'"
    )


def _embed(data: Mapping[str, Any]) -> Markup:
    """JSON that can stand inside a script element: no character in it can end that element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - escaped just above


def _describe_for_script(case: Case, decision: Decision, reach: Reach | None) -> dict[str, Any]:
    document = case.as_json(decision)
    if reach is not None:
        document["reach"] = {"learning": reach.learning, "transaction": reach.transaction}
        document["map"] = FRAME
        document["interval_axis"] = dataclasses.asdict(_find_axis(case))
    return document


def _find_axis(case: Case) -> Axis:
    """Room for the net gain from no price at all to one as large as all that could be gained."""
    free = [case.reprice(index, 0.0, 0.0) for index in range(len(case.gains))]
    highs = [gain.interval(case.confidence_level)[1] for gain in free]
    most = max((abs(high) for high in highs if math.isfinite(high)), default=1.0) or 1.0
    return Axis(-most, most, charts.LEFT, charts.RIGHT)


def _draw_gain(decision: Decision) -> Markup:
    """The gain before and after the cost."""
    gain, cost = decision.net_gain, decision.cost.total
    rows = [
        charts.Row(name, kind, one.mean, one.low, one.high, note=sentences.state_interval(one))
        for name, kind, one in (
            ("before the cost", "other", sentences.shift(gain, cost)),
            ("net gain", "net", gain),
        )
    ]
    return charts.draw_rows("Net gain with its interval, against zero", rows)


def _draw_values(decision: Decision) -> Markup:
    old, new, cost = decision.old_value, decision.new_value, decision.cost.total
    rows = [
        charts.Row(name, kind, one.mean, one.low, one.high, note=sentences.state_interval(one))
        for name, kind, one in (
            ("old policy", "old", old),
            ("new policy", "new", new),
            ("new policy minus cost", "net", sentences.shift(new, -cost)),
        )
    ]
    return charts.draw_rows("Value of the old and the new policy", rows)


def _draw_flow(entry: CandidateEntry) -> Markup | None:
    cost = entry.cost
    return charts.draw_flows(cost.groups, cost.flows) if cost.flows else None


def _draw_members(decision: Decision) -> Markup:
    """What each critic says of each candidate, before the cost; the cost itself as a mark."""
    chosen = decision.chosen_entry
    others = [one for one in decision.candidates if one is not chosen]
    rows = []
    for entry in [chosen, *others][:MOST_DRAWN]:
        points = tuple(point for point in entry.differences if point is not None)
        mean = sum(points) / len(points) if points else None
        kind = "new" if entry is chosen else "other"
        note = f"{format_number(mean)} against a cost of {format_number(entry.cost.total)}"
        rows.append(charts.Row(clean(entry.name), kind, None, points=points, note=note))
    return charts.draw_rows("Gain before the cost by each critic", rows)


def _draw_old(decision: Decision) -> Markup | None:
    fitted, old = decision.fitted_old_value, decision.old_value
    if fitted is None:
        return None
    rows = [
        charts.Row(
            sentences.name_method(one),
            kind,
            one.mean,
            one.low,
            one.high,
            note=sentences.state_interval(one),
        )
        for one, kind in ((old, "old"), (fitted, "other"))
    ]
    return charts.draw_rows("Value of the old policy, by its returns and as fitted", rows)


def _list_facts(decision: Decision) -> list[tuple[str, list[tuple[str, str]]]]:
    """The record, part by part; what a later version adds comes last."""
    named = {
        "Log": decision.log,
        "Old policy": decision.policy,
        "Cost": decision.cost_model,
        "Versions": decision.versions,
        "Configuration": decision.config,
    }
    run: dict[str, Any] = {
        "seed": decision.seed,
        "confidence level": decision.confidence_level,
        "seconds": decision.wall_seconds,
    }
    further = {k: v for k, v in (decision.model_extra or {}).items() if k != "command"}
    parts = {"Run": run, **named, "Further": further}
    return [
        (title, sentences.flatten(facts, most=MOST_FACTS))
        for title, facts in parts.items()
        if facts
    ]


def _write_command(decision: Decision) -> str:
    """The command as it was recorded, or one of the same meaning with names to fill in."""
    extra = decision.model_extra or {}
    if isinstance(extra.get("command"), str):
        return clean_lines(extra["command"])
    learner = decision.config.get("learner")
    words = ["nacre", "advise", "--log", "LOG", "--policy", "OLD", "--cost", "cost.toml"]
    words += ["--confidence", f"{decision.confidence_level:g}"]
    if isinstance(learner, dict) and "discount" in learner:
        words += ["--discount", str(learner["discount"])]
    if decision.config.get("rule", "bounds") != "bounds":
        words += ["--rule", str(decision.config["rule"])]
    if decision.seed is not None:
        words += ["--seed", str(decision.seed)]
    return clean_lines(shlex.join(words))


def _write_raw(document: Mapping[str, Any]) -> Markup | None:
    """The whole document, unless it is too long for a page."""
    text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
    if len(text) > LARGEST_RECORD:
        return None
    written = escape(clean_lines(text))
    return written if len(written.encode()) <= LARGEST_RECORD else None
