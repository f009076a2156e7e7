"""Plain fitted-Q evaluation: one network, no clipping, no ensemble. A baseline, not an estimator.

It shares no code with nacre's own estimators, so that a mistake in them is not in it too.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

from nacre.logs import Log
from nacre.policies.policy import Policy, ask

STEPS = 2000
BATCH = 256
HIDDEN = 64
LEARNING_RATE = 1e-3
FOLLOWING = 0.05
"""Share of the way that the target network goes with each step."""
DRAWS = 2
"""Actions drawn of a policy at each next observation, where actions are vectors."""

Weights = Any


def fit_values(
    log: Log, policy: Policy, start: NDArray[Any], discount: float, *, seed: int
) -> float:
    """Mean value of a policy at the start states.

    Args:
        log: Transitions to fit to.
        policy: Whose value is wanted.
        start: (N, …) start states.
        discount: γ.
        seed: Of batches, weights and drawn actions; the same for policies to be compared.
    """
    rng = np.random.default_rng(seed)
    rows = rng.integers(len(log), size=STEPS * BATCH)
    discrete = policy.signature.discrete_actions
    shift, scale = _find_scaling(log)
    returns = np.abs(log.returns_to_go(discount))
    unit = max(float(np.quantile(returns, 0.99)), 1e-6)

    def encode(observations: Any) -> Any:
        if isinstance(log.observation_space, gymnasium.spaces.Discrete):
            return jax.nn.one_hot(jnp.asarray(observations), int(log.observation_space.n))
        return jnp.asarray((np.asarray(observations) - shift) / scale, jnp.float32)

    key = jax.random.key(seed)
    ahead = np.asarray(log.next_observations)[rows]
    actions = np.asarray(log.actions)[rows]
    shape = (STEPS, BATCH)
    batches = (
        encode(np.asarray(log.observations)[rows]).reshape(*shape, -1),
        jnp.asarray(actions).reshape(*shape, *actions.shape[1:]),
        jnp.asarray(log.rewards[rows] / unit, jnp.float32).reshape(shape),
        jnp.asarray(~np.asarray(log.terminated)[rows], jnp.float32).reshape(shape),
        encode(ahead).reshape(*shape, -1),
        _choose(policy, ahead, key).reshape(*shape, -1),
    )
    size, width = batches[0].shape[-1], policy.signature.action_size
    weights = _init(rng, size if discrete else size + width, width if discrete else 1)
    fitted = _fit(weights, batches, discount, discrete)
    first = _choose(policy, np.asarray(start), key)
    return float(np.mean(_expect(fitted, encode(start), first, discrete))) * unit


def _find_scaling(log: Log) -> tuple[Any, Any]:
    if isinstance(log.observation_space, gymnasium.spaces.Discrete):
        return 0.0, 1.0
    rows = np.asarray(log.observations)
    return rows.mean(axis=0), rows.std(axis=0) + 1e-6


def _choose(policy: Policy, observations: NDArray[Any], key: Any) -> Any:
    """Probabilities (N, A), or drawn actions (N, draws · m)."""
    said: Any = ask(policy, jnp.asarray(observations))
    if policy.signature.discrete_actions:
        return said.probabilities
    drawn = jnp.moveaxis(said.sample(key, (DRAWS,)), 0, 1)
    return jnp.clip(drawn, *map(jnp.asarray, policy.signature.action_limits)).reshape(
        len(observations), -1
    )


def _init(rng: np.random.Generator, inputs: int, outputs: int) -> Weights:
    sizes = (inputs, HIDDEN, HIDDEN, outputs)
    return [
        (jnp.asarray(rng.normal(0, np.sqrt(1.0 / a), (a, b)), jnp.float32), jnp.zeros(b))
        for a, b in itertools.pairwise(sizes)
    ]


def _apply(weights: Weights, x: Any) -> Any:
    for weight, bias in weights[:-1]:
        x = jax.nn.relu(x @ weight + bias)
    weight, bias = weights[-1]
    return x @ weight + bias


def _read(weights: Weights, x: Any, actions: Any, discrete: bool) -> Any:
    """Q of pairs (N,)."""
    if discrete:
        return jnp.take_along_axis(_apply(weights, x), actions[:, None].astype(int), -1)[:, 0]
    return _apply(weights, jnp.concatenate([x, actions], axis=-1))[:, 0]


def _expect(weights: Weights, x: Any, choice: Any, discrete: bool) -> Any:
    """Expected Q of states (N,) under what `_choose` says."""
    if discrete:
        return jnp.sum(_apply(weights, x) * choice, axis=-1)
    drawn = choice.reshape(len(x), DRAWS, -1)
    return sum(_read(weights, x, drawn[:, i], discrete) for i in range(DRAWS)) / DRAWS


@functools.partial(jax.jit, static_argnames="discrete")
def _fit(weights: Weights, batches: Any, discount: float, discrete: bool) -> Weights:
    """Adam on squared Bellman errors; the target network follows slowly."""
    optimiser = optax.adam(LEARNING_RATE)

    def loss(weights: Weights, target: Weights, batch: Any) -> Any:
        x, actions, rewards, going, ahead, choice = batch
        wanted = rewards + discount * going * _expect(target, ahead, choice, discrete)
        return jnp.mean((_read(weights, x, actions, discrete) - wanted) ** 2)

    def step(state: Any, batch: Any) -> tuple[Any, None]:
        weights, target, moments = state
        slopes = jax.grad(loss)(weights, target, batch)
        updates, moments = optimiser.update(slopes, moments)
        weights = optax.apply_updates(weights, updates)
        target = optax.incremental_update(weights, target, FOLLOWING)
        return (weights, target, moments), None

    state, _ = jax.lax.scan(step, (weights, weights, optimiser.init(weights)), batches)
    return state[1]
