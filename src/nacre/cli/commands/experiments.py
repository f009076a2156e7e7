"""Commands about the paper's tables: reproduce."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nacre.cli.commands.options import (
    Address,
    AsJson,
    EngineName,
    Quiet,
    SettingsFile,
    Workers,
    choose_engine,
)

app = typer.Typer()

REPRODUCE_EXAMPLES = """\b
Examples:
  nacre reproduce sumo --seeds 4-13 --workers 2
  nacre reproduce gymnasium --rows 'hopper-*' --seeds 4
  nacre reproduce sumo --summary
"""


def _complete_table(incomplete: str) -> list[str]:
    return [name for name in ("gymnasium", "gymnasium-ct", "sumo") if name.startswith(incomplete)]


@app.command(short_help="Run the paper's tables again.", epilog=REPRODUCE_EXAMPLES)
def reproduce(
    table: Annotated[
        str,
        typer.Argument(help="gymnasium, gymnasium-ct or sumo.", autocompletion=_complete_table),
    ],
    configuration: Annotated[
        str,
        typer.Option(
            "--configuration",
            "--config",
            help="paper, authors, default, or some with commas between.",
        ),
    ] = "paper",
    rows: Annotated[
        str, typer.Option("--rows", help="Names of rows with commas between; * ends a beginning.")
    ] = "",
    seeds: Annotated[str, typer.Option("--seeds", help="Such as 4-13 or 4,5,9.")] = "4-13",
    old_policies: Annotated[
        Path | None,
        typer.Option(
            "--old-policies",
            help="Folder of the published old policies; else those of the package.",
        ),
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", help="Transitions of a log; else the paper's number.")
    ] = None,
    engine: EngineName = None,
    address: Address = None,
    workers: Workers = None,
    out: Annotated[Path, typer.Option("--out", help="Folder of the records.")] = Path("results"),
    summary: Annotated[
        bool,
        typer.Option(
            "--summary/--no-summary",
            show_default=False,
            help="Run nothing; print the table, or its --rows, from the records.",
        ),
    ] = False,
    docs: Annotated[
        Path | None, typer.Option("--docs", help="With --summary: folder to write results.md to.")
    ] = None,
    settings_file: SettingsFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run the rows of one of the paper's tables, a record for each row, configuration and seed.

    Records that are there already are left alone: an interrupted run goes on where it was. The
    seeds are part of the experiment, so there is no --seed.
    """
    from functools import partial

    from nacre.cli import console
    from nacre.experiments import find_rows
    from nacre.experiments.run import Plan, list_places, parse_seeds, run_plan
    from nacre.training.progress import NoProgress
    from nacre.training.progress_display import PlainLines

    chosen = find_rows(table, [name.strip() for name in rows.split(",") if name.strip()])
    if summary:
        console.print_results(chosen, out, docs, as_json=as_json, quiet=quiet)
        return
    plan = Plan(
        tuple(chosen),
        tuple(name.strip() for name in configuration.split(",")),
        parse_seeds(seeds),
        out,
        old_policies,
        steps,
        open_reporter=NoProgress if quiet else partial(PlainLines, interval=30.0),
    )
    total, done = len(list_places(plan)), []
    for places in run_plan(plan, engine=choose_engine(engine, address, workers)):
        done += places
        if not quiet:
            typer.echo(f"{len(done)} of {total} records, last {places[-1]}", err=True)
    if as_json:
        console.print_json({"records": [place.as_json() for place in done]})
