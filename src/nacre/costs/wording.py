"""How problems of a cost.toml are said: the key, the value, what was expected, what is near."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

from pydantic_core import ErrorDetails

from nacre.costs import forms, tables
from nacre.logs.checks.problems import show

Location = tuple[str | int, ...]

# Where pydantic puts the chosen kind into the location of an error, as if it were a key.
TAGGED: set[Location] = {
    (),
    ("groups",),
    ("states",),
    ("states", "states"),
    ("plan", "learning_ground"),
    ("plan", "transaction_ground"),
}

MISSING = {
    "groups": 'add a table [groups], e.g. with kind = "sign" and coordinate = 0',
    "learning_weight": "give the price of learning, e.g. learning_weight = 5.0",
}

EXPECTED = {
    "float_type": "a number",
    "finite_number": "a finite number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "list_type": "a list",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "greater_than_equal": "at least {ge:g}",
    "greater_than": "a number above {gt:g}",
    "too_short": "at least {min_length} entry",
}


def describe_problem(detail: ErrorDetails) -> str:
    """One line: the key path, the value found there and what was expected."""
    location = detail["loc"]
    kind, context = detail["type"], detail.get("ctx", {})
    keys = _drop_tags(location)
    place = _join(keys)
    if kind == "extra_forbidden":
        known = sorted(_model_at(location[:-1]).model_fields)
        near = _nearest(str(keys[-1]), known) or _elsewhere(keys)
        return f"{place} is unknown{near}; known here: {', '.join(known)}"
    if kind == "missing":
        return f"{place} is missing; {MISSING.get(place, 'add it')}"
    if kind == "union_tag_not_found":
        key = context["discriminator"].strip("'")
        choices = _choices_at(keys)
        return f"{_join((*keys, key))} is missing; expected one of {', '.join(choices)}"
    if kind == "union_tag_invalid":
        key = context["discriminator"].strip("'")
        return f"{_join((*keys, key))} = {_expect_one_of(detail['input'][key], _choices_at(keys))}"
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        return f"{place} = {_expect_one_of(detail['input'], choices)}"
    if kind == "list_type" and place == "guardrail":
        return f"guardrail = {show(detail['input'])}: write [[guardrail]], in two brackets"
    if kind == "price":
        return f"{place} = {show(detail['input'])}: {detail['msg']}"
    return f"{place} = {show(detail['input'])}: expected {_expected(detail)}"


def _expected(detail: ErrorDetails) -> str:
    text = EXPECTED.get(detail["type"])
    return detail["msg"] if text is None else text.format(**detail.get("ctx", {}))


def _expect_one_of(value: object, choices: Iterable[str]) -> str:
    choices = list(choices)
    return f"{show(value)} is unknown{_nearest(str(value), choices)}; known: {', '.join(choices)}"


def _nearest(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _elsewhere(keys: Location) -> str:
    """The kinds of cost to which a key belongs that this kind does not have."""
    kinds = [kind for kind, form in forms.COSTS.items() if keys[-1] in form.model_fields]
    return f" (it belongs to kind {' or '.join(kinds)})" if len(keys) == 1 and kinds else ""


def _join(keys: Location) -> str:
    """Such as groups.cuts[0].at; a key that is not a plain word is quoted."""
    path = ""
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        else:
            plain = re.fullmatch(r"[A-Za-z0-9_-]+", key)
            path += f"{'.' if path else ''}{key if plain else show(key)}"
    return path


def _drop_tags(location: Location) -> Location:
    keys: Location = ()
    dropped = False
    for key in location:
        if keys in TAGGED and not dropped:
            dropped = True
        else:
            keys, dropped = (*keys, key), False
    return keys


def _model_at(location: Location) -> type[tables.Form]:
    """The model whose table stands at a location, tags included."""
    match [key for key in location if isinstance(key, str)]:
        case [kind]:
            return forms.COSTS[kind]
        case [_, "groups", kind]:
            return forms.GROUPS[kind]
        case [_, "groups", "thresholds", "cuts"]:
            return tables.Cut
        case [_, "groups", "boxes", "boxes"]:
            return tables.Interval
        case [_, "states", kind]:
            return forms.STATES[kind]
        case [_, "importance"]:
            return tables.ImportanceForm
        case [_, "importance", "rules"]:
            return tables.RuleForm
        case [_, "value"]:
            return tables.ValueForm
        case [_, "guardrail"]:
            return tables.GuardrailForm
        case [_, "segments"]:
            return tables.SegmentForm
        case [_, "plan"]:
            return tables.PlanForm
    raise AssertionError(location)


def _choices_at(keys: Location) -> list[str]:
    """The kinds there are to choose from at a location, tags dropped."""
    choices: dict[Location, dict[str, Any]] = {
        (): forms.COSTS,
        ("groups",): forms.GROUPS,
        ("states",): forms.STATES,
    }
    return list(choices[keys])
