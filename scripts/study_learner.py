"""What helps the learner: variants of one base on tuning seeds, with true values as they learn.

One JSON line a run (world, variant, seed), so that it can be stopped and gone on with; --table
and --figure give what docs/learner.md shows.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from nacre.advice.config import AdviceConfig
from nacre.estimators.simulation import simulate_value
from nacre.experiments.pages import import_matplotlib
from nacre.experiments.records import read_lines
from nacre.experiments.run import published_cost
from nacre.experiments.shared import make_old_policy
from nacre.experiments.tables import Row, find_row
from nacre.learners import EpochRecord, LearnerConfig, learn
from nacre.learners.scale_noise import calm_policy
from nacre.logs import Log, read_log, write_log
from nacre.policies.policy import Policy
from nacre.simulators.collection import collect_log
from nacre.simulators.registry import World, find_world
from nacre.versions import find_commit, find_versions

WORLDS = {
    "hopper": ("hopper-suboptimal", 200_000),
    "halfcheetah": ("halfcheetah-suboptimal", 200_000),
    "ant": ("ant-suboptimal", 200_000),
    "traffic": ("sumo-cl5-ct0.1-suboptimal", 30_000),
}
CHANGES: dict[str, dict[str, dict[str, Any]]] = {
    "base": {},
    "128 units": {"critics": {"hidden": (128, 128)}},
    "minimum of the critics": {"critics": {"backup": "min"}, "actor": {"combine": "min"}},
    "2 critics": {"critics": {"n_critics": 2}},
    "targets 0.98": {"critics": {"polyak": 0.98}},
    "targets 0.9": {"critics": {"polyak": 0.9}},
    "behaviour 0": {"actor": {"kl_weight": 0.0}},
    "behaviour 0.1": {"actor": {"kl_weight": 0.1}},
    "behaviour 0.3": {"actor": {"kl_weight": 0.3}},
    "no fit to returns": {"learner": {"prefit_steps": 0}},
    "no LayerNorm": {"critics": {"layer_norm": False}},
    "learning rates 3e-4": {
        "critics": {"learning_rate": 3e-4},
        "actor": {"learning_rate": 3e-4},
    },
    "clipped gradients": {"critics": {"max_gradient_norm": 1.0}},
    "actor at the start": {"actor": {"states": "start"}},
    "4 actions a state": {"actor": {"n_log_action_samples": 4}},
    "half the noise": {},
    "minimum and half the noise": {"critics": {"backup": "min"}, "actor": {"combine": "min"}},
}
LONG: dict[str, dict[str, dict[str, Any]]] = {
    "weights of the last update": {"critics": {"backup": "min"}, "actor": {"combine": "min"}},
    "average of the weights": {
        "critics": {"backup": "min"},
        "actor": {"combine": "min", "averaging": 0.999},
    },
}
"""Learned for longer, and looked at more often: a table of their own."""
NOISE = dict.fromkeys(["half the noise", "minimum and half the noise", *LONG], 0.5)
"""What is learned is looked at with its noise times this."""
BEHAVIOUR = 0.01
EPOCHS, LONG_EPOCHS = 4, 24
LOOKS, LONG_LOOKS = 2, 4
EPISODES = 20
STEPS = 700


def vary(name: str) -> LearnerConfig:
    """The learner of large logs, its critics averaged, its weights not, changed by a variant."""
    config, changes = AdviceConfig().learner, (CHANGES | LONG)[name]
    critics = {"backup": "mean", **changes.get("critics", {})}
    usual = {"combine": "mean", "averaging": None, "kl_weight": BEHAVIOUR}
    actor = usual | changes.get("actor", {})
    epochs = LONG_EPOCHS if name in LONG else EPOCHS
    return dataclasses.replace(
        config,
        critics=dataclasses.replace(config.critics, **critics),
        actor=dataclasses.replace(config.actor, **actor),
        **{"epochs": epochs, "stopping": None, **changes.get("learner", {})},
    )


def prepare(name: str, seed: int, cache: Path) -> tuple[Row, World, Policy, Log]:
    """World, old policy and log of a run; the log is kept in the cache."""
    row_name, size = WORLDS[name]
    row = find_row(row_name)
    world = find_world(row.world)
    old = make_old_policy(row, world, Path("../shared/paper_policies"), seed)
    path = cache / f"{row_name}-{size}-{seed}" / "log.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_log(
            collect_log(world, old, size, seed=seed, parts_folder=path.parent / "parts"), path
        )
    return row, world, old, read_log(path)


def study(name: str, variant: str, seed: int, cache: Path) -> dict[str, Any]:
    """Learn, and simulate the policy every few epochs."""
    row, world, old, log = prepare(name, seed, cache)
    config = vary(variant)
    cost = published_cost(row, world)
    start = log.starts if world.start is None else world.start
    looks: list[dict[str, Any]] = []
    seconds = []

    def look(epoch: EpochRecord, policy: Policy) -> None:
        seconds.append(epoch.seconds)
        if (epoch.epoch + 1) % (LONG_LOOKS if variant in LONG else LOOKS):
            return
        if variant in NOISE:
            policy = calm_policy(policy, NOISE[variant]) or policy
        truth = simulate_value(world, policy, n_episodes=EPISODES, n_steps=STEPS, seed=5)
        looks.append(
            {
                "updates": (epoch.epoch + 1) * config.steps_per_epoch,
                "true": truth.mean,
                "standard_error": truth.standard_error,
                "estimated": epoch.value,
                "divergence": epoch.divergence,
                "cost": cost.evaluate(old, policy, log).total,
            }
        )
        print(name, variant, seed, looks[-1], flush=True)

    learned = learn(
        log, old, cost, start, config, old_value=0.0, first=old, seed=seed, on_epoch=look
    )
    before = simulate_value(world, old, n_episodes=EPISODES, n_steps=STEPS, seed=5)
    return {
        "world": name,
        "variant": variant,
        "seed": seed,
        "transitions": len(log),
        "old": before.mean,
        "looks": looks,
        "healthy": learned.healthy,
        # The first epoch has the compiling in it.
        "seconds_per_epoch": float(np.median(seconds[1:])) if len(seconds) > 1 else None,
        "learner": config.as_json(),
        "versions": find_versions(),
        "commit": find_commit(),
    }


def write_table(lines: list[dict[str, Any]]) -> str:
    """True value less the cost at every look, by variant and world; means over seeds."""
    worlds = [world for world in WORLDS if any(line["world"] == world for line in lines)]
    variants = [name for name in CHANGES if any(line["variant"] == name for line in lines)]
    rows = [f"| variant | {' | '.join(worlds)} |", f"| --- |{' --- |' * len(worlds)}"]
    rows.append(f"| *old policy* | {' | '.join(_tell_old(lines, world) for world in worlds)} |")
    for variant in variants:
        cells = []
        for world in worlds:
            found = [
                line for line in lines if line["world"] == world and line["variant"] == variant
            ]
            cells.append(_tell(found))
        rows.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(rows)


def write_long_table(lines: list[dict[str, Any]]) -> str:
    """True value less the cost as learning goes on, a line a world and variant."""
    epochs = range(LONG_LOOKS, LONG_EPOCHS + 1, LONG_LOOKS)
    rows = [
        f"| world | proposed | {' | '.join(f'{epoch} epochs' for epoch in epochs)} |",
        f"| --- | --- |{' --- |' * len(epochs)}",
    ]
    for line in (line for line in lines if line["variant"] in LONG):
        values = [f"{look['true'] - look['cost']:.0f}" for look in line["looks"]]
        rows.append(f"| {line['world']} | {line['variant']} | {' | '.join(values)} |")
    return "\n".join(rows)


def _tell_old(lines: list[dict[str, Any]], world: str) -> str:
    known = {line["seed"]: line["old"] for line in lines if line["world"] == world}
    return f"{np.mean(list(known.values())):.0f}"


def _tell(lines: list[dict[str, Any]]) -> str:
    """Values at the looks that all runs reached, and the time of an epoch."""
    if not lines:
        return "–"
    reached = min(len(line["looks"]) for line in lines)
    values = [
        np.mean([line["looks"][i]["true"] - line["looks"][i]["cost"] for line in lines])
        for i in range(reached)
    ]
    broken = sum(not line["healthy"] for line in lines)
    note = f" ({broken} of {len(lines)} broke down)" if broken else ""
    return " → ".join(f"{value:.0f}" for value in values) + note


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    """True value less the cost, a panel a world, a line a variant: first look to last."""
    plotting = import_matplotlib()
    lines = [line for line in lines if line["variant"] in CHANGES]
    worlds = [world for world in WORLDS if any(line["world"] == world for line in lines)]
    variants = [name for name in CHANGES if any(line["variant"] == name for line in lines)]
    figure, all_axes = plotting.subplots(
        1,
        len(worlds),
        figsize=(2.9 * len(worlds) + 1.8, 0.9 + 0.27 * len(variants)),
        layout="constrained",
        squeeze=False,
        sharey=True,
    )
    for axes, world in zip(all_axes[0], worlds, strict=True):
        for line in (line for line in lines if line["world"] == world):
            values = [look["true"] - look["cost"] for look in line["looks"]]
            colour = "#d55e00" if line["variant"] == "base" else "#0072b2"
            height = [variants.index(line["variant"])] * len(values)
            axes.plot(values, height, color=colour, lw=1)
            axes.scatter(values[:-1], height[:-1], s=22, facecolors="white", edgecolors=colour)
            axes.scatter(values[-1:], height[-1:], s=22, color=colour)
        old = np.mean([line["old"] for line in lines if line["world"] == world])
        axes.axvline(old, color="#777777", lw=0.8, ls=":", zorder=0)
        axes.set_title(f"{world} (dotted: old policy)", fontsize="medium")
        axes.set_xlabel("true value less the cost")
    all_axes[0][0].set_yticks(range(len(variants)), variants, fontsize="small")
    all_axes[0][0].invert_yaxis()
    figure.savefig(path, metadata={"Date": None})
    plotting.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", default=",".join(WORLDS))
    parser.add_argument("--variants", default=",".join([*CHANGES, *LONG]))
    parser.add_argument("--seeds", default="100")
    parser.add_argument("--cache", type=Path, default=Path("results/.cache/study"))
    parser.add_argument("--out", type=Path, default=Path("results/learner/study.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of what is there")
    parser.add_argument("--figure", type=Path, help="draw what is there to a file")
    options = parser.parse_args()
    if options.table:
        print(write_table(read_lines(options.out)))
    if options.figure is not None:
        draw(read_lines(options.out), options.figure)
    if options.table or options.figure is not None:
        return
    done = {(one["world"], one["variant"], one["seed"]) for one in read_lines(options.out)}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    for seed in map(int, options.seeds.split(",")):
        for variant in options.variants.split(","):
            for world in options.worlds.split(","):
                if (world, variant, seed) in done:
                    continue
                line = study(world, variant, seed, options.cache)
                with options.out.open("a") as file:
                    file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
