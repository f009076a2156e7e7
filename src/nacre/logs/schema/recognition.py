"""Finding the parts of a transition among columns by a map, and by the names people use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from nacre.logs.checks.problems import Problems, show, show_names
from nacre.logs.schema.mapping import ColumnMap, Label
from nacre.logs.schema.masks import STEMS, find_labelled, normalise_name
from nacre.logs.schema.parts import FIELDS, MASK, REQUIRED, VECTORS
from nacre.logs.schema.spaces import JSON

# By what is left of a name without capitals, blanks and hyphens.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "episode": (
        *("episode", "episode_id", "episode_index", "episode_number"),
        *("traj_id", "traj", "trajectory", "trajectory_id"),
    ),
    "observation": (
        *("observation", "observations", "obs", "state", "states", "context", "contexts"),
    ),
    "action": ("action", "actions", "act", "acts"),
    "next_observation": (
        *("next_observation", "next_observations", "next_obs", "obs_next"),
        *("next_state", "next_states", "new_obs"),
    ),
    "reward": ("reward", "rewards", "rew", "rews", "next.reward"),
    "terminated": (
        *("terminated", "terminal", "terminals", "termination", "terminations", "is_terminal"),
        *("done", "dones", "next.done"),
    ),
    "truncated": ("truncated", "truncation", "truncations", "timeout", "timeouts", "time_out"),
    "propensity": (
        *("propensity", "propensities", "propensity_score", "pscore", "action_prob"),
        *("action_probability", "logging_probability", "behavior_probability"),
    ),
}
_DONE = ("done", "dones", "next.done")
# The array names of D4RL and of what follows it: no episodes, but rows in order and flags.
_ARRAY, _ARRAY_FLAGS = "observations", ("terminals", "terminations", "dones")
_NUMBERED = re.compile(r"(.+)_([0-9]{1,6})", re.DOTALL)


@dataclass(frozen=True)
class Reading:
    """Where the parts of a transition are read from.

    Attributes:
        columns: By field, "step" and "done" included, one column or several side by side.
        labels: By field, the values of a column of categories in order.
        constant_end: False if no row is terminated, True if the last of each episode is, by the
            map.
        ends_by_flags: Whether episodes end where a flag says so, for lack of a column.
        lacks_episode: Whether there is no column of episodes, but one that may show that every row
            is an episode of its own.
        ambiguous_done: Whether a column called done was taken for `terminated` beside `truncated`.
        unused: Columns that are left out, and why.
        notes: What was assumed.
        found: All columns that there are.
        names: What the parts were called, for the provenance; empty if as here.
    """

    columns: Mapping[str, str | tuple[str, ...]]
    labels: Mapping[str, tuple[Label, ...]] = field(default_factory=dict)
    constant_end: bool | None = None
    ends_by_flags: bool = False
    lacks_episode: bool = False
    ambiguous_done: bool = False
    unused: Mapping[str, str | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    names: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def used(self) -> set[str]:
        """All columns that hold a part of a transition."""
        return {name for names in self.columns.values() for name in listed(names)}


def listed(names: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return one name or several as several."""
    return (names,) if isinstance(names, str) else names


def find_numbered(names: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return, for each stem, its numbered columns; of two with one number the later is left out."""
    families: dict[str, dict[int, str]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match:
            families.setdefault(match[1], {}).setdefault(int(match[2]), name)
    return {
        stem: family for stem, family in families.items() if stem in VECTORS or stem not in FIELDS
    }


def recognise(columns: ColumnMap, names: Sequence[str], problems: Problems) -> Reading:
    """Decide which column holds what; what cannot be decided goes to `problems`."""
    parts: dict[str, str | tuple[str, ...]] = {}
    for part, given in columns.named.items():
        resolved = _resolve_given(part, given, names, problems)
        if resolved is not None:
            parts[part] = resolved
    names_left = [name for name in names if name not in columns.ignore]
    taken = {name for given in parts.values() for name in listed(given)}
    assumed: dict[str, str] = {}
    wrong = {part for part in columns.named if part not in parts}
    for part in (*FIELDS, "propensity"):
        if part in columns.named or _is_settled(part, columns):
            continue
        stem = _recognise_field(part, names_left, taken, problems)
        resolved = _resolve(stem, names_left, problems) if stem else None
        if stem is None:
            dotted = _find_dotted(part, names_left)
            parts.update({part: dotted} if dotted else {})
        elif resolved is None:
            wrong.add(part)
        else:
            parts[part] = resolved
            assumed.update({part: stem} if stem != part else {})
    if MASK not in columns.named:
        mask = _recognise_mask(columns, parts, names_left, problems)
        parts.update({MASK: mask} if mask is not None else {})
    if "step" in names_left and "step" not in taken:
        parts["step"] = "step"
    by_flags = columns.episode is False or _looks_like_arrays(parts)
    constant = columns.terminated if isinstance(columns.terminated, bool) else None
    lacks_episode = not by_flags and "episode" not in parts and "terminated" in parts
    _report_missing(parts, wrong, columns, by_flags or lacks_episode, names, problems)
    return Reading(
        parts,
        columns.labels,
        constant,
        by_flags,
        lacks_episode and "episode" not in wrong,
        assumed.get("terminated", "").lower() in _DONE and "truncated" in parts,
        _find_unused(parts, wrong, columns, names),
        _note(assumed, by_flags and columns.episode is None),
        tuple(names),
        _name_parts(parts) if assumed or columns.named else {},
    )


def _is_settled(part: str, columns: ColumnMap) -> bool:
    if part == "terminated":
        return isinstance(columns.terminated, bool) or columns.done is not None
    return part == "episode" and columns.episode is False


def _resolve_given(
    part: str,
    given: str | tuple[str, ...],
    names: Sequence[str],
    problems: Problems,
) -> str | tuple[str, ...] | None:
    is_stem = isinstance(given, str) and given not in names and given in find_numbered(names)
    if is_stem and part in (*VECTORS, MASK):
        return _resolve(str(given), names, problems)
    absent = [name for name in listed(given) if name not in names]
    if not absent:
        return given
    problems.add(
        f"the column map names {show_names(absent)} for {part}; there are {show_names(names)}",
        _suggest_names(part, given, names),
    )
    return None


def _suggest_names(part: str, given: str | tuple[str, ...], names: Sequence[str]) -> str:
    """What to write instead of columns that are not there: those with nearly the same names."""
    wanted = [given] if isinstance(given, str) else list(given)
    if isinstance(given, str) and "," in given:
        wanted = [name.strip() for name in given.split(",")]
    plain = {normalise_name(name): name for name in reversed(names)}
    near = []
    for name in wanted:
        close = get_close_matches(normalise_name(name), plain, n=1, cutoff=0.8)
        near += [name] if name in names else [plain[one] for one in close]
    if len(near) < len(wanted):
        return "name columns that are there"
    several = part in VECTORS and (len(near) > 1 or not isinstance(given, str))
    listing = ", ".join(map(_quote, near))
    return f"write {part} = {f'[{listing}]' if several else listing}"


def _resolve(stem: str, names: Sequence[str], problems: Problems) -> str | tuple[str, ...] | None:
    """Return the column of that name, or `stem_0, stem_1, …`; None if they do not fit."""
    family = find_numbered(names).get(stem, {})
    if stem in names:
        if not family:
            return stem
        problems.add(
            f"is there twice, also as {show_names(family.values())}",
            "keep one of the two forms",
            column=stem,
        )
        return None
    absent = [f"{stem}_{i}" for i in range(max(family)) if i not in family]
    if absent:
        problems.add(
            f"is missing: there are {show_names(family.values())}",
            "number the columns from 0 without a gap",
            column=absent[0],
        )
        return None
    return tuple(family[i] for i in range(len(family)))


def _recognise_field(
    part: str, names: Sequence[str], taken: set[str], problems: Problems
) -> str | None:
    """Return the column, or the stem of numbered ones, that is called like a field."""
    families = find_numbered(names) if part in VECTORS else {}
    if part in names or part in families:
        return part
    stems = [name for name in names if name not in taken]
    stems += [stem for stem, family in families.items() if not taken & set(family.values())]
    called = [stem for stem in dict.fromkeys(stems) if normalise_name(stem) in ALIASES[part]]
    if len(called) <= 1:
        return called[0] if called else None
    problems.add(
        f"{part} could be any of {show_names(called)}",
        f"write {part} = {_quote(called[0])} in the column map, or which it is",
    )
    return called[0]


def _find_dotted(part: str, names: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns `observation.NAME`, as tables of dictionaries have them."""
    dotted = tuple(name for name in names if name.startswith(f"{part}."))
    return dotted if dotted and part in VECTORS else None


def _recognise_mask(
    columns: ColumnMap,
    parts: Mapping[str, str | tuple[str, ...]],
    names: Sequence[str],
    problems: Problems,
) -> str | tuple[str, ...] | None:
    """Return the columns that say which actions are allowed, by their names."""
    free = [name for name in names if name not in {n for p in parts.values() for n in listed(p)}]
    families = find_numbered(free)
    for stem in STEMS:
        if stem in free or stem in families:
            return _resolve(stem, free, problems)
    return find_labelled(columns, parts, free, problems)


def _quote(name: str) -> str:
    return show(name).replace("'", '"')


def _looks_like_arrays(parts: Mapping[str, str | tuple[str, ...]]) -> bool:
    flags = parts.get("terminated", parts.get("done"))
    return (
        "episode" not in parts
        and parts.get("observation") == _ARRAY
        and isinstance(flags, str)
        and flags in _ARRAY_FLAGS
    )


def _report_missing(
    parts: Mapping[str, object],
    wrong: set[str],
    columns: ColumnMap,
    by_flags: bool,
    names: Sequence[str],
    problems: Problems,
) -> None:
    settled = {"terminated"} if isinstance(columns.terminated, bool) or "done" in parts else set()
    settled |= {"episode"} if by_flags else set()
    if columns.done is not None and "truncated" not in parts:
        problems.add(
            "the column map names done, but no column says which ends are truncated",
            "name truncated too, or write terminated instead of done",
        )
    absent = [name for name in REQUIRED if name not in parts and name not in wrong | settled]
    if {"episode", "terminated"} <= set(absent):
        problems.add(
            f"episode and terminated are missing; there are {show_names(names)}",
            "if every row is a decision of its own, write episode = false and terminated = true "
            "in the column map; if rows follow each other, name both columns there",
        )
        absent = [name for name in absent if name not in ("episode", "terminated")]
    for name in absent:
        either = f"{name} or {name}_0, {name}_1, …" if name in VECTORS else name
        remedy = f"add the column {either}, or name another in the column map"
        if name == "terminated":
            remedy += (
                ", or write terminated = false there if the world never ends an episode, "
                "terminated = true if it ends each at its last row"
            )
        if name == "episode":
            remedy = _SINGLE_STEPS if columns.terminated is True else f"{remedy}, {_NO_EPISODE}"
        problems.add(f"is missing; there are {show_names(names)}", remedy, column=name)


_SINGLE_STEPS = (
    "write episode = false in the column map if every row is a decision of its own; if rows "
    "follow each other, name the column of episodes there"
)
_NO_EPISODE = "or write episode = false there if rows lie in order and end where a flag says"


def missing_episode(reading: Reading, problems: Problems) -> None:
    """Report that there is no column of episodes."""
    problems.add(
        f"is missing; there are {show_names(reading.found)}",
        f"add the column episode, or name another in the column map, {_NO_EPISODE}",
        column="episode",
    )


def _find_unused(
    parts: Mapping[str, str | tuple[str, ...]],
    wrong: set[str],
    columns: ColumnMap,
    names: Sequence[str],
) -> dict[str, str | None]:
    """Return columns to leave out: ignored, or named like a field that is wrong or elsewhere."""
    unused: dict[str, str | None] = dict.fromkeys(columns.ignore)
    used = {name for given in parts.values() for name in listed(given)}
    numbered = find_numbered(names)
    mapped = set(columns.as_json()) | ({"terminated"} if columns.done else set())
    for part in (*FIELDS, "step", "propensity"):
        for name in (part, *numbered.get(part, {}).values()):
            if name in names and name not in used and part in mapped | wrong:
                why = f"the column {show(name)} was left out: the column map says otherwise"
                unused[name] = None if part in wrong else why
    return unused


def _note(assumed: Mapping[str, str], by_flags: bool) -> tuple[str, ...]:
    notes = []
    if assumed:
        pairs = ", ".join(f"{part} from {show(stem)}" for part, stem in assumed.items())
        notes.append(f"columns were recognised by their names: {pairs}")
    if by_flags:
        notes.append("there is no column of episodes: they end where a flag says so")
    return tuple(notes)


def _name_parts(parts: Mapping[str, str | tuple[str, ...]]) -> dict[str, JSON]:
    return {
        part: list(names) if isinstance(names, tuple) else names for part, names in parts.items()
    }
