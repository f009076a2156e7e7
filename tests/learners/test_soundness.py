"""What tells a collapse from learning."""

from __future__ import annotations

import dataclasses
import math

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.learners.base import LearningProblem
from nacre.learners.soundness import (
    find_collapse,
    find_departure,
    find_disagreement,
    find_saturation,
)
from nacre.policies import MLPPolicy, Signature
from nacre.policies.networks import MLP
from nacre.simulators import double_integrator
from tests.support.rooms import BEST, make_cost, make_policy, make_rooms_log

WORLD = double_integrator()


def make_push(push: float) -> MLPPolicy:
    """The same push everywhere, in a box from -10 to 10."""
    network = MLP((jnp.zeros((2, 2)),), (jnp.asarray([push, -2.0]),), ("identity",))
    signature = Signature(WORLD.observation_space, WORLD.action_space)
    return MLPPolicy(network, None, signature, "gaussian")


def pose() -> LearningProblem:
    log = WORLD.sample_log(lambda x, rng: np.zeros((len(x), 1)), 100, seed=0, horizon=10)
    return LearningProblem(log, make_push(0.0), make_cost(1.0), log.starts, 0.97)


@pytest.mark.parametrize(
    ("curve", "loss", "word"),
    [
        ((1.0, 2.0, 3.0), 0.1, ""),
        ((1.0, 2.0, 1.8), 0.1, ""),
        ((3.0, 5.0, 4.9, 5.0, 0.0), 0.1, "fell from 5 to 0"),
        ((5.0, 4.0, 3.0), 0.1, "fell from 5 to 3"),
        ((5.0, 3.0), 0.1, ""),
        ((5.0, 4.99, 4.95), 0.1, ""),
        ((1.0, math.nan, 2.0), 0.1, "not finite"),
        ((1.0, 2.0, 3.0), 2.5, "explain nothing"),
        ((1.0, 2.0, 3.0), math.nan, "explain nothing"),
    ],
)
def test_the_course_of_learning(curve: tuple[float, ...], loss: float, word: str) -> None:
    said = find_collapse(curve, loss, value_range=10.0)
    assert word in said
    assert bool(said) == bool(word)


def test_actions_at_the_bounds() -> None:
    assert find_saturation(make_push(9.99), pose()).startswith("100% of its actions lie at")
    assert find_saturation(make_push(5.0), pose()) == ""
    held = dataclasses.replace(pose(), old_policy=make_push(-10.0))
    assert find_saturation(make_push(10.0), held) == "", "where the old policy does so too"


def test_nothing_saturates_where_there_are_no_bounds() -> None:
    free = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    signature = Signature(WORLD.observation_space, free)
    far = dataclasses.replace(make_push(1e6), signature=signature)
    assert find_saturation(far, pose()) == ""
    log = make_rooms_log()
    tables = LearningProblem(log, make_policy(BEST), make_cost(1.0), log.starts, 0.9)
    assert find_saturation(make_policy(BEST), tables) == ""


def test_actions_beyond_those_of_the_log() -> None:
    """The log holds pushes of zero only."""
    assert find_departure(make_push(0.0), pose()) == ""
    said = find_departure(make_push(5.0), pose())
    assert said == "100% of its actions lie beyond all actions of the log."
    log = make_rooms_log()
    tables = LearningProblem(log, make_policy(BEST), make_cost(1.0), log.starts, 0.9)
    assert find_departure(make_policy(BEST), tables) == ""


def test_a_second_estimate_must_not_find_a_loss() -> None:
    assert find_disagreement(10.0, 0.5) == ""
    assert find_disagreement(10.0, -3.0) == (
        "It promises a net gain of 10; a second estimate of another kind says -3."
    )
    # Nothing is said by what cannot say anything: other episodes will tell.
    assert find_disagreement(10.0, math.nan) == ""
