"""Commands that write files to edit: draft-map, draft-cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nacre.cli.commands.options import (
    AsJson,
    Assignments,
    CacheDir,
    Columns,
    ConfigFile,
    Quiet,
    Seed,
)
from nacre.errors import InputError

app = typer.Typer()

MAP_EXAMPLES = """\b
Examples:
  nacre draft-map calls.csv
  nacre draft-map calls.csv --set action=offer --set reward=revenue --out map.toml
"""
COST_EXAMPLES = """\b
Examples:
  nacre draft-cost log.parquet
  nacre draft-cost calls.csv --columns calls.map.toml --out cost.toml
"""
Overwrite = Annotated[
    bool, typer.Option("--force/--no-force", show_default=False, help="Replace an earlier file.")
]


@app.command("draft-map", short_help="Write a column map to edit.", epilog=MAP_EXAMPLES)
def draft_map(
    file: Annotated[Path, typer.Argument(help="A table in any form that can be read.")],
    assignments: Assignments = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The map; NAME.map.toml here if not given.")
    ] = None,
    force: Overwrite = False,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Look at a table and write a column map with comments, to read and to correct.

    It says which columns may be the action, the reward and the observation, how texts, times and
    missing values become numbers, and what is left out. Nothing is drawn: the seed changes nothing.
    """
    from nacre.cli import console
    from nacre.cli.waiting import open_wait
    from nacre.files.commit import write_whole
    from nacre.logs.drafting.column_map import draft_map as look

    target = out or Path(f"{file.name.partition('.')[0]}.map.toml")
    _check_target(target, force=force)
    with open_wait(f"reading {file}", quiet=quiet, source=file):
        draft = look(file, assignments or ())
    write_whole(target, draft.text.encode())
    steps = [f"nacre validate {console.quote(file)} --columns {console.quote(target)}"]
    if draft.open:
        unknown = "".join(f" --set {part}=COLUMN" for part in draft.open)
        place = "" if out is None else f" --out {console.quote(out)}"
        given = console.repeat_options(None, assignments) + unknown
        steps = [f"nacre draft-map {console.quote(file)}{given}{place} --force"]
    if as_json:
        named = {part: list(names) for part, names in draft.open.items()}
        console.print_json({"map": str(target), "needed": named, "next": steps})
    elif not quiet:
        typer.echo(draft.text)
        for part, names in draft.open.items():
            typer.echo(f"needed: which column is the {part}? One of {', '.join(names)}")
        if "reward" in draft.open:
            typer.echo("If less of the reward is better, add --set lower_is_better=true.")
        console.print_steps(f"{target}: written", steps)


@app.command("draft-cost", short_help="Write a cost.toml to edit.", epilog=COST_EXAMPLES)
def draft_cost(
    log: Annotated[str, typer.Argument(help="Log of the old policy.")],
    columns: Columns = None,
    assignments: Assignments = None,
    cache_dir: CacheDir = None,
    out: Annotated[Path, typer.Option("--out", help="The file.")] = Path("cost.toml"),
    force: Overwrite = False,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Write a cost.toml for the actions of a log. Its weights are to be replaced by yours.

    Nothing is drawn at random here: the seed changes nothing.
    """
    from nacre.cli import console
    from nacre.cli.waiting import read_log_aloud
    from nacre.costs.drafting import draft_cost as write_cost
    from nacre.files.commit import write_whole

    _check_target(out, force=force)
    data = read_log_aloud(
        log, columns=columns, assignments=assignments, cache_dir=cache_dir, quiet=quiet
    )
    write_whole(out, write_cost(data).encode())
    given = console.repeat_options(columns, assignments)
    steps = [
        f"nacre advise --log {console.quote(log)}{given} --cost {console.quote(out)} --out advice"
    ]
    if as_json:
        console.print_json({"cost": str(out), "next": steps})
    elif not quiet:
        console.print_steps(f"{out}: written; replace its weights by yours", steps)


def _check_target(target: Path, *, force: bool) -> None:
    if target.exists() and not force:
        raise InputError(f"{target}: is there already; give --force to replace it, or --out")
    if not target.parent.is_dir():
        raise InputError(f"{target.parent}: no such folder; make it first")
