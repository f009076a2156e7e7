"""What helps the learner: variants of one base on tuning seeds, with true values as they learn.

A record is a world, a variant and a seed; docs/learner.md shows the tables and the picture.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nacre.errors import InputError
from nacre.estimators.simulation import simulate_value
from nacre.experiments.records import Record
from nacre.experiments.run import published_cost
from nacre.experiments.shared import share_row
from nacre.experiments.tables import find_row
from nacre.learners import EpochRecord, LearnerConfig, learn
from nacre.learners.net_actor_critic.learner import default_settings
from nacre.learners.scale_noise import scale_noise
from nacre.policies.policy import Policy

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
BASE_KL_WEIGHT = 0.01
EPOCHS, LONG_EPOCHS = 4, 24
LOOKS, LONG_LOOKS = 2, 4
EPISODES = 20
STEPS = 700


def vary(name: str) -> LearnerConfig:
    """The learner of advice, its critics averaged, its weights not, changed by a variant."""
    config, changes = default_settings(), (CHANGES | LONG)[name]
    critics = {"backup": "mean", **changes.get("critics", {})}
    usual = {"combine": "mean", "averaging": None, "kl_weight": BASE_KL_WEIGHT}
    actor = usual | changes.get("actor", {})
    epochs = LONG_EPOCHS if name in LONG else EPOCHS
    return dataclasses.replace(
        config,
        critics=dataclasses.replace(config.critics, **critics),
        actor=dataclasses.replace(config.actor, **actor),
        **{"epochs": epochs, "stopping": None, **changes.get("learner", {})},
    )


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """What each record is about."""
    return [
        {"world": world, "variant": variant, "seed": seed}
        for seed in seeds
        for variant in (*CHANGES, *LONG)
        for world in WORLDS
    ]


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """Learn, and simulate the policy every few epochs."""
    variant, (row_name, size) = run["variant"], WORLDS[run["world"]]
    shared = share_row(row_name, run["seed"], cache, old_policies)
    old_policy, log = shared.old_policy, shared.log(size)
    config, cost = vary(variant), published_cost(find_row(row_name), shared.world)
    looks: list[dict[str, Any]] = []
    seconds: list[float] = []

    def simulate(policy: Policy) -> Any:
        return simulate_value(shared.world, policy, n_episodes=EPISODES, n_steps=STEPS, seed=5)

    def look(epoch: EpochRecord, policy: Policy) -> None:
        seconds.append(epoch.seconds)
        if (epoch.epoch + 1) % (LONG_LOOKS if variant in LONG else LOOKS):
            return
        if variant in NOISE:
            policy = scale_noise(policy, NOISE[variant]) or policy
        truth = simulate(policy)
        looks.append(
            {
                "updates": (epoch.epoch + 1) * config.steps_per_epoch,
                "true": truth.mean,
                "standard_error": truth.standard_error,
                "estimated": epoch.value,
                "divergence": epoch.divergence,
                "cost": cost.evaluate(old_policy, policy, log).total,
            }
        )

    learned = learn(
        log,
        old_policy,
        cost,
        shared.start(log),
        config,
        old_value=0.0,
        first=old_policy,
        seed=run["seed"],
        on_epoch=look,
    )
    return {
        **run,
        "transitions": len(log),
        "old": simulate(old_policy).mean,
        "looks": looks,
        "healthy": learned.healthy,
        # The first epoch has the compiling in it.
        "seconds_per_epoch": float(np.median(seconds[1:])) if len(seconds) > 1 else None,
        "learner": config.as_json(),
    }


def write_table(records: Sequence[Record]) -> str:
    """True value less the cost at every look, by variant and world; means over seeds."""
    worlds = [world for world in WORLDS if any(record["world"] == world for record in records)]
    variants = [name for name in CHANGES if any(record["variant"] == name for record in records)]
    rows = [f"| variant | {' | '.join(worlds)} |", f"| --- |{' --- |' * len(worlds)}"]
    old = (_describe_old(records, world) for world in worlds)
    rows.append(f"| *old policy* | {' | '.join(old)} |")
    for variant in variants:
        same = [record for record in records if record["variant"] == variant]
        cells = [_describe([one for one in same if one["world"] == world]) for world in worlds]
        rows.append(f"| {variant} | {' | '.join(cells)} |")
    return "\n".join(rows)


def write_long_table(records: Sequence[Record]) -> str:
    """True value less the cost as learning goes on, a line a world and variant."""
    epochs = range(LONG_LOOKS, LONG_EPOCHS + 1, LONG_LOOKS)
    rows = [
        f"| world | proposed | {' | '.join(f'{epoch} epochs' for epoch in epochs)} |",
        f"| --- | --- |{' --- |' * len(epochs)}",
    ]
    for record in (record for record in records if record["variant"] in LONG):
        values = [f"{look['true'] - look['cost']:.0f}" for look in record["looks"]]
        rows.append(f"| {record['world']} | {record['variant']} | {' | '.join(values)} |")
    return "\n".join(rows)


def _describe_old(records: Sequence[Record], world: str) -> str:
    by_seed = {record["seed"]: record["old"] for record in records if record["world"] == world}
    return f"{np.mean(list(by_seed.values())):.0f}"


def _describe(records: Sequence[Record]) -> str:
    """Values at the looks that all runs reached, and how many broke down."""
    if not records:
        return "–"
    reached = min(len(record["looks"]) for record in records)
    values = [
        np.mean([record["looks"][i]["true"] - record["looks"][i]["cost"] for record in records])
        for i in range(reached)
    ]
    broken = sum(not record["healthy"] for record in records)
    note = f" ({broken} of {len(records)} broke down)" if broken else ""
    return " → ".join(f"{value:.0f}" for value in values) + note


def draw(records: Sequence[Record], path: Path) -> None:
    """True value less the cost, first look to last: a plot for each world, a line a variant."""
    plotting = import_matplotlib()
    records = [record for record in records if record["variant"] in CHANGES]
    worlds = [world for world in WORLDS if any(record["world"] == world for record in records)]
    variants = [name for name in CHANGES if any(record["variant"] == name for record in records)]
    figure, all_axes = plotting.subplots(
        1,
        len(worlds),
        figsize=(2.9 * len(worlds) + 1.8, 0.9 + 0.27 * len(variants)),
        layout="constrained",
        squeeze=False,
        sharey=True,
    )
    for axes, world in zip(all_axes[0], worlds, strict=True):
        for record in (record for record in records if record["world"] == world):
            values = [look["true"] - look["cost"] for look in record["looks"]]
            colour = "#d55e00" if record["variant"] == "base" else "#0072b2"
            height = [variants.index(record["variant"])] * len(values)
            axes.plot(values, height, color=colour, lw=1)
            axes.scatter(values[:-1], height[:-1], s=22, facecolors="white", edgecolors=colour)
            axes.scatter(values[-1:], height[-1:], s=22, color=colour)
        old = np.mean([record["old"] for record in records if record["world"] == world])
        axes.axvline(old, color="#777777", lw=0.8, ls=":", zorder=0)
        axes.set_title(f"{world} (dotted: old policy)", fontsize="medium")
        axes.set_xlabel("true value less the cost")
    all_axes[0][0].set_yticks(range(len(variants)), variants, fontsize="small")
    all_axes[0][0].invert_yaxis()
    figure.savefig(path, metadata={"Date": None})
    plotting.close(figure)


def import_matplotlib() -> Any:
    """Pyplot without a screen, or an error that says which extra brings it."""
    try:
        import matplotlib
    except ImportError:
        raise InputError(
            "figures need matplotlib, which is not installed: pip install 'nacre[figures]'"
        ) from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "nacre"
    from matplotlib import pyplot

    return pyplot
