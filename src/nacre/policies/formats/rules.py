"""Rules: controllers written down as thresholds and tables, in TOML.

The first `[[rule]]` whose conditions all hold decides, `[otherwise]` if none does; or a `[table]`
has an entry for each cell of a grid of thresholds. All of them are boxes of observations, each with
the parameters of a distribution.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np

from nacre.errors import InputError
from nacre.files.documents import read_toml
from nacre.logs import Log
from nacre.logs.schema.map_values import Label
from nacre.logs.schema.naming import action_labels
from nacre.policies.answers import find_form, find_head, head_outputs
from nacre.policies.formats.base import PolicyFormat, PolicyOptions, Provenance
from nacre.policies.formats.rule_text import INPUTS, format_rule
from nacre.policies.formats.tensors import describe_error
from nacre.policies.policy import Policy, Signature
from nacre.policies.rules import RulePolicy

MOST_CELLS = 10_000
_ANSWERS = ("action", "probabilities", "mean", "std")
_BOUNDS = ("above", "from", "below", "to", "equals")

LARGEST_FILE = 20_000_000
Interval = tuple[np.float32, np.float32]


class RulesFormat(PolicyFormat):
    """Rules in TOML; they name the log's columns."""

    label = "a rule in .toml"
    suffixes = (".toml",)
    writable = True

    def read(self, source: Any, options: PolicyOptions) -> tuple[Policy, Provenance]:
        """The rule as a policy of boxes."""
        path, signature = Path(source), options.spaces
        if signature is None:
            raise InputError(f"{path}: a rule needs the log, whose columns it names; give log=…")
        try:
            document = read_toml(path, largest=LARGEST_FILE)
            names = name_observations(signature, options.log)
            labels = action_labels(options.log) if options.log is not None else None
            return build_rule(document, signature, names, labels or ()), {"source": "rule"}
        except InputError as error:
            raise InputError([f"{path}: {problem}" for problem in error.problems]) from None
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(
                f"{path}: cannot be read as TOML ({describe_error(error)}); correct it there"
            ) from None

    def dump(self, policy: Policy, provenance: Mapping[str, Any]) -> bytes:
        """The rules as TOML, with the table's own names where the policy comes from a table."""
        if not isinstance(policy, RulePolicy):
            raise InputError(f"a {type(policy).__name__} is no rule; choose another format")
        if policy.head not in ("greedy", "categorical"):
            raise InputError(f"rules with the head {policy.head!r} are not written")
        return format_rule(policy, provenance.get("inputs") or {}).encode()


def name_observations(signature: Signature, log: Log | None) -> tuple[str, ...]:
    """What the coordinates of an observation are called: as in the log's source, else numbered."""
    columns = log.provenance.get("columns") if log is not None else None
    given = columns.get("observation") if isinstance(columns, Mapping) else None
    discrete = isinstance(signature.observation_space, gymnasium.spaces.Discrete)
    size = 1 if discrete else signature.observation_size
    if isinstance(given, list) and len(given) == size:
        return tuple(map(str, given))
    stem = given if isinstance(given, str) else "observation"
    return (stem,) if discrete else tuple(f"{stem}_{i}" for i in range(size))


def build_rule(
    document: Mapping[str, Any],
    signature: Signature,
    names: Sequence[str],
    labels: Sequence[Label] = (),
) -> RulePolicy:
    """The policy that a TOML document describes.

    Args:
        document: The parsed document.
        signature: The spaces.
        names: Names of the observation's coordinates, in order; one if it is discrete.
        labels: What the actions are called; they may be named by these or by their numbers.

    Raises:
        InputError: With a line for each problem.
    """
    document = {key: value for key, value in document.items() if key != INPUTS}
    unknown = set(document) - {"rule", "otherwise", "table"}
    if unknown:
        raise InputError(f"unknown entry {min(unknown)!r:.60}; known: rule, otherwise, table")
    if "table" in document:
        if len(document) > 1:
            raise InputError("a [table] decides everywhere; leave out rule and otherwise")
        boxes, entries = _read_table(document["table"], names)
    else:
        boxes, entries = _read_rules(document, names)
    answers = _stack_answers(_number_actions(entries, signature, labels))
    form = find_form(set(answers))
    if form is None:
        raise InputError(f"{entries[0][0]}: give an action, probabilities, or mean and std")
    head = find_head(form, signature)
    outputs = head_outputs(form, answers, signature, len(entries))
    size = len(names)
    bounds = np.array(boxes, np.float32).reshape(-1, size, 2)
    return RulePolicy(
        jnp.asarray(bounds[..., 0]),
        jnp.asarray(bounds[..., 1]),
        jnp.asarray(outputs),
        signature,
        head,
    )


Entry = tuple[str, Mapping[str, Any]]
"""Where it stands, and what it says."""


def _number_actions(
    entries: list[Entry], signature: Signature, labels: Sequence[Label]
) -> list[Entry]:
    """Actions by their numbers, whichever way they were written."""
    if not signature.discrete_actions:
        return entries
    numbered: list[Entry] = []
    for place, answers in entries:
        action = answers.get("action")
        if isinstance(action, str) and action in labels:
            answers = {"action": list(labels).index(action)}
        elif action is not None and action not in range(signature.action_size):
            known = f"{', '.join(map(repr, labels))}, or " if labels else ""
            raise InputError(
                f"{place}: action = {action!r:.60}; give {known}a whole number from 0 to "
                f"{signature.action_size - 1}"
            )
        numbered.append((place, answers))
    return numbered


def _read_rules(
    document: Mapping[str, Any], names: Sequence[str]
) -> tuple[list[list[Interval]], list[Entry]]:
    rules, otherwise = document.get("rule", []), document.get("otherwise")
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise InputError("rule: write each as a table of its own under [[rule]]")
    if not isinstance(otherwise, dict):
        raise InputError("[otherwise] is missing; say what to do where no rule holds")
    problems: list[str] = []
    boxes, entries = [], []
    for i, rule in enumerate(rules):
        place = f"rule {i + 1}"
        try:
            boxes.append(_read_conditions(rule.get("when"), names, place))
            entries.append(_read_entry(rule, place, ("when",)))
        except InputError as error:
            problems += error.problems
    try:
        entries.append(_read_entry(otherwise, "otherwise", ()))
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError(problems)
    return boxes, entries


def _read_entry(rule: Mapping[str, Any], place: str, further: tuple[str, ...]) -> Entry:
    unknown = set(rule) - {*_ANSWERS, *further}
    if unknown:
        raise InputError(
            f"{place}: unknown entry {min(unknown)!r:.60}; known: "
            f"{', '.join((*further, *_ANSWERS))}"
        )
    answers = {name: rule[name] for name in _ANSWERS if name in rule}
    if tuple(answers) not in (("action",), ("probabilities",), ("mean", "std")):
        raise InputError(f"{place}: give either an action, or probabilities, or mean and std")
    return place, answers


def _read_conditions(when: Any, names: Sequence[str], place: str) -> list[Interval]:
    """The box of a rule's conditions."""
    if not isinstance(when, dict) or not when:
        raise InputError(
            f"{place}: has no condition; write when = {{ {names[0]} = {{ from = 2, below = 5 }} }}"
        )
    box = [(np.float32(-np.inf), np.float32(np.inf))] * len(names)
    numbered = [f"observation_{i}" for i in range(len(names))]
    for name, bounds in when.items():
        if name in numbered and name not in names:
            name = names[numbered.index(name)]
        if name not in names:
            raise InputError(
                f"{place}: there is no column {name!r:.60}; there are {', '.join(names):.200}"
            )
        if not isinstance(bounds, dict):
            bounds = {"equals": bounds}
        box[list(names).index(name)] = _read_interval(bounds, f"{place}, column {name!r}")
    return box


def _read_interval(bounds: Mapping[str, Any], place: str) -> Interval:
    """Open bounds are moved by one rounding: single precision knows nothing in between."""
    low, high = np.float32(-np.inf), np.float32(np.inf)
    for kind, value in bounds.items():
        if kind not in _BOUNDS or isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(
                f"{place}: {kind} = {value!r:.40}; give numbers for {', '.join(_BOUNDS)}"
            )
        edge = np.float32(value)
        if math.isnan(value) or not np.isfinite(edge):
            raise InputError(f"{place}: {kind} = {value!r:.40} is not finite; leave it out")
        if kind in ("above", "from", "equals"):
            low = max(low, np.nextafter(edge, np.float32(np.inf)) if kind == "above" else edge)
        if kind in ("below", "to", "equals"):
            high = min(high, np.nextafter(edge, np.float32(-np.inf)) if kind == "below" else edge)
    if low > high or not bounds:
        raise InputError(f"{place}: no number satisfies {dict(bounds)!r:.60}; correct the bounds")
    return low, high


def _read_table(table: Any, names: Sequence[str]) -> tuple[list[list[Interval]], list[Entry]]:
    """The cells of a grid, in the order in which its entries are written."""
    columns = table.get("columns") if isinstance(table, dict) else None
    if not isinstance(columns, dict) or not columns:
        raise InputError("table: columns = { name = [thresholds] } is missing")
    axes = []
    for name, cuts in columns.items():
        place = f"table, column {name!r:.60}"
        if name not in names:
            raise InputError(f"{place}: there is no such column; there are {', '.join(names):.200}")
        if not isinstance(cuts, list) or not cuts:
            raise InputError(f"{place}: give a list of thresholds")
        edges: list[Mapping[str, Any]] = [
            {"below": cuts[0]},
            *({"from": a, "below": b} for a, b in itertools.pairwise(cuts)),
            {"from": cuts[-1]},
        ]
        axes.append([_read_interval(edge, place) for edge in edges])
    shape = tuple(len(axis) for axis in axes)
    if math.prod(shape) > MOST_CELLS:
        raise InputError(f"table: {math.prod(shape)} cells; use at most {MOST_CELLS:,}")
    place, answers = _read_entry(table, "table", ("columns",))
    nested = {name: _flatten(value, shape, name) for name, value in answers.items()}
    boxes, entries = [], []
    for i, cell in enumerate(itertools.product(*axes)):
        box = [(np.float32(-np.inf), np.float32(np.inf))] * len(names)
        for name, interval in zip(columns, cell, strict=True):
            box[list(names).index(name)] = interval
        boxes.append(box)
        entries.append((f"{place}, cell {i + 1}", {name: nested[name][i] for name in nested}))
    # Nothing lies outside the grid; the last cell stands for it.
    return boxes, [*entries, entries[-1]]


def _flatten(value: Any, shape: tuple[int, ...], name: str) -> list[Any]:
    """Entries of nested lists of the given shape."""
    level = [value]
    for axis, length in enumerate(shape):
        if any(not isinstance(part, list) or len(part) != length for part in level):
            raise InputError(
                f"table: {name} has to be nested lists of the shape {shape}, a cell for each side "
                f"of the thresholds; axis {axis + 1} has not {length} entries everywhere"
            )
        level = [entry for part in level for entry in part]
    return level


def _stack_answers(entries: list[Entry]) -> dict[str, np.ndarray]:
    kinds = {tuple(answers) for _, answers in entries}
    if kinds == {("action",), ("probabilities",)}:
        entries = [(place, _spread(answers, entries)) for place, answers in entries]
    elif len(kinds) > 1:
        raise InputError(
            "some rules give an action, others mean and std; give mean and std everywhere, with a "
            "small std where the action is certain"
        )
    stacked = {}
    for name in entries[0][1]:
        try:
            values = [np.asarray(answers[name], np.float64) for _, answers in entries]
            stacked[name] = np.stack(values)
        except (TypeError, ValueError):
            raise InputError(
                f"{name}: not made of numbers, or of different lengths from rule to rule"
            ) from None
    return stacked


def _spread(answers: Mapping[str, Any], entries: list[Entry]) -> Mapping[str, Any]:
    """A certain action among randomised ones, as probabilities."""
    if "probabilities" in answers:
        return answers
    size = max(len(a["probabilities"]) for _, a in entries if "probabilities" in a)
    action = answers["action"]
    if not isinstance(action, int) or not 0 <= action < size:
        raise InputError(f"action {action!r:.40}: give a whole number from 0 to {size - 1}")
    return {"probabilities": [float(i == action) for i in range(size)]}


RULES = RulesFormat()
