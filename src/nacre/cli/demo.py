"""The demonstration: advice on the bundled log of an intersection."""

from __future__ import annotations

import dataclasses
import shlex
import shutil
import sys
from pathlib import Path

from nacre import examples
from nacre.advice.config import AdviceConfig, suggest_config
from nacre.advice.pipeline import advise
from nacre.advice.result import Advice
from nacre.examples import TrafficExample
from nacre.parallel.engine import EngineSource
from nacre.training.progress import Progress

DISCOUNT = 0.99


def demo_config(example: TrafficExample) -> AdviceConfig:
    """What a log of this size calls for, with one learned candidate: it has to be quick."""
    config = suggest_config(example.log, DISCOUNT)
    return dataclasses.replace(config, learners=(config.learners[0], config.learners[-1]))


def introduce(example: TrafficExample) -> str:
    """What the example is about."""
    log = example.log
    return (
        "One intersection, two roads. Every five seconds a controller decides which road gets "
        f"green; its log holds {log.n_transitions:,} decisions in {log.n_episodes:,} episodes. The "
        "reward is the mean speed of the vehicles near. Could another controller do better, and "
        "would it pay after the cost of switching?\n"
    )


def run_demo(
    seed: int,
    progress: Progress | None = None,
    example: TrafficExample | None = None,
    engine: EngineSource = "threads",
) -> Advice:
    """Advice on the bundled traffic log."""
    example = example or examples.load_traffic()
    return advise(
        example.log,
        example.old_policy,
        example.cost,
        config=demo_config(example),
        seed=seed,
        progress=progress,
        engine=engine,
    )


def suggest() -> str:
    """Commands to try next, on lines of their own; they run as they are, wherever the user is."""
    log, policy, cost = (
        shlex.quote(str(examples.find_directory("traffic") / name))
        for name in ("log.parquet", "old.safetensors", "cost.toml")
    )
    return (
        "For advice at weights of your own, edit a copy of the cost:\n"
        f"  cp {cost} my-cost.toml\n"
        f"  {name_program()} advise --log {log} --policy {policy} --cost my-cost.toml "
        "--out my-advice"
    )


def name_program() -> str:
    """What calls nacre again from here: its name where the shell finds it, else its place."""
    if shutil.which("nacre"):
        return "nacre"
    beside = Path(sys.executable).with_name("nacre")
    return (
        shlex.quote(str(beside)) if beside.exists() else f"{shlex.quote(sys.executable)} -m nacre"
    )
