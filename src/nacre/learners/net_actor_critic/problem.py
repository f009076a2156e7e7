"""What a compiled step of learning is told."""

from __future__ import annotations

import dataclasses
import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from nacre.costs.family import SwitchingCost
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.learners.net_actor_critic.stopping import StoppingRule
from nacre.policies.policy import Policy
from nacre.training.evaluation_config import EvaluationConfig


class SwitchingProblem(eqx.Module):
    """The old policy, the start, and what leaving the one at the other costs; made by `of`.

    Attributes:
        config: The learner, as far as a step looks at it.
        cost: The cost, without its prices.
        old_policy: The policy in force.
        start: Where the next episode starts.
        prices: c_l and c_t.
        kl_weight: Weight of KL(new ‖ old) at the log's states.
        length: Mean discounted length of an episode.
        price_share: Share of the cost that is charged; less than all of it only during a ramp.
        limits: Least and largest value that the log's rewards allow.
    """

    config: LearnerConfig = eqx.field(static=True)
    cost: SwitchingCost = eqx.field(static=True)
    old_policy: Policy
    start: Float[Array, "starts ..."]
    prices: Float[Array, "2"]
    kl_weight: Float[Array, ""]
    length: Float[Array, ""]
    price_share: Float[Array, ""]
    limits: Float[Array, "2"]

    @classmethod
    def of(
        cls,
        config: LearnerConfig,
        old_policy: Policy,
        start: ArrayLike,
        cost: SwitchingCost,
        length: Float[Array, ""],
        limits: tuple[float, float] = (-math.inf, math.inf),
    ) -> SwitchingProblem:
        """The problem with these settings.

        One compiled epoch has to serve all prices and weights, and all configurations that differ
        in what comes before or after the epochs (see `Program`). So numbers become arrays, and what
        they stood for is held at one value, as is what a step does not look at.
        """
        return cls(
            _held(config),
            dataclasses.replace(cost, learning_weight=1.0, transaction_weight=0.0),
            old_policy,
            jnp.asarray(start),
            prices=jnp.asarray(cost.prices, float),
            kl_weight=jnp.asarray(config.actor.kl_weight, float),
            length=length,
            price_share=jnp.ones(()),
            limits=jnp.asarray(limits, float),
        )

    def charging(self, share: float) -> SwitchingProblem:
        """The same problem at a share of the cost."""
        return dataclasses.replace(self, price_share=jnp.asarray(share, float))

    def charge(self, policy: Policy, states: Array, key: Array) -> Float[Array, ""]:
        """The share of the cost of switching to a policy, by these states."""
        full = self.cost.at(self.old_policy, policy, states, key, prices=self.prices)
        return self.price_share * full


def _held(config: LearnerConfig) -> LearnerConfig:
    """All that a step does not look at at one value; of the KL only whether there is one."""
    actor = dataclasses.replace(config.actor, kl_weight=1.0 if config.actor.kl_weight > 0 else 0.0)
    return dataclasses.replace(
        config,
        actor=actor,
        evaluation=EvaluationConfig(n_actions=config.evaluation.n_actions),
        epochs=1,
        ramp_epochs=0,
        prefit_steps=0,
        warm_critics=False,
        stopping=StoppingRule(value="last") if config.stops_on_last else None,
        reevaluate=True,
        n_cost_states_evaluation=1,
    )
