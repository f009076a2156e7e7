"""The page of results and its figures, written from the records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nacre.errors import InputError
from nacre.experiments.summary import HEADER, OLD_HEADER, Summary, summarise, tabulate, tabulate_old
from nacre.experiments.tables import TABLES

TITLES = {
    "gymnasium": "Gymnasium",
    "gymnasium-ct": "Gymnasium with a transaction cost",
    "sumo": "Traffic lights in SUMO",
}
COLOURS = {"paper": "#0072b2", "default": "#d55e00"}
INTRODUCTION = """# Results against the paper

Generated from the records under `results/` by `nacre reproduce TABLE --summary`. Every record is
one run: a row of the paper's table, a configuration and a seed.

*Improvement* is the true net improvement: value of the candidate minus the switching cost minus
value of the old policy, both values simulated from the start state (at least 200 episodes of 700
steps at γ = 0.99). Ours is given as mean ± standard deviation over the seeds with the 95 % interval
of the mean. *Estimated* is what the run itself believed. *Responsible* is the share of decisions
that agree with the simulated truth; a truth within two standard errors of zero is a tie and left
out. *Wrong switches* are those whose true net improvement is negative, ties included. The published
improvements and responsible rates are the authors' own estimates, by critics refitted online; they
are not simulated values.

What the *old policies* are worth stands below each figure, as means over the seeds: by fitted
critics (the paper's Algorithm 2, which its decision rests on, or the critics of advice, which are
checked against the log's returns), by the returns of the log, and by simulation.

The rows *ours, default* come from records of the first rule of advice, which has been replaced
since; every record names the commit that made it.
"""


def write_page(out: Path, docs: Path) -> list[Path]:
    """Write `results.md` and a figure for each table that has records."""
    docs.mkdir(parents=True, exist_ok=True)
    sections, written = [INTRODUCTION], []
    for table in TABLES:
        summaries = summarise(table, out)
        if not summaries:
            continue
        figure = docs / f"results-{table}.svg"
        draw_table(summaries, figure)
        written.append(figure)
        sections.append(
            f"## {TITLES[table]}\n\n{format_markdown(HEADER, tabulate(summaries))}\n\n"
            f"![True net improvement of every run]({figure.name})\n\n"
            "Values of the old policies:\n\n"
            f"{format_markdown(OLD_HEADER, tabulate_old(summaries))}\n"
        )
    page = docs / "results.md"
    page.write_text("\n".join(sections), encoding="utf-8")
    return [page, *written]


def format_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def draw_table(summaries: Sequence[Summary], path: Path) -> None:
    """True net improvement of every run, one line for each row of the table."""
    plotting = import_matplotlib()
    rows = list(dict.fromkeys(summary.row.name for summary in summaries))
    figure, axes = plotting.subplots(figsize=(8, 0.6 + 0.55 * len(rows)), layout="constrained")
    for summary in summaries:
        place = rows.index(summary.row.name)
        shift = -0.14 if summary.config == "paper" else 0.14
        switched = np.array([decision == "switch" for decision in summary.decisions])
        gains, heights = np.array(summary.improvements), np.full(len(switched), place + shift)
        colour = COLOURS[summary.config]
        for chosen, face in ((switched, colour), (~switched, "none")):
            axes.scatter(gains[chosen], heights[chosen], s=28, facecolors=face, edgecolors=colour)
        published = summary.row.published.improvement_mean
        if published is not None:
            axes.plot([published] * 2, [place - 0.35, place + 0.35], color="#555555", lw=1.5)
    axes.axvline(0.0, color="#aaaaaa", lw=0.8, zorder=0)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_xlabel("true net improvement of the candidate")
    _add_legend(axes, {summary.config for summary in summaries})
    # Without a date and with fixed ids the same records give the same file.
    figure.savefig(path, metadata={"Date": None})
    plotting.close(figure)


def _add_legend(axes: Any, configs: set[str]) -> None:
    for config in sorted(configs):
        axes.scatter([], [], s=28, color=COLOURS[config], label=f"{config}: switched")
        axes.scatter(
            [], [], s=28, facecolors="none", edgecolors=COLOURS[config], label=f"{config}: kept"
        )
    axes.plot([], [], color="#555555", lw=1.5, label="published mean")
    axes.legend(loc="best", fontsize="small", frameon=False)


def import_matplotlib() -> Any:
    """Pyplot without a screen, or an error that says which extra brings it."""
    try:
        import matplotlib
    except ImportError:
        raise InputError(
            "figures need matplotlib, which is not installed: pip install 'nacre[figures]'"
        ) from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "nacre"
    from matplotlib import pyplot

    return pyplot
