"""Small policies, logs and answers that the tests of policies share."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies import (
    CloneConfig,
    MLPPolicy,
    Scaling,
    Signature,
    read_policy,
)


def box(size, low=-np.inf, high=np.inf):
    return Box(np.full(size, low, np.float32), np.full(size, high, np.float32))


def small_policy(seed=0, **changes):
    settings = {"hidden": (4,), "scaling": Scaling(jnp.arange(3.0), jnp.arange(1.0, 4.0))}
    return MLPPolicy.init(
        jax.random.key(seed), Signature(box(3), box(2, -1.0, 0.5)), **(settings | changes)
    )


def problems_of(path):
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


def make_policy(head, observations=VECTOR, *, scaled=True, seed=0):
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


HEADS = [
    "squashed_gaussian",
    "gaussian",
    "clipped_gaussian",
    "deterministic",
    "categorical",
    "greedy",
]


def parameters(policy, rows):
    """What a policy says, by the names of ONNX outputs, with the action without noise."""
    said = policy(jnp.asarray(rows))
    named = {"action": said.mode()}
    if hasattr(said, "probabilities"):
        return named | {"probabilities": said.probabilities}
    if hasattr(said, "location"):
        squashed = policy.head == "squashed_gaussian"
        return named | {"location" if squashed else "mean": said.location, "std": said.std}
    return named


def vectors(size, limit=np.inf):
    return Box(-np.full(size, limit, np.float32), np.full(size, limit, np.float32))


CONTROL = Signature(vectors(3), vectors(2, 0.5))


CHOICE = Signature(vectors(3), Discrete(4))


FREE = Signature(vectors(3), vectors(2))


TABLE = Signature(Discrete(5), Discrete(2))


QUICK = CloneConfig(hidden=(16,), n_steps=300, batch_size=64)


VECTORS = Signature(Box(-np.inf, np.inf, (2,)), Box(-1.0, 1.0, (1,)))


CHOICES = Signature(Box(-np.inf, np.inf, (2,)), Discrete(3))


def make_log(signature, n=400, seed=0):
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


def say_logits(rows):
    return {"logits": np.stack([rows[:, 0], rows[:, 1], 0.5 * rows[:, 0] * rows[:, 1]], axis=-1)}


def say_gaussian(rows):
    return {"mean": np.sin(rows[:, :1]), "std": np.exp(0.3 * rows[:, 1:] - 1.0)}


def say_action(rows):
    return {"action": np.tanh(rows[:, :1] - rows[:, 1:])}
