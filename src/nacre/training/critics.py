"""An ensemble of critics as one batched pytree, for action vectors and discrete actions alike.

The two kinds differ in the head only: Q(s, a) reads the action beside the observation, Q(s, ·) has
an output for each action. Everything above speaks of `values_at` and `expectation`.
"""

from __future__ import annotations

import math
from typing import Literal

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from nacre.policies.distributions import ActionDistribution, DiscreteDistribution
from nacre.policies.networks import Scaling, draw_weights
from nacre.policies.policy import Signature

Combine = Literal["min", "mean"] | float
Chosen = Combine | Bool[Array, ""]
"""A truth value chooses in what is compiled already: the minimum, or every member's own."""

LAYER_NORM_EPSILON = 1e-5


class Critics(eqx.Module):
    """M multilayer perceptrons evaluated in one batched matrix product a layer.

    Outputs are `shift + spread · network`: with the mean and spread of a log's returns the networks
    themselves stay of order one.
    """

    weights: tuple[Float[Array, "members inputs outputs"], ...]
    biases: tuple[Float[Array, "members 1 outputs"], ...]
    norms: tuple[tuple[Float[Array, "members 1 outputs"], Float[Array, "members 1 outputs"]], ...]
    scaling: Scaling | None
    shift: Float[Array, ""]
    spread: Float[Array, ""]
    signature: Signature = eqx.field(static=True)

    @classmethod
    def init(
        cls,
        key: PRNGKeyArray,
        signature: Signature,
        *,
        n_critics: int,
        hidden: tuple[int, ...] = (256, 256),
        layer_norm: bool = False,
        scaling: Scaling | None = None,
        shift: float = 0.0,
        spread: float = 1.0,
    ) -> Critics:
        """Random members, each layer uniform in ±1/√inputs."""
        inputs = signature.observation_size
        outputs = signature.action_size
        if not signature.discrete_actions:
            inputs, outputs = inputs + outputs, 1
        sizes = (inputs, *hidden, outputs)
        weights, biases = [], []
        for layer_key, fan_in, fan_out in zip(
            jax.random.split(key, len(sizes) - 1), sizes, sizes[1:], strict=False
        ):
            weight_key, bias_key = jax.random.split(layer_key)
            bound = 1.0 / math.sqrt(fan_in)
            weights.append(draw_weights(weight_key, (n_critics, fan_in, fan_out), bound))
            biases.append(draw_weights(bias_key, (n_critics, 1, fan_out), bound))
        norms = tuple(
            (jnp.ones((n_critics, 1, width)), jnp.zeros((n_critics, 1, width)))
            for width in (hidden if layer_norm else ())
        )
        return cls(
            tuple(weights),
            tuple(biases),
            norms,
            scaling,
            jnp.asarray(shift, float),
            jnp.asarray(spread, float),
            signature,
        )

    @property
    def n_critics(self) -> int:
        """Number of members."""
        return int(self.weights[0].shape[0])

    def __call__(
        self, observations: Array, actions: Array | None = None
    ) -> Float[Array, "members rows outputs"]:
        """Raw outputs for rows of observations (and of action vectors)."""
        x = self.encode(observations)
        if actions is not None:
            x = jnp.concatenate([x, actions], axis=-1)
        x = jnp.broadcast_to(x, (self.n_critics, *x.shape))
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            normed = bool(self.norms) and i < last
            if normed:
                weight, bias = _centre(weight), _centre(bias)
            x = jnp.einsum("mbi,mio->mbo", x, weight) + bias
            if normed:
                x = _normalise(x, *self.norms[i])
            if i < last:
                x = jax.nn.relu(x)
        shift, spread = jax.lax.stop_gradient((self.shift, self.spread))
        return shift + spread * x

    def encode(self, observations: Array) -> Float[Array, "rows size"]:
        """One-hot rows of discrete observations, scaled vectors."""
        if isinstance(self.signature.observation_space, gymnasium.spaces.Discrete):
            return jax.nn.one_hot(observations, self.signature.observation_size)
        return observations if self.scaling is None else self.scaling(observations)

    def values_at(self, observations: Array, actions: Array) -> Float[Array, "members rows"]:
        """Q_i(s, a) of every member at rows of states and actions."""
        if self.signature.discrete_actions:
            outputs = self(observations)
            return jnp.take_along_axis(outputs, actions[None, :, None], axis=-1)[..., 0]
        return self(observations, actions)[..., 0]

    def expectation(
        self,
        observations: Array,
        distribution: ActionDistribution,
        uniforms: Float[Array, "n rows noise"],
        combine: Chosen | None = None,
    ) -> Float[Array, "*members rows"]:
        """E_{a ~ π(·|s)}[combined Q_i(s, a)] at rows of states; every member's if not combined.

        Exact for discrete actions. For action vectors the mean over the actions that the noise
        turns into; the gradient flows through the probabilities or through the actions.
        """
        if isinstance(distribution, DiscreteDistribution):
            outputs = combine_members(self(observations), combine)
            return jnp.sum(distribution.probabilities * outputs, axis=-1)
        actions = distribution.transform(uniforms)
        n, rows, size = actions.shape
        repeated = jnp.broadcast_to(observations, (n, *observations.shape))
        repeated = repeated.reshape(n * rows, *observations.shape[1:])
        outputs = self(repeated, actions.reshape(n * rows, size)).reshape(-1, n, rows)
        return jnp.mean(combine_members(outputs, combine), axis=-2)


def combine_members(
    values: Float[Array, "members ..."], combine: Chosen | None
) -> Float[Array, "..."]:
    """The ensemble's word: its minimum as in the paper, mean, a quantile, or every member's own."""
    if isinstance(combine, Array):
        return jnp.where(combine, jnp.min(values, axis=0), values)
    if combine == "min":
        return jnp.min(values, axis=0)
    if combine == "mean":
        return jnp.mean(values, axis=0)
    if combine is not None:
        return jnp.quantile(values, combine, axis=0)
    return values


def _centre(weights: Array) -> Array:
    """Weights whose outputs have mean zero: there are far fewer of them than of outputs."""
    return weights - jnp.mean(weights, axis=-1, keepdims=True)


def _normalise(x: Array, scale: Array, offset: Array) -> Array:
    """The rest of LayerNorm, where the mean of each row is zero already."""
    variance = jnp.mean(x * x, axis=-1, keepdims=True)
    return x * jax.lax.rsqrt(variance + LAYER_NORM_EPSILON) * scale + offset
