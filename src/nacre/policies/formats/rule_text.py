"""Rules as people write them: TOML with the names of columns and actions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nacre.logs.checks.problems import show_key
from nacre.policies.rules import RulePolicy

INPUTS = "inputs"
"""Key of a rule's file under which raw columns are described, for programs."""
LARGEST = float(np.finfo(np.float32).max)


def format_rule(policy: RulePolicy, inputs: Mapping[str, Any]) -> str:
    """A rule of discrete actions as people write it.

    Args:
        policy: The rule.
        inputs: How raw columns become observations, and what actions are called; empty if the
            policy does not come from a table. Coordinates are then called by their numbers.
    """
    names = _find_names(policy, inputs)
    labels = (inputs.get("labels") or {}).get("action") or ()
    boxes = zip(np.asarray(policy.lower), np.asarray(policy.upper), strict=True)
    parts = []
    if inputs:
        # JSON in a literal text of TOML: no quote in it ends it.
        text = json.dumps(inputs, ensure_ascii=True).replace("'", "\\u0027")
        parts.append(f"# For predict.py: how the columns of a table are read.\n{INPUTS} = '{text}'")
    for number, (low, high) in enumerate(boxes):
        conditions = []
        for name, least, most in zip(names, low, high, strict=True):
            bounds = [f"from = {least}"] if np.isfinite(least) else []
            bounds += [f"to = {most}"] if np.isfinite(most) else []
            if bounds:
                conditions.append(f"{name} = {{ {', '.join(bounds)} }}")
        # A box without bounds decides everywhere: none behind it is ever asked.
        when = ", ".join(conditions) or f"{names[0]} = {{ from = {-LARGEST} }}"
        parts.append(f"[[rule]]\nwhen = {{ {when} }}\n{_format_answer(policy, number, labels)}")
    parts.append(f"[otherwise]\n{_format_answer(policy, len(policy.lower), labels)}")
    return "\n\n".join(parts) + "\n"


def _find_names(policy: RulePolicy, inputs: Mapping[str, Any]) -> list[str]:
    """Keys of TOML for the coordinates of an observation."""
    size = policy.lower.shape[1]
    names = (inputs.get("columns") or {}).get("observation")
    if isinstance(names, list) and len(names) == size:
        return [show_key(str(name)) for name in names]
    return [f"observation_{i}" for i in range(size)]


def _format_answer(policy: RulePolicy, number: int, labels: Sequence[Any]) -> str:
    outputs = np.asarray(policy.outputs[number], np.float64)
    if policy.head == "greedy":
        action = int(outputs.argmax())
        named = action < len(labels) and isinstance(labels[action], str)
        return f"action = {json.dumps(labels[action], ensure_ascii=False) if named else action}"
    weights = np.exp(outputs - outputs.max())
    return f"probabilities = {(weights / weights.sum()).tolist()}"
