"""From records to figures: wrong switches, false claims, coverage, gains taken, widths, seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nacre.experiments.calibration.case import LEVELS, ORACLE_LEVEL

Line = dict[str, Any]
CLEAR = 0.1
"""Share of the value range above which a true net gain is clear."""
ROUNDING = 1e-5
"""Share of the value range within which two values are equal: policies are in single precision."""
BASELINES = ("fitted_q", "empirical_mdp", "importance_sampling")


def summarise(lines: Sequence[Line]) -> Line:
    """The figures of a suite: over all, by world, by kind of old policy.

    `decisions` counts cases. A switch is wrong if its true net gain is not above zero. A claim is
    "switch: at least X"; it is false if the true net gain is below X. `coverage` is the share of
    decisions whose interval contains the true net gain of the candidate that they are about; where
    the truth is simulated, `coverage_within_error` allows for two of its standard errors.
    `clear` counts cases with a candidate, tested or not, whose true net gain exceeds a tenth of the
    value range, `clear_taken` those of them with a switch that gains; `clear_shown` and
    `clear_shown_taken` count only logs that can show a gain at all, see `can_show`.
    """
    return {
        **count(lines),
        "commit": find_commits(lines),
        "worlds": split(lines, "world"),
        "kinds": split(lines, "kind"),
    }


def split(lines: Sequence[Line], name: str) -> dict[str, Line]:
    """The figures for each value of a name, in alphabetical order."""
    return {
        value: count([line for line in lines if line[name] == value])
        for value in sorted({line[name] for line in lines})
    }


def find_commits(lines: Sequence[Line]) -> str | None:
    """The commit of the lines; several of them are named with commas between."""
    return ", ".join(sorted({str(line["commit"]) for line in lines})) or None


def count(lines: Sequence[Line]) -> Line:
    """The figures of some lines."""
    switches = [line for line in lines if line["verdict"] == "switch"]
    claims = [line for line in switches if line["claim"] is not None]
    clear = [line for line in lines if is_clear(line)]
    return {
        "decisions": len(lines),
        "switches": len(switches),
        "wrong_switches": sum(is_wrong(line) for line in switches),
        "claims": len(claims),
        "false_claims": sum(is_false(line) for line in claims),
        "coverage": {f"{level:g}": find_coverage(lines, level) for level in LEVELS},
        "coverage_within_error": {
            f"{level:g}": find_coverage(lines, level, errors=2.0) for level in LEVELS
        },
        "tied_switches": sum(is_tied(line) for line in switches),
        "clear": len(clear),
        "clear_taken": sum(is_taken(line) for line in clear),
        "clear_shown": sum(is_shown(line) for line in clear),
        "clear_shown_taken": sum(is_shown(line) and is_taken(line) for line in clear),
        "equal": sum(is_equal(line) for line in lines),
        "equal_switches": sum(is_equal(line) and line["verdict"] == "switch" for line in lines),
        "verdicts": {
            verdict: sum(line["verdict"] == verdict for line in lines)
            for verdict in ("switch", "keep", "undecided", "refused")
        },
        "net_value": sum(share_gained(line) for line in lines),
        "baselines": {name: count_baseline(lines, name) for name in BASELINES},
        "width_ratio": find_width_ratio(lines),
        "seconds": median([line["seconds"]["advice"] for line in lines]),
    }


def range_of(line: Line) -> float:
    """Width of the value range of a case."""
    low, high = line["value_range"]
    return max(float(high - low), 1e-12)


def is_wrong(line: Line) -> bool:
    """Whether a switch gains nothing in truth."""
    return bool(line["chosen"]["true_net_gain"] <= ROUNDING * range_of(line))


def is_tied(line: Line) -> bool:
    """Whether the simulated truth of a switch cannot be told from zero."""
    chosen = line["chosen"]
    return bool(abs(chosen["true_net_gain"]) < 2.0 * chosen["standard_error"])


def is_false(line: Line) -> bool:
    """Whether the true net gain is below what was claimed."""
    return bool(line["chosen"]["true_net_gain"] < line["claim"] - ROUNDING * range_of(line))


def is_clear(line: Line) -> bool:
    """Whether some candidate has a true net gain that is clear."""
    gains = [one["true_net_gain"] for one in (*line["finalists"], *line["not_finalists"])]
    return max(gains, default=0.0) > CLEAR * range_of(line)


def is_shown(line: Line) -> bool:
    """Whether the log can show a gain at all; older records do not say, and count."""
    return bool(line["facts"].get("can_show", True))


def is_taken(line: Line) -> bool:
    """Whether there is a switch, and it gains."""
    return line["verdict"] == "switch" and not is_wrong(line)


def is_equal(line: Line) -> bool:
    """Whether only policies equal to the old one were compared."""
    return line["facts"].get("offer") in ("same", "equal") and all(
        abs(one["true_gain"]) <= ROUNDING * range_of(line) for one in line["finalists"]
    )


def find_coverage(lines: Sequence[Line], level: float, errors: float = 0.0) -> float | None:
    """Share of decisions whose interval at this level contains the truth.

    Args:
        lines: The decisions.
        level: Of the intervals.
        errors: Standard errors of a simulated truth that are allowed for.
    """
    hits = [
        contains(line["chosen"]["intervals"][f"{level:g}"], line, errors)
        for line in lines
        if line["chosen"] and f"{level:g}" in line["chosen"]["intervals"]
    ]
    return float(np.mean(hits)) if hits else None


def contains(interval: Sequence[float | None], line: Line, errors: float = 0.0) -> bool:
    """Whether an interval contains the true net gain; an end that is null is infinite."""
    low, high = interval
    room = ROUNDING * range_of(line) + errors * line["chosen"]["standard_error"]
    truth = line["chosen"]["true_net_gain"]
    return (low is None or low - room <= truth) and (high is None or truth <= high + room)


def share_gained(line: Line) -> float:
    """True net gain of what was done, as a share of the value range: worlds differ in size."""
    if line["verdict"] != "switch":
        return 0.0
    return float(line["chosen"]["true_net_gain"]) / range_of(line)


def count_baseline(lines: Sequence[Line], name: str) -> Line | None:
    """The same for a plain way to decide; None where it was not run."""
    said = [(line, line["baselines"][name]) for line in lines if name in line["baselines"]]
    if not said:
        return None
    switched = [(line, one) for line, one in said if one["verdict"] == "switch"]
    wrong = [one["true_net_gain"] <= ROUNDING * range_of(line) for line, one in switched]
    clear = [line for line, _ in said if is_clear(line)]
    taken = [line for (line, _), bad in zip(switched, wrong, strict=True) if not bad]
    return {
        "decisions": len(said),
        "switches": len(switched),
        "wrong_switches": sum(wrong),
        "clear": len(clear),
        "clear_taken": sum(is_clear(line) for line in taken),
        "net_value": sum(one["true_net_gain"] / range_of(line) for line, one in switched),
    }


def find_width_ratio(lines: Sequence[Line]) -> float | None:
    """Median width of the 90 % interval over that of an experiment of the log's size."""

    def ratio(line: Line) -> float | None:
        chosen = line["chosen"]
        low, high = (chosen or {}).get("intervals", {}).get(f"{ORACLE_LEVEL:g}", (None, None))
        if low is None or high is None or not chosen["oracle_width"] > 0:
            return None
        return float((high - low) / chosen["oracle_width"])

    return median([found for found in map(ratio, lines) if found is not None])


def median(numbers: Sequence[float]) -> float | None:
    """The median, or None of nothing."""
    return float(np.median(numbers)) if numbers else None


def tabulate(
    summary: Line, groups: str, *, name: Callable[[str], str] = str
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table: one for each world or kind, and one for all."""
    header = [
        groups.removesuffix("s"),
        "decisions",
        "switches",
        "wrong switches",
        "false claims",
        "90 % covers",
        "clear gains taken",
        "of those the log can show",
        "net value",
        "width / experiment",
        "seconds",
    ]
    rows = [[name(value), *_cells(part)] for value, part in summary[groups].items()]
    return header, [*rows, ["all", *_cells(summary)]]


def _cells(part: Line) -> list[str]:
    return [
        str(part["decisions"]),
        str(part["switches"]),
        str(part["wrong_switches"]),
        f"{part['false_claims']} of {part['claims']}",
        show_share(part["coverage"]["0.9"]),
        f"{part['clear_taken']} of {part['clear']}",
        f"{part['clear_shown_taken']} of {part['clear_shown']}",
        f"{part['net_value']:.2f}",
        "" if part["width_ratio"] is None else f"{part['width_ratio']:.1f}",
        "" if part["seconds"] is None else f"{part['seconds']:.1f}",
    ]


def tabulate_rules(summary: Line) -> tuple[list[str], list[list[str]]]:
    """Header and rows: nacre beside plain ways to decide, each on the decisions it can make."""
    header = ["rule", "decisions", "switches", "wrong switches", "clear gains taken", "net value"]
    parts = {"nacre": summary, **summary["baselines"]}
    rows = [
        [
            name.replace("_", " "),
            str(part["decisions"]),
            str(part["switches"]),
            str(part["wrong_switches"]),
            f"{part['clear_taken']} of {part['clear']}",
            f"{part['net_value']:.2f}",
        ]
        for name, part in parts.items()
        if part is not None
    ]
    return header, rows


def show_share(share: float | None) -> str:
    """A share in per cent."""
    return "" if share is None else f"{100 * share:.0f} %"
