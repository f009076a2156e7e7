"""The page: one self-contained HTML file, made from a decision alone."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from nacre.advice.record import DecisionRecord, check_decision
from nacre.errors import InputError
from nacre.files.commit import write_whole
from nacre.report.evidence import Evidence
from nacre.report.sections import LAST, SECTIONS
from nacre.report.sections.base import Context, build_context
from nacre.report.sections.prices import describe_for_script
from nacre.report.sentences import HEADLINES
from nacre.report.templates import read_asset, render
from nacre.report.text import clean

LARGEST_PAGE = 6_000_000
SCRIPTS = ("prices.js", "page.js")


def write_report(
    document: DecisionRecord | Mapping[str, Any],
    path: str | os.PathLike[str],
    evidence: Evidence | None = None,
) -> Path:
    """Write the page of a decision, whole or not at all.

    Args:
        document: What `read_decision` reads, or what `Advice.as_json` gives.
        path: The HTML file.
        evidence: Arrays that let the page show more; it does without.

    Raises:
        InputError: If the document is no decision, or the file cannot be written.
    """
    path = Path(path)
    write_whole(path, dump_report(document, evidence))
    return path


def dump_report(
    document: DecisionRecord | Mapping[str, Any], evidence: Evidence | None = None
) -> bytes:
    """The content of the page's file.

    Raises:
        InputError: If the document is no decision, or the page would be too large.
    """
    content = format_report(document, evidence).encode()
    if len(content) > LARGEST_PAGE:
        raise InputError(
            f"the page would have {len(content):,} bytes, more than {LARGEST_PAGE:,}; compare "
            "fewer candidates at once"
        )
    return content


def format_report(
    document: DecisionRecord | Mapping[str, Any], evidence: Evidence | None = None
) -> str:
    """The page as text."""
    record = check_decision(document)
    context = build_context(record, evidence)
    style, script = read_asset("page.css"), "\n".join(map(read_asset, SCRIPTS))
    return render(
        "page.html",
        policy=forbid_all_but(style, script),
        style=Markup(style),  # noqa: S704 - our own file
        script=Markup(script),  # noqa: S704 - our own file
        data=_embed(describe_for_script(context.prices)),
        headline=HEADLINES[record.verdict],
        size=_state_size(record),
        sections=render_sections(context),
    )


def render_sections(context: Context) -> list[Markup]:
    """Every section that has something to show, those of other packages before the words."""
    ordered = sorted(SECTIONS.names, key=lambda name: name in LAST)
    rendered = (_render_section(name, context) for name in ordered)
    return [section for section in rendered if section is not None]


def _render_section(name: str, context: Context) -> Markup | None:
    if name not in SECTIONS.foreign_names:
        return SECTIONS.find(name)().render(context)
    try:
        found = SECTIONS.find(name)().render(context)
    except Exception as error:
        # Another package must not cost the whole page.
        reason = clean(f"{type(error).__name__}: {error}")
        return render("sections/failed.html", name=clean(name), reason=reason)
    # What is no markup is text.
    return None if found is None else escape(found)


def _state_size(record: DecisionRecord) -> str | None:
    episodes, transitions = (record.log.get(name) for name in ("episodes", "transitions"))
    if not isinstance(episodes, int) or not isinstance(transitions, int):
        return None
    return f"Evaluated from {episodes:,} episodes with {transitions:,} transitions."


def forbid_all_but(style: str, script: str) -> str:
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
