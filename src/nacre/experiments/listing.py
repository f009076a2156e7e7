"""Tables of text from summaries: for terminals and for the page of results."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from nacre.experiments.summary import PUBLISHED_SEEDS, Summary, mean_of_known
from nacre.experiments.tables import Published

HEADER = (
    "row",
    "configuration",
    "seeds",
    "true improvement",
    "estimated",
    "published style",
    "switch",
    "responsible",
    "published-style responsible",
    "wrong switches",
)
OLD_HEADER = ("row", "configuration", "seeds", "fitted critics", "returns of the log", "simulated")
PARTS_HEADER = (
    "row",
    "configuration",
    "published",
    "published style",
    "standard errors apart",
    "of that: old policy, simulated - fitted",
    "new policy, refitted - simulated",
    "true improvement",
)


def format_text(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table for a terminal or a file: as wide as it has to be, nothing is cut off.

    The first cell of a line, where it is not empty, stands on a line of its own.
    """
    columns = zip(header[1:], *(line[1:] for line in lines), strict=True)
    widths = [max(map(len, column)) for column in columns]

    def align(cells: Sequence[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return "  " + "  ".join(padded).rstrip()

    text = [header[0], align(header[1:])]
    for name, *cells in lines:
        text += [name] if name else []
        text.append(align(cells))
    return "\n".join(text)


def format_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def tabulate(summaries: Sequence[Summary]) -> list[list[str]]:
    """Rows of text: for each row of the table the published figures, then ours."""
    lines: list[list[str]] = []
    for row, same in itertools.groupby(summaries, lambda summary: summary.row):
        lines.append([row.name, "published", *_published(row.published)])
        lines += [["", _name(summary), *_ours(summary)] for summary in same]
    return lines


def _name(summary: Summary) -> str:
    """The configuration, and the old policies where they are not those of the row."""
    others = [name for name in summary.old_policies if name != summary.row.old_policy]
    return ", ".join(["ours", summary.config, *others])


def _published(figures: Published) -> list[str]:
    """The published figures stand in the columns of the measure that they are of."""
    improvement = ""
    if figures.improvement_mean is not None:
        improvement = _show_spread(figures.improvement_mean, figures.improvement_std)
    switch, responsible = figures.switch_proportion, figures.responsible_rate
    return [
        str(PUBLISHED_SEEDS),
        "",
        "",
        improvement,
        f"{switch:.0%}",
        "",
        f"{responsible:.0%}",
        "",
    ]


def _ours(summary: Summary) -> list[str]:
    plain = summary.as_json()
    improvement = _show_spread(plain["improvement_mean"], plain["improvement_std"])
    if summary.interval is not None:
        low, high = summary.interval
        improvement += f" [{low:.1f}, {high:.1f}]"
    rate = summary.responsible_rate
    responsible = "all ties" if rate is None else f"{rate:.0%}"
    ties = plain["ties"]
    if ties and rate is not None:
        responsible += f" ({ties} {'tie' if ties == 1 else 'ties'})"
    so_rate = summary.published_style_responsible_rate
    return [
        str(len(summary.seeds)),
        improvement,
        show(plain["estimated_improvement_mean"]),
        _show_spread(plain["published_style_mean"], plain["published_style_std"]),
        f"{summary.switch_proportion:.0%}",
        responsible,
        "unknown" if so_rate is None else f"{so_rate:.0%}",
        str(summary.wrong_switches),
    ]


def show(number: float | None) -> str:
    """A number, or that it is not known."""
    return "unknown" if number is None else f"{number:.1f}"


def _show_spread(mean: float | None, spread: float | None) -> str:
    return show(mean) + ("" if spread is None else f" ± {spread:.1f}")


def tabulate_old(summaries: Sequence[Summary]) -> list[list[str]]:
    """Rows of text: what the old policies are worth, the published estimate first."""
    lines: list[list[str]] = []
    for name, same in itertools.groupby(summaries, lambda summary: summary.row.name):
        together = list(same)
        published = together[0].row.published.old_value
        if published is not None:
            lines.append([name, "published", "10", f"{published:.1f}", "", ""])
            name = ""
        for summary in together:
            old = summary.old_value
            values = (show(old[way]) for way in ("fitted", "returns", "true"))
            lines.append([name, _name(summary), str(len(summary.seeds)), *values])
            name = ""
    return lines


def tabulate_parts(summaries: Sequence[Summary]) -> list[list[str]]:
    """Rows of text: the way from the published measure to the true one.

    published style = true improvement + (simulated - fitted value of the old policy)
    + (refitted - simulated value of the new policy); there is no last part where nothing is
    refitted.
    """
    lines = []
    for summary in summaries:
        plain, published = summary.as_json(), summary.row.published.improvement_mean
        old = mean_of_known([measure.old_part for measure in summary.published_style])
        new = mean_of_known([measure.new_part for measure in summary.published_style])
        apart = summary.distance_from_published
        lines.append(
            [
                summary.row.name,
                summary.config,
                "" if published is None else f"{published:.1f}",
                show(plain["published_style_mean"]),
                "" if apart is None else f"{apart:+.1f}",
                "unknown" if old is None else f"{old:+.1f}",
                "" if new is None else f"{new:+.1f}",
                show(plain["improvement_mean"]),
            ]
        )
    return lines
