"""Policies: from observations to a distribution over actions."""

import abc
import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from nacre.errors import InputError
from nacre.logs.schema.spaces import SpaceError, canonical_space, is_masked, space_to_json
from nacre.policies.distributions import ActionDistribution

ASKED_ROWS = 4096
"""Rows that a policy is asked about at a time."""


@dataclass(frozen=True, eq=False)
class Signature:
    """The spaces between which a policy acts; compared and hashed by content.

    Spaces are kept as logs keep them: float32 boxes of one axis, and discrete ones from 0.
    """

    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]

    def __post_init__(self) -> None:
        for name in ("observation_space", "action_space"):
            try:
                space = canonical_space(getattr(self, name))
            except SpaceError as error:
                raise InputError(f"{name}: {error}") from None
            object.__setattr__(self, name, space)

    @functools.cached_property
    def _content(self) -> str:
        return json.dumps([space_to_json(self.observation_space), space_to_json(self.action_space)])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def observation_size(self) -> int:
        """Length of an encoded observation: the vector's, or the number of states."""
        return _count(self.observation_space)

    @property
    def action_size(self) -> int:
        """Number of coordinates of an action vector, or of discrete actions."""
        return _count(self.action_space)

    @property
    def n_masked(self) -> int:
        """How many of the observation's last coordinates say which actions are allowed."""
        return getattr(self.observation_space, "n_masked", 0) if self.discrete_actions else 0

    @property
    def masks(self) -> bool:
        """Whether some observations do not allow every action."""
        return bool(self.n_masked) or is_masked(self.observation_space)

    def find_allowed(self, observations: Array) -> Bool[Array, "... n"]:
        """Which actions each observation allows, in spaces with masks.

        An observation that allows nothing, such as one that a model of the world made up, is taken
        to allow everything.
        """
        if is_masked(self.observation_space):
            return jnp.asarray(self.observation_space.allowed)[observations]
        allowed = observations[..., -self.n_masked :] > 0.5
        return allowed | ~jnp.any(allowed, axis=-1, keepdims=True)

    def mask_outputs(
        self, outputs: Float[Array, "... n"], observations: Array
    ) -> Float[Array, "... n"]:
        """What a head of discrete actions reads: -inf where an action is not allowed.

        All allowed actions are alike where the outputs speak of none of them.
        """
        if not self.masks:
            return outputs
        allowed = self.find_allowed(observations)
        masked = jnp.where(allowed, outputs, -jnp.inf)
        silent = jnp.all(jnp.isneginf(masked), axis=-1, keepdims=True)
        return jnp.where(silent, jnp.where(allowed, 0.0, -jnp.inf), masked)

    @property
    def discrete_actions(self) -> bool:
        """Whether actions are numbers 0, …, n - 1."""
        return isinstance(self.action_space, gymnasium.spaces.Discrete)

    @property
    def action_limits(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Lower and upper bounds of the action vector."""
        space = cast(gymnasium.spaces.Box, self.action_space)
        return tuple(space.low.ravel().tolist()), tuple(space.high.ravel().tolist())


class Policy(eqx.Module):
    """Anything that says, for a batch of observations, how it would act."""

    if TYPE_CHECKING:

        @property
        def signature(self) -> Signature:
            """The spaces between which the policy acts."""

    else:
        signature: eqx.AbstractVar[Signature]

    @abc.abstractmethod
    def __call__(self, observations: Array) -> ActionDistribution:
        """The distribution of actions at each observation.

        Args:
            observations: Rows (..., size) for vector observations, integers (...) for discrete.
        """

    @property
    def observation_space(self) -> gymnasium.Space[Any]:
        """Space of the observations."""
        return self.signature.observation_space

    @property
    def action_space(self) -> gymnasium.Space[Any]:
        """Space of the actions."""
        return self.signature.action_space


@eqx.filter_jit
def ask(policy: Policy, observations: Array) -> ActionDistribution:
    """What a policy says at rows of observations, compiled by itself.

    What is then done with the answer is compiled once for all policies that answer in one way. Many
    rows are asked about in blocks, so that what the layers say in between stays near the processor;
    the last block is filled up with the first row.
    """
    n = len(observations)
    if n <= ASKED_ROWS:
        return policy(observations)
    blocks = -(-n // ASKED_ROWS)
    size = -(-n // blocks)
    filling = jnp.broadcast_to(observations[:1], (blocks * size - n, *observations.shape[1:]))
    filled = jnp.concatenate([observations, filling])
    said = jax.lax.map(policy, filled.reshape(blocks, size, *observations.shape[1:]))
    answer: ActionDistribution = jax.tree.map(
        lambda part: part.reshape(blocks * size, *part.shape[2:])[:n], said
    )
    return answer


def _count(space: gymnasium.Space[Any]) -> int:
    """Values of a discrete space, or coordinates of a box."""
    if isinstance(space, gymnasium.spaces.Discrete):
        return int(space.n)
    return int(np.prod(cast(gymnasium.spaces.Box, space).shape))


def describe_space(space: gymnasium.Space[Any]) -> str:
    """A space on one line, for messages: long bounds wrap and repeat otherwise."""
    text = " ".join(str(space).split())
    return text if len(text) <= 100 else f"{text[:97]}..."
