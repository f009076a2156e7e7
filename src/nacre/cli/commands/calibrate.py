"""Commands about the truth of confidence: calibrate."""

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
    Workers,
    choose_engine,
)

app = typer.Typer()

EXAMPLES = """\b
Examples:
  nacre calibrate finite --seeds 100-109 --workers 2
  nacre calibrate control --worlds pendulum,cart_pole --seeds 100
  nacre calibrate robots --seeds 100 --old-policies published/
  nacre calibrate finite --summary --json
"""


def _complete_suite(incomplete: str) -> list[str]:
    return [name for name in ("finite", "control", "robots") if name.startswith(incomplete)]


@app.command(short_help="Check advice where the truth is known.", epilog=EXAMPLES)
def calibrate(
    suite: Annotated[
        str, typer.Argument(help="finite, control or robots.", autocompletion=_complete_suite)
    ],
    worlds: Annotated[
        str, typer.Option("--worlds", help="Names of worlds with commas between; else all.")
    ] = "",
    kinds: Annotated[
        str, typer.Option("--kinds", help="Kinds of old policies with commas between; else all.")
    ] = "",
    seeds: Annotated[str, typer.Option("--seeds", help="Such as 100-109 or 100,105.")] = "100-109",
    old_policies: Annotated[
        Path | None,
        typer.Option(
            "--old-policies",
            help="For robots: folder of the published policies; else those of the package.",
        ),
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option("--baselines/--no-baselines", help="Run plain ways to decide beside it."),
    ] = True,
    engine: EngineName = None,
    address: Address = None,
    workers: Workers = None,
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the records, or a file that ends in .jsonl.")
    ] = Path("results/calibration"),
    summary: Annotated[
        bool,
        typer.Option(
            "--summary/--no-summary",
            show_default=False,
            help="Run nothing; print the figures from the records.",
        ),
    ] = False,
    docs: Annotated[
        Path | None,
        typer.Option("--docs", help="With --summary: folder to write calibration.md to."),
    ] = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run whole advices on simulated logs and compare them with the truth.

    A case is a world, a kind of old policy and a seed; each leaves one line of record. Cases that
    are recorded already are skipped: an interrupted run goes on where it was. The seeds are part of
    the experiment, so there is no --seed.
    """
    from nacre.experiments.calibration.run import Plan, run_plan
    from nacre.experiments.run import parse_seeds

    chosen = choose_engine(engine, address, workers)
    plan = Plan(
        suite,
        parse_seeds(seeds),
        out,
        _split(worlds),
        _split(kinds),
        old_policies,
        baselines,
    )
    if not summary:
        total = len(plan.list_cases())
        for number, line in enumerate(run_plan(plan, engine=chosen), start=1):
            if not quiet:
                typer.echo(_describe(line, number, total), err=True)
    _print_summary(plan, docs, as_json=as_json, quiet=quiet)


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _describe(line: dict[str, Any], number: int, total: int) -> str:
    truth = "" if not line["chosen"] else f", true net gain {line['chosen']['true_net_gain']:.4g}"
    name = f"{line['world']} {line['kind']} {line['seed']}"
    return f"{number} of at most {total}: {name}: {line['verdict']}{truth}"


def _print_summary(plan: Any, docs: Path | None, *, as_json: bool, quiet: bool) -> None:
    from nacre.cli import console
    from nacre.errors import InputError
    from nacre.experiments.calibration.ablation import compare_variants, tabulate_variants
    from nacre.experiments.calibration.page import write_page
    from nacre.experiments.calibration.records import read_suite
    from nacre.experiments.calibration.summary import summarise, tabulate, tabulate_rules
    from nacre.experiments.pages import format_markdown

    lines = read_suite(plan.path, plan.suite)
    lines = [line for line in lines if not plan.worlds or line["world"] in plan.worlds]
    lines = [line for line in lines if not plan.kinds or line["kind"] in plan.kinds]
    if not lines:
        raise InputError(
            f"{plan.path}: no records of {plan.suite} there; run nacre calibrate {plan.suite} first"
        )
    figures = summarise(lines) | {"ablation": compare_variants(lines)}
    written = [] if docs is None else write_page(plan.out, docs)
    if as_json:
        console.print_json(figures)
        return
    for header, rows in (
        tabulate(figures, "worlds"),
        tabulate(figures, "kinds"),
        tabulate_rules(figures),
        tabulate_variants(figures["ablation"]),
    ):
        typer.echo(format_markdown(header, rows) + "\n")
    if not quiet:
        for path in written:
            typer.echo(f"written: {path}", err=True)
