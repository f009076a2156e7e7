"""Ground costs c(x, y): what it costs to move a unit of mass from one action to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import gymnasium
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.policies.policy import describe_space

# From points (..., n, k) and (..., m, k) to the costs (..., n, m) of moving between them.
GroundCost: TypeAlias = Callable[[Array, Array], Array]
Matrix: TypeAlias = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class StateGround:
    """A ground cost c^s(x, y) that depends on the state.

    Args:
        function: From states (...) or (..., d), points (..., n, k) and points (..., m, k) to costs
            (..., n, m). Points of discrete actions have no batch axes: they are (n, 1) and (m, 1).
    """

    function: Callable[[Array, Array, Array], Array]


@dataclass(frozen=True)
class StateMatrices:
    """A matrix of ground costs for each discrete state.

    Args:
        matrices: (states, actions, actions), as nested tuples.
    """

    matrices: tuple[Matrix, ...]


Ground: TypeAlias = str | Matrix | GroundCost | StateGround | StateMatrices
GroundLike: TypeAlias = (
    str
    | Sequence[Sequence[float]]
    | Sequence[Sequence[Sequence[float]]]
    | NDArray[np.floating[Any]]
    | GroundCost
    | StateGround
    | StateMatrices
)


def squared_l2(x: Float[Array, "... n k"], y: Float[Array, "... m k"]) -> Float[Array, "... n m"]:
    """|x - y|² between all pairs."""
    return jnp.sum((x[..., :, None, :] - y[..., None, :, :]) ** 2, axis=-1)


def l2(x: Float[Array, "... n k"], y: Float[Array, "... m k"]) -> Float[Array, "... n m"]:
    """|x - y| between all pairs, with gradient 0 where they coincide."""
    squared = squared_l2(x, y)
    apart = squared > 0
    return jnp.where(apart, jnp.sqrt(jnp.where(apart, squared, 1.0)), 0.0)


def one(x: Float[Array, "... n k"], y: Float[Array, "... m k"]) -> Float[Array, "... n m"]:
    """1 for every pair: the transport cost of the main text."""
    batch = jnp.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return jnp.ones((*batch, x.shape[-2], y.shape[-2]), x.dtype)


GROUND_COSTS: dict[str, GroundCost] = {"l2": l2, "squared_l2": squared_l2, "one": one}


def ground_matrix(
    ground: Ground,
    x: Float[Array, "... n k"],
    y: Float[Array, "... m k"],
    states: Array | None = None,
) -> Float[Array, "... n m"]:
    """Ground costs between two sets of points; given matrices are used as they are."""
    if isinstance(ground, StateGround | StateMatrices) and states is None:
        raise InputError("this ground cost depends on the state, and no states are given")
    if isinstance(ground, tuple):
        costs = jnp.asarray(ground, x.dtype)
    elif isinstance(ground, StateMatrices):
        costs = jnp.asarray(ground.matrices, x.dtype)[states]
    elif isinstance(ground, StateGround):
        costs = jnp.asarray(ground.function(jnp.asarray(states), x, y))
    else:
        costs = jnp.asarray((GROUND_COSTS[ground] if isinstance(ground, str) else ground)(x, y))
    if costs.shape[-2:] != (x.shape[-2], y.shape[-2]):
        raise InputError(
            f"ground costs of shape {costs.shape} were given for {x.shape[-2]} old and "
            f"{y.shape[-2]} new actions; they need a row for each old and a column for each new one"
        )
    return costs


def freeze_ground(name: str, ground: GroundLike) -> Ground:
    """A ground cost from outside, checked and in a form that can be hashed."""
    if isinstance(ground, str):
        if ground not in GROUND_COSTS:
            raise InputError(f"{name} = {ground!r} is unknown; known: {', '.join(GROUND_COSTS)}")
        return ground
    if callable(ground) or isinstance(ground, StateGround):
        return ground
    if isinstance(ground, StateMatrices):
        ground = ground.matrices
    try:
        values = np.asarray(ground, np.float64)
    except (TypeError, ValueError):
        if _is_ragged(ground):
            raise InputError(f"{name}: {NOT_SQUARE}") from None
        raise InputError(
            f"{name}: {ground!r:.60} is no ground cost; give a name, a matrix or a function"
        ) from None
    if values.ndim == 0:
        raise InputError(
            f"{name}: {ground!r:.60} is no ground cost; give a name, a matrix or a function"
        )
    if values.ndim not in (2, 3) or values.shape[-1] != values.shape[-2] or not values.size:
        raise InputError(f"{name}: {NOT_SQUARE}")
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise InputError(f"{name}: ground costs must be finite and not negative")
    if values.ndim == 2:
        return _freeze(values)
    return StateMatrices(tuple(_freeze(matrix) for matrix in values))


NOT_SQUARE = (
    "the ground cost matrix is not square; give a row and a column for each action, and where the "
    "cost depends on a discrete state one such matrix for each state"
)


def _freeze(values: np.ndarray) -> Matrix:
    return tuple(tuple(float(value) for value in row) for row in values)


def _is_ragged(ground: Any) -> bool:
    """Whether nested lists hold numbers only, if in rows of different lengths."""
    if isinstance(ground, Sequence) and not isinstance(ground, str):
        return all(_is_ragged(part) for part in ground)
    return isinstance(ground, int | float)


def check_ground_fits(ground: Ground, action_space: gymnasium.Space[Any]) -> None:
    """Raise `InputError` if a matrix of ground costs does not fit the actions."""
    matrix = ground.matrices[0] if isinstance(ground, StateMatrices) else ground
    if not isinstance(matrix, tuple):
        return
    size = len(matrix)
    if not isinstance(action_space, gymnasium.spaces.Discrete):
        raise InputError(
            "a ground cost matrix has a row and a column for each discrete action, these actions "
            "are vectors: name a distance such as 'l2', or give a function"
        )
    if size != int(action_space.n):
        raise InputError(
            f"a ground cost matrix of {size} rows was given for {int(action_space.n)} actions; it "
            "needs a row and a column for each"
        )


def check_states_fit_ground(ground: Ground, observation_space: gymnasium.Space[Any]) -> None:
    """Raise `InputError` if matrices by state do not fit the observations."""
    if not isinstance(ground, StateMatrices):
        return
    if not isinstance(observation_space, gymnasium.spaces.Discrete):
        raise InputError(
            "ground cost matrices by state need discrete states, observations are "
            f"{describe_space(observation_space)}: give a nacre.costs.StateGround"
        )
    if len(ground.matrices) != int(observation_space.n):
        raise InputError(
            f"ground cost matrices for {len(ground.matrices)} states were given, there are "
            f"{int(observation_space.n)} states; give one for each"
        )
