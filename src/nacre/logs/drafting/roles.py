"""What columns may mean, guessed from their names and from what they hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nacre.logs.drafting.facts import Facts
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.masks import normalise_name
from nacre.logs.schema.parts import VECTORS
from nacre.logs.schema.recognition import ALIASES, find_numbered, listed

WORDS: Mapping[str, tuple[str, ...]] = {
    "action": (
        *("offer", "treatment", "arm", "decision", "choice", "dose", "campaign", "variant"),
        *("recommendation", "bid", "command", "setpoint", "phase", "intervention", "discount"),
        *("price", "channel", "control", "ad", "banner", "creative", "drug", "mode"),
    ),
    "reward": (
        *("revenue", "profit", "margin", "payoff", "outcome", "conversion", "converted"),
        *("clicked", "click", "bought", "purchased", "sale", "sales", "response", "utility"),
        *("satisfaction", "wellbeing", "saving", "savings", "sold", "success", "cured"),
        *("spent", "earned", "paid"),
    ),
    "episode": (
        *("customer", "patient", "user", "client", "session", "household", "subject", "visit"),
        *("member", "machine", "case", "trip", "run"),
    ),
    "propensity": ("probability", "prob", "propensity", "pscore"),
    "order": ("timestamp", "time", "date", "datetime", "day", "when", "at"),
}
"""Words that columns of such a part are called by. A draft asks to check what they suggest."""
COSTS = {
    *("cost", "costs", "expense", "expenses", "loss", "losses", "pain", "delay", "wait", "waiting"),
    *("complaint", "complaints", "churn", "churned", "readmission", "readmitted", "mortality"),
    *("death", "died", "error", "errors", "defects", "downtime", "penalty", "regret", "risk"),
}
"""Words in names of columns of which less is better."""
MASKED = re.compile(r"allowed_.+", re.I)
"""Columns that say whether an action is allowed."""
KEPT = re.compile(r"(allowed|probability|probabilities|old_probability|logit)_.+", re.I)
"""Columns of masks and probabilities: kept, but no part of an observation."""
_IDENTIFIER = re.compile(
    rf"({'|'.join(WORDS['episode'])})(_?(id|no|nr|number|code|key))?|.+[_ ]id|id"
)
LEAST_REPEATS = 1.5
REGULAR = 0.9
MOST_ACTIONS = 50
FEW = 12
"""An identifier with so few values tells shops or advertisements apart rather than episodes."""


@dataclass
class Roles:
    """Which column is taken for what.

    Attributes:
        columns: By part.
        guessed: Parts that follow from a word in a name rather than from a name that is known.
        open: Parts that nobody can guess, with the columns that might be meant.
        outcomes: Columns that look like outcomes of the action, other than the reward.
        one_hot: Whether the action is spread over columns of zeros and ones.
        single_steps: Whether every row is an episode of its own.
        period: How long an episode is, where it is a stretch of time.
    """

    columns: dict[str, str | tuple[str, ...]]
    guessed: set[str] = field(default_factory=set)
    open: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outcomes: tuple[str, ...] = ()
    one_hot: bool = False
    single_steps: bool = False
    period: str | None = None

    @property
    def used(self) -> set[str]:
        """All columns that have a part."""
        return {name for names in self.columns.values() for name in listed(names)}


def guess_roles(facts: Mapping[str, Facts], given: ColumnMap) -> Roles:
    """Return what the columns are taken for; what the user gave counts."""
    roles = Roles(dict(given.named))
    names = [name for name in facts if name not in given.ignore]
    for part, aliases in ALIASES.items():
        if part not in roles.columns and not isinstance(getattr(given, part), bool):
            _take_known(part, aliases, names, roles)
    if "propensity" not in roles.columns:
        chances = [
            name for name in names if _has_word(name, "propensity") and _is_chance(facts[name])
        ]
        if len(chances) == 1 and chances[0] not in roles.used and not KEPT.fullmatch(chances[0]):
            roles.columns["propensity"] = chances[0]
            roles.guessed.add("propensity")
    _guess_action(facts, names, roles)
    _guess_reward(facts, names, roles)
    if given.episode is not False:
        _guess_episode(facts, names, roles)
    roles.single_steps = "episode" not in roles.columns and not (
        {"terminated", "truncated", "done"} & roles.columns.keys()
    )
    roles.period = given.period or roles.period
    return roles


def _take_known(part: str, aliases: Sequence[str], names: Sequence[str], roles: Roles) -> None:
    called = [name for name in names if normalise_name(name) in aliases and name not in roles.used]
    families = find_numbered(names) if part in VECTORS else {}
    spread = [stem for stem in families if normalise_name(stem) in aliases]
    if len(called) == 1 and not spread:
        roles.columns[part] = called[0]
    elif len(spread) == 1 and not called:
        family = families[spread[0]]
        roles.columns[part] = tuple(family[i] for i in sorted(family))
    elif called or spread:
        roles.open[part] = tuple(called + spread)


def _is_chance(facts: Facts) -> bool:
    numbers = facts.numbers
    return numbers is not None and bool(((numbers > 0) & (numbers <= 1)).all())


def _has_word(name: str, part: str) -> bool:
    spaced = re.sub(r"([a-z])([A-Z])", r"\1_\2", name)
    return not set(re.split(r"[^a-zäöüß]+", spaced.lower())).isdisjoint(WORDS[part])


def _find_by_word(
    part: str, facts: Mapping[str, Facts], names: Sequence[str], roles: Roles
) -> list[str]:
    return [
        name
        for name in names
        if name not in roles.used
        and _has_word(name, part)
        and not name.lower().startswith("next")
        and not KEPT.fullmatch(name)
        and facts[name].kind in ("number", "category")
        and not facts[name].is_constant
    ]


def _guess_action(facts: Mapping[str, Facts], names: Sequence[str], roles: Roles) -> None:
    if "action" in roles.columns or "action" in roles.open:
        return
    family = _find_one_hot(facts, names, roles)
    if family:
        roles.columns["action"], roles.one_hot = family, True
        roles.guessed.add("action")
        return
    found = _find_by_word("action", facts, names, roles)
    found = [n for n in found if facts[n].n_distinct <= MOST_ACTIONS or facts[n].kind == "number"]
    if len(found) > 1:
        # A text that only few choices have is more often an action than a number of the same name.
        few = [name for name in found if facts[name].kind == "category"]
        found = few if len(few) == 1 else found
    _settle("action", found, names, roles)


def _guess_reward(facts: Mapping[str, Facts], names: Sequence[str], roles: Roles) -> None:
    found = _find_by_word("reward", facts, names, roles)
    found = [name for name in found if facts[name].kind == "number" or facts[name].n_distinct == 2]
    if "reward" not in roles.columns and "reward" not in roles.open:
        _settle("reward", found, names, roles)
    roles.outcomes = tuple(name for name in found if name not in roles.used)


def _settle(part: str, found: Sequence[str], names: Sequence[str], roles: Roles) -> None:
    if len(found) == 1:
        roles.columns[part] = found[0]
        roles.guessed.add(part)
    else:
        roles.open[part] = tuple(found or [name for name in names if name not in roles.used])


def _find_one_hot(
    facts: Mapping[str, Facts], names: Sequence[str], roles: Roles
) -> tuple[str, ...]:
    """Columns of zeros and ones with one beginning, a single one in each row."""
    families: dict[str, list[str]] = {}
    for name in names:
        if facts[name].is_flag and "_" in name and name not in roles.used:
            families.setdefault(name.rpartition("_")[0], []).append(name)
    for stem, family in families.items():
        if len(family) < 2 or not (
            _has_word(stem, "action") or normalise_name(stem) in ALIASES["action"]
        ):
            continue
        columns = [one for name in family if (one := facts[name].numbers) is not None]
        marks = np.stack(columns)
        if (marks.sum(axis=0) == 1).all():
            return tuple(family)
    return ()


def _guess_episode(facts: Mapping[str, Facts], names: Sequence[str], roles: Roles) -> None:
    if "episode" in roles.columns:
        _guess_order(facts, names, roles)
        return
    for name in names:
        one = facts[name]
        is_id = _IDENTIFIER.fullmatch(re.sub(r"\W+$", "", normalise_name(name))) is not None
        if name in roles.used or not is_id or one.kind == "other" or one.n_missing:
            continue
        few = one.n_distinct <= FEW and not _has_word(name, "episode")
        if 1 < one.n_distinct <= one.n_rows / LEAST_REPEATS and not few:
            if one.kind != "category" and not one.is_whole:
                continue
            roles.columns["episode"] = name
            roles.guessed.add("episode")
            break
    _guess_order(facts, names, roles)


def _guess_order(facts: Mapping[str, Facts], names: Sequence[str], roles: Roles) -> None:
    if {"order", "step"} & roles.columns.keys():
        return
    if "step" in names:
        return
    times = [name for name in names if facts[name].kind == "time" and name not in roles.used]
    if len(times) != 1:
        return
    one = facts[times[0]]
    roles.columns["order"] = times[0]
    roles.guessed.add("order")
    # Who logs probabilities decides row by row.
    ends = {"terminated", "truncated", "done", "propensity"} & roles.columns.keys()
    if "episode" not in roles.columns and not ends and _is_regular(one):
        del roles.columns["order"]
        roles.columns["episode"], roles.period = times[0], "day"
        roles.guessed.add("episode")


def _is_regular(facts: Facts) -> bool:
    """Whether times follow each other at one distance, as a meter writes them."""
    seconds = facts.seconds
    if seconds is None or len(seconds) < 48 or facts.n_distinct < facts.n_rows:
        return False
    steps = np.diff(seconds)
    usual = np.median(steps)
    return bool(0 < usual <= 6 * 3600 and (steps == usual).mean() >= REGULAR)


def is_cost(name: str) -> bool:
    """Whether less of a column of this name seems to be better."""
    return not COSTS.isdisjoint(re.split(r"[^a-z]+", name.lower()))
