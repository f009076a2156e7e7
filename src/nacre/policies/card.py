"""Model cards: one Markdown page about a policy that is handed over."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nacre.errors import check_arguments
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, describe_space

LONGEST_TEXT = 500

USUAL_LIMITS = (
    "It was evaluated from a log, not by running it: watch the first episodes after a switch.",
    "Where the log has no states, nobody knows what it is worth; it may still act there.",
    "It has no memory: the same observation always gets the same distribution of actions.",
)

Facts = Mapping[str, Any]


@check_arguments
@dataclass(frozen=True)
class Card:
    """What a card says; everything but the policy may be left out.

    Attributes:
        policy: The policy.
        title: A name for it.
        files: File name → what it is.
        columns: Column of a table that it observes → how it becomes numbers.
        trained_on: The log: transitions, episodes, digest, where it comes from.
        training: How it was learned.
        cost: The cost model.
        verdict: The decision and its evidence.
        limits: Warnings beyond the usual ones.
    """

    policy: Policy
    title: str = "Policy"
    files: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    trained_on: Facts = field(default_factory=dict)
    training: Facts = field(default_factory=dict)
    cost: Facts = field(default_factory=dict)
    verdict: Facts = field(default_factory=dict)
    limits: Sequence[str] = ()


def format_card(card: Card) -> str:
    """The card as Markdown; texts from outside are escaped, and cut where they are long."""
    sections = [
        ("Files", _table(card.files)),
        ("What it does", _table(_describe(card.policy))),
        ("Columns that it observes", _table(card.columns)),
        ("What it was trained on", _table(card.trained_on)),
        ("How it was trained", _table(card.training)),
        ("What switching to it costs", _table(card.cost)),
        ("Verdict", _table(card.verdict)),
        ("Limits", "\n".join(f"- {escape(limit)}" for limit in (*USUAL_LIMITS, *card.limits))),
    ]
    parts = [f"## {heading}\n\n{body}" for heading, body in sections if body]
    return "\n\n".join([f"# {escape(card.title)}", *parts]) + "\n"


def escape(text: object) -> str:
    """Any text on one line, without a meaning in Markdown or HTML."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())
    if len(plain) > LONGEST_TEXT:
        plain = f"{plain[: LONGEST_TEXT - 1]}…"
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = re.sub(r"([\\`*_{}\[\]()#+!|~$-])", r"\\\1", plain)
    # Bare addresses become links in many viewers.
    return re.sub(r"(?i)\b(https?|ftp|www)(?=[:.])", r"\1&#8203;", plain)


def _describe(policy: Policy) -> dict[str, str]:
    facts = {
        "kind": type(policy).__name__,
        "observations": describe_space(policy.observation_space),
        "actions": describe_space(policy.action_space),
    }
    if isinstance(policy, MLPPolicy):
        facts["distribution"] = policy.head
        facts["layers"] = " → ".join(map(str, policy.network.sizes))
        facts["activations"] = ", ".join(policy.network.activations)
        facts["observations are scaled"] = "yes" if policy.scaling is not None else "no"
    return facts


def _table(facts: Facts) -> str:
    if not facts:
        return ""
    rows = [f"| {escape(name)} | {escape(_show(value))} |" for name, value in _flatten(facts)]
    return "\n".join(["| | |", "| --- | --- |", *rows])


def _flatten(facts: Facts, prefix: str = "") -> list[tuple[str, Any]]:
    """Nested facts with their names joined."""
    rows: list[tuple[str, Any]] = []
    for name, value in facts.items():
        full = f"{prefix}{name}"
        if isinstance(value, Mapping) and value and prefix.count(", ") < 4:
            rows += _flatten(value, f"{full}, ")
        else:
            rows.append((full, value))
    return rows


def _show(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(_show(entry) for entry in value[:20])
    return str(value)
