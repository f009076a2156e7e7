"""Commands about logs and costs: validate, convert, cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nacre.cli.commands.options import (
    ActivationName,
    Address,
    AsJson,
    Assignments,
    CacheDir,
    Columns,
    ConfigFile,
    CostFile,
    EngineName,
    Epsilon,
    Normalization,
    Quiet,
    Seed,
    SignatureFile,
    Workers,
    choose_engine,
)
from nacre.errors import InputError

app = typer.Typer()

VALIDATE_EXAMPLES = """\b
Examples:
  nacre validate log.parquet
  nacre validate log.csv --json
  nacre validate log.parquet --engine threads
"""
CONVERT_EXAMPLES = """\b
Examples:
  nacre convert export.csv log.parquet --set action=phase --set observation=north,south
  nacre convert dataset.hdf5 log.parquet
"""
COST_EXAMPLES = """\b
Examples:
  nacre cost --log log.parquet --policy old.safetensors \\
      --new-policy new.safetensors --cost cost.toml
  nacre cost --log log.csv --policy clone \\
      --new-policy new.safetensors --cost cost.toml --json
"""


@app.command(short_help="Check a log and name every problem in it.", epilog=VALIDATE_EXAMPLES)
def validate(
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="The log, in any form that can be read.")
    ],
    columns: Columns = None,
    assignments: Assignments = None,
    cache_dir: CacheDir = None,
    engine: EngineName = None,
    address: Address = None,
    workers: Workers = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Check a log and name every problem in it by column, row, value and remedy.

    Exit code 0 and a summary if there is none, else 2 and one line a problem. With an engine, every
    file of a folder is checked by itself, so that a log may be larger than memory. Nothing is drawn
    at random here: the seed changes nothing.
    """
    from nacre.cli import console
    from nacre.cli.waiting import read_log_aloud
    from nacre.logs import read_columns, validate_log

    chosen, file = choose_engine(engine, address, workers), Path(source)
    if chosen is not None:
        _survey(source, read_columns(columns, assignments or ()), chosen, as_json, quiet)
        return
    given = console.repeat_options(columns, assignments)
    try:
        log = read_log_aloud(
            source, columns=columns, assignments=assignments, cache_dir=cache_dir, quiet=quiet
        )
    except InputError as error:
        if not as_json:
            raise _point_to_draft(error, file, columns) from None
        problems = validate_log(
            source, columns=read_columns(columns, assignments or ()), cache_dir=cache_dir
        )
        console.print_json(console.describe_problems(file, problems))
        raise typer.Exit(2) from None
    if as_json:
        console.print_json(console.describe_log(file, log))
    elif not quiet:
        console.print_log(file, log)
        console.print_columns(log)
        console.print_steps(
            "",
            [
                f"nacre draft-cost {console.quote(file)}{given}",
                f"nacre advise --log {console.quote(file)}{given} --cost cost.toml --out advice",
            ],
        )


def _survey(source: str, columns: Any, engine: Any, as_json: bool, quiet: bool) -> None:
    """Check every file by itself, and say what all of them hold."""
    from nacre.cli import console
    from nacre.logs.addresses import is_address, show_address
    from nacre.logs.shards import survey_log

    found = survey_log(source, columns=columns, engine=engine).as_json()
    shown = show_address(source) if is_address(source) else source
    if as_json:
        console.print_json({"file": shown, "valid": True, "problems": [], **found})
    elif not quiet:
        error = found["standard_error"]
        typer.echo(
            f"{shown}: no problems found\n"
            f"{found['transitions']:,} transitions in {found['episodes']:,} episodes in "
            f"{found['files']:,} files; {found['terminated']:,} episodes terminated\n"
            f"mean return {found['mean_return']:.4g}" + ("" if error is None else f" ± {error:.2g}")
        )


def _point_to_draft(error: InputError, file: Path, columns: Path | None) -> InputError:
    """The same problems, and how to get a column map where there is none and it may help."""
    from nacre.cli import console

    if columns is not None or not file.exists() or "column" not in str(error):
        return error
    hint = f"next: nacre draft-map {console.quote(file)} writes a column map to edit"
    return InputError([*error.problems, hint])


@app.command(short_help="Read a log in any form, write it in another.", epilog=CONVERT_EXAMPLES)
def convert(
    source: Annotated[str, typer.Argument(help="A log: a file, or minari:ID.")],
    target: Annotated[Path, typer.Argument(help="The new file: .parquet, .csv, .arrow, .npz.")],
    columns: Columns = None,
    assignments: Assignments = None,
    cache_dir: CacheDir = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Read a log in any form, check it, and write it in the form of the target's suffix.

    What was recognised and assumed is printed. Nothing is drawn: the seed changes nothing.
    """
    from nacre.cli import console
    from nacre.cli.waiting import open_wait
    from nacre.logs.convert import convert_log

    with open_wait(f"converting {source}", quiet=quiet, source=source):
        done = convert_log(
            source, target, columns=columns, assignments=assignments or (), cache_dir=cache_dir
        )
    if as_json:
        console.print_json(done.as_json())
    elif not quiet:
        typer.echo(str(done))


@app.command(short_help="What a switch between two policies costs.", epilog=COST_EXAMPLES)
def cost(
    log: Annotated[str, typer.Option("--log", help="Log of the old policy.")],
    policy: Annotated[
        str,
        typer.Option(
            "--policy", help="Policy in force: a file, or columns or clone to take it from the log."
        ),
    ],
    new_policy: Annotated[str, typer.Option("--new-policy", help="Policy proposed, likewise.")],
    cost_file: CostFile,
    columns: Columns = None,
    assignments: Assignments = None,
    epsilon: Epsilon = 0.0,
    normalization: Normalization = None,
    activation: ActivationName = None,
    signature: SignatureFile = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Compute what the switch from one policy to another costs, over the states of a log.

    With --quiet only the total is printed.
    """
    from nacre.cli import console
    from nacre.cli.policy_flags import PolicyFlags
    from nacre.cli.pricing import Sources, price_files
    from nacre.cli.waiting import open_wait
    from nacre.logs import read_columns

    with open_wait(f"computing the cost over the states of {log}", quiet=quiet, source=log):
        sources = Sources(
            log,
            policy,
            new_policy,
            cost_file,
            read_columns(columns, assignments or ()),
            PolicyFlags(epsilon, normalization, activation, signature),
        )
        priced = price_files(sources, seed=seed)
    if as_json:
        console.print_json(priced.as_json())
    elif quiet:
        typer.echo(f"{priced.breakdown.total:.6g}")
    else:
        console.print_cost(priced.cost, priced.breakdown)
