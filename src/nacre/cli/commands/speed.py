"""Commands about speed: bench."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from nacre.cli.commands.options import AsJson, ConfigFile, Quiet, Seed
from nacre.errors import InputError

app = typer.Typer()

BENCH_EXAMPLES = """\b
Examples:
  nacre bench
  nacre bench --threads 1 --json
"""


@app.command(short_help="Measure the speed of learning.", epilog=BENCH_EXAMPLES)
def bench(
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Processors to use; all if not given.")
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Rounds to take medians of.")] = 5,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Updates in each round.")] = 100,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Measure learning and evaluation at the paper's settings on Hopper's shapes.

    Fractions are useful floating-point operations per second over those of a matrix product
    measured in the same process on the same processors.
    """
    if threads is not None:
        use_threads(threads)
    from nacre.cli import console
    from nacre.cli.bench import run_bench
    from nacre.cli.waiting import open_wait

    with open_wait(f"measuring {rounds} rounds", quiet=quiet) as tell:
        result = run_bench(
            rounds=rounds, steps=steps, seed=seed, on_round=lambda done: tell(done, rounds)
        )
    if as_json:
        console.print_json(vars(result))
    else:
        console.print_figures(vars(result), quiet=quiet)


def use_threads(threads: int) -> None:
    """Pin this process before the numerical libraries count the processors."""
    if not hasattr(os, "sched_setaffinity"):
        raise InputError("--threads cannot be set on this system; leave it out")
    available = sorted(os.sched_getaffinity(0))
    if threads > len(available):
        raise InputError(f"--threads {threads}: only {len(available)} processors are available")
    os.sched_setaffinity(0, available[:threads])
