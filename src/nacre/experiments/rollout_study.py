"""How often a watch errs and how long it takes: streams whose truth is known.

A stream is a roll-out that is looked at after every set. With no gain, "next stage" and "step back"
are errors. With the promised gain, the sets until "next stage" are counted; with a loss of the same
size, the share of streams in which the loss is found before it exceeds the plan's budget.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nacre.experiments.records import Record
from nacre.rollout.betting import find_bets, log_growth
from nacre.rollout.design import Design, UnitKind, choose_design
from nacre.rollout.scores import Scores, score_sets
from nacre.rollout.sequences import Floats
from nacre.rollout.simulation import count_fixed, first_above, first_below, simulate_stage

RISK = 0.05
POWER = 0.8
STREAMS = 10_000
AT_A_TIME = 500
SETS = 400
BEST_AT = 60
"""Sets at which the bounds are tightest, and of the test of fixed size in the study of power."""
LOG_EPISODES = 1000


def _draw_autocorrelated(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Neighbours share most of what happens to them: an autoregression of 0.9."""
    noise = rng.normal(size=shape)
    series = np.empty(shape)
    series[..., 0] = noise[..., 0] / np.sqrt(1.0 - 0.9**2)
    for t in range(1, shape[-1]):
        series[..., t] = 0.9 * series[..., t - 1] + noise[..., t]
    return series


Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]
SHAPES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "bounded": lambda rng, shape: (rng.random(shape) < 0.2).astype(np.float64),
    "heavy-tailed": lambda rng, shape: rng.standard_t(3, shape),
    "rare and large": lambda rng, shape: np.where(
        rng.random(shape) < 0.03, -rng.exponential(10.0, shape), 0.0
    ),
    "autocorrelated blocks": _draw_autocorrelated,
}
"""Returns of an episode, all of them with the same old and new policy."""


@dataclass(frozen=True)
class Setting:
    """One combination of a shape and a share."""

    shape: str
    design: Design

    @property
    def draw(self) -> Draw:
        """Returns of this shape."""
        return SHAPES[self.shape]


def list_runs(seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Every shape at a half and at a tenth of the units; bounded returns also by betting."""
    runs = []
    for seed in seeds:
        for share in (0.5, 0.1):
            for shape in SHAPES:
                base = {"shape": shape, "share": share, "seed": seed}
                runs += [
                    base | {"part": "errors", "method": "asymptotic"},
                    base | {"part": "power", "method": "asymptotic"},
                ]
                if shape == "bounded":
                    runs.append(base | {"part": "errors", "method": "betting"})
    return runs


def run_one(run: dict[str, Any], cache: Path, old_policies: Path) -> Record:
    """One record; nothing is cached."""
    unit: UnitKind = "block" if run["shape"] == "autocorrelated blocks" else "episode"
    design = choose_design(run["share"], unit)
    setting = Setting(run["shape"], design)
    rng = np.random.default_rng([run["seed"], list(SHAPES).index(run["shape"]), design.set_size])
    if run["part"] == "power":
        return run | measure_power(setting, rng, run["seed"])
    measure = bet_on_errors if run["method"] == "betting" else measure_errors
    return run | measure(setting, rng)


def measure_errors(setting: Setting, rng: np.random.Generator, streams: int = STREAMS) -> Record:
    """Shares of streams without a gain that ever say next stage, or step back."""
    wrong = np.zeros(2)
    for _ in range(0, streams, AT_A_TIME):
        scores = draw_streams(setting, rng, AT_A_TIME)
        bounds = scores.bound(RISK, BEST_AT)
        wrong += (bounds.low > 0).any(axis=-1).sum(), (bounds.high < 0).any(axis=-1).sum()
    return _share_errors(wrong, streams)


def bet_on_errors(setting: Setting, rng: np.random.Generator, streams: int = STREAMS) -> Record:
    """The same by betting against a gain of zero; returns lie in [0, 1], scores in [-1, 1]."""
    wrong = np.zeros(2)
    for _ in range(0, streams, AT_A_TIME):
        unit = (draw_streams(setting, rng, AT_A_TIME).values + 1.0) / 2.0
        bets = find_bets(unit, RISK)
        for side, sign in enumerate((1.0, -1.0)):
            capital = np.cumsum(log_growth(unit, bets, np.asarray(0.5), sign), axis=-1)
            wrong[side] += (capital >= np.log(1.0 / RISK)).any(axis=-1).sum()
    return _share_errors(wrong, streams)


def measure_power(
    setting: Setting, rng: np.random.Generator, seed: int, streams: int = STREAMS
) -> Record:
    """Sets until the promised gain is proven, and losses until they are found.

    Against the test of fixed size, by the true variance, and against the plan's budget. The plan
    sees a log of 1,000 episodes, the streams are others. The gain is the one for which the test of
    fixed size needs about `BEST_AT` sets.
    """
    design = setting.design
    log = setting.draw(rng, (LOG_EPISODES,))
    variance = float(draw_streams(setting, rng, AT_A_TIME).values.var())
    gain = float(np.sqrt(variance * 6.18 / BEST_AT))
    fixed = count_fixed(gain, variance, RISK, POWER)
    need = simulate_stage(log, design, gain, 0.0, alpha=RISK, power=POWER, seed=seed)
    if need is None:
        raise ValueError(f"no plan for {setting}")
    waited, within = [], []
    for _ in range(0, streams, AT_A_TIME):
        scores = draw_streams(setting, rng, AT_A_TIME)
        stops = first_above(scores, gain, 0.0, RISK, need.fixed_sets)
        waited.append(np.minimum(stops, SETS))
        backs = np.minimum(first_below(scores, -gain, RISK, need.fixed_sets), SETS)
        within.append(backs * design.new_per_set * gain <= need.loss)
    mean = float(np.mean(waited))
    return {
        "streams": streams,
        "risk": RISK,
        "power": POWER,
        "log_episodes": LOG_EPISODES,
        "fixed_sets": fixed,
        "planned_fixed_sets": need.fixed_sets,
        "mean_sets": mean,
        "planned_sets": need.mean_sets,
        "ratio": mean / fixed,
        "within_budget": float(np.mean(within)),
    }


def draw_streams(setting: Setting, rng: np.random.Generator, streams: int) -> Scores:
    """Scores of sets whose units follow each other, the new ones drawn as the design says."""
    m = setting.design.set_size
    outcomes = setting.draw(rng, (streams, SETS * m)).reshape(streams, SETS, m)
    chosen = rng.random((streams, SETS, m)).argsort(axis=-1) < setting.design.new_per_set
    return score_sets(outcomes, chosen, setting.design)


def _share_errors(wrong: Floats, streams: int) -> Record:
    return {
        "streams": streams,
        "risk": RISK,
        "best_at": BEST_AT,
        "looks": SETS,
        "false_next_stage": float(wrong[0]) / streams,
        "false_step_back": float(wrong[1]) / streams,
    }


def write_errors(records: Sequence[Record]) -> str:
    """A row for each shape, share and method."""
    lines = [
        "| returns | new units | method | wrong “next stage” | wrong “step back” |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one['shape']} | {one['share']:.0%} | {one['method']} | "
        f"{one['false_next_stage']:.2%} | {one['false_step_back']:.2%} |"
        for one in records
        if one["part"] == "errors"
    ]
    return "\n".join(lines)


def write_power(records: Sequence[Record]) -> str:
    """A row for each shape and share."""
    lines = [
        "| returns | new units | sets to “next stage” | test of fixed size | ratio | "
        "loss found within the budget |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one['shape']} | {one['share']:.0%} | {one['mean_sets']:.0f} | {one['fixed_sets']} | "
        f"{one['ratio']:.2f} | {one['within_budget']:.1%} |"
        for one in records
        if one["part"] == "power"
    ]
    return "\n".join(lines)
