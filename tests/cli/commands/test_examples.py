"""Every example in the help of every command, run as it is written there.

The files that the examples name are laid out in an empty directory. Where an example would take
minutes, the budget below it is small; the command line is the one that people see.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import jax
import numpy as np
import pytest
import typer

from nacre import Log, examples, write_log
from nacre.advice import config as advice_config
from nacre.advice import evaluate as valuation
from nacre.advice.pipeline import advise
from nacre.advice.result import Advice
from nacre.cli import app as cli
from nacre.cli import bench, demo
from nacre.estimators import simulation as simulated
from nacre.experiments import run
from nacre.experiments.tables import TABLES
from nacre.learners.online import soft_actor_critic
from nacre.learners.online import training as online
from nacre.policies import CloneConfig, MLPPolicy, write_policy
from nacre.policies.cloning import log_cloning
from nacre.simulators import collection
from nacre.simulators import registry as simulators
from nacre.simulators.rendering import shows
from tests.support.advice import make_quick_evaluation
from tests.support.commands import few_updates, write_right_switch

STEPS = 200
"""Most steps of a simulation."""


def list_examples() -> Iterator[str]:
    """The command lines in the help of all commands; long ones go on after a backslash."""

    def walk(command: Any) -> Iterator[Any]:
        yield command
        for inner in getattr(command, "commands", {}).values():
            yield from walk(inner)

    for command in walk(typer.main.get_command(cli.app)):
        text = (command.epilog or "").replace("\\\n", " ")
        lines = (" ".join(line.split()) for line in text.splitlines())
        yield from (line for line in lines if line.startswith("nacre "))


EXAMPLES = list(list_examples())


def test_there_are_examples_of_every_command() -> None:
    shown = {" ".join(example.split()[1:3]) for example in EXAMPLES}
    names = {command.name for command in cli.app.registered_commands if command.name}
    names |= {
        command.callback.__name__
        for command in cli.app.registered_commands
        if command.callback and not command.name
    }
    assert len(names) == 22
    assert {name for name in names if not any(one.startswith(name) for one in shown)} == set()
    assert any(one.startswith("config show") for one in shown)


# Calibration asks for hundreds of advices, a table of decisions for its logs, a roll-out for the
# files of a story, a cache for a large log: their own tests run them.
ELSEWHERE = (
    "nacre calibrate",
    "nacre advise-many",
    "nacre advise --log log.parquet --cost cost.toml --live",
    "nacre plan",
    "nacre watch",
    "nacre verify .nacre-cache",
    "nacre train-online Hopper-v4 --out new.safetensors --method net",
)


@pytest.mark.parametrize("example", [one for one in EXAMPLES if not one.startswith(ELSEWHERE)])
def test_example_runs_as_written(
    example: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    words = shlex.split(example)
    lay_out(tmp_path, words[1], words[2] if len(words) > 2 else "")
    spend_little(monkeypatch)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        cli.run(words[1:])
    printed = capfd.readouterr()
    assert caught.value.code == 0, printed.err
    assert printed.out or printed.err
    for option in ("--out", "--render"):
        if option in words:
            assert Path(words[words.index(option) + 1]).exists()
    if words[1] == "convert":
        assert Path(words[3]).is_file()


# Files that the examples name.


def lay_out(folder: Path, command: str, argument: str) -> None:
    """The files of the example's command."""
    if command in ("collect", "simulate", "show"):
        world = simulators.find_world(argument)
        policy = MLPPolicy.init(jax.random.key(0), world.signature, hidden=(8,))
        write_policy(policy, folder / "old.safetensors")
    elif command in ("validate", "cost"):
        shutil.copytree(examples.find_directory(), folder, dirs_exist_ok=True)
        write_log(examples.load().log.select(np.arange(2)), folder / "log.csv")
    elif command in LAYOUTS:
        LAYOUTS[command](folder)


def lay_out_exports(folder: Path) -> None:
    rows = ["episode,north,south,phase,reward,done"]
    rows += [f"{i // 4},{i % 3},{i % 5},{i % 2},-1.5,{i % 4 == 3}" for i in range(20)]
    (folder / "export.csv").write_text("\n".join(rows) + "\n")
    log = examples.load().log.select(np.arange(2))
    with h5py.File(folder / "dataset.hdf5", "w") as file:
        file["observations"], file["actions"] = log.observations, log.actions
        file["rewards"], file["terminals"] = log.rewards, log.terminated
        file["timeouts"] = log.truncated


def lay_out_calls(folder: Path) -> None:
    source = examples.find_directory("calls")
    lines = (source / "log.csv").read_text(encoding="utf-8").replace(",spent", ",revenue")
    (folder / "calls.csv").write_text("\n".join(lines.splitlines()[:60]), encoding="utf-8")
    text = (source / "map.toml").read_text(encoding="utf-8").replace('"spent"', '"revenue"')
    (folder / "calls.map.toml").write_text(text, encoding="utf-8")
    write_log(examples.load().log.select(np.arange(2)), folder / "log.parquet")


def lay_out_draft(folder: Path) -> None:
    lay_out_calls(folder)
    (folder / "calls.map.toml").unlink()


def lay_out_traffic(folder: Path) -> None:
    shutil.copytree(examples.find_directory("traffic"), folder, dirs_exist_ok=True)
    write_policy(make_advice().new_policy, folder / "new.safetensors")
    (folder / "advice.toml").write_text(few_updates().as_toml())
    for name in ("log.parquet", "log.csv"):
        write_log(few_episodes(), folder / name)


def lay_out_both(folder: Path) -> None:
    lay_out_calls(folder)
    lay_out_traffic(folder)


def lay_out_advice(folder: Path) -> None:
    make_advice().save(folder / "advice")


@functools.cache
def make_advice() -> Advice:
    """An advice on a part of the bundled log, found once."""
    example = examples.load_traffic()
    return advise(few_episodes(), example.old_policy, example.cost, config=few_updates())


@functools.cache
def few_episodes() -> Log:
    return examples.load_traffic().log.select(np.arange(8))


def lay_out_records(folder: Path) -> None:
    write_right_switch(folder / "results", TABLES["sumo"][0], 2.0)


def lay_out_settings(folder: Path) -> None:
    (folder / "nacre.toml").write_text("[advise]\nconfidence = 0.9\n")


LAYOUTS: dict[str, Callable[[Path], None]] = {
    "draft-map": lay_out_draft,
    "draft-cost": lay_out_calls,
    "advise": lay_out_traffic,
    "evaluate": lay_out_both,
    "convert": lay_out_exports,
    "report": lay_out_advice,
    "verify": lay_out_advice,
    "reproduce": lay_out_records,
    "config": lay_out_settings,
}


# Budgets.


def make_bench() -> bench.Bench:
    """Figures that mean nothing."""
    figures: dict[str, Any] = {one.name: 1.0 for one in dataclasses.fields(bench.Bench)}
    return bench.Bench(**figures | {"threads": 1})


def spend_little(patch: pytest.MonkeyPatch) -> None:
    """Small budgets for all that would take long."""
    patch.setattr(advice_config, "suggest_config", few_updates)
    patch.setattr(valuation, "default_evaluation", make_quick_evaluation)
    patch.setattr(demo, "demo_config", few_updates)
    patch.setattr(demo, "run_demo", lambda *_: make_advice())
    patch.setattr(log_cloning, "CloneConfig", functools.partial(CloneConfig, n_steps=20))
    small = functools.partial(dataclasses.replace, soft_actor_critic.OnlineConfig(hidden=(8,)))
    sizes = {"uniform_steps": 50, "epoch_steps": 100, "updates_per_step": 0.02}
    patch.setattr(
        soft_actor_critic,
        "OnlineConfig",
        lambda **given: small(**given | sizes | {"epochs": 1}),
    )
    patch.setattr(
        online, "write_trained", functools.partial(online.write_trained, n_episodes=2, n_steps=9)
    )
    find = simulators.find_world
    patch.setattr(
        simulators, "find_world", lambda name: dataclasses.replace(find(name), episode_length=9)
    )
    collect = collection.collect_log
    patch.setattr(
        collection,
        "collect_log",
        lambda world, policy, steps, **given: collect(
            world, policy, min(steps, STEPS), **given | {"engine": None}
        ),
    )
    simulate = simulated.simulate_value
    patch.setattr(
        simulated,
        "simulate_value",
        lambda world, policy, **given: simulate(
            world, policy, **given | {"n_episodes": 2, "n_steps": 9}
        ),
    )
    show = shows.show_policy
    patch.setattr(
        shows,
        "show_policy",
        lambda world, policy, path, *, steps, **given: show(world, policy, path, steps=2, **given),
    )
    # There is no screen to open a window on: what the window would show runs without it.
    patch.setattr(shows, "has_screen", lambda: True)
    patch.setattr(
        shows, "_show_window", lambda task: shows._act(task, task.world.make(view=None), None)
    )
    patch.setattr(run, "run_plan", lambda plan, **_: iter([[plan.out / "record.json"]]))
    patch.setattr(bench, "run_bench", lambda **_: make_bench())
    patch.setattr(os, "sched_setaffinity", lambda *_: None, raising=False)
