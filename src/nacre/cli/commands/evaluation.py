"""Commands about the value of policies: evaluate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nacre.cli.commands.options import (
    ActivationName,
    AsJson,
    Assignments,
    CacheDir,
    Columns,
    ConfigFile,
    Discount,
    Epsilon,
    Normalization,
    Quiet,
    Seed,
    SignatureFile,
    Start,
    read_confidence,
)

if TYPE_CHECKING:
    from nacre.advice.evaluate import Valuation

app = typer.Typer()

EVALUATE_EXAMPLES = """\b
Examples:
  nacre evaluate --log log.parquet --policy old.safetensors
  nacre evaluate --log log.parquet --policy new.safetensors \\
      --old-policy old.safetensors --json
  nacre evaluate --log calls.csv --columns calls.map.toml --policy clone --discount 1
"""


@app.command(short_help="What a policy is worth, from a log.", epilog=EVALUATE_EXAMPLES)
def evaluate(
    log: Annotated[str, typer.Option("--log", help="A log, of this or of another policy.")],
    policy: Annotated[
        str,
        typer.Option("--policy", help="The policy: a file, or columns or clone to take the log's."),
    ],
    old_policy: Annotated[
        str | None, typer.Option("--old-policy", help="One to compare it with, given likewise.")
    ] = None,
    start: Start = None,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            callback=read_confidence,
            help="Probability that intervals hold the value: 0.95, or 95 per cent.",
        ),
    ] = 0.95,
    discount: Discount = 0.99,
    epsilon: Epsilon = 0.0,
    normalization: Normalization = None,
    activation: ActivationName = None,
    signature: SignatureFile = None,
    columns: Columns = None,
    assignments: Assignments = None,
    cache_dir: CacheDir = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Estimate what a policy is worth, from a log of this or of another policy.

    By the returns of the log where the policy made it, and by critics that are fitted to it. With
    --quiet only the value is printed. Exit code 1 if the critics broke down.
    """
    from nacre.advice.evaluate import evaluate as find_value
    from nacre.advice.starts import read_start
    from nacre.cli import console
    from nacre.cli.policy_flags import PolicyFlags
    from nacre.cli.waiting import read_log_aloud, read_policy_aloud
    from nacre.costs.fit import check_log_fits
    from nacre.training.progress_display import open_reporter

    data = read_log_aloud(
        log, columns=columns, assignments=assignments, cache_dir=cache_dir, quiet=quiet
    )
    flags = PolicyFlags(epsilon, normalization, activation, signature)
    evaluated, _ = read_policy_aloud(policy, data, flags, seed=seed, quiet=quiet)
    check_log_fits(data, evaluated, policy)
    old = None
    if old_policy is not None:
        old, _ = read_policy_aloud(old_policy, data, flags.for_others, seed=seed, quiet=quiet)
        check_log_fits(data, old, old_policy)
    rows = None if start is None else read_start(start, evaluated.signature, data)
    with open_reporter(quiet=quiet) as reporter:
        found = find_value(
            data,
            evaluated,
            old_policy=old,
            start=rows,
            discount=discount,
            confidence=confidence,
            seed=seed,
            progress=reporter,
        )
    if as_json:
        console.print_json(found.as_json())
    elif quiet:
        typer.echo("unknown" if found.value.mean is None else f"{found.value.mean:.6g}")
    else:
        typer.echo("\n".join(_describe(found)))
    if not found.healthy:
        raise typer.Exit(1)


def _describe(found: Valuation) -> list[str]:
    from nacre.cli.console import format_interval

    estimates = {
        "by returns": found.returns,
        "as fitted": found.fitted,
        "old policy": found.old,
        "difference": found.difference,
    }
    lines = [f"value       {format_interval(found.value)}, {found.value.method}"]
    lines += [
        f"{name:<10}  {format_interval(one)}" for name, one in estimates.items() if one is not None
    ]
    return [*lines, *(f"note: {note}" for note in found.notes)]
