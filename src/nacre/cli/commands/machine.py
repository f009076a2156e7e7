"""Commands about this machine: doctor, and config show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nacre.cli import settings
from nacre.cli.commands.options import (
    AsJson,
    ConfigFile,
    Quiet,
    Seed,
    complete_command,
    list_commands,
    open_settings,
)
from nacre.errors import InputError

if TYPE_CHECKING:
    from nacre.cli.doctor import Health

app = typer.Typer()
config_app = typer.Typer(
    name="config", short_help="Settings of the commands.", rich_markup_mode=None
)

DOCTOR_EXAMPLES = """\b
Examples:
  nacre doctor
  nacre doctor --json
"""
CONFIG_EXAMPLES = """\b
Examples:
  nacre config show
  nacre config show advise --config nacre.toml
"""


@app.command(short_help="What this machine has, and what is missing.", epilog=DOCTOR_EXAMPLES)
def doctor(
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Look at versions, devices, processors, memory and extras; try what is essential.

    Exit code 0 if the essentials work, else 1. Nothing is drawn: the seed changes nothing.
    """
    from nacre.cli.doctor import examine_machine

    health = examine_machine()
    if as_json:
        _print_json(health.as_json())
    elif not quiet:
        typer.echo("\n".join(_describe_health(health)))
    for problem in health.problems:
        typer.echo(problem, err=True)
    if not health.healthy:
        raise typer.Exit(1)


@config_app.callback(invoke_without_command=True)
def _explain(context: typer.Context) -> None:
    """Settings from nacre.toml and from the environment."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@config_app.command(
    "show", short_help="Every option, its value and where it comes from.", epilog=CONFIG_EXAMPLES
)
def show_settings(
    context: typer.Context,
    command: Annotated[
        str,
        typer.Argument(
            help="The command; all if not given.",
            show_default=False,
            autocompletion=complete_command,
        ),
    ] = "",
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show every option of a command, its value, and where that comes from.

    Flags count more than the environment (NACRE_ADVISE_CONFIDENCE, NACRE_SEED), that more than the
    file, the file more than the default.
    """
    commands = list_commands(context)
    if command and command not in commands:
        raise InputError(f"{command}: no such command; known are {', '.join(commands)}")
    file = open_settings(context, config_file)
    found = {
        name: settings.resolve_settings(name, options, file)
        for name, options in commands.items()
        if command in ("", name)
    }
    if as_json:
        _print_json(_describe_settings(found, commands, file))
        return
    if not quiet:
        typer.echo(f"file: {file.path if file else f'none ({settings.FILE} is not here)'}")
    for name, values in found.items():
        typer.echo(f"\n{name}")
        typer.echo("\n".join(_tabulate(values, commands[name])))


def _describe_settings(
    found: dict[str, dict[str, settings.Setting]],
    commands: dict[str, dict[str, settings.Option]],
    file: settings.SettingsFile | None,
) -> dict[str, Any]:
    return {
        "file": str(file.path) if file else None,
        "commands": {
            name: {
                option: {
                    "value": str(one.value) if isinstance(one.value, Path) else one.value,
                    "source": one.source,
                    "place": one.place or None,
                    "required": commands[name][option].required,
                }
                for option, one in values.items()
            }
            for name, values in found.items()
        },
    }


def _tabulate(
    values: dict[str, settings.Setting], options: dict[str, settings.Option]
) -> list[str]:
    rows = []
    for name, one in values.items():
        if one.value is None and options[name].required:
            rows.append((name, "", "must be given"))
        else:
            origin = " ".join((one.source, one.place)).strip()
            rows.append((name, "-" if one.value in (None, "") else _write(one.value), origin))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [f"  {name:<{widths[0]}}  {text:<{widths[1]}}  {origin}" for name, text, origin in rows]


def _write(value: Any) -> str:
    if isinstance(value, list):
        return f"{settings.SEPARATOR} ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _describe_health(health: Health) -> list[str]:
    """A line for each thing that was looked at."""
    versions = [f"{name} {version}" for name, version in health.versions.items()]
    gigabytes = {name: f"{number / 1e9:.1f} GB" for name, number in health.memory.items()}
    facts = [
        ("versions", ", ".join(versions)),
        ("system", health.system),
        ("devices", ", ".join(health.devices) or "none"),
        ("processors", f"{health.usable_cores} usable of {health.cores}"),
        ("memory", ", ".join(f"{text} {name}" for name, text in gigabytes.items()) or "not known"),
        *health.variables.items(),
        ("browser", health.browser or "none: the page's tests are left out; install chromium"),
        ("directory", f"{health.directory}, {'' if health.writable else 'not '}writable"),
    ]
    width = max(len(name) for name, _ in facts)
    lines = [f"{name:<{width}}  {text}" for name, text in facts]
    lines += ["", "extras"]
    for name, extra in health.extras.items():
        state = "installed" if extra.installed else f"missing: {extra.install}"
        lines.append(f"  {name:<8} {extra.purpose:<24} {state}")
        lines += [f"  {'':<8} {'':<24} needs {one}" for one in extra.missing]
    return [*lines, "", "all that is essential works" if health.healthy else "not everything works"]


def _print_json(document: dict[str, Any]) -> None:
    typer.echo(json.dumps(document, indent=2, allow_nan=False))
