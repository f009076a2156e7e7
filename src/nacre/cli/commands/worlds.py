"""Commands that need a simulator: collect, train-online, simulate, show."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer

from nacre.cli.commands.options import (
    ActivationName,
    Address,
    AsJson,
    ConfigFile,
    Discount,
    EngineName,
    Epsilon,
    Normalization,
    Quiet,
    Seed,
    SignatureFile,
    Workers,
    choose_engine,
)
from nacre.errors import InputError

app = typer.Typer()

COLLECT_EXAMPLES = """\b
Examples:
  nacre collect Hopper-v4 --policy old.safetensors --steps 1000000 --out log.parquet
  nacre collect traffic --policy old.safetensors --steps 50000 --out log.parquet \\
      --uniform-steps 0 --workers 2
"""
TRAIN_EXAMPLES = """\b
Examples:
  nacre train-online traffic --out old.safetensors
  nacre train-online Hopper-v4 --out old.safetensors --stop-value 200
  nacre train-online Hopper-v4 --out new.safetensors --method net \\
      --policy old.safetensors --cost cost.toml
"""
SIMULATE_EXAMPLES = """\b
Examples:
  nacre simulate Hopper-v4 --policy old.safetensors
  nacre simulate traffic --policy old.safetensors --steps 100 --json
"""
SHOW_EXAMPLES = """\b
Examples:
  nacre show traffic --policy old.safetensors --render lights.gif
  nacre show Hopper-v4 --policy old.safetensors --gui
"""

WORLDS = ("traffic", "Ant-v4", "HalfCheetah-v4", "Hopper-v4", "Swimmer-v4", "Walker2d-v4")
"""Names that the shell completes; there are more."""


def _complete_world(incomplete: str) -> list[str]:
    return [name for name in WORLDS if name.startswith(incomplete)]


WorldName = Annotated[
    str,
    typer.Argument(
        help="traffic, a SUMO network *.net.xml, or a Gymnasium id (Hopper-v4).",
        autocompletion=_complete_world,
    ),
]
PolicyFile = Annotated[Path, typer.Option("--policy", help="The policy that acts.")]


@app.command(short_help="Let a policy act in a simulator, keep the log.", epilog=COLLECT_EXAMPLES)
def collect(
    world: WorldName,
    policy: PolicyFile,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Transitions to collect.")],
    out: Annotated[Path, typer.Option("--out", help="The log: .parquet, .csv or .npz.")],
    uniform_steps: Annotated[
        int | None,
        typer.Option(
            "--uniform-steps",
            min=0,
            help="First steps with uniform actions; as published for the paper's worlds, else 0.",
        ),
    ] = None,
    epsilon: Epsilon = 0.0,
    normalization: Normalization = None,
    activation: ActivationName = None,
    signature: SignatureFile = None,
    engine: EngineName = None,
    address: Address = None,
    workers: Workers = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Let a policy act in a simulated world and write what happened as a log.

    Interrupted, it goes on where it was when called again in the same way: finished parts wait in a
    folder beside the log until it is whole.
    """
    from nacre.cli import console
    from nacre.cli.policy_flags import PolicyFlags
    from nacre.logs import write_log
    from nacre.simulators.collection import collect_log, discard_parts
    from nacre.simulators.registry import find_world

    if not out.parent.is_dir():
        raise InputError(f"{out.parent}: no such folder; make it first")
    chosen = choose_engine(engine, address, workers)
    found = find_world(world)
    flags = PolicyFlags(epsilon, normalization, activation, signature)
    acting = flags.read(policy, fallback=found.signature)
    parts = out.with_name(f".{out.name}.parts")
    with console.open_counter("collecting", steps, quiet=quiet) as count:
        log = collect_log(
            found,
            acting,
            steps,
            seed=seed,
            parts_folder=parts,
            uniform_steps=uniform_steps,
            engine=chosen,
            on_rows=count,
        )
    write_log(log, out)
    discard_parts(parts)
    if as_json:
        console.print_json(console.describe_log(out, log))
    elif not quiet:
        console.print_log(out, log)
        typer.echo(_describe_collection(log))


def _describe_collection(log: Any) -> str:
    """What was done: how many steps were the policy's own."""
    made = log.provenance["collection"]
    uniform = min(made["uniform_steps"], made["steps"])
    own = made["steps"] - uniform
    before = f"the first {uniform:,} steps with uniform actions, then " if uniform else ""
    return f"collected in {made['world']}: {before}{own:,} steps with the policy's actions"


@app.command("train-online", short_help="Train a policy in a simulator.", epilog=TRAIN_EXAMPLES)
def train_online(
    world: WorldName,
    out: Annotated[Path, typer.Option("--out", help="The policy, *.safetensors.")],
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Most epochs.")] = 50,
    stop_value: Annotated[
        float | None, typer.Option("--stop-value", help="Stop at this mean discounted return.")
    ] = None,
    method: Annotated[
        str, typer.Option("--method", help="soft (actor-critic), or net (Net Actor-Critic).")
    ] = "soft",
    policy: Annotated[
        Path | None, typer.Option("--policy", help="With net: the policy that would be left.")
    ] = None,
    cost: Annotated[
        Path | None, typer.Option("--cost", help="With net: the cost of leaving it, a cost.toml.")
    ] = None,
    epsilon: Epsilon = 0.0,
    normalization: Normalization = None,
    activation: ActivationName = None,
    signature: SignatureFile = None,
    engine: EngineName = None,
    address: Address = None,
    workers: Workers = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Train a policy in a simulated world, to have an old policy to try with.

    By soft actor-critic, or by Net Actor-Critic as the paper's old policies were, against the cost
    of leaving another policy if one is given. The policy's true value is simulated at the end and
    written beside it as JSON. Interrupted, it goes on from its last epoch when called again in the
    same way.
    """
    from nacre.cli import console
    from nacre.cli.policy_flags import PolicyFlags
    from nacre.learners.online.net_actor_critic import NetOnlineConfig
    from nacre.learners.online.soft_actor_critic import OnlineConfig
    from nacre.learners.online.training import train_online, write_trained
    from nacre.simulators.registry import find_world
    from nacre.training.progress_display import open_reporter

    chosen = choose_engine(engine, address, workers)
    found = find_world(world)
    checkpoint = out.with_name(f".{out.name}.checkpoint.safetensors")
    if method not in ("soft", "net"):
        raise InputError(f"--method {method}: is unknown; give soft or net")
    kind = NetOnlineConfig if method == "net" else OnlineConfig
    config = kind(epochs=epochs, stop_value=stop_value)
    flags = PolicyFlags(epsilon, normalization, activation, signature)
    leaving = _read_leaving(policy, cost, flags, found.signature)
    with open_reporter(quiet=quiet) as reporter:
        result = train_online(
            found, config, seed=seed, checkpoint=checkpoint, progress=reporter, leaving=leaving
        )
    if not result.complete:
        raise KeyboardInterrupt
    with console.open_counter("simulating", 200, quiet=quiet) as count:
        made = write_trained(result, found, out, engine=chosen, on_episodes=count)
    with contextlib.suppress(OSError):
        checkpoint.unlink(missing_ok=True)
    if as_json:
        console.print_json(made)
    elif not quiet:
        typer.echo(f"{out}: {result.stop_reason}")
        for value in made["values"]:
            typer.echo(
                f"  value over {value['steps']} steps {value['mean']:.4g} "
                f"± {value['standard_error']:.2g}"
            )


def _read_leaving(policy: Path | None, cost: Path | None, flags: Any, spaces: Any) -> Any:
    """The policy that would be left and what that costs, or nothing."""
    from nacre.costs import read_cost
    from nacre.learners.online.net_actor_critic import Leaving

    if policy is None and cost is None:
        return None
    if policy is None or cost is None:
        missing = "--policy" if policy is None else "--cost"
        raise InputError(f"{missing} is missing: the policy that is left and its cost go together")
    return Leaving(flags.read(policy, fallback=spaces), read_cost(cost))


@app.command(short_help="Simulate what a policy is worth.", epilog=SIMULATE_EXAMPLES)
def simulate(
    world: WorldName,
    policy: PolicyFile,
    episodes: Annotated[int, typer.Option("--episodes", min=2, help="Episodes to run.")] = 200,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Length of each.")] = 700,
    discount: Discount = 0.99,
    epsilon: Epsilon = 0.0,
    normalization: Normalization = None,
    activation: ActivationName = None,
    signature: SignatureFile = None,
    engine: EngineName = None,
    address: Address = None,
    workers: Workers = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Simulate the discounted value of a policy from the start of a world."""
    from nacre.cli import console
    from nacre.cli.policy_flags import PolicyFlags
    from nacre.estimators.simulation import simulate_value
    from nacre.simulators.registry import find_world

    chosen = choose_engine(engine, address, workers)
    found = find_world(world)
    flags = PolicyFlags(epsilon, normalization, activation, signature)
    acting = flags.read(policy, fallback=found.signature)
    with console.open_counter("simulating", episodes, quiet=quiet) as count:
        value = simulate_value(
            found,
            acting,
            discount=discount,
            n_episodes=episodes,
            n_steps=steps,
            seed=seed,
            engine=chosen,
            on_episodes=count,
        )
    if as_json:
        console.print_json(value.as_json())
    elif quiet:
        typer.echo(f"{value.mean:.6g}")
    else:
        typer.echo(
            f"value {value.mean:.4g} ± {value.standard_error:.2g} "
            f"({value.n_episodes} episodes of up to {value.n_steps} steps, γ = {discount:g})"
        )


@app.command(short_help="Watch a policy at work in a simulator.", epilog=SHOW_EXAMPLES)
def show(
    world: WorldName,
    policy: PolicyFile,
    render: Annotated[
        Path | None, typer.Option("--render", help="Write a moving picture: .gif, .webp, .mp4.")
    ] = None,
    gui: Annotated[
        bool,
        typer.Option("--gui/--no-gui", show_default=False, help="Use the simulator's own window."),
    ] = False,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Steps to show.")] = 200,
    epsilon: Epsilon = 0.0,
    normalization: Normalization = None,
    activation: ActivationName = None,
    signature: SignatureFile = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Watch a policy at work, in the simulator's own window or as a moving picture in a file."""
    from nacre.cli import console
    from nacre.cli.policy_flags import PolicyFlags
    from nacre.cli.waiting import open_wait
    from nacre.simulators.registry import find_world
    from nacre.simulators.rendering.shows import show_policy

    flags = PolicyFlags(epsilon, normalization, activation, signature)
    with open_wait(f"showing {steps} steps of {world}", quiet=quiet) as tell:
        found = find_world(world)
        acting = flags.read(policy, fallback=found.signature)
        shown = show_policy(
            found,
            acting,
            render,
            steps=steps,
            seed=seed,
            gui=gui,
            on_progress=tell,
        )
    if as_json:
        console.print_json(shown.as_json())
    elif not quiet:
        place = "in a window" if shown.path is None else f"in {shown.path}"
        typer.echo(f"{shown.steps} steps {place}, total reward {shown.total_reward:.4g}")
