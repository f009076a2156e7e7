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
INTRODUCTION = f"""# Results against the paper

`nacre reproduce TABLE --summary` writes this page from the records under `results/`, one for each
row, configuration and seed. [Departures from the paper](deviations.md#the-published-tables)
explains the differences.

- *True improvement*: the candidate's value minus the switching cost minus the old policy's value,
  simulated from the start (at least 200 episodes of 700 steps at γ = 0.99): mean ± standard
  deviation over seeds, and the mean's 95 % interval.
- *Estimated*: what the run itself believed.
- *Published style*: the new policy's value (refitted where the record has it, else simulated) minus
  the cost minus the old policy's *fitted* value, as in the published tables.
- *Responsible*: share of decisions that agree with the truth, without ties (within two standard
  errors of zero). The *published-style* share takes the sign of that measure.
- *Wrong switches*: the true net improvement is negative, ties included.
- *The sentence* of the paper that ablations test: "{ablation.SENTENCE}".

Fitted critics are those of the paper's Algorithm 2, or of advice, checked against the log's
returns. Rows *ours, default* are of the first rule of advice, since replaced.
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
        "Ablation: higher minus lower cost by the same seeds and old policies, mean, 95 % "
        "interval, p-value of a paired t-test:\n\n"
        f"{table}\n\n{ablation.conclude(comparisons)}\n"
    )
