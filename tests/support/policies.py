"""Small policies, logs and answers that the tests of policies share."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from jaxtyping import Array

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies import (
    BlackBox,
    Categorical,
    CloneConfig,
    Gaussian,
    MLPPolicy,
    Policy,
    Scaling,
    Signature,
    SquashedGaussian,
    read_policy,
)
from nacre.policies.heads import Head
from nacre.policies.networks import Activation

Answering = Callable[[np.ndarray], dict[str, np.ndarray]]
"""A function that answers rows with arrays by name."""
Kind = TypeVar("Kind")


def expect(kind: type[Kind], value: object) -> Kind:
    """The value, which has to be of this kind."""
    assert isinstance(value, kind), f"{type(value).__name__} instead of {kind.__name__}"
    return value


def box(size: int, low: float = -np.inf, high: float = np.inf) -> Box:
    """Vectors between two bounds."""
    return Box(np.full(size, low, np.float32), np.full(size, high, np.float32))


def small_policy(
    seed: int = 0,
    *,
    head: Head | None = None,
    activations: tuple[Activation, ...] | None = None,
    scaled: bool = True,
) -> MLPPolicy:
    """A network of three inputs and two bounded action coordinates."""
    scaling = Scaling(jnp.arange(3.0), jnp.arange(1.0, 4.0)) if scaled else None
    signature = Signature(box(3), box(2, -1.0, 0.5))
    return MLPPolicy.init(
        jax.random.key(seed),
        signature,
        head=head,
        hidden=(4,),
        activations=activations,
        scaling=scaling,
    )


def ask_black_box(answer: Callable[[np.ndarray], object], signature: Signature) -> BlackBox:
    """A function as a policy, not recorded anywhere."""
    return expect(BlackBox, read_policy(answer, signature=signature))


def problems_of(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Why a file is refused, a line each."""
    with pytest.raises(InputError) as caught:
        read_policy(path)
    assert caught.value.__cause__ is None
    for problem in caught.value.problems:
        assert "\n" not in problem
        assert problem.startswith(f"{path}: ")
    return caught.value.problems


VECTOR = Box(-np.inf, np.inf, (3,))
BOUNDED = Box(np.array([-2.0, 0.0], np.float32), np.array([0.5, 1.0], np.float32))
ROWS = np.random.default_rng(0).normal(0, 2, (1000, 3)).astype(np.float32)


def make_policy(
    head: Head, observations: gymnasium.Space[Any] = VECTOR, *, scaled: bool = True, seed: int = 0
) -> MLPPolicy:
    """A network with this head."""
    actions = Discrete(4) if head in ("categorical", "greedy") else BOUNDED
    scaling = None
    if scaled and observations is VECTOR:
        scaling = Scaling(jnp.arange(3.0), jnp.arange(1.0, 4.0), jnp.asarray(1.25))
    return MLPPolicy.init(
        jax.random.key(seed),
        Signature(observations, actions),
        head=head,
        hidden=(16, 16),
        activations=("relu", "tanh", "identity"),
        scaling=scaling,
    )


HEADS: list[Head] = [
    "squashed_gaussian",
    "gaussian",
    "clipped_gaussian",
    "deterministic",
    "categorical",
    "greedy",
]


def parameters(policy: Policy, rows: np.ndarray) -> dict[str, Array]:
    """What a policy says, by the names of ONNX outputs, with the action without noise."""
    said = policy(jnp.asarray(rows))
    named = {"action": said.mode()}
    if isinstance(said, Categorical):
        return named | {"probabilities": said.probabilities}
    if isinstance(said, Gaussian):
        squashed = isinstance(said, SquashedGaussian)
        return named | {"location" if squashed else "mean": said.location, "std": said.std}
    return named


def vectors(size: int, limit: float = np.inf) -> Box:
    """Vectors between ±limit."""
    return Box(-np.full(size, limit, np.float32), np.full(size, limit, np.float32))


CONTROL = Signature(vectors(3), vectors(2, 0.5))
CHOICE = Signature(vectors(3), Discrete(4))
FREE = Signature(vectors(3), vectors(2))
TABLE = Signature(Discrete(5), Discrete(2))
QUICK = CloneConfig(hidden=(16,), n_steps=300, batch_size=64)
VECTORS = Signature(Box(-np.inf, np.inf, (2,)), Box(-1.0, 1.0, (1,)))
CHOICES = Signature(Box(-np.inf, np.inf, (2,)), Discrete(3))


def make_log(signature: Signature, n: int = 400, seed: int = 0) -> Log:
    """Random transitions between these spaces, in episodes of 40."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(n + 1, 2)).astype(np.float32)
    actions = (
        draw.integers(0, 3, n)
        if signature.discrete_actions
        else draw.uniform(-1, 1, (n, 1)).astype(np.float32)
    )
    return Log.from_arrays(
        rows[:-1],
        actions,
        np.zeros(n),
        np.zeros(n, bool),
        truncated=np.arange(n) % 40 == 39,
        next_observations=rows[1:],
        observation_space=signature.observation_space,
        action_space=signature.action_space,
    )


def say_logits(rows: np.ndarray) -> dict[str, np.ndarray]:
    """Answers for `CHOICES`."""
    return {"logits": np.stack([rows[:, 0], rows[:, 1], 0.5 * rows[:, 0] * rows[:, 1]], axis=-1)}


def say_gaussian(rows: np.ndarray) -> dict[str, np.ndarray]:
    """Answers for `VECTORS`."""
    return {"mean": np.sin(rows[:, :1]), "std": np.exp(0.3 * rows[:, 1:] - 1.0)}


def say_action(rows: np.ndarray) -> dict[str, np.ndarray]:
    """Deterministic answers for `VECTORS`."""
    return {"action": np.tanh(rows[:, :1] - rows[:, 1:])}


def make_column_log(
    actions: np.ndarray,
    columns: Mapping[str, np.ndarray],
    *,
    observations: np.ndarray | None = None,
    space: gymnasium.Space[Any] | None = None,
) -> Log:
    """Episodes of one step with these actions and further columns."""
    n = len(actions)
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(n, 2)) if observations is None else observations
    return Log.from_arrays(
        rows,
        actions,
        np.zeros(n),
        np.ones(n, bool),
        next_observations=rows,
        action_space=space,
        columns=columns,
    )


def choose_actions(n: int = 600, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, the probabilities of two actions at them, and actions drawn so."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(n, 2)).astype(np.float32)
    share = 1 / (1 + np.exp(-2 * rows[:, 0]))
    return rows, np.stack([1 - share, share], axis=-1), (draw.random(n) < share).astype(int)
