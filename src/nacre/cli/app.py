"""The command line: its commands, and how they end."""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from nacre import __version__
from nacre.cli import settings
from nacre.cli.commands import (
    advice,
    calibrate,
    drafts,
    evaluation,
    experiments,
    integrity,
    machine,
    many,
    prices,
    rollout,
    speed,
    worlds,
)
from nacre.cli.groups import GroupedCommands
from nacre.errors import InputError
from nacre.parallel.local import TASK_THREAD

app = typer.Typer(
    name="nacre",
    help="Should we replace the policy we run today? Answers from its log, the cost of switching "
    "included.",
    epilog="Start with: nacre demo",
    cls=GroupedCommands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

GROUPS = {
    "Advice": (advice.app, many.app, integrity.app, evaluation.app),
    "After the decision": (rollout.app,),
    "Logs and costs": (prices.app, drafts.app),
    "Simulated worlds": (worlds.app,),
    "Measuring": (experiments.app, calibrate.app, speed.app),
    "This machine": (machine.app,),
}

for _heading, _apps in GROUPS.items():
    for _command in (command for _app in _apps for command in _app.registered_commands):
        _command.rich_help_panel = _heading
        app.registered_commands.append(_command)
app.add_typer(machine.config_app, rich_help_panel="This machine")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nacre {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 done, 1 failed, 2 wrong usage or bad input."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ≤ or ± gets a substitute instead of a failure.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with warnings.catch_warnings():
        warnings.showwarning = _pass_warning
        code = _run(arguments)
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app(args=arguments, prog_name="nacre", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        _complain(*error.problems)
        _complain_in_json(arguments, error.problems, 2)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        _end_now()
        return 130
    except BrokenPipeError:
        # Whoever read our output has left; nothing may be written when Python shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if hasattr(error, "format_message"):
            problem = _word_usage(error)
            _complain(problem)
            code = int(getattr(error, "exit_code", 2))
            _complain_in_json(arguments, [problem], code)
            return code
        if os.environ.get("NACRE_DEBUG") == "1":
            raise
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        _complain(
            f"failed: {text} (a fault of nacre: please report it with the command and what "
            "NACRE_DEBUG=1 shows)"
        )
        _complain_in_json(arguments, [f"failed: {text}"], 1)
        return 1
    return code if isinstance(code, int) else 0


def _end_now() -> None:
    """After an interruption: do not wait for threads that are still at work.

    What is on disk was put there whole, so nothing is lost by that.
    """
    if any(one.name.startswith(TASK_THREAD) for one in threading.enumerate()):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)


def _word_usage(error: Any) -> str:
    """What is wrong with the command line; typer's usage errors have no public class."""
    context = getattr(error, "ctx", None)
    command = "nacre" if context is None else context.command_path
    return f"{command}: {error.format_message().rstrip('.')}; try '{command} --help'"


def _complain_in_json(
    arguments: Sequence[str] | None, problems: Sequence[str], exit_code: int
) -> None:
    """One document on standard output where one was asked for."""
    given = sys.argv[1:] if arguments is None else arguments
    asked = "--json" in given or settings.TRUTHS.get(os.environ.get("NACRE_JSON", "").lower())
    if asked and "--no-json" not in given:
        document = {"error": {"problems": list(problems), "exit_code": exit_code}}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _pass_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning without the place in the code that it comes from."""
    _complain("warning: " + " ".join(str(message).split()))


def _complain(*problems: str) -> None:
    for problem in problems:
        sys.stderr.write(" ".join(problem.split("\n")) + "\n")


if __name__ == "__main__":
    run()
