"""Make three bundled examples: `python scripts/make_examples.py [DIRECTORY]`.

Each is as people have them, and comes from a small world that is simulated here. The same files
come out whenever it is run with the same versions of the libraries.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nacre import examples
from nacre.policies import MLP, MLPPolicy, Signature, write_policy
from nacre.simulators import LinearPolicy, LinearWorld, double_integrator

Rows = dict[str, list[Any]]
Choice = Callable[[np.ndarray], np.ndarray]
"""From a state to the probabilities of the actions."""

DOSES = ("none", "low", "high")
VISIT_COLUMNS = ("patient", "visit", "pressure", "burden", "age", "dose", "wellbeing", "stroke")
N_PATIENTS = 400

OFFER_COLUMNS = (
    "customer",
    "week",
    "weeks_since_purchase",
    "fatigue",
    "loyalty",
    "offer",
    "margin",
    "unsubscribed",
    "probability_0",
    "probability_1",
    "probability_2",
)
OFFER_TYPES = {"customer": pa.int32(), "week": pa.int32(), "offer": pa.int8()}
N_CUSTOMERS = 200

TROLLEY_GAIN, TROLLEY_STD = (-0.3, -0.5), 0.7
TROLLEY_STEPS, TROLLEY_ROWS = 60, 6000


# A clinic: pressure, side effects and age decide on a dose


def prescribe(state: np.ndarray) -> np.ndarray:
    """The rule in force looks at the pressure alone; every third time a doctor departs from it."""
    pressure = state[0]
    usual = 2 if pressure > 155 else 1 if pressure > 140 else 0
    return np.where(np.arange(3) == usual, 0.66, 0.17)


def prescribe_with_care(state: np.ndarray) -> np.ndarray:
    """A better rule: no high dose to whom it does harm."""
    pressure, burden, age = state
    frail = burden > 2.0 or age > 60
    usual = 0 if pressure < 120 else 1 if frail or pressure < 135 else 2
    return np.where(np.arange(3) == usual, 0.96, 0.02)


def treat(choose: Choice, n_patients: int, seed: int) -> Rows:
    """Patients come once a month, between 6 and 24 times unless a stroke ends it."""
    rng = np.random.default_rng(seed)
    rows: Rows = {name: [] for name in VISIT_COLUMNS}
    for patient in range(n_patients):
        state = np.array([rng.normal(165, 12), 0.0, rng.uniform(45, 85)])
        last = int(rng.integers(6, 25))
        for visit in range(1, last + 1):
            state = np.array([round(state[0]), round(state[1], 2), round(state[2])])
            action = int(rng.choice(3, p=choose(state)))
            pressure, burden, age = state
            stroke = bool(rng.random() < 0.3 / (1.0 + np.exp((195.0 - pressure) / 6.0)))
            wellbeing = 1.0 - abs(pressure - 125.0) / 40.0 - 0.15 * burden - 4.0 * stroke
            values = (
                f"P{patient:03d}",
                visit,
                *map(float, state),
                DOSES[action],
                round(wellbeing, 3),
                str(stroke).lower(),
            )
            for name, value in zip(VISIT_COLUMNS, values, strict=True):
                rows[name].append(value)
            if stroke:
                break
            relief, load = ((0.0, 0.0), (5.0, 0.35), (10.0, 1.2))[action]
            frailty = max(0.1, 1.0 + (age - 65.0) / 15.0)
            state = np.array(
                [
                    0.8 * pressure + 0.2 * 175.0 - relief + rng.normal(0.0, 4.0),
                    max(0.0, 0.75 * burden + load * frailty + rng.normal(0.0, 0.15)),
                    age,
                ]
            )
    return rows


def write_treatment(folder: Path) -> None:
    rows = treat(prescribe, N_PATIENTS, seed=1)
    with (folder / "log.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))


# A shop: who gets which offer


def offer(state: np.ndarray) -> np.ndarray:
    """The rule in force sends coupons to whoever has not bought for a while, however tired."""
    weeks, _, loyalty = state
    return softmax(np.array([0.0, 0.2 + 0.5 * loyalty, 0.25 * weeks - 0.5]))


def offer_with_restraint(state: np.ndarray) -> np.ndarray:
    """A better rule: reminders to those who are not tired, coupons to almost nobody."""
    fatigue = state[1]
    return softmax(np.array([2.0 * fatigue, 2.0, -1.0]) * 2.0)


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return np.asarray(weights / weights.sum())


def sell(choose: Choice, n_customers: int, seed: int) -> Rows:
    """Customers are looked at weekly, for 15 to 35 weeks unless they leave for good."""
    rng = np.random.default_rng(seed)
    rows: Rows = {name: [] for name in OFFER_COLUMNS}
    for customer in range(n_customers):
        state = np.array([rng.integers(0, 6), 0.0, rng.random()], np.float32)
        for week in range(int(rng.integers(15, 36))):
            probabilities = choose(state)
            action = int(rng.choice(3, p=probabilities))
            weeks, fatigue, loyalty = map(float, state)
            lift = (0.0, 1.1, 1.4)[action]
            buys = rng.random() < 1.0 / (
                1.0 + np.exp(1.6 - 1.8 * loyalty + 0.08 * weeks + 0.45 * fatigue - lift)
            )
            leaves = rng.random() < 0.002 + 0.008 * fatigue
            margin = 10.0 * buys - 5.0 * buys * (action == 2) - 0.2 * (action > 0)
            values = (customer, week, weeks, fatigue, loyalty, action, margin, leaves)
            for name, value in zip(OFFER_COLUMNS, (*values, *probabilities), strict=True):
                rows[name].append(value)
            if leaves:
                break
            tired = 0.6 * fatigue + (0.0, 0.45, 0.8)[action]
            state = np.array([0 if buys else weeks + 1, tired, loyalty], np.float32)
    return rows


def write_offers(folder: Path) -> None:
    rows = sell(offer, N_CUSTOMERS, seed=2)
    types = {name: OFFER_TYPES.get(name, pa.float32()) for name in rows}
    types["unsubscribed"] = pa.bool_()
    table = pa.table({name: pa.array(values, types[name]) for name, values in rows.items()})
    pq.write_table(table, folder / "log.parquet", compression="zstd")


# A trolley on a rail: one push, any strength


def make_trolley() -> LinearWorld:
    """Position and velocity, one push; the same physics as the cart's."""
    return double_integrator()


def write_trolley(folder: Path) -> None:
    world = make_trolley()
    controller = LinearPolicy(np.array([TROLLEY_GAIN]), np.array([TROLLEY_STD]))
    log = world.sample_log(controller, TROLLEY_ROWS, seed=3, horizon=TROLLEY_STEPS)
    np.savez_compressed(
        folder / "log.npz",
        observations=log.observations,
        actions=log.actions,
        rewards=log.rewards,
        next_observations=log.next_observations,
        terminals=log.terminated,
        timeouts=log.truncated,
    )
    weight = jnp.stack([jnp.asarray(TROLLEY_GAIN), jnp.zeros(2)], axis=1)
    network = MLP((weight,), (jnp.asarray([0.0, np.log(TROLLEY_STD)]),), ("identity",))
    # As plain arrays do, the file says nothing of bounds.
    pushes = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    signature = Signature(world.observation_space, pushes)
    write_policy(MLPPolicy(network, None, signature, "gaussian"), folder / "old.onnx")


WRITERS = {"treatment": write_treatment, "offers": write_offers, "trolley": write_trolley}


def main(directory: Path) -> None:
    for name, write in WRITERS.items():
        folder = directory / name
        folder.mkdir(parents=True, exist_ok=True)
        write(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else examples.find_directory("cart").parent)
