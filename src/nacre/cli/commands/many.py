"""Commands about many decisions: advise-many."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nacre.cli.commands.options import (
    Address,
    AsJson,
    ConfigFile,
    EngineName,
    Quiet,
    Seed,
    Workers,
    choose_engine,
)

app = typer.Typer()

EXAMPLES = """\b
Examples:
  nacre advise-many decisions.toml --out advices
  nacre advise-many decisions.toml --out advices --workers 2
  nacre advise-many decisions.toml --out advices --engine dask --address tcp://head:8786
"""


@app.command("advise-many", short_help="Advice on a table of decisions.", epilog=EXAMPLES)
def advise_many(
    table: Annotated[Path, typer.Argument(help="The decisions: logs, policies, costs, in TOML.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for all advices and the overview.")],
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Make all decisions again, also those that are there.")
    ] = False,
    engine: EngineName = None,
    address: Address = None,
    workers: Workers = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Advise on every decision of a table: a record and a page each, and one overview.

    Decisions that were made before from the same are kept: an interrupted run goes on where it was.
    One that fails does not stop the others; the exit code is 1 then.
    """
    from nacre.cli import console
    from nacre.decisions.run import PAGE, count_failures, run_decisions
    from nacre.decisions.table import read_entries
    from nacre.files.commit import check_writable

    chosen = choose_engine(engine or "local", address, workers)
    entries = read_entries(table, seed)
    check_writable(out)

    def link(workers: Workers) -> None:
        if workers.dashboard and not quiet:
            typer.echo(f"dashboard: {workers.dashboard}", err=True)

    def tell(line: dict[str, Any], left: int) -> None:
        if not quiet:
            what = line["error"] or line["verdict"]
            typer.echo(f"{line['name']}: {what} ({left} left)", err=True)

    lines = run_decisions(entries, out, chosen, fresh=fresh, on_open=link, on_line=tell)
    if as_json:
        console.print_json({"decisions": lines})
    elif quiet:
        for line in lines:
            typer.echo(f"{line['name']} {line['verdict']}")
    else:
        typer.echo(f"{len(lines)} decisions, {count_failures(lines)} failed: {out / PAGE}")
    if count_failures(lines):
        raise typer.Exit(1)
