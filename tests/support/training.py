"""Small logs and critics that tests of training share."""

from __future__ import annotations

import functools

import numpy as np

from nacre.logs import Log
from nacre.policies.policy import Signature
from nacre.simulators import FiniteWorld, random_policy, random_world
from nacre.training.backup import CriticConfig
from nacre.training.evaluation_config import EvaluationConfig

TABLES = CriticConfig(
    n_critics=2,
    hidden=(),
    scale_returns=True,
    learning_rate=0.01,
    polyak=0.9,
    backup="own",
    batch_size=512,
)
FINITE = EvaluationConfig(
    TABLES, epochs=10, steps_per_epoch=300, prefit_steps=500, combine="mean", averaged=True
)
SMALL = CriticConfig(n_critics=2, hidden=(), learning_rate=0.1, polyak=0.5, batch_size=8)


@functools.cache
def sample_finite(seed: int, terminating: bool = False) -> tuple[FiniteWorld, np.ndarray, Log]:
    """A world, the table of its old policy, and its log of 20,000 transitions."""
    world = random_world(seed, 8, 3, terminating=terminating)
    old = random_policy(seed, world)
    return world, old, world.sample_log(old, 20_000, seed=1, horizon=100)


def sign(log: Log) -> Signature:
    """The spaces of a log."""
    return Signature(log.observation_space, log.action_space)


def make_steady_log() -> Log:
    """One state that pays 1 a step: worth 10 at γ = 0.9."""
    n = 40
    return Log.from_arrays(
        observations=np.zeros(n, int),
        actions=np.zeros(n, int),
        rewards=np.ones(n),
        terminated=np.zeros(n, bool),
        truncated=np.arange(n) % 10 == 9,
        next_observations=np.zeros(n, int),
    )
