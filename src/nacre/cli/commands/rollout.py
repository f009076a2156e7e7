"""Commands after the decision: plan, plan assign, watch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nacre.cli.commands.options import (
    ActivationName,
    AsJson,
    Assignments,
    CacheDir,
    Columns,
    ConfigFile,
    Epsilon,
    Normalization,
    Quiet,
    Seed,
    SignatureFile,
)
from nacre.errors import InputError

app = typer.Typer()

PLAN_EXAMPLES = """\b
Examples:
  nacre plan advice --out plan
  nacre plan advice --stages 0.05,0.25,1 --risk 0.01 --guardrail "terminated - old <= 0.02"
  nacre plan advice --unit block --block 4 --gap 1 --policy old.safetensors --out plan
"""
ASSIGN_EXAMPLES = """\b
Examples:
  nacre plan assign plan --stage 1 --units 400 --out assignment.csv
"""
WATCH_EXAMPLES = """\b
Examples:
  nacre watch --plan plan/plan.json --log live.parquet
  nacre watch --plan plan --log live.csv --follow --every 60
  nacre watch --plan plan --log monday.parquet --log tuesday.parquet
Exit codes: 0 keep collecting or go on, 10 next stage, 20 stop, 30 step back; 1 failed, 2 bad input.
"""
Stages = Annotated[
    str | None,
    typer.Option("--stages", help="Shares of the new policy with commas between, as in 0.1,0.5,1."),
]
StageNumber = Annotated[int, typer.Option("--stage", min=1, help="Number of the stage.")]


@app.command(short_help="A roll-out in stages, from an advice.", epilog=PLAN_EXAMPLES)
def plan(
    advice: Annotated[Path, typer.Argument(help="The folder that advise wrote.")],
    stages: Stages = None,
    risk: Annotated[
        float,
        typer.Option("--risk", help="Error of each verdict in each stage, over all looks."),
    ] = 0.05,
    power: Annotated[
        float, typer.Option("--power", help="Power of the test that stages are compared with.")
    ] = 0.8,
    unit: Annotated[
        str, typer.Option("--unit", help="What is assigned: episode, block or site.")
    ] = "episode",
    block: Annotated[
        int, typer.Option("--block", min=1, help="Episodes of a unit, one after the other.")
    ] = 1,
    gap: Annotated[
        int, typer.Option("--gap", min=0, help="First episodes of a unit that are not counted.")
    ] = 0,
    sites: Annotated[int | None, typer.Option("--sites", help="How many sites there are.")] = None,
    guardrail: Annotated[
        list[str] | None,
        typer.Option("--guardrail", help="What must hold, as in 'terminated - old <= 0.02'."),
    ] = None,
    least: Annotated[
        float | None, typer.Option("--least", help="No return is ever below this.")
    ] = None,
    most: Annotated[
        float | None, typer.Option("--most", help="No return is ever above this.")
    ] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", help="File of the old policy: watch checks it.")
    ] = None,
    log: Annotated[
        str | None, typer.Option("--log", help="The advice's log: partial switches are estimated.")
    ] = None,
    cost_file: Annotated[
        Path | None, typer.Option("--cost", help="The advice's cost.toml, with --log.")
    ] = None,
    live: Annotated[
        list[str] | None,
        typer.Option("--live", help="Live logs of an advice that had some, as it was given them."),
    ] = None,
    live_plan: Annotated[
        Path | None, typer.Option("--plan", help="The plan of these live logs.")
    ] = None,
    live_stage: Annotated[
        list[int] | None, typer.Option("--stage", min=1, help="Their stages, as advise was given.")
    ] = None,
    region: Annotated[
        list[str] | None,
        typer.Option(
            "--region",
            help="A switch there only: 'queue >= 8', 'states 2,3', known, 'cluster 1 of 4', "
            "gaining.",
        ),
    ] = None,
    epsilon: Epsilon = 0.0,
    normalization: Normalization = None,
    activation: ActivationName = None,
    signature: SignatureFile = None,
    columns: Columns = None,
    assignments: Assignments = None,
    cache_dir: CacheDir = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for plan.json, the page and the policies.")
    ] = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Plan a roll-out of the finalist of an advice: stages, prices, episodes, bounds.

    For an undecided verdict it says what would settle it, the cheapest first. With --quiet the
    number of stages is printed. With --log, --policy and --cost the net gain of partial switches
    is estimated from the log, and the largest one that is proven is named.
    """
    from nacre.cli import console
    from nacre.cli.joining import LiveLogs
    from nacre.cli.parts import PartInputs, deliver_parts, find_parts
    from nacre.cli.policy_flags import PolicyFlags
    from nacre.cli.rollout import describe_plan, save_plan
    from nacre.report import read_decision, read_evidence
    from nacre.rollout.planning import PlanOptions, make_plan

    record, evidence = read_decision(advice), read_evidence(advice)
    options = PlanOptions(
        shares=_read_shares(stages),
        unit=_read_unit(unit),
        episodes_per_unit=block,
        gap=gap,
        sites=sites,
        risk=risk,
        power=power,
        guardrails=tuple(guardrail or ()),
        return_bounds=_read_bounds(least, most),
        seed=seed,
    )
    folder = advice if advice.is_dir() else advice.parent
    new = folder / "policy" / "new.safetensors"
    lives = LiveLogs.of(live, live_plan, live_stage)
    flags = PolicyFlags(epsilon, normalization, activation, signature)
    inputs = PartInputs(
        log,
        policy,
        cost_file,
        new,
        tuple(region or ()),
        lives,
        flags,
        columns,
        tuple(assignments or ()),
        cache_dir,
    )
    curve = find_parts(record, inputs, quiet=quiet)
    if out is not None and out.is_file():
        raise InputError(f"{out}: is a file; give a folder")
    points = curve.points if out is None else deliver_parts(curve, out, record)
    found = make_plan(record, evidence.returns, options, curve_points=points, worlds=curve.worlds)
    if out is not None:
        found = save_plan(found, out, new, policy, flags)
    if as_json:
        console.print_json(found.as_json())
    elif quiet:
        typer.echo(len(found.stages))
    else:
        typer.echo("\n".join(describe_plan(found)))
        if out is not None:
            typer.echo(f"the page: {out / 'plan.html'}")


@app.command(
    "plan assign", short_help="Which unit runs which policy, by seed.", epilog=ASSIGN_EXAMPLES
)
def assign(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="plan.json or its folder.")],
    stage: StageNumber = 1,
    units: Annotated[
        int | None, typer.Option("--units", min=1, help="How many; as the stage needs by default.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="The CSV file; printed if not given.")
    ] = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Write which unit runs which policy: arm 1 is the new one.

    The assignment follows from the plan's own seed, so that nacre watch knows it: --seed changes
    nothing here.
    """
    from nacre.cli import console
    from nacre.cli.rollout import ASSIGNMENT
    from nacre.files.commit import write_whole
    from nacre.rollout.design import list_assignment
    from nacre.rollout.plan_record import read_plan

    found = read_plan(plan_file)
    entry = found.find_stage(stage)
    design = found.design(entry)
    needed = (entry.episodes_late or 1000) // design.episodes_per_unit + design.set_size
    count = units or needed
    rows = list(list_assignment(design, -(-count // design.set_size) * design.set_size))
    if as_json:
        console.print_json({"stage": stage, "unit": found.unit, "assignment": rows})
        return
    lines = [",".join(ASSIGNMENT), *(",".join(str(row[n]) for n in ASSIGNMENT) for row in rows)]
    text = "\n".join(lines) + "\n"
    if out is None:
        typer.echo(text, nl=False)
        return
    write_whole(out, text.encode())
    if not quiet:
        typer.echo(f"{out}: {len(rows):,} units of stage {stage}")


@app.command(short_help="Look at a live log: what to do now?", epilog=WATCH_EXAMPLES)
def watch(
    plan_file: Annotated[Path, typer.Option("--plan", help="plan.json or its folder.")],
    log: Annotated[
        list[str], typer.Option("--log", help="The live log so far: a file, a folder, or several.")
    ],
    stage: StageNumber = 1,
    follow: Annotated[
        bool, typer.Option("--follow/--no-follow", help="Look again whenever the log has grown.")
    ] = False,
    every: Annotated[
        float, typer.Option("--every", min=0.1, help="Seconds between looks with --follow.")
    ] = 30.0,
    old_policy: Annotated[
        Path | None, typer.Option("--old-policy", help="What should act in old units.")
    ] = None,
    new_policy: Annotated[
        Path | None, typer.Option("--new-policy", help="What should act in new units.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the looks and the page; the plan's.")
    ] = None,
    epsilon: Epsilon = 0.0,
    normalization: Normalization = None,
    activation: ActivationName = None,
    signature: SignatureFile = None,
    columns: Columns = None,
    assignments: Assignments = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Look at the live log of a stage: go on, next stage, stop, step back or keep collecting.

    Every look is recorded in looks.jsonl, and watch.html shows the last one. Looking more often
    costs nothing. With --follow it looks until there is something to do. With --quiet the verdict
    alone is printed. Nothing is drawn at random: the seed changes nothing.
    """
    from nacre.cli.policy_flags import PolicyFlags
    from nacre.cli.rollout import load_policies
    from nacre.cli.watching import Watch, follow_log, take_look
    from nacre.logs import read_columns
    from nacre.rollout.plan_record import read_plan
    from nacre.rollout.verdicts import EXIT_CODES

    found = read_plan(plan_file)
    folder = plan_file if plan_file.is_dir() else plan_file.parent
    flags = PolicyFlags(epsilon, normalization, activation, signature)
    policies = load_policies(found, folder, {"old": old_policy, "new": new_policy}, flags)
    read = read_columns(columns, assignments or ())
    job = Watch(found, tuple(log), stage, policies, read, out or folder, as_json, quiet)
    verdict = follow_log(job, every) if follow else take_look(job)
    raise typer.Exit(EXIT_CODES[verdict])


def _read_shares(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        return tuple(float(part.rstrip("% ")) / (100 if "%" in part else 1) for part in
                     text.split(","))  # fmt: skip
    except ValueError:
        raise InputError(
            f"--stages {text!r:.60}: give shares with commas between, as in 0.1,0.5,1"
        ) from None


def _read_unit(text: str) -> Any:
    from nacre.rollout.design import UNITS

    if text not in UNITS:
        raise InputError(f"--unit {text!r:.40}: give {', '.join(UNITS[:-1])} or {UNITS[-1]}")
    return text


def _read_bounds(least: float | None, most: float | None) -> tuple[float, float] | None:
    if least is None and most is None:
        return None
    if least is None or most is None:
        raise InputError("--least and --most: give both, or none of them")
    return least, most
