"""Policies that are a multilayer perceptron with a head."""

from __future__ import annotations

from typing import get_args

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.errors import InputError
from nacre.policies.distributions import ActionDistribution
from nacre.policies.heads import (
    DISCRETE_HEADS,
    USUAL_LOG_STD,
    Head,
    count_outputs,
    default_head,
    make_distribution,
)
from nacre.policies.networks import MLP, Activation, Scaling
from nacre.policies.policy import Policy, Signature, describe_space

DEFAULT_HIDDEN = (256, 256)


class MLPPolicy(Policy):
    """A multilayer perceptron with a head that makes it a distribution.

    Gaussian heads read 2k outputs: k locations, then k log standard deviations, clipped to
    `log_std_bounds`. A categorical head takes its outputs for logits, a greedy one takes the action
    of the largest output for sure. The network of the published policies is the special case of two
    hidden layers.
    """

    network: MLP
    scaling: Scaling | None
    signature: Signature = eqx.field(static=True)
    head: Head = eqx.field(static=True)
    log_std_bounds: tuple[float, float] = eqx.field(static=True, default=USUAL_LOG_STD)

    @classmethod
    def init(
        cls,
        key: PRNGKeyArray,
        signature: Signature,
        *,
        head: Head | None = None,
        hidden: tuple[int, ...] = DEFAULT_HIDDEN,
        activations: tuple[Activation, ...] | None = None,
        scaling: Scaling | None = None,
    ) -> MLPPolicy:
        """A random policy; the head follows from the action space unless given."""
        head = head or default_head(signature)
        outputs = count_outputs(head, signature.action_size)
        network = MLP.init(key, (signature.observation_size, *hidden, outputs), activations)
        policy = cls(network, scaling, signature, head)
        policy.check()
        return policy

    def check(self) -> None:
        """Raise `InputError` if layers, scaling, head and spaces do not fit together."""
        problems = [*self._head_problems(), *self._input_problems()]
        if problems:
            raise InputError(problems)

    def _head_problems(self) -> list[str]:
        space, size = describe_space(self.signature.action_space), self.signature.action_size
        discrete = self.signature.discrete_actions
        if self.head not in get_args(Head):
            return [f"unknown head {self.head!r:.60}; known: {', '.join(get_args(Head))}"]
        problems = []
        if discrete != (self.head in DISCRETE_HEADS):
            problems.append(
                f"head {self.head!r} does not fit action space {space}: use "
                + ("'categorical' or 'greedy'" if discrete else "a Gaussian or deterministic head")
            )
        if self.network.sizes[-1] != count_outputs(self.head, size):
            problems.append(
                f"last layer has {self.network.sizes[-1]} outputs, the head {self.head!r} for "
                f"{size} {'actions' if discrete else 'action coordinates'} needs "
                f"{count_outputs(self.head, size)}"
            )
        if self.head == "squashed_gaussian" and not discrete:
            low, high = (np.asarray(limit) for limit in self.signature.action_limits)
            if not np.all(np.isfinite([low, high])) or np.any(low >= high):
                problems.append(
                    "a squashed Gaussian needs finite action bounds, lower ones below upper ones, "
                    f"the action space is {space}: give such bounds or use head 'gaussian'"
                )
        lowest, highest = self.log_std_bounds
        # Beyond these the standard deviation or its square leaves float32.
        if not -40.0 <= lowest <= highest <= 40.0:
            problems.append(
                f"log_std_bounds {self.log_std_bounds}: give two increasing numbers between -40 "
                "and 40, usually (-20, 2)"
            )
        return problems

    def _input_problems(self) -> list[str]:
        size = self.signature.observation_size
        problems = []
        if self.network.sizes[0] != size:
            problems.append(
                f"first layer has {self.network.sizes[0]} inputs, the observation space "
                f"{describe_space(self.signature.observation_space)} has {size}"
            )
        if self.scaling is not None:
            shapes = {self.scaling.shift.shape, self.scaling.scale.shape}
            if shapes != {(size,)} or not bool(jnp.all(self.scaling.scale > 0)):
                problems.append(
                    f"observation scaling needs {size} shifts and as many positive scales"
                )
            limit = self.scaling.limit
            if limit is not None and (limit.shape != () or not bool(limit > 0)):
                problems.append("observation scaling needs one positive number as its limit")
            if isinstance(self.observation_space, gymnasium.spaces.Discrete):
                problems.append("discrete observations are not scaled: leave the scaling out")
        return problems

    def __call__(self, observations: Array) -> ActionDistribution:
        """The distribution of actions at each observation."""
        return self.distribution(self.outputs_at(observations))

    def outputs_at(self, observations: Array) -> Float[Array, "... outputs"]:
        """What the head reads at each observation: -inf for actions that are not allowed."""
        outputs = self.network(self.encode(observations))
        return self.signature.mask_outputs(outputs, observations)

    def encode(self, observations: Array) -> Float[Array, "... size"]:
        """What the first layer sees: one-hot rows of discrete observations, scaled vectors."""
        if isinstance(self.observation_space, gymnasium.spaces.Discrete):
            return jax.nn.one_hot(observations, self.signature.observation_size)
        return observations if self.scaling is None else self.scaling(observations)

    def distribution(self, outputs: Float[Array, "... outputs"]) -> ActionDistribution:
        """The head: network outputs as a distribution."""
        return make_distribution(self.head, outputs, self.signature, self.log_std_bounds)
