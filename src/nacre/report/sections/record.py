"""The record and how to repeat it: folded away, and not printed."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from nacre.advice.record import DecisionRecord
from nacre.report.sections.base import Context
from nacre.report.sentences import flatten
from nacre.report.templates import render
from nacre.report.text import clean_lines

LARGEST_RECORD = 1_000_000


@dataclass(frozen=True)
class Record:
    """Everything that was written down."""

    name: str = "record"

    def render(self, context: Context) -> Markup:
        """Always there."""
        record = context.record
        return render(
            "sections/record.html",
            command=write_command(record),
            facts=list_facts(record, context.drawing.most_facts),
            raw=_write_raw(record),
        )


def list_facts(record: DecisionRecord, most: int) -> list[tuple[str, list[tuple[str, str]]]]:
    """The record, part by part; what a later version adds comes last."""
    run: dict[str, Any] = {
        "seed": record.seed,
        "rule": record.rule,
        "confidence": record.confidence_level,
        "confidence of each bound": record.interval_level,
        "look": f"{record.look} of {record.looks}",
        "seconds": record.wall_seconds,
    }
    parts = {
        "Run": run,
        # How columns were understood has a section of its own.
        "Log": {name: fact for name, fact in record.log.items() if name != "columns"},
        "Old policy": record.policy,
        "Cost": record.cost_model,
        "Engine": record.execution,
        "Versions": record.versions,
        "Configuration": record.config,
        "Further": {k: v for k, v in (record.model_extra or {}).items() if k != "command"},
    }
    return [(title, flatten(facts, most=most)) for title, facts in parts.items() if facts]


def write_command(record: DecisionRecord) -> str:
    """The command as it was recorded, or one of the same meaning with names to fill in."""
    extra, config = record.model_extra or {}, record.config
    if isinstance(extra.get("command"), str):
        return clean_lines(extra["command"])
    words = ["nacre", "advise", "--log", "LOG", "--policy", "OLD", "--cost", "cost.toml"]
    words += ["--confidence", f"{record.confidence_level:g}"]
    # Format 1 has the discount with the learner.
    learner = config.get("learner")
    discount = config.get("discount")
    if discount is None and isinstance(learner, dict):
        discount = learner.get("discount")
    if discount is not None:
        words += ["--discount", "1" if extra.get("undiscounted") is True else str(discount)]
    if record.rule != "bounds":
        words += ["--rule", record.rule]
    if record.seed is not None:
        words += ["--seed", str(record.seed)]
    return clean_lines(shlex.join(words))


def _write_raw(record: DecisionRecord) -> Markup | None:
    """The whole document, unless it is too long for a page."""
    text = json.dumps(record.as_json(), indent=2, ensure_ascii=False)
    if len(text) > LARGEST_RECORD:
        return None
    written = escape(clean_lines(text))
    return written if len(written.encode()) <= LARGEST_RECORD else None
