"""Commands that advise: advise, demo, report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nacre.cli.commands.options import (
    ActivationName,
    Address,
    AdviceFolder,
    AsJson,
    Assignments,
    CacheDir,
    Columns,
    ConfigFile,
    CostFile,
    Discount,
    EngineName,
    Force,
    Normalization,
    Quiet,
    Seed,
    SignatureFile,
    Start,
    Workers,
    choose_engine,
    read_confidence,
)
from nacre.errors import InputError

app = typer.Typer()

REPORT_EXAMPLES = """\b
Examples:
  nacre report advice
  nacre report advice --out page.html
"""
DEMO_EXAMPLES = """\b
Examples:
  nacre demo
  nacre demo --out advice --json
"""
ADVISE_EXAMPLES = """\b
Examples:
  nacre advise --log log.parquet --policy old.safetensors --cost cost.toml --out advice
  nacre advise --log log.csv --policy clone --cost cost.toml --json
  nacre advise --log log.csv --cost cost.toml --advice-config advice.toml --confidence 0.9
  nacre advise --log log.parquet --cost cost.toml --live live.parquet --plan plan
"""


@app.command(short_help="Should the old policy be replaced?", epilog=ADVISE_EXAMPLES)
def advise(
    context: typer.Context,
    log: Annotated[str, typer.Option("--log", help="Log of the old policy.")],
    cost_file: CostFile,
    policy: Annotated[
        str,
        typer.Option(
            "--policy", help="Policy in force: a file, or columns or clone to take it from the log."
        ),
    ] = "clone",
    candidate: Annotated[
        list[Path] | None, typer.Option("--candidate", help="A policy of yours to compare as well.")
    ] = None,
    frontier: Annotated[
        list[float] | None,
        typer.Option(
            "--frontier", help="Also learn as if the switch cost this many times as much."
        ),
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option("--budget", help="Computing for candidates, such as 60s or 10m."),
    ] = None,
    out: AdviceFolder = None,
    force: Force = False,
    advice_config: Annotated[
        Path | None,
        typer.Option("--advice-config", help="Learners, estimators, rule and levels, in TOML."),
    ] = None,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            callback=read_confidence,
            help="Confidence that a verdict needs: 0.95, or 95 per cent.",
        ),
    ] = 0.95,
    rule: Annotated[
        str, typer.Option("--rule", help="bounds, or paper: compare point estimates.")
    ] = "bounds",
    look: Annotated[
        int, typer.Option("--look", min=1, help="Which look at a growing log this is.")
    ] = 1,
    looks: Annotated[
        int,
        typer.Option("--looks", min=1, help="More than 1 if the log will be looked at again."),
    ] = 1,
    since: Annotated[
        int,
        typer.Option("--since", min=0, help="Use the episodes from this one on, counted from 0."),
    ] = 0,
    fresh: Annotated[
        bool,
        typer.Option("--fresh", help="Begin anew, whatever an interrupted run has left in --out."),
    ] = False,
    live: Annotated[
        list[str] | None,
        typer.Option(
            "--live", help="Live log of a stage, to learn from as well; with --plan. Repeatable."
        ),
    ] = None,
    plan_file: Annotated[
        Path | None, typer.Option("--plan", help="The roll-out's plan: plan.json or its folder.")
    ] = None,
    stage: Annotated[
        list[int] | None,
        typer.Option(
            "--stage", min=1, help="Stage of each --live, if no column says so; else 1, 2, …"
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", help="Share of uniform exploration on top of the old policy."),
    ] = None,
    engine: EngineName = None,
    address: Address = None,
    workers: Workers = None,
    discount: Discount = 0.99,
    start: Start = None,
    normalization: Normalization = None,
    activation: ActivationName = None,
    signature: SignatureFile = None,
    columns: Columns = None,
    assignments: Assignments = None,
    cache_dir: CacheDir = None,
    tensorboard: Annotated[
        Path | None, typer.Option("--tensorboard", help="Folder for TensorBoard's curves.")
    ] = None,
    mlflow: Annotated[
        str | None, typer.Option("--mlflow", help="MLflow's folder, sqlite:/// file or address.")
    ] = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Advise whether to replace the old policy: switch, keep, or undecided.

    Learns candidates from one part of the log, estimates their gain on the other part, and
    subtracts the switching cost. With --quiet only the verdict is printed. Options count more than
    what --advice-config says. Interrupted, it goes on where it was when called again in the same
    way: finished tasks wait in --out.
    """
    import dataclasses
    import shutil

    from nacre.advice.budget import read_budget, set_budget
    from nacre.advice.config import add_cost_factors, suggest_config
    from nacre.advice.kept_tasks import FOLDER
    from nacre.advice.pipeline import advise as find_advice
    from nacre.advice.starts import read_start
    from nacre.cli.folders import check_folder
    from nacre.cli.interruption import explain_interruption
    from nacre.cli.joining import LiveLogs, add_stages, find_old_policy, take_since
    from nacre.cli.policy_flags import PolicyFlags
    from nacre.cli.waiting import read_candidates, read_log_aloud, read_policy_aloud
    from nacre.costs import describe_cost, read_cost
    from nacre.policies import find_uncertainty
    from nacre.tracking import combine_reporters, open_tracking
    from nacre.training.progress_display import open_reporter

    chosen = choose_engine(engine, address, workers, "threads")
    check_folder(out, force=force)
    lives = LiveLogs.of(live, plan_file, stage)
    price = read_cost(cost_file)
    seconds = None if budget is None else read_budget(budget)
    options: dict[str, Any] = {
        "confidence": confidence,
        "rule": rule,
        "look": look,
        "looks": looks,
        "epsilon": epsilon,
        "discount": discount,
    }
    changes = _read_changes(
        advice_config, {one: value for one, value in options.items() if _is_given(context, one)}
    )
    data = read_log_aloud(
        log, columns=columns, assignments=assignments, cache_dir=cache_dir, quiet=quiet
    )
    data = take_since(data, since)
    policy = find_old_policy(lives, policy if _is_given(context, "policy") else None)
    stages = add_stages(data, lives, seed=seed, quiet=quiet)
    data, changes = stages.log, stages.count_look(changes)
    # Exploration on top of the old policy is a matter of the checks, which also estimate it.
    flags = PolicyFlags(0.0, normalization, activation, signature)
    old, origin = read_policy_aloud(policy, stages.log_for(policy), flags, seed=seed, quiet=quiet)
    own = read_candidates(candidate or (), data, flags, seed=seed, quiet=quiet)
    given = [*stages.candidates, *own]
    config = dataclasses.replace(suggest_config(data), **changes)
    config = add_cost_factors(config, frontier or ())
    config = config if seconds is None else set_budget(config, seconds)
    rows = None if start is None else read_start(start, old.signature, data)
    tasks = None if out is None else out / FOLDER
    if fresh and tasks is not None:
        shutil.rmtree(tasks, ignore_errors=True)
    interruption = explain_interruption(tasks)
    reporter = open_reporter(quiet=quiet)
    with interruption, reporter as shown, open_tracking(tensorboard, mlflow) as tracker:
        tracker.start(
            {"config": config.as_json(), "cost_model": describe_cost(price), "seed": seed}
        )
        found = find_advice(
            data,
            old,
            price,
            rows,
            config=config,
            candidates=given,
            uncertainty=find_uncertainty(origin),
            seed=seed,
            progress=combine_reporters(shown, tracker.reporter),
            resume=tasks,
            engine=chosen or "threads",
            acting=stages.acting,
            earlier=stages.earlier,
        )
        _save(found, out, as_json=as_json, quiet=quiet)
        if tasks is not None:
            shutil.rmtree(tasks, ignore_errors=True)
        tracker.finish(found, out)
    _present(found, out, as_json=as_json, quiet=quiet)


@app.command(short_help="Advice on the bundled traffic log.", epilog=DEMO_EXAMPLES)
def demo(
    out: AdviceFolder = None,
    force: Force = False,
    engine: EngineName = None,
    address: Address = None,
    workers: Workers = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Advise on the bundled log of an intersection, and say what it shows.

    No simulator is needed. With --quiet the verdict alone is printed.
    """
    from nacre import examples
    from nacre.cli import console
    from nacre.cli.demo import introduce, run_demo, suggest
    from nacre.cli.folders import check_folder
    from nacre.training.progress_display import open_reporter

    chosen = choose_engine(engine, address, workers, "threads")
    check_folder(out, force=force)
    example = examples.load_traffic()
    if not (quiet or as_json):
        console.print_text(introduce(example))
    with open_reporter(quiet=quiet) as reporter:
        found = run_demo(seed, reporter, example, chosen or "threads")
    _save(found, out, as_json=as_json, quiet=quiet)
    _present(found, out, as_json=as_json, quiet=quiet)
    if not (quiet or as_json):
        typer.echo(suggest())


@app.command(short_help="Write the page of an earlier advice again.", epilog=REPORT_EXAMPLES)
def report(
    folder: Annotated[Path, typer.Argument(help="The folder that advise wrote.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="The page; report.html in the folder if not given.")
    ] = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Write the page of an earlier advice from its decision.json and evidence.npz.

    Nothing is drawn at random: the seed changes nothing.
    """
    from nacre.cli import console
    from nacre.report.saving import rewrite_page

    page = rewrite_page(folder, out)
    if as_json:
        console.print_json({"page": str(page)})
    elif not quiet:
        typer.echo(str(page))


def _read_changes(file: Path | None, options: dict[str, Any]) -> dict[str, Any]:
    """The fields of the configuration that the file sets, or an option, which counts more."""
    import dataclasses

    from nacre.advice.config_file import read_changes
    from nacre.diagnostics.log_checks import LogCheckConfig
    from nacre.inference import RULES

    changes = ({} if file is None else read_changes(file)) | options
    if "rule" in options:
        changes["rule"] = RULES.find(options["rule"])()
    if "epsilon" in options:
        checks = changes.get("checks", LogCheckConfig())
        changes["checks"] = dataclasses.replace(checks, epsilon=changes.pop("epsilon"))
    return changes


def _is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was set at all: by a flag, by a variable or in the file of settings."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _save(found: Any, out: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Write the advice; where only that fails, the verdict is printed first."""
    try:
        if out is not None:
            found.save(out)
    except InputError:
        _present(found, None, as_json=as_json, quiet=quiet)
        raise


def _present(found: Any, out: Path | None, *, as_json: bool, quiet: bool) -> None:
    """Print the advice."""
    from nacre.cli import console

    if as_json:
        console.print_json(found.as_json())
    elif quiet:
        typer.echo(found.verdict)
    else:
        console.print_advice(found, out)
