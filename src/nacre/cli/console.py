"""What the command line prints: tables for people, one JSON document for programs."""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from nacre.advice.record import BreakEvenEntry, DecisionRecord, Interval
from nacre.advice.result import Advice
from nacre.cli.pricing import summarise_states
from nacre.costs import CostBreakdown, LogStates, SwitchingCost
from nacre.errors import InputError
from nacre.experiments.tables import TABLES, Row
from nacre.logs import Log, Problem
from nacre.logs.checks.problems import show_path
from nacre.logs.description import describe_columns
from nacre.logs.schema.spaces import space_to_json
from nacre.report.guardrails import state_guardrails
from nacre.report.sections.base import build_context
from nacre.report.segments import state_segments
from nacre.report.sentences import state_interval
from nacre.report.terms import add_unit, read_unit, state_highest_cost, state_payback, state_scope
from nacre.report.text import format_number, spell_numbers

WIDEST_MATRIX = 6
LONGEST_LIST = 12


def print_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one JSON document; NaN and infinity have no place in it."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def print_figures(figures: Mapping[str, float], *, quiet: bool = False) -> None:
    """Print named figures, one a line; values alone when quiet."""
    width = max(len(name) for name in figures)
    for name, value in figures.items():
        sys.stdout.write(f"{value:.6g}\n" if quiet else f"{name:<{width}}  {value:.6g}\n")


def print_text(text: str) -> None:
    """Print paragraphs, wrapped to the terminal's width."""
    _console().print(text)


def print_log(path: Path, log: Log) -> None:
    """Print that a log is in order, and its summary."""
    lines = [f"{show_path(path)}: no problems found", repr(log)]
    lines += [f"  note         {note}" for note in _find_notes(log)]
    _console().print("\n".join(lines), soft_wrap=True)


def quote(path: object) -> str:
    """A path as it is typed on a command line."""
    return shlex.quote(str(path))


def repeat_options(columns: Path | None, assignments: Sequence[str] | None) -> str:
    """The options that say which column holds what, as they were typed."""
    given = "" if columns is None else f" --columns {quote(columns)}"
    return given + "".join(f" --set {quote(entry)}" for entry in assignments or ())


def print_steps(title: str, steps: Sequence[str]) -> None:
    """Print what to type next."""
    lines = ([title] if title else []) + [f"next: {step}" for step in steps]
    _console().print("\n".join(lines), soft_wrap=True)


def print_columns(log: Log) -> None:
    """Print how each column was understood."""
    table = Table(box=None, pad_edge=False)
    rows = describe_columns(log)
    names = ("column", "meaning", "type", "encoding", "missing", "range")
    for name in names:
        table.add_column(name, overflow="fold", justify="right" if name == "missing" else "left")
    for row in rows:
        table.add_row(*(str(row[name]) for name in names))
    _console().print(table)


def describe_log(path: Path, log: Log) -> dict[str, Any]:
    """A valid log as a JSON document."""
    returns = log.returns()
    terminated = int(log.terminated[log.offsets[1:] - 1].sum())
    return {
        "file": str(path),
        "valid": True,
        "problems": [],
        **log.identify(),
        "terminated": terminated,
        "truncated": log.n_episodes - terminated,
        "observation_space": space_to_json(log.observation_space),
        "action_space": space_to_json(log.action_space),
        "returns": {
            "mean": float(returns.mean()),
            "low": float(returns.min()),
            "high": float(returns.max()),
        },
        "columns": list(log.columns),
        "understood": describe_columns(log),
        "notes": _find_notes(log),
    }


def describe_problems(path: Path, problems: Sequence[Problem]) -> dict[str, Any]:
    """The problems of a log as a JSON document."""
    return {
        "file": str(path),
        "valid": False,
        "problems": [
            {
                "text": str(problem),
                "message": problem.message,
                "remedy": problem.remedy,
                "column": problem.column,
                "row": problem.row,
                "line": problem.line,
                "value": problem.value,
            }
            for problem in problems
        ],
    }


def print_cost(cost: SwitchingCost, breakdown: CostBreakdown) -> None:
    """Print a cost, its parts, the flows of mass and how the cost is spread over states."""
    console = _console()
    console.print(f"Switching cost {_with_error(breakdown)}, {_name_states(cost, breakdown)}")
    console.print(_tabulate_parts(cost, breakdown))
    names = breakdown.group_names
    if len(names) <= WIDEST_MATRIX:
        console.print("Mass by group: rows under the old policy, columns under the new one")
        console.print(_tabulate_flows(breakdown))
    else:
        console.print(f"Mass that changes its group, largest flows of {len(names)} groups")
        console.print(_tabulate_largest(breakdown))
    console.print(_describe_spread(cost, breakdown))


def _console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def _find_notes(log: Log) -> list[str]:
    notes = log.provenance.get("notes", [])
    return [str(note) for note in notes] if isinstance(notes, list) else [str(notes)]


def _with_error(breakdown: CostBreakdown) -> str:
    error = f" ± {breakdown.standard_error:.2g}" if breakdown.standard_error else ""
    return f"{breakdown.total:.4g}{error}"


def _name_states(cost: SwitchingCost, breakdown: CostBreakdown) -> str:
    count = f"{breakdown.n_states:,} {'state' if breakdown.n_states == 1 else 'states'}"
    if isinstance(cost.state_measure, LogStates):
        whole = "drawn from" if breakdown.standard_error else "of"
        return f"averaged over {count} {whole} the log"
    return f"averaged over {count}"


def _tabulate_parts(cost: SwitchingCost, breakdown: CostBreakdown) -> Table:
    table = _table("", "weight", "mass", "cost")
    table.add_row(
        "learning (mass that changes its group)",
        f"{cost.learning_weight:g}",
        f"{breakdown.learning_mass:.4f}",
        f"{breakdown.learning:.4g}",
    )
    table.add_row(
        "transaction (mass that stays in it)",
        f"{cost.transaction_weight:g}",
        f"{breakdown.transaction_mass:.4f}",
        f"{breakdown.transaction:.4g}",
    )
    link = "" if cost.link == "identity" else " after the link"
    table.add_row(f"total{link}", "", "", f"{breakdown.total:.4g}")
    return table


def _tabulate_flows(breakdown: CostBreakdown) -> Table:
    table = _table("", *breakdown.group_names)
    for name, row in zip(breakdown.group_names, breakdown.flows, strict=True):
        table.add_row(name, *(f"{mass:.4f}" for mass in row))
    return table


def _tabulate_largest(breakdown: CostBreakdown) -> Table:
    table = _table("from", "to", "mass")
    names, flows = breakdown.group_names, breakdown.flows
    moves = [
        (flows[i, j], names[i], names[j])
        for i in range(len(names))
        for j in range(len(names))
        if i != j and flows[i, j] > 0
    ]
    for mass, source, target in sorted(moves, key=lambda move: -move[0])[:LONGEST_LIST]:
        table.add_row(source, target, f"{mass:.4f}")
    return table


def _describe_spread(cost: SwitchingCost, breakdown: CostBreakdown) -> str:
    spread = summarise_states(cost, breakdown)
    whole_log = isinstance(cost.state_measure, LogStates) and not breakdown.standard_error
    place = f" (row {spread['highest_state']} of the log)" if whole_log else ""
    text = (
        f"Cost of a state: median {spread['median']:.4g}, 90th percentile "
        f"{spread['ninth_decile']:.4g}, highest {spread['highest']:.4g}{place}."
    )
    if spread["carry_half"] is None:
        return text
    return f"{text} Half of the cost falls on {spread['carry_half']:,} states."


def _table(*headings: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i == 0 else "right", overflow="fold")
    return table


def print_results(
    rows: Sequence[Row], out: Path, docs: Path | None, *, as_json: bool, quiet: bool
) -> None:
    """Print rows of one of the paper's tables from their records; write the page of all results."""
    from nacre.experiments import ablation
    from nacre.experiments.listing import HEADER, format_text, tabulate
    from nacre.experiments.pages import write_page
    from nacre.experiments.summary import summarise

    table = rows[0].table
    summaries = [summary for summary in summarise(table, out) if summary.row in rows]
    if not summaries:
        names = ", ".join(row.name for row in rows)
        which = "" if len(rows) == len(TABLES[table]) else f" of {names}"
        raise InputError(
            f"{out / table}: no records{which} there; run nacre reproduce {table} first"
        )
    if docs is None and Path("docs").is_dir():
        docs = Path("docs")
    written = [] if docs is None else write_page(out, docs)
    comparisons = [one for one in ablation.compare_costs(table, out) if one.row in rows]
    if as_json:
        pairs = {(one.row.name, one.config): one.as_json() for one in comparisons}
        lines = [one.as_json() for one in summaries]
        print_json([{**one, "ablation": pairs.get((one["row"], one["config"]))} for one in lines])
        return
    sys.stdout.write(f"{format_text(HEADER, tabulate(summaries))}\n")
    if comparisons:
        pairs_table = format_text(ablation.HEADER, ablation.tabulate_comparisons(comparisons))
        sys.stdout.write(f"\nAblation, higher minus lower cost, paired by seed:\n{pairs_table}\n")
        sys.stdout.write(f"{ablation.conclude(comparisons)}\n")
    if not quiet:
        sys.stderr.writelines(f"written: {path}\n" for path in written)


@contextlib.contextmanager
def open_counter(label: str, total: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar on standard error that counts to a total; nothing when quiet or not on a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda n: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        task = progress.add_task(label, total=total)
        yield lambda n: progress.advance(task, n)


def print_advice(advice: Advice, out: Path | None) -> None:
    """Print the verdict and what it rests on."""
    record = advice.record
    basis, unit = ", ".join(record.basis) or "no informative estimator", read_unit(record)
    total, learning, transaction = (
        add_unit(format_number(part), unit)
        for part in (record.cost.total, record.cost.learning, record.cost.transaction)
    )
    lines = [
        record.verdict.upper(),
        spell_numbers(record.reason),
        *([record.remedy] if record.remedy else []),
        "",
        *_state_terms(record),
        f"net gain    {format_interval(record.net_gain, unit)}",
        f"basis       {basis}",
        f"old value   {format_interval(record.old_value, unit)}, {record.old_value.method}",
        f"new value   {format_interval(record.new_value, unit)}, candidate {record.chosen}",
        f"cost        {total} = learning {learning} + transaction {transaction}",
        f"break-even  {_show_break_even(record.break_even, unit)}",
        *state_guardrails(record.chosen_entry),
        *state_segments(record.chosen_entry),
    ]
    console = _console()
    text = "\n".join(lines).replace("\u00a0", " ")
    console.print(Panel(text, title="nacre", expand=False), markup=False)
    for note in (*record.notes, *advice.chosen.notes):
        console.print(f"note: {note}", markup=False)
    if out is not None:
        console.print(f"the page: {out / 'report.html'}", markup=False)


def _state_terms(record: DecisionRecord) -> list[str]:
    """Payback and break-even in the user's terms, and what all figures are about."""
    if not record.value:
        return []
    line = build_context(record).line
    said = (state_scope(record), state_payback(record), state_highest_cost(line, record))
    return [*(sentence for sentence in said if sentence), ""]


def format_interval(estimate: Interval, unit: str = "") -> str:
    """As on the page; bounds that are not known are said to be."""
    text = state_interval(estimate, unit).replace("\u00a0", " ")
    return f"{text} (bounds unknown)" if None in (estimate.low, estimate.high) else text


def _show_break_even(break_even: BreakEvenEntry, unit: str) -> str:
    weights = {
        "learning": break_even.learning_weight,
        "transaction": break_even.transaction_weight,
    }
    known = {name: weight for name, weight in weights.items() if weight is not None}
    if not known:
        return "none: no weight changes the answer"
    parts = [
        f"{name} weight {add_unit(format_number(weight), unit)}"
        for name, weight in known.items()
        if weight > 0
    ]
    return f"switch up to {' or '.join(parts)}" if parts else "not even a free switch is proven"
