"""The command that compares what nacre wrote with its digests: verify."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nacre.cli.commands.options import AsJson, ConfigFile, Quiet, Seed

app = typer.Typer()

VERIFY_EXAMPLES = """\b
Examples:
  nacre verify advice
  nacre verify advice/policy/new.safetensors
  nacre verify .nacre-cache
"""


@app.command(short_help="Is what nacre wrote unchanged?", epilog=VERIFY_EXAMPLES)
def verify(
    path: Annotated[Path, typer.Argument(help="A folder or file that nacre wrote.")],
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Compare an advice, a policy, a log, a cache or a table of records with its digests.

    Exit code 2, and a line for each file that was changed, lost or mixed with another. Nothing is
    drawn: the seed changes nothing.
    """
    from nacre.cli import console
    from nacre.cli.verifying import verify_path

    found = verify_path(path)
    if as_json:
        console.print_json(found.as_json())
    elif not quiet:
        typer.echo(f"{found.path}: {found.kind}, unchanged ({found.checked})")
