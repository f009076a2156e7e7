"""Steps of a policy up a critic that is linear in features, net of the cost of the switch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.costs.family import SwitchingCost
from nacre.learners.net_actor_critic.objective import measure_divergence
from nacre.policies.distributions import ActionDistribution
from nacre.policies.distributions.interface import DiscreteDistribution
from nacre.policies.optimisers import clipped_adam, init_memory
from nacre.policies.policy import Policy
from nacre.training.linear_critics import LinearCritics
from nacre.training.noise import draw_uniforms
from nacre.training.state_action_features import Arrays, see

COST_STATES = 64
"""States of a batch at which the cost is taken: it is the slowest part for action vectors."""
ACTIONS = 4
"""Actions drawn at each state, where they are vectors."""


class Objective(eqx.Module):
    """E Q(s, π) - C / length - weight · KL(π ‖ old) at the log's states; Q is pessimistic.

    Attributes:
        cost: The cost of the switch.
        old_policy: From which it is a switch.
        opened: The same with a positive probability of every action.
        length: Discounted steps of an episode: the gain is earned at each, the cost is paid once.
        kl_weight: Weight of the divergence, in units of Q.
    """

    cost: SwitchingCost = eqx.field(static=True)
    old_policy: Policy
    opened: Policy
    length: Float[Array, ""]
    kl_weight: Float[Array, ""]

    def __call__(
        self,
        policy: Policy,
        features: Sequence[Arrays],
        weights: Sequence[Array],
        states: Array,
        key: PRNGKeyArray,
    ) -> Float[Array, ""]:
        """What the actor ascends."""
        noise_key, cost_key = jax.random.split(key)
        said = policy(states)
        value = jnp.mean(_read(features, weights, states, said, noise_key))
        price = self.cost.at(self.old_policy, policy, states[:COST_STATES], cost_key)
        apart = jnp.mean(measure_divergence(said, self.opened(states)))
        return value - price / self.length - self.kl_weight * apart


def _read(
    features: Sequence[Arrays],
    weights: Sequence[Array],
    states: Array,
    said: ActionDistribution,
    key: PRNGKeyArray,
) -> Float[Array, " rows"]:
    """Expected Q: the least that any set of features says."""
    pairs = list(zip(features, weights, strict=True))
    if isinstance(said, DiscreteDistribution):
        each = [see(one, states) @ w.reshape(-1, said.n_actions) for one, w in pairs]
        return jnp.sum(said.probabilities * jnp.min(jnp.stack(each), axis=0), axis=-1)
    uniforms = draw_uniforms(key, ACTIONS, len(states), said.noise_size, "quasi")
    actions = said.transform(uniforms)
    repeated = jnp.broadcast_to(states, (ACTIONS, *states.shape))
    inputs = jnp.concatenate([repeated, actions], axis=-1).reshape(ACTIONS * len(states), -1)
    values = jnp.min(jnp.stack([see(one, inputs) @ w for one, w in pairs]), axis=0)
    return jnp.mean(values.reshape(ACTIONS, -1), axis=0)


class Actor(eqx.Module):
    """A policy that is being improved, and its optimiser's memory."""

    policy: Policy
    memory: optax.OptState
    learning_rate: float = eqx.field(static=True)

    @classmethod
    def begin(cls, policy: Policy, learning_rate: float) -> Actor:
        """Nothing remembered yet."""
        arrays = eqx.filter(policy, eqx.is_inexact_array)
        return cls(policy, init_memory(clipped_adam(learning_rate, None), arrays), learning_rate)

    def ascend(
        self, objective: Objective, critics: LinearCritics, batches: Array, key: PRNGKeyArray
    ) -> Actor:
        """One step for each batch of states (steps, rows, size)."""
        weights = [jnp.asarray(one, jnp.float32) for one in critics.weights]
        features = [jax.tree.map(jnp.asarray, one.arrays) for one in critics.features]
        return _ascend(self, objective, features, weights, batches, key)


@eqx.filter_jit
def _ascend(
    actor: Actor,
    objective: Objective,
    features: list[Arrays],
    weights: list[Array],
    batches: Array,
    key: PRNGKeyArray,
) -> Actor:
    """Compiled once for all critics and weights of one shape."""
    optimizer = clipped_adam(actor.learning_rate, None)
    trained, fixed = eqx.partition(actor.policy, eqx.is_inexact_array)

    def step(carry: Any, given: tuple[Array, PRNGKeyArray]) -> tuple[Any, None]:
        trained, memory = carry
        states, step_key = given

        def loss(arrays: Any) -> Array:
            policy = eqx.combine(arrays, fixed)
            return -objective(policy, features, weights, states, step_key)

        updates, memory = optimizer.update(jax.grad(loss)(trained), memory)
        return (eqx.apply_updates(trained, updates), memory), None

    keys = jax.random.split(key, len(batches))
    (trained, memory), _ = jax.lax.scan(step, (trained, actor.memory), (batches, keys))
    return Actor(eqx.combine(trained, fixed), memory, actor.learning_rate)
