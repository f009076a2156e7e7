"""Epochs of learning (Algorithm 1), as the loop runs them."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from nacre.learners.net_actor_critic.objective import net_estimate, value_at_start
from nacre.learners.net_actor_critic.problem import SwitchingProblem
from nacre.learners.net_actor_critic.step import Info, State, draw_rows, is_believable, step
from nacre.training.batches import Batch, Drawable, Rows
from nacre.training.loop import is_finite


class LearningEpoch(eqx.Module):
    """Lines 3 to 7 of Algorithm 1, over and over.

    Attributes:
        problem: What is given.
        largest: Mean |Q| beyond which the critics have exploded.
    """

    problem: SwitchingProblem
    largest: Float[Array, ""]

    def draw(self, rows: Drawable, key: PRNGKeyArray) -> tuple[Batch, Array]:
        """The mini-batch and the cost states of the step with this key."""
        return draw_rows(self.problem, rows, key)

    def step(self, rows: Rows, key: PRNGKeyArray, state: State) -> tuple[State, Info]:
        """Lines 3 to 7, once."""
        return step(self.problem, rows, key, state)

    def empty_info(self) -> Info:
        """An info of zeros."""
        return Info(*[jnp.zeros(())] * 8)

    def is_healthy(self, info: Info) -> Bool[Array, ""]:
        """Whether nothing is infinite or has exploded."""
        return is_believable(self.problem.config, info, self.largest)

    def finish(self, state: State, info: Info, key: PRNGKeyArray) -> tuple[Info, Bool[Array, ""]]:
        """Read the value at the start where it is wanted, and look at the last update."""
        config = self.problem.config
        if config.actor.states == "log" or config.stops_on_last:
            # No step has this number, so the noise is not that of any of them.
            read_key = jax.random.fold_in(key, config.steps_per_epoch)
            value = value_at_start(self.problem, state.policy, state.critics.online, read_key)
            info = eqx.tree_at(
                lambda i: (i.value, i.net_value),
                info,
                (value, net_estimate(config, value, info.cost)),
            )
        # The last step's update has had no step after it to show what it did.
        sound = is_finite(eqx.filter(state, eqx.is_array))
        return info, self.is_healthy(info) & sound
