"""Make a log that advice is timed on: `python scripts/make_bench_logs.py KIND ROWS FOLDER`.

The folder gets log.parquet, old.safetensors and cost.toml, which any version of nacre reads. The
same kind and rows give the same files:

- finite: a random world of the calibration suite, 30 states and 6 actions;
- contexts: a bandit with numbered contexts, of the same suite;
- bandit: a bandit whose contexts are vectors, `Offers` below;
- control: the cart-pole of the calibration suite, under a policy that is nearly random;
- hopper: Hopper-v4 under the weak policy of the paper's table, collected by MuJoCo.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nacre.costs import TransportCost, groups, write_cost
from nacre.costs.family import SwitchingCost
from nacre.experiments.calibration import control, finite
from nacre.experiments.calibration.case import Case
from nacre.experiments.calibration.controllers import Skill, Workshop
from nacre.experiments.calibration.simulation import Array, VectorWorld, sample_log
from nacre.experiments.run import published_cost
from nacre.experiments.shared import make_old_policy
from nacre.experiments.tables import find_row
from nacre.logs import Log, write_log
from nacre.policies import write_policy
from nacre.policies.policy import Policy
from nacre.simulators.collection import collect_log, discard_parts
from nacre.simulators.registry import find_world

ROOT = Path(__file__).resolve().parent.parent
FINITE = Case("finite", "random", "soft", 120)
CONTEXTS = Case("finite", "contexts", "soft", 102)
CONTROL = Case("control", "cart_pole", "random", 109)
HOPPER = "hopper-suboptimal"
SEED = 100


@dataclasses.dataclass(frozen=True)
class Inputs:
    """What an advice is given."""

    log: Log
    old_policy: Policy
    cost: SwitchingCost


class Offers(VectorWorld):
    """A bandit: ten facts about a customer, four offers, one noisy reward, and that is all."""

    observation_size, noise_size, n_actions, horizon = 10, 10, 4, 1

    def __init__(self, rng: np.random.Generator) -> None:
        self.weights = rng.normal(0.0, 1.0, (self.observation_size, self.n_actions))

    def begin(self, noise: Array) -> Array:
        """Independent facts."""
        return noise

    def step(self, states: Array, actions: Array, noise: Array) -> tuple[Array, Array, Any]:
        """A bent line of the facts for each offer, and noise; every episode ends."""
        worth = np.tanh(self.steer(states))[np.arange(len(states)), actions.astype(int)]
        return states, worth + 0.5 * noise[:, 0], np.ones(len(states), bool)

    def steer(self, observations: Array) -> Array:
        """What each offer is worth."""
        preferences: Array = observations @ self.weights / np.sqrt(self.observation_size)
        return preferences


def make_finite(case: Case, rows: int) -> Inputs:
    """A finite case of the calibration suite with a log of so many rows."""
    world, problem = finite.make_world(case), finite.build(case)
    table = finite.read_table(problem.old_policy, world.n_states)
    log = world.sample_log(table, rows, seed=case.seed, horizon=finite.HORIZON)
    return Inputs(log, problem.old_policy, problem.cost)


def make_bandit(rows: int) -> Inputs:
    """A controller of medium skill chooses the offers."""
    rng = np.random.default_rng(SEED)
    world = Offers(rng)
    policy = Workshop.open(world, rng).make(Skill(0.5, 0.5))
    log = sample_log(world, policy, rows, seed=SEED)
    return Inputs(log, policy, TransportCost(0.1, 0.0, groups.halves()))


def make_control(rows: int) -> Inputs:
    """A control case of the calibration suite; a shorter log is the beginning of a longer one."""
    world, problem = control.make_world(CONTROL), control.build(CONTROL)
    log = sample_log(world, problem.old_policy, rows, seed=CONTROL.seed)
    return Inputs(log, problem.old_policy, problem.cost)


def make_hopper(rows: int, folder: Path) -> Inputs:
    """A log by the published scheme; collecting that was stopped goes on where it was."""
    row = find_row(HOPPER)
    world = find_world(row.world)
    policy = make_old_policy(row, world, ROOT / "results" / "policies", SEED)
    parts = folder / "parts"
    log = collect_log(world, policy, rows, seed=SEED, parts_folder=parts)
    discard_parts(parts)
    return Inputs(log, policy, published_cost(row, world))


MAKERS: dict[str, Callable[[int, Path], Inputs]] = {
    "finite": lambda rows, _: make_finite(FINITE, rows),
    "contexts": lambda rows, _: make_finite(CONTEXTS, rows),
    "bandit": lambda rows, _: make_bandit(rows),
    "control": lambda rows, _: make_control(rows),
    "hopper": make_hopper,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=MAKERS)
    parser.add_argument("rows", type=int)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    made = MAKERS[arguments.kind](arguments.rows, folder)
    write_policy(made.old_policy, folder / "old.safetensors")
    write_cost(made.cost, folder / "cost.toml")
    write_log(made.log, folder / "log.parquet")


if __name__ == "__main__":
    main()
