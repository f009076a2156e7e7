"""What the record of `bench_advice.py` says: a table, a section of docs/bench.md and a figure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_records import table

Figures = Mapping[str, Any]
Entry = Mapping[str, Any]

HEADER = (
    "log",
    "rows",
    "target, s",
    "seconds",
    "processor seconds",
    "peak, MB",
    "verdict",
    "first version, s",
    "its verdict",
    "ratio",
    "ratio, processor",
)
WORDS = {
    "finite": "30 states",
    "contexts": "bandit, numbered contexts",
    "bandit": "bandit, vectors",
    "control": "cart-pole",
    "hopper": "Hopper",
}
COLOURS = {
    "finite": "#009e73",
    "contexts": "#cc79a7",
    "bandit": "#e69f00",
    "control": "#0072b2",
    "hopper": "#d55e00",
}
MISSING = "–"
TITLE = "## Seconds of one advice"
NOT_MEASURED = f"""{TITLE}

Not measured yet. `python scripts/bench_advice.py` times whole runs of `nacre advise` on different
logs, against the first version of the decision, and records what this section shows.
"""


def describe_runs(measured: Entry) -> str:
    """One measurement in a line."""
    if "error" in measured:
        return f"{measured['error']} after {measured['seconds']:.1f} s"
    return (
        f"{measured['seconds']:.1f} s, {measured['cpu_seconds']:.1f} s of processors, "
        f"{measured['peak_mb']:.0f} MB, {measured['verdict']}"
    )


def find_runs(entry: Entry, version: str) -> list[Entry]:
    """The measurements of a version that came to a verdict."""
    runs = [one[version] for one in entry["rounds"] if version in one]
    return [run for run in runs if run["verdict"] is not None]


def find_median(entry: Entry, version: str, name: str = "seconds") -> float | None:
    """The median over the rounds, if there is any."""
    values = [run[name] for run in find_runs(entry, version)]
    return statistics.median(values) if values else None


def find_ratio(entry: Entry, name: str = "seconds") -> float | None:
    """Now over first: the median over rounds in which both came to a verdict."""
    pairs = [(one["now"], one["first"]) for one in entry["rounds"] if {"now", "first"} <= {*one}]
    ratios = [
        now[name] / first[name]
        for now, first in pairs
        if now["verdict"] is not None and first["verdict"] is not None
    ]
    return statistics.median(ratios) if ratios else None


def sort_entries(figures: Figures) -> list[Entry]:
    """By kind of log in the order of `WORDS`, then by rows."""
    order = list(WORDS)
    return sorted(
        figures["logs"].values(), key=lambda entry: (order.index(entry["maker"]), entry["rows"])
    )


def tabulate(figures: Figures) -> str:
    """A line for each log."""
    return table([_fill_row(entry) for entry in sort_entries(figures)], HEADER)


def _fill_row(entry: Entry) -> Sequence[str]:
    seconds, target = find_median(entry, "now"), entry["target_seconds"]
    peaks = [run["peak_mb"] for run in find_runs(entry, "now")]
    aim = MISSING if target is None else f"{target:g}"
    if target is not None and seconds is not None:
        aim += ", met" if seconds <= target else ", missed"
    return (
        WORDS[entry["maker"]],
        f"{entry['rows']:,}",
        aim,
        _show(seconds, ".1f"),
        _show(find_median(entry, "now", "cpu_seconds"), ".1f"),
        _show(max(peaks, default=None), ".0f"),
        _list_verdicts(entry, "now"),
        _show(find_median(entry, "first"), ".1f"),
        _list_verdicts(entry, "first"),
        _show(find_ratio(entry), ".2f"),
        _show(find_ratio(entry, "cpu_seconds"), ".2f"),
    )


def _show(value: float | None, form: str) -> str:
    return MISSING if value is None else format(value, form)


def _list_verdicts(entry: Entry, version: str) -> str:
    """The verdicts of all rounds; a round without one failed."""
    runs = [one[version] for one in entry["rounds"] if version in one]
    verdicts = dict.fromkeys(run["verdict"] or "failed" for run in runs)
    return ", ".join(verdicts) or MISSING


def describe(document: Mapping[str, Any] | None, picture: str) -> str:
    """The section of the page; says so where nothing is recorded."""
    if document is None:
        return NOT_MEASURED
    figures = document["figures"]
    rounds = max(len(entry["rounds"]) for entry in figures["logs"].values())
    commit, _, changed = document["commit"].partition("-")
    present = f"commit `{commit[:7]}`" + (" with changes" if changed else "")
    return f"""{TITLE}

`{document["command"]}`: one whole `nacre advise` in a fresh process, reading and compiling
included. *Seconds* are by the clock, *processor seconds* those of all threads: medians over the
rounds, at most {rounds}. The first version (commit `{figures["first_commit"][:7]}`, before the
decision was rebuilt) reads the same files in turns with the present one ({present}). *Ratio* is the
present one's time over the first one's: below 1 where it is faster.

{tabulate(figures)}
{describe_failures(figures)}{describe_growth(figures)}
![Seconds of one advice against the rows of the log]({picture})
"""


def describe_failures(figures: Figures) -> str:
    """What the first version said where it came to no verdict, as a paragraph."""
    runs = [one.get("first", {}) for entry in sort_entries(figures) for one in entry["rounds"]]
    told = "; ".join(dict.fromkeys(run["error"] for run in runs if "error" in run))
    return f"\nWhere the first version failed, it said: {told}.\n" if told else ""


def describe_growth(figures: Figures) -> str:
    """How much longer the largest cart-pole log takes than the smallest, as a paragraph."""
    measured = [
        (entry["rows"], seconds)
        for entry in sort_entries(figures)
        if entry["maker"] == "control" and (seconds := find_median(entry, "now")) is not None
    ]
    if len(measured) < 2:
        return ""
    (few, short), (many, long) = measured[0], measured[-1]
    return (
        f"\nOn the cart-pole, {many / few:,.0f} times the rows ({few:,} to {many:,}) take "
        f"{long / short:.1f} times as long.\n"
    )


def draw(figures: Figures, path: Path) -> None:
    """Seconds against rows, both logarithmic: a line a world, dashed for the first version."""
    from nacre.experiments.learner_study import import_matplotlib

    plotting = import_matplotlib()
    figure, axes = plotting.subplots(figsize=(7.5, 4.5), layout="constrained")
    entries = sort_entries(figures)
    for maker in dict.fromkeys(entry["maker"] for entry in entries):
        same = [entry for entry in entries if entry["maker"] == maker]
        colour = COLOURS[maker]
        for version, style, face in (("now", "-", colour), ("first", "--", "white")):
            medians = ((entry["rows"], find_median(entry, version)) for entry in same)
            points = [point for point in medians if point[1] is not None]
            if points:
                rows, seconds = zip(*points, strict=True)
                label = WORDS[maker] if version == "now" else None
                axes.plot(rows, seconds, style, color=colour, lw=1.2, zorder=1)
                axes.scatter(
                    rows, seconds, s=26, facecolors=face, edgecolors=colour, label=label, zorder=2
                )
        for entry in same:
            if entry["target_seconds"] is not None:
                axes.scatter(
                    entry["rows"], entry["target_seconds"], s=120, marker="_", color=colour
                )
    axes.plot(
        [], [], "--o", color="#777777", markerfacecolor="white", lw=1.2, label="first version"
    )
    axes.scatter([], [], s=120, marker="_", color="#777777", label="target")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("rows of the log")
    axes.set_ylabel("seconds of one advice")
    axes.legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    # Without a date and with fixed ids the same record gives the same file.
    figure.savefig(path, metadata={"Date": None})
    plotting.close(figure)
