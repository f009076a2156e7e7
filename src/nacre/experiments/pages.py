"""The page of results and its figures, written from the records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nacre.experiments import ablation
from nacre.experiments.figures import draw_table
from nacre.experiments.listing import (
    HEADER,
    OLD_HEADER,
    PARTS_HEADER,
    tabulate,
    tabulate_old,
    tabulate_parts,
)
from nacre.experiments.listing import format_markdown as format_markdown
from nacre.experiments.summary import Summary, summarise
from nacre.experiments.tables import TABLES
from nacre.files.commit import commit_files

TITLES = {
    "gymnasium": "Gymnasium",
    "gymnasium-ct": "Gymnasium with a transaction cost",
    "sumo": "Traffic lights in SUMO",
}
INTRODUCTION = """# Results against the paper

Generated from the records under `results/` by `nacre reproduce TABLE --summary`. Every record is
one run: a row of the paper's table, a configuration and a seed. [Departures from the
paper](deviations.md#the-published-tables) says where the differences come from.

Three measures of the same runs stand side by side.

- *True improvement*: value of the candidate minus the switching cost minus value of the old policy,
  both values simulated from the start state (at least 200 episodes of 700 steps at γ = 0.99). Given
  as mean ± standard deviation over the seeds with the 95 % interval of the mean.
- *Estimated*: what the run itself believed.
- *Published style*: what the published tables measure. Their runs refit the critics of the new
  policy online and compare with the offline value of the old policy, which is not refitted. Here it
  is the value of the new policy, refitted where the record has it and else simulated, minus the
  cost, minus the *fitted* value of the old policy. Published figures stand in this column.

*Responsible* is the share of decisions that agree with the simulated truth; a truth within two
standard errors of zero is a tie and left out. *Published-style responsible* is the share that
agrees with the sign of the published measure, which knows no ties. *Wrong switches* are those whose
true net improvement is negative, ties included.

Below each figure: the *way* from the published measure to the true one, as means over the seeds,
and what the *old policies* are worth: by fitted critics (the paper's Algorithm 2, which its
decision rests on, or the critics of advice, which are checked against the log's returns), by the
returns of the log, and by simulation.

The rows *ours, default* come from records of the first rule of advice, which has been replaced
since; every record names the commit that made it.
"""


def write_page(out: Path, docs: Path) -> list[Path]:
    """Write `results.md` and a figure for each table that has records."""
    sections, files = [INTRODUCTION], {}
    for table in TABLES:
        summaries = summarise(table, out)
        if not summaries:
            continue
        figure = f"results-{table}.svg"
        title = f"{TITLES[table]}: every run, true and published style"
        files[figure] = draw_table(summaries, title).encode()
        sections.append(_write_section(table, summaries, figure))
        comparisons = ablation.compare_costs(table, out)
        if comparisons:
            sections.append(_write_ablation(comparisons))
    files = {"results.md": "\n".join(sections).encode(), **files}
    commit_files(docs, files)
    return [docs / name for name in files]


def _write_section(table: str, summaries: Sequence[Summary], figure: str) -> str:
    return (
        f"## {TITLES[table]}\n\n{format_markdown(HEADER, tabulate(summaries))}\n\n"
        f"![True and published-style improvement of every run]({figure})\n\n"
        "From the published measure to the true one:\n\n"
        f"{format_markdown(PARTS_HEADER, tabulate_parts(summaries))}\n\n"
        "Values of the old policies:\n\n"
        f"{format_markdown(OLD_HEADER, tabulate_old(summaries))}\n"
    )


def _write_ablation(comparisons: Sequence[ablation.Comparison]) -> str:
    table = format_markdown(ablation.HEADER, ablation.tabulate_comparisons(comparisons))
    return (
        "Ablation: the same seeds and old policies at a higher cost, minus those at a lower one; "
        "mean difference with its 95 % interval and the p-value of a paired t-test:\n\n"
        f"{table}\n\n{ablation.conclude(comparisons)}\n"
    )
