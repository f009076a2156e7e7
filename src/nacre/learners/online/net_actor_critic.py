"""Net Actor-Critic online: Algorithm 1 with fresh transitions in place of a log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.costs.family import SwitchingCost
from nacre.errors import InputError
from nacre.learners.online.soft_actor_critic import (
    OnlineConfig,
    SoftInfo,
    SoftState,
    entropy_of,
)
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy
from nacre.training.backup import bootstrap_targets, next_state_values, step_critics
from nacre.training.batches import Batch
from nacre.training.noise import draw_uniforms

ActorStates = Literal["replay", "start"]


@dataclass(frozen=True)
class NetOnlineConfig(OnlineConfig):
    """How a policy is trained online by Net Actor-Critic; there is no entropy and no temperature.

    Args:
        actor_states: Where the policy is improved: at the states that were seen ("replay"), or at
            the starts of episodes alone, as line 6 of Algorithm 1 says ("start").
        n_actions: Actions drawn at each of these states, where actions are vectors.
    """

    actor_states: ActorStates = "replay"
    n_actions: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        problems = []
        if self.actor_states not in get_args(ActorStates):
            problems.append(f"actor_states = {self.actor_states!r}: give replay or start")
        if self.n_actions < 1:
            problems.append(f"n_actions = {self.n_actions}: at least 1 is needed")
        if problems:
            raise InputError(problems)


class Leaving(eqx.Module):
    """The policy that is left, and what leaving it costs."""

    old_policy: Policy
    cost: SwitchingCost = eqx.field(static=True)

    def charge(self, policy: Policy, states: Array, key: PRNGKeyArray) -> Float[Array, ""]:
        """C(π_o, π) by these states."""
        return self.cost.at(self.old_policy, policy, states, key)


class NetStep(eqx.Module):
    """One update of critics and policy, net of the cost of leaving another policy if there is one.

    Critics:  y = r - (1 - γ) C + γ [(1 - terminated) min_i Q'_i(s', a') - terminated C].
    Policy:   ascends E_s [E_{a ~ π} min_i Q_i(s, a)] - C(π_o, π), or C / H at the replayed states,
              H = 1 / (1 - γ): the gain is earned at every step and the cost is paid once.
    """

    config: NetOnlineConfig = eqx.field(static=True)
    start: Float[Array, "starts ..."]
    leaving: Leaving | None = None

    def __call__(
        self, batch: Batch, key: PRNGKeyArray, state: SoftState
    ) -> tuple[SoftState, SoftInfo]:
        """The state after the update, and what it saw."""
        config = self.config
        next_key, actor_key, cost_key = jax.random.split(key, 3)
        price = self._charge(state.policy, batch, cost_key)
        values = next_state_values(
            config.critics, state.critics.target, state.policy, batch, next_key
        )
        targets = bootstrap_targets(
            batch.rewards, batch.terminated, values, config.discount, price, "net"
        )
        critics, critic_info = step_critics(config.critics, state.critics, batch, targets)
        at_start = config.actor_states == "start"
        states = self.start if at_start else batch.observations
        share = 1.0 if at_start else 1.0 - config.discount

        def loss(policy: MLPPolicy) -> tuple[Array, Array]:
            distribution = policy(states)
            uniforms = draw_uniforms(
                actor_key, config.n_actions, states.shape[0], distribution.noise_size
            )
            value = jnp.mean(critics.online.expectation(states, distribution, uniforms, "min"))
            entropy = jnp.mean(entropy_of(distribution, uniforms))
            return share * self._charge(policy, batch, cost_key) - value, entropy

        (_, entropy), gradient = eqx.filter_value_and_grad(loss, has_aux=True)(state.policy)
        updates, memory = optax.adam(config.actor_learning_rate).update(
            gradient, state.policy_optimizer
        )
        after = SoftState(
            eqx.apply_updates(state.policy, updates),
            critics,
            state.log_temperature,
            memory,
            state.temperature_optimizer,
        )
        return after, SoftInfo(critic_info.loss, critic_info.q, entropy, jnp.zeros(()))

    def _charge(self, policy: Policy, batch: Batch, key: PRNGKeyArray) -> Any:
        if self.leaving is None:
            return jnp.zeros(())
        return self.leaving.charge(policy, batch.observations, key)
