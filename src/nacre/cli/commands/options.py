"""Options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nacre.cli import settings

AsJson = Annotated[
    bool,
    typer.Option(
        "--json/--no-json",
        show_default=False,
        help="Print one JSON document instead of text for people.",
    ),
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of all random draws.")
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet/--no-quiet", "-q", show_default=False, help="Print only what was asked for."
    ),
]
Columns = Annotated[
    Path | None, typer.Option("--columns", help="Which column of the log holds what, map.toml.")
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", help="An entry of that map, such as action=phase."),
]
CacheDir = Annotated[
    Path | None, typer.Option("--cache-dir", help="Where logs larger than memory are kept.")
]
Normalization = Annotated[
    Path | None,
    typer.Option(
        "--normalization",
        help="Statistics of a zip's normalised observations: vecnormalize.pkl or an .npz.",
    ),
]
ActivationName = Annotated[
    str | None,
    typer.Option("--activation", help="Hidden layers of a zip that does not say it: relu, tanh."),
]
SignatureFile = Annotated[
    Path | None,
    typer.Option("--signature", help="Spaces of a policy that does not say them, spaces.toml."),
]
Epsilon = Annotated[
    float,
    typer.Option("--epsilon", help="Share of uniform exploration on top of the policy in force."),
]
CostFile = Annotated[Path, typer.Option("--cost", help="What switching costs, cost.toml.")]
AdviceFolder = Annotated[
    Path | None, typer.Option("--out", help="Folder for the page, the record and the policy.")
]
EngineName = Annotated[
    str | None,
    typer.Option("--engine", help="Where independent work runs: threads, local, dask or ray."),
]
Address = Annotated[
    str | None,
    typer.Option("--address", help="Of a Dask scheduler or a Ray cluster that runs already."),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", "--processes", min=1, help="Tasks that run at a time here."),
]
Force = Annotated[
    bool,
    typer.Option(
        "--force/--no-force", show_default=False, help="Replace an advice that lies in --out."
    ),
]
Discount = Annotated[float, typer.Option("--discount", help="γ; 1 if all episodes end.")]
Start = Annotated[
    str | None,
    typer.Option(
        "--start",
        help="State of the next episode's start: its numbers with commas between, or states in a "
        ".npy or .csv file; the log's own if not given.",
    ),
]


def choose_engine(
    name: str | None, address: str | None, workers: int | None, otherwise: str = "local"
) -> Any:
    """The engine that options name; None if they name none.

    Args:
        name: Of the engine.
        address: Of its cluster.
        workers: How many to start here.
        otherwise: The engine of workers that are of no named engine.
    """
    from nacre.errors import InputError
    from nacre.parallel.engine import Engine

    if name is None and address is not None:
        raise InputError(f"--address {address}: of which engine? add --engine dask or ray")
    if name is None and workers is None:
        return None
    return Engine(name or otherwise, address, workers)


def read_confidence(value: float) -> float:
    """A probability; what is above one is taken for a percentage."""
    return value / 100.0 if 1.0 < value < 100.0 else value


def list_commands(context: typer.Context) -> dict[str, dict[str, settings.Option]]:
    """The options of every command; those of groups of commands are not among them."""
    root: Any = context.find_root().command
    return {
        name: settings.list_options(command.callback)
        for name, command in root.commands.items()
        if not hasattr(command, "commands")
    }


def complete_command(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Names of commands for the shell, with what they do."""
    root: Any = context.find_root().command
    return [
        (name, command.get_short_help_str())
        for name, command in root.commands.items()
        if name.startswith(incomplete) and not hasattr(command, "commands")
    ]


def open_settings(context: typer.Context, path: Path | None) -> settings.SettingsFile | None:
    """The file of settings: the one that is named, else nacre.toml here, else none."""
    if path is None:
        path = Path(settings.FILE)
        if not path.is_file():
            return None
    return settings.read_settings(path, list_commands(context))


def _apply_settings(context: typer.Context, path: Path | None) -> Path | None:
    """Let settings stand where a command's flags are not given."""
    if not context.resilient_parsing:
        name = context.command_path.partition(" ")[2]
        options = settings.list_options(context.command.callback or (lambda: None))
        found = settings.resolve_settings(name, options, open_settings(context, path))
        context.default_map = {
            options[name].parameter: setting.value
            for name, setting in found.items()
            if setting.source != "default"
        }
    return path


def _offer_file(name: str) -> Any:
    # Eager, so that the other options find their settings.
    return typer.Option(
        name,
        envvar="NACRE_CONFIG",
        callback=_apply_settings,
        is_eager=True,
        show_default="nacre.toml, if it is there",
        help="Settings of the commands, in TOML.",
    )


ConfigFile = Annotated[Path | None, _offer_file("--config")]
SettingsFile = Annotated[Path | None, _offer_file("--settings")]
"""For the command whose --config is a configuration of experiments."""

# "\b" in an epilog keeps the line breaks of a paragraph.
