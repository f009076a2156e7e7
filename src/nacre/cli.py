"""The command line: reads files, calls the library, prints; imports wait for their command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from nacre import __version__
from nacre.errors import InputError

app = typer.Typer(
    name="nacre",
    help="Should we replace the policy we run today? Answers from its log, the price of switching "
    "included.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document instead of text for people.")
]
Seed = Annotated[
    int, typer.Option("--seed", min=0, max=2**32 - 1, help="Seed of all random draws.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only what was asked for.")]

# "\b" keeps the line breaks of a paragraph.
VALIDATE_EXAMPLES = """\b
Examples:
  nacre validate log.parquet
  nacre validate log.csv --json
"""
COST_EXAMPLES = """\b
Examples:
  nacre cost --log log.parquet --policy old.safetensors \\
      --new-policy new.safetensors --cost cost.toml
  nacre cost --log log.csv --policy old.safetensors \\
      --new-policy new.safetensors --cost cost.toml --json
"""
BENCH_EXAMPLES = """\b
Examples:
  nacre bench
  nacre bench --threads 1 --json
"""
REPRODUCE_EXAMPLES = """\b
Examples:
  nacre reproduce sumo --seeds 4-13 --processes 2
  nacre reproduce gymnasium --rows 'hopper-*' --seeds 4
  nacre reproduce sumo --summary
"""
DEMO_EXAMPLES = """\b
Examples:
  nacre demo
  nacre demo --json
"""


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


@app.command(short_help="Check a log and name every problem in it.", epilog=VALIDATE_EXAMPLES)
def validate(
    file: Annotated[Path, typer.Argument(help="The log: .parquet, .csv or .npz.")],
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Check a log and name every problem in it by column, row, value and remedy.

    Exit code 0 and a summary if there is none, else 2 and one line a problem. Nothing is drawn at
    random here: the seed changes nothing.
    """
    from nacre import console
    from nacre.log import read_log, validate_log

    try:
        log = read_log(file)
    except InputError:
        if not as_json:
            raise
        console.print_json(console.describe_problems(file, validate_log(file)))
        raise typer.Exit(2) from None
    if as_json:
        console.print_json(console.describe_log(file, log))
    elif not quiet:
        console.print_log(file, log)


@app.command(short_help="Price the switch from one policy to another.", epilog=COST_EXAMPLES)
def cost(
    log: Annotated[Path, typer.Option("--log", help="Log of the old policy.")],
    policy: Annotated[Path, typer.Option("--policy", help="Policy in force, .safetensors.")],
    new_policy: Annotated[Path, typer.Option("--new-policy", help="Policy proposed.")],
    cost_file: Annotated[Path, typer.Option("--cost", help="What switching costs, cost.toml.")],
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Price the switch from one policy to another over the states of a log.

    With --quiet the total alone is printed.
    """
    from nacre import console
    from nacre.pricing import price_files

    priced = price_files(log, policy, new_policy, cost_file, seed=seed)
    if as_json:
        console.print_json(priced.as_json())
    elif quiet:
        typer.echo(f"{priced.breakdown.total:.6g}")
    else:
        console.print_cost(priced.cost, priced.breakdown)


@app.command(short_help="Price a switch on the bundled log.", epilog=DEMO_EXAMPLES)
def demo(as_json: AsJson = False, seed: Seed = 0, quiet: Quiet = False) -> None:
    """Price a switch on the bundled log of a cart on a rail, and say what it shows.

    With --quiet the figures are printed without the explanation.
    """
    from nacre import console
    from nacre.demo import run_demo

    shown = run_demo(seed)
    if as_json:
        console.print_json(shown.as_json())
        return
    if not quiet:
        console.print_text(shown.introduce())
    console.print_cost(shown.example.cost, shown.breakdown)
    if not quiet:
        console.print_text(shown.explain())
        typer.echo(shown.suggest())


@app.command(short_help="Measure the speed of learning.", epilog=BENCH_EXAMPLES)
def bench(
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Processors to use; all if not given.")
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Rounds to take medians of.")] = 5,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Updates in each round.")] = 100,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Measure learning and evaluation at the paper's settings on Hopper's shapes.

    Fractions are useful floating-point operations per second over those of a matrix product
    measured in the same process on the same processors.
    """
    if threads is not None:
        _use_threads(threads)
    from nacre import console
    from nacre.bench import run_bench

    result = run_bench(rounds=rounds, steps=steps, seed=seed)
    if as_json:
        console.print_json(vars(result))
    else:
        console.print_figures(vars(result), quiet=quiet)


@app.command(short_help="Run the paper's tables again.", epilog=REPRODUCE_EXAMPLES)
def reproduce(
    table: Annotated[str, typer.Argument(help="gymnasium, gymnasium-ct or sumo.")],
    config: Annotated[
        str, typer.Option("--config", help="paper, default, or both as paper,default.")
    ] = "paper",
    rows: Annotated[
        str, typer.Option("--rows", help="Names of rows with commas between; * ends a beginning.")
    ] = "",
    seeds: Annotated[str, typer.Option("--seeds", help="Such as 4-13 or 4,5,9.")] = "4-13",
    old_policies: Annotated[
        Path, typer.Option("--old-policies", help="Folder of the old policies that are files.")
    ] = Path("results/policies"),
    steps: Annotated[
        int | None, typer.Option("--steps", help="Transitions of a log; else the paper's number.")
    ] = None,
    processes: Annotated[int, typer.Option("--processes", min=1, help="Processes to use.")] = 1,
    out: Annotated[Path, typer.Option("--out", help="Folder of the records.")] = Path("results"),
    summary: Annotated[
        bool, typer.Option("--summary", help="Run nothing; print the table from the records.")
    ] = False,
    docs: Annotated[
        Path | None, typer.Option("--docs", help="With --summary: folder to write results.md to.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run the rows of one of the paper's tables, a record for each row, configuration and seed.

    Records that are there already are left alone: an interrupted run goes on where it was. The
    seeds are part of the experiment, so there is no --seed.
    """
    from nacre import console
    from nacre.experiments import find_rows
    from nacre.experiments.run import Plan, check_plan, parse_seeds, run_plan

    chosen = find_rows(table, [name.strip() for name in rows.split(",") if name.strip()])
    if summary:
        console.print_results(table, out, docs, as_json=as_json)
        return
    plan = Plan(
        tuple(chosen),
        tuple(name.strip() for name in config.split(",")),
        parse_seeds(seeds),
        out,
        old_policies,
        steps,
        quiet=quiet,
    )
    done: list[Path] = []
    for paths in run_plan(plan, processes=processes):
        done += paths
        if not quiet:
            total = len(check_plan(plan))
            typer.echo(f"{len(done)} of {total} records, last {paths[-1]}", err=True)
    if as_json:
        console.print_json({"records": [str(path) for path in done]})


def _use_threads(threads: int) -> None:
    """Pin this process before the numerical libraries count the processors."""
    if not hasattr(os, "sched_setaffinity"):
        raise InputError("--threads cannot be set on this system; leave it out")
    available = sorted(os.sched_getaffinity(0))
    if threads > len(available):
        raise InputError(f"--threads {threads}: only {len(available)} processors are available")
    os.sched_setaffinity(0, available[:threads])


def run(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 done, 1 failed, 2 wrong usage or bad input."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show ≤ or ± gets a substitute instead of a failure.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = app(args=arguments, prog_name="nacre", standalone_mode=False)
        sys.stdout.flush()
    except InputError as error:
        _complain(*error.problems)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        # Whoever read our output has left; nothing may be written when Python shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if hasattr(error, "format_message"):
            return _complain_of_usage(error)
        if os.environ.get("NACRE_DEBUG") == "1":
            raise
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        _complain(f"failed: {text} (NACRE_DEBUG=1 shows where)")
        return 1
    return code if isinstance(code, int) else 0


def _complain_of_usage(error: Any) -> int:
    """Say what is wrong with the command line; typer's usage errors have no public class."""
    context = getattr(error, "ctx", None)
    command = "nacre" if context is None else context.command_path
    _complain(f"{command}: {error.format_message().rstrip('.')}; try '{command} --help'")
    return int(error.exit_code)


def _complain(*problems: str) -> None:
    for problem in problems:
        sys.stderr.write(" ".join(problem.split("\n")) + "\n")


if __name__ == "__main__":
    run()
