"""The lines of a drafted column map, with comments."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from nacre.logs.checks.problems import Problems, show_key, show_names, tell_twins
from nacre.logs.drafting.facts import Facts, find_size, is_settled
from nacre.logs.drafting.roles import KEPT, MASKED, MOST_ACTIONS, Roles, is_cost
from nacre.logs.formats.cleaning import JOINED
from nacre.logs.schema.encoding import DAY
from nacre.logs.schema.map_values import BY_COLUMN
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.masks import find_labelled
from nacre.logs.schema.recognition import listed

FEW_CATEGORIES = 30
"""Categories of a column that get a place each in a draft."""
RARE_SHARE = 0.01
MOST_MISSING = 0.5
NUMBERED_ACTIONS = 12
CHOSEN_BINS = 4


class MapWriter:
    """Writes the lines of a draft."""

    def __init__(self, facts: dict[str, Facts], roles: Roles, given: ColumnMap) -> None:
        self._facts = facts
        self._roles = roles
        self._given = given
        self._tables: dict[str, list[str]] = {key: [] for key in BY_COLUMN}
        self._ignored: dict[str, str] = {}
        for key in BY_COLUMN:
            for name, entry in getattr(given, key).items():
                self._enter(key, name, list(entry) if isinstance(entry, tuple) else entry)

    def write(self, path: str) -> str:
        """The whole file."""
        n_rows = max((one.n_rows for one in self._facts.values()), default=0)
        head = [
            f"# Which column of {path} holds what: a draft. Read it and correct it.",
            f"# {n_rows:,} rows, {len(self._facts)} columns. Lines with CHECK are guesses.",
        ]
        style = [
            f"{key} = {json.dumps(value)}"
            for key in ("separator", "decimal", "thousands", "text_encoding")
            if (value := getattr(self._given, key)) is not None
        ]
        missing = {
            *self._given.missing_values,
            *(t for f in self._facts.values() for t in f.absent),
        }
        if missing:
            style.append(f"missing_values = {json.dumps(sorted(missing), ensure_ascii=False)}")
        body = [*self._write_episode(), *self._write_observation(), *self._write_action()]
        body += self._write_reward()
        signs = self._find_signs()
        blocks = [head, [*style, *signs], body, self._write_ignored()]
        blocks += [[f"[{key}]", *lines] for key, lines in self._tables.items() if lines]
        return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"

    def _find_signs(self) -> list[str]:
        """Signs of the whole file that columns of texts ask for, such as a decimal comma."""
        labelled = self._roles.columns.get("action") if self._tables["labels"] else None
        found = {
            entry.partition(" or ")[0]
            for name, one in self._facts.items()
            for entry in one.cleaning.split(JOINED)
            if entry and not entry.startswith("unit.") and name not in (*self._ignored, labelled)
        }
        return [line for line in sorted(found) if getattr(self._given, line.split()[0]) is None]

    def _enter(self, key: str, name: str, entry: object, comment: str = "") -> None:
        known = getattr(self._given, key)
        if name in known and entry != known[name] and not isinstance(entry, list):
            return
        line = f"{show_key(name)} = {json.dumps(entry, ensure_ascii=False)}"
        if not any(one.startswith(f"{show_key(name)} = ") for one in self._tables[key]):
            self._tables[key].append(line + (f"  # {comment}" if comment else ""))

    def _enter_unit(self, one: Facts) -> None:
        for entry in one.cleaning.split(JOINED):
            if entry.startswith("unit."):
                self._enter("unit", one.name, json.loads(entry.rpartition(" = ")[2]))

    def _line(self, part: str, comment: str = "") -> list[str]:
        names = self._roles.columns.get(part)
        if names is None:
            return []
        guessed = "CHECK" if part in self._roles.guessed else ""
        text = " ".join(one for one in (guessed, comment) if one)
        value = json.dumps(list(names) if isinstance(names, tuple) else names, ensure_ascii=False)
        return [f"{part} = {value}" + (f"  # {text}" if text else "")]

    def _write_episode(self) -> list[str]:
        roles, given = self._roles, self._given
        if roles.single_steps and given.terminated in (None, True):
            lines = [
                "# CHECK: every row is a decision of its own, its reward is all that it earns (a",
                "# bandit log). If rows follow each other, name the column of episodes instead.",
                "episode = false",
                "terminated = true",
            ]
            return [*lines, *self._write_times()]
        lines = self._line("episode") or ["episode = false"]
        if roles.period is not None:
            lines.append(f'period = "{roles.period}"  # an episode is a {roles.period}')
        lines += self._write_times()
        for part in ("step", "truncated", "done"):
            lines += self._line(part)
        if "terminated" in roles.columns:
            return [*lines, *self._line("terminated"), *self._label("terminated")]
        if "done" in roles.columns:
            return lines
        value = str(bool(given.terminated)).lower()
        return [
            *lines,
            f"terminated = {value}  # CHECK: true if nothing more can be earned after the last row",
        ]

    def _write_times(self) -> list[str]:
        for part in ("order", "episode"):
            for name in listed(self._roles.columns.get(part, ())):
                self._enter_time(name)
        unseen = "; observed, it would look like drift" * self._roles.single_steps
        return self._line("order", f"the rows' order in time{unseen}")

    def _enter_time(self, name: str) -> None:
        formats = self._facts[name].time_formats if name in self._facts else ()
        if formats:
            others = f"CHECK, or {formats[1]}" if len(formats) > 1 else ""
            self._enter("time_format", name, formats[0], others)

    def _write_observation(self) -> list[str]:
        self._reopen_observation()
        given = self._roles.columns.get("observation")
        names = listed(given) if given is not None else self._choose_observation()
        usable = [name for name in names if name in self._facts]
        for name in usable:
            self._encode(name, self._facts[name])
        masks = [one for name, one in self._facts.items() if MASKED.fullmatch(name)]
        numbered = isinstance(given, str) and usable and self._facts[given].is_whole
        if numbered and not is_settled(self._facts[usable[0]], masks):
            self._enter("encode", usable[0], "one_hot", "what is allowed is a part of the state")
        comment = "# Only what was known BEFORE the action was chosen. CHECK each of them."
        if given is not None:
            return self._line("observation") + self._write_successors(usable)
        self._roles.columns["observation"] = tuple(usable)
        if not usable:
            return ["# observation = […]: name the columns that were known before the action"]
        items = ", ".join(json.dumps(name, ensure_ascii=False) for name in usable)
        return [comment, f"observation = [{items}]", *self._write_successors(usable)]

    def _reopen_observation(self) -> None:
        """One column that happens to have a known name, such as a state of a country, is not all.

        Whole numbers may be numbered states: they stay alone.
        """
        columns, facts = self._roles.columns, self._facts
        name = columns.get("observation")
        if not isinstance(name, str) or name not in facts or "next_observation" in columns:
            return
        if facts[name].kind == "other" or facts[name].is_whole or self._given.observation:
            return
        del columns["observation"]
        if len(self._choose_observation()) < 2:
            columns["observation"] = name
            self._ignored.clear()

    def _write_successors(self, names: Sequence[str]) -> list[str]:
        following = [f"next_{name}" for name in names]
        if "next_observation" in self._roles.columns:
            return self._line("next_observation")
        if not names or not all(name in self._facts for name in following):
            return []
        for name in following:
            self._ignored.pop(name, None)
        return [f"next_observation = {json.dumps(following, ensure_ascii=False)}"]

    def _choose_observation(self) -> list[str]:
        roles = self._roles
        chosen = []
        # One decision after the other: hours that go by would look like drift.
        times = () if roles.single_steps else listed(roles.columns.get("order", ()))
        for name, one in self._facts.items():
            if name in roles.used - {*times} or name == "step":
                continue
            if roles.period is not None and name == roles.columns.get("episode"):
                continue
            if KEPT.fullmatch(name) or name in self._given.ignore:
                continue
            reason = self._find_objection(name, one)
            if reason:
                self._ignored[name] = reason
            else:
                chosen.append(name)
        if roles.period is not None:
            # The time of day is known before every action.
            chosen += listed(roles.columns["episode"])
        return chosen

    def _find_objection(self, name: str, one: Facts) -> str:
        """Why a column is better left out, or nothing."""
        if name in self._roles.outcomes:
            return "looks like an outcome, which is known only after the action"
        if name.startswith("next_") and name.removeprefix("next_") in self._facts:
            return "is what follows"
        if one.kind == "other":
            return "holds neither numbers, texts nor times"
        if one.is_constant:
            return "is the same in every row"
        if one.n_missing > MOST_MISSING * one.n_rows:
            return f"misses {one.n_missing:,} of {one.n_rows:,} values"
        if one.counts_rows:
            return "counts the rows"
        every = one.n_distinct > 0.9 * (one.n_rows - one.n_missing)
        identifies = name.lower().endswith("id") or one.kind == "category"
        if every and identifies and one.n_distinct > FEW_CATEGORIES:
            return "names rows rather than saying something about them"
        if one.kind == "category" and one.n_distinct > FEW_CATEGORIES and not self._frequent(one):
            return f"has {one.n_distinct:,} different texts"
        return ""

    def _frequent(self, one: Facts) -> list[int]:
        return [count for count in one.counts if count >= max(2, RARE_SHARE * one.n_rows)]

    def _encode(self, name: str, one: Facts) -> None:
        if one.kind == "time":
            seconds = one.seconds
            dated = seconds is not None and bool((np.nan_to_num(seconds) % DAY == 0).all())
            cycles = "the week" if dated else "the day and the week"
            self._enter("encode", name, "date" if dated else "time", f"its place in {cycles}")
            self._enter_time(name)
        elif one.kind == "category":
            self._enter("encode", name, "one_hot", f"{one.n_distinct} categories")
            if one.n_distinct > 10 and len(self._frequent(one)) < one.n_distinct:
                least = max(2, int(RARE_SHARE * one.n_rows))
                self._enter("rare", name, least, "categories with fewer rows become one")
        else:
            self._enter_unit(one)
        if one.n_missing:
            filled = "category" if one.kind == "category" else "median"
            self._enter("missing", name, filled, f"{one.n_missing:,} missing" * (one.n_missing > 0))

    def _write_action(self) -> list[str]:
        roles = self._roles
        if "action" not in roles.columns:
            return self._ask("action", "what was chosen")
        names = roles.columns["action"]
        if roles.one_hot:
            self._enter("encode", "action", "from_one_hot", "one column for each action")
            return self._line("action")
        if isinstance(names, tuple):
            self._enter_choices(names)
        if isinstance(names, tuple) or names not in self._facts:
            return self._line("action")
        one = self._facts[names]
        if one.n_missing:
            self._enter("missing", names, "drop", f"{one.n_missing:,} missing")
        contiguous = one.is_whole and list(one.values) == list(range(len(one.values)))
        if one.cleaning and one.n_distinct <= NUMBERED_ACTIONS:
            # A few doses or prices, written with their unit, are choices.
            self._enter("labels", "action", sorted(one.values, key=find_size), "CHECK")
            return self._line("action")
        self._enter_unit(one)
        few = one.n_distinct <= (MOST_ACTIONS if one.kind == "category" else NUMBERED_ACTIONS)
        if few and not contiguous and not one.cleaning:
            twins = tell_twins(one.values)
            comment = f"CHECK{twins}" if twins else "add actions that exist but were never chosen"
            self._enter("labels", "action", list(one.values), comment)
            return [*self._line("action"), *self._write_mask(one.values)]
        if not contiguous or one.n_distinct > MOST_ACTIONS:
            roles.columns["action"] = (names,)
        return self._line("action")

    def _enter_choices(self, names: Sequence[str]) -> None:
        """Several columns that are chosen together: labels of a few values, intervals of many.

        Where all of them hold numbers of many values, they stay a vector.
        """
        columns = [self._facts[name] for name in names if name in self._facts]
        few = [one.kind == "category" or one.n_distinct <= NUMBERED_ACTIONS for one in columns]
        if not any(few):
            return
        for one, is_few in zip(columns, few, strict=True):
            if is_few:
                self._enter("labels", one.name, sorted(one.values, key=find_size), "CHECK")
            else:
                self._enter_unit(one)
                self._enter("bins", one.name, CHOSEN_BINS, "CHECK: intervals of as many rows")

    def _write_mask(self, labels: Sequence[object]) -> list[str]:
        """Columns that say which actions were allowed, if there is one for each label."""
        if self._given.allowed is not None:
            return []
        columns = ColumnMap(labels={"action": tuple(map(str, labels))})
        found = find_labelled(columns, {"action": "action"}, list(self._facts), Problems())
        if found is None:
            return []
        return [f"allowed = {json.dumps(found, ensure_ascii=False)}  # CHECK: one for each action"]

    def _label(self, part: str) -> list[str]:
        """Enter labels for a part whose two values are texts."""
        name = self._roles.columns[part]
        one = self._facts.get(str(name))
        if one is not None and one.kind == "category" and one.n_distinct == 2:
            self._enter("labels", part, list(one.values), "CHECK: first what means 0 or false")
        return []

    def _write_reward(self) -> list[str]:
        name = self._roles.columns.get("reward")
        if name is None:
            return self._ask("reward", "what it earned, more is better")
        one = self._facts.get(str(name))
        if one is not None and (one.n_missing):
            self._enter("missing", "reward", "drop", f"{one.n_missing:,} missing")
        if one is not None:
            self._enter_unit(one)
        self._label("reward")
        if self._given.lower_is_better or is_cost(str(name)):
            lines = self._line("reward", "less is better, as the next line says")
            guess = (
                "" if self._given.lower_is_better else "  # CHECK: the reward is minus this column"
            )
            lines.append(f"lower_is_better = true{guess}")
        else:
            lines = self._line("reward", "what it earned, more is better")
        if "propensity" in self._roles.columns:
            lines += self._line("propensity", "the old policy's probability of the action taken")
        return lines

    def _ask(self, part: str, meaning: str) -> list[str]:
        choice = show_names(self._roles.open.get(part, ()))
        return [f"# NEEDED: {part} = …  # {meaning}; one of {choice}"]

    def _write_ignored(self) -> list[str]:
        given = [json.dumps(name, ensure_ascii=False) for name in self._given.ignore]
        if not self._ignored and not given:
            return []
        lines = ["ignore = ["]
        lines += [f"  {name}," for name in given]
        lines += [
            f"  {json.dumps(name, ensure_ascii=False)},  # {reason}"
            for name, reason in self._ignored.items()
        ]
        return [*lines, "]"]
