"""Policies: from observations to a distribution over actions."""

import abc
import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, get_args

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from nacre.errors import InputError
from nacre.logs.schema.spaces import SpaceError, canonical_space, space_to_json
from nacre.policies.distributions import ActionDistribution, Categorical
from nacre.policies.heads import (
    DISCRETE_HEADS,
    USUAL_LOG_STD,
    Head,
    count_outputs,
    default_head,
    make_distribution,
)
from nacre.policies.networks import MLP, Activation

DEFAULT_HIDDEN = (256, 256)
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
        space = self.observation_space
        if isinstance(space, gymnasium.spaces.Discrete):
            return int(space.n)
        return int(np.prod(cast(gymnasium.spaces.Box, space).shape))

    @property
    def action_size(self) -> int:
        """Number of coordinates of an action vector, or of discrete actions."""
        space = self.action_space
        if isinstance(space, gymnasium.spaces.Discrete):
            return int(space.n)
        return int(np.prod(cast(gymnasium.spaces.Box, space).shape))

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


class Scaling(eqx.Module):
    """(observation - shift) / scale, taken before the first layer; constants, never trained.

    The quotient is cut off at ±limit where there is one.
    """

    shift: Float[Array, " size"]
    scale: Float[Array, " size"]
    limit: Float[Array, ""] | None = None

    @classmethod
    def identity(cls, size: int) -> "Scaling":
        """No scaling."""
        return cls(jnp.zeros(size), jnp.ones(size))

    @classmethod
    def fit(cls, observations: ArrayLike) -> "Scaling":
        """Mean and standard deviation of a log's observations (rows, size).

        Columns that are constant up to rounding are only shifted.
        """
        rows = np.asarray(observations)
        if rows.ndim != 2 or not len(rows) or not np.all(np.isfinite(rows)):
            raise InputError(
                f"observations of shape {rows.shape} cannot be scaled: give at least one row, all "
                "rows of the same length and without NaN or infinity"
            )
        shift = rows.mean(axis=0, dtype=np.float64)
        spread = rows.std(axis=0, dtype=np.float64)
        scale = np.where(spread > 1e-6 * np.abs(shift) + 1e-12, spread, 1.0)
        return cls(jnp.asarray(shift, jnp.float32), jnp.asarray(scale, jnp.float32))

    def __call__(self, observations: Float[Array, "... size"]) -> Float[Array, "... size"]:
        """Scale rows."""
        shift, scale, limit = jax.lax.stop_gradient((self.shift, self.scale, self.limit))
        scaled = (observations - shift) / scale
        return scaled if limit is None else jnp.clip(scaled, -limit, limit)


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
    ) -> "MLPPolicy":
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
        return self.distribution(self.network(self.encode(observations)))

    def encode(self, observations: Array) -> Float[Array, "... size"]:
        """What the first layer sees: one-hot rows of discrete observations, scaled vectors."""
        if isinstance(self.observation_space, gymnasium.spaces.Discrete):
            return jax.nn.one_hot(observations, self.signature.observation_size)
        return observations if self.scaling is None else self.scaling(observations)

    def distribution(self, outputs: Float[Array, "... outputs"]) -> ActionDistribution:
        """The head: network outputs as a distribution."""
        return make_distribution(self.head, outputs, self.signature, self.log_std_bounds)


class TabularPolicy(Policy):
    """A row of logits for each of finitely many states; -inf means never."""

    logits: Float[Array, "states actions"]
    signature: Signature = eqx.field(static=True)

    @classmethod
    def from_probabilities(cls, table: ArrayLike) -> "TabularPolicy":
        """The policy with these rows of probabilities (states, actions)."""
        rows = np.asarray(table)
        if (
            rows.ndim != 2
            or rows.size == 0
            or not np.all(rows >= 0)
            or not np.all(np.abs(rows.sum(axis=-1) - 1.0) <= 1e-5)
        ):
            raise InputError(
                f"a policy table of shape {rows.shape} is not a matrix of probabilities: every row "
                "is a state, its entries must be non-negative and add up to one"
            )
        signature = Signature(
            gymnasium.spaces.Discrete(rows.shape[0]), gymnasium.spaces.Discrete(rows.shape[1])
        )
        return cls(jnp.log(jnp.asarray(rows)), signature)

    @property
    def table(self) -> Float[Array, "states actions"]:
        """Probabilities of all actions in all states."""
        return jax.nn.softmax(self.logits, axis=-1)

    def __call__(self, observations: Array) -> Categorical:
        """The rows of the observed states."""
        return Categorical(self.logits[observations])


def describe_space(space: gymnasium.Space[Any]) -> str:
    """A space on one line, for messages: long bounds wrap and repeat otherwise."""
    text = " ".join(str(space).split())
    return text if len(text) <= 100 else f"{text[:97]}..."
