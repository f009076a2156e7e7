"""Multilayer perceptrons on batches of rows, and the scaling of what they read."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy.typing import ArrayLike

from nacre.errors import InputError

Activation = Literal["relu", "tanh", "identity"]

ACTIVATIONS: dict[Activation, Callable[[Array], Array]] = {
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
    "identity": lambda x: x,
}


def check_activation(name: str | None) -> Activation | None:
    """The activation of this name.

    Raises:
        InputError: If there is none.
    """
    found = next((one for one in ACTIVATIONS if one == name), None)
    if name is not None and found is None:
        raise InputError(f"activation {name!r}: not known; choose one of {', '.join(ACTIVATIONS)}")
    return found


DRAWN = 2**14
"""Weights that are drawn at a time, at least."""


class MLP(eqx.Module):
    """x ↦ act(… act(x W₁ + b₁) … W_n + b_n), applied to the last axis of a batch."""

    weights: tuple[Float[Array, "inputs outputs"], ...]
    biases: tuple[Float[Array, " outputs"], ...]
    activations: tuple[Activation, ...] = eqx.field(static=True)

    def __check_init__(self) -> None:
        problems = []
        if not len(self.weights) == len(self.biases) == len(self.activations) > 0:
            problems.append(
                f"{len(self.weights)} weights, {len(self.biases)} biases and "
                f"{len(self.activations)} activations given; a network has one of each for every "
                "layer and at least one layer"
            )
        problems += [
            f"unknown activation {name!r:.60}; known: {', '.join(ACTIVATIONS)}"
            for name in self.activations
            if name not in ACTIVATIONS
        ]
        width = None
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=False)):
            if weight.ndim != 2 or bias.shape != weight.shape[1:]:
                problems.append(
                    f"layer {i}: weight of shape {weight.shape} and bias of shape {bias.shape} do "
                    "not fit each other"
                )
                break
            if width not in (None, weight.shape[0]):
                problems.append(
                    f"layer {i} reads {weight.shape[0]} numbers, the one before has {width} outputs"
                )
            width = weight.shape[1]
        if problems:
            raise InputError(problems)

    @classmethod
    def init(
        cls,
        key: PRNGKeyArray,
        sizes: tuple[int, ...],
        activations: tuple[Activation, ...] | None = None,
    ) -> MLP:
        """Random layers, uniform in ±1/√inputs; ReLU between them unless told otherwise."""
        if len(sizes) < 2 or min(sizes) < 1:
            raise InputError(
                f"a network of widths {sizes}; give at least an input and an output width, all "
                "positive"
            )
        layers = len(sizes) - 1
        weights, biases = [], []
        for layer_key, inputs, outputs in zip(
            jax.random.split(key, layers), sizes[:-1], sizes[1:], strict=True
        ):
            weight_key, bias_key = jax.random.split(layer_key)
            bound = 1.0 / math.sqrt(inputs)
            weights.append(draw_weights(weight_key, (inputs, outputs), bound))
            biases.append(draw_weights(bias_key, (outputs,), bound))
        if activations is None:
            between: list[Activation] = ["relu"] * (layers - 1)
            activations = (*between, "identity")
        return cls(tuple(weights), tuple(biases), activations)

    def with_last(
        self, weight: Float[Array, "inputs outputs"], bias: Float[Array, " outputs"]
    ) -> MLP:
        """The same network with another last layer."""
        return MLP((*self.weights[:-1], weight), (*self.biases[:-1], bias), self.activations)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Width of the input and of each layer."""
        return (self.weights[0].shape[0], *(int(weight.shape[1]) for weight in self.weights))

    def __call__(self, x: Float[Array, "... inputs"]) -> Float[Array, "... outputs"]:
        """Apply to each row."""
        for weight, bias, activation in zip(
            self.weights, self.biases, self.activations, strict=True
        ):
            x = ACTIVATIONS[activation](x @ weight + bias)
        return x


class Scaling(eqx.Module):
    """(observation - shift) / scale, taken before the first layer; constants, never trained.

    The quotient is cut off at ±limit where there is one.
    """

    shift: Float[Array, " size"]
    scale: Float[Array, " size"]
    limit: Float[Array, ""] | None = None

    @classmethod
    def identity(cls, size: int) -> Scaling:
        """No scaling."""
        return cls(jnp.zeros(size), jnp.ones(size))

    @classmethod
    def fit(cls, observations: ArrayLike) -> Scaling:
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


def check_hidden(place: str, hidden: tuple[int, ...]) -> list[str]:
    """What is wrong with the widths of hidden layers; `place` is their name in messages."""
    if any(width < 1 for width in hidden):
        return [f"{place} = {hidden}: layers have at least one unit"]
    return []


def draw_weights(key: PRNGKeyArray, shape: tuple[int, ...], bound: float) -> Array:
    """Numbers that are uniform in ±bound, as `jax.random.uniform` draws them, to the bit.

    It compiles its generator anew for every shape. Its numbers only depend on their places, so that
    the first of many are those of few: a few lengths do for all shapes.
    """
    if isinstance(key, jax.core.Tracer):
        return jax.random.uniform(key, shape, minval=-bound, maxval=bound)
    size = math.prod(shape)
    length = max(DRAWN, 2 ** math.ceil(math.log2(max(size, 1))))
    drawn = jax.random.uniform(key, (length,), minval=-bound, maxval=bound)
    return jnp.asarray(np.asarray(drawn)[:size].reshape(shape))
