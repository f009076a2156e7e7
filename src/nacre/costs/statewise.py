"""What a switch costs at one state: F(π_o(·|s), π_n(·|s)).

All functions are pure, take any batch of states and are differentiable in the new policy wherever
the cost itself is.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from nacre.costs.groups import ActionGroups
from nacre.costs.moments import gaussian_costs
from nacre.costs.plans import independent_plans, optimal_plan_cost, plan_cost
from nacre.errors import InputError
from nacre.policies.distributions import (
    ActionDistribution,
    DiscreteDistribution,
    Gaussian,
    SquashedGaussian,
)

# From points (..., n, k) and (..., m, k) to the costs (..., n, m) of moving between them.
GroundCost = Callable[[Array, Array], Array]
Ground = str | tuple[tuple[float, ...], ...] | GroundCost

# float32 masses of many groups add up to one within this; those of NaN may add up to nothing.
MASS_TOLERANCE = 1e-3
SMALLEST_MOVE = 1e-18


class Comparison(eqx.Module):
    """Old against new policy at each state of a batch, before the weights c_l and c_t.

    `learning` and `transaction` are 𝓛 and 𝓣 of the paper; for the indicator costs they are masses.
    `flows[..., i, j]` is the mass that goes from group i to group j.
    """

    learning: Float[Array, "..."]
    transaction: Float[Array, "..."]
    flows: Float[Array, "... groups groups"]

    @property
    def learning_mass(self) -> Float[Array, "..."]:
        """Mass that changes its group."""
        return jnp.sum(self.flows, axis=(-2, -1)) - self.transaction_mass

    @property
    def transaction_mass(self) -> Float[Array, "..."]:
        """Mass that stays in its group."""
        return jnp.trace(self.flows, axis1=-2, axis2=-1)


class StatewiseCost(abc.ABC):
    """A way to compare two distributions over actions."""

    @abc.abstractmethod
    def compare(
        self, old: ActionDistribution, new: ActionDistribution, key: PRNGKeyArray
    ) -> Comparison:
        """Learning and transaction terms at each state; the key serves costs that need samples."""

    @abc.abstractmethod
    def group_names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """Names of the groups; raises `InputError` if the cost does not fit the action space."""

    def samples_actions(self, old: ActionDistribution, new: ActionDistribution) -> bool:
        """Whether `compare` draws actions with its key, so that its terms are noisy."""
        return False

    def count_cells(self, action_space: gymnasium.Space[Any]) -> int:
        """Numbers in the largest array of one state's comparison: fewer states at once if many."""
        return len(self.group_names(action_space)) ** 2


@dataclass(frozen=True)
class Transport(StatewiseCost):
    """Mass moved between groups and mass kept within them (learning and transaction cost).

    𝓛 = Σ_ℓ (a_ℓ - b_ℓ)₊ and 𝓣 = Σ_ℓ min(a_ℓ, b_ℓ) with a, b the groups' masses under the old and
    the new policy. Their weighted sum is the optimal transport cost for ground cost c_l between and
    c_t within groups when c_l ≥ c_t (Proposition "Optimality of the proposed cost").
    """

    groups: ActionGroups

    def compare(
        self, old: ActionDistribution, new: ActionDistribution, key: PRNGKeyArray
    ) -> Comparison:
        """Closed form; the key is not used."""
        return compare_masses(old.mass(self.groups), new.mass(self.groups))

    def group_names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """Names of the groups."""
        return self.groups.names(action_space)


def compare_masses(old: Float[Array, "... groups"], new: Float[Array, "... groups"]) -> Comparison:
    """The transport comparison of two vectors of group masses; NaN if they do not add up to one."""
    surplus = jnp.maximum(old - new, 0.0)
    deficit = jnp.maximum(new - old, 0.0)
    kept = jnp.minimum(old, new)
    learning = jnp.sum(surplus, axis=-1)
    # Any plan between surplus and deficit costs the same; the product plan needs no search.
    # Below the threshold the quotient's gradient would overflow, and there is nothing to move.
    moved = jnp.where(learning > SMALLEST_MOVE, learning, 1.0)[..., None, None]
    flows = surplus[..., :, None] * (deficit[..., None, :] / moved)
    stays = kept[..., None] * jnp.eye(kept.shape[-1], dtype=kept.dtype)
    excess = jnp.maximum(abs(jnp.sum(old, axis=-1) - 1.0), abs(jnp.sum(new, axis=-1) - 1.0))
    comparison = Comparison(learning, jnp.sum(kept, axis=-1), flows + stays)
    return _blank(comparison, excess <= MASS_TOLERANCE)


def _blank(comparison: Comparison, sound: Bool[Array, "..."]) -> Comparison:
    return Comparison(
        jnp.where(sound, comparison.learning, jnp.nan),
        jnp.where(sound, comparison.transaction, jnp.nan),
        jnp.where(sound[..., None, None], comparison.flows, jnp.nan),
    )


@dataclass(frozen=True)
class Difference(StatewiseCost):
    """1 where the two distributions differ at all, 0 where they are equal (Table "CoveredSC").

    The learning term of the local and the global switching cost. Two distributions are equal when
    no parameter differs by more than `tolerance`. It has no useful gradient.
    """

    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        if not (np.isfinite(self.tolerance) and self.tolerance >= 0):
            raise InputError(f"tolerance = {self.tolerance}: give a finite number from 0 up")

    def compare(
        self, old: ActionDistribution, new: ActionDistribution, key: PRNGKeyArray
    ) -> Comparison:
        """Compare probabilities, or parameters of continuous distributions."""
        shape = jnp.broadcast_shapes(old.batch_shape, new.batch_shape)
        differs, unknown = jnp.zeros(shape, bool), jnp.zeros(shape, bool)
        if _squash_differently(old, new):
            differs = ~differs
        for mine, other in _paired_parameters(old, new):
            # The first comparison is for infinite parameters, whose difference is NaN.
            close = (mine == other) | (jnp.abs(mine - other) <= self.tolerance)
            differs |= jnp.any(~close, axis=-1)
            unknown |= jnp.any(jnp.isnan(mine) | jnp.isnan(other), axis=-1)
        learning = differs.astype(jnp.result_type(float))
        nothing = jnp.zeros_like(learning)
        flows = jnp.stack([1.0 - learning, learning, nothing, nothing], axis=-1)
        flows = flows.reshape(*learning.shape, 2, 2)
        return _blank(Comparison(learning, nothing, flows), ~unknown)

    def group_names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """Unchanged and changed states."""
        return ("unchanged", "changed")


def _paired_parameters(
    old: ActionDistribution, new: ActionDistribution
) -> list[tuple[Array, Array]]:
    if isinstance(old, DiscreteDistribution) and isinstance(new, DiscreteDistribution):
        return [(old.probabilities, new.probabilities)]
    forms = {jax.tree.structure(old), jax.tree.structure(new)}
    if len(forms) > 1 and not _squash_differently(old, new):
        raise InputError(
            f"cannot tell whether a {type(old).__name__} equals a {type(new).__name__} of another "
            "form; use a transport cost, or give both policies in the same form"
        )
    return list(zip(jax.tree.leaves(old), jax.tree.leaves(new), strict=True))


def _squash_differently(old: ActionDistribution, new: ActionDistribution) -> bool:
    return (
        isinstance(old, SquashedGaussian)
        and isinstance(new, SquashedGaussian)
        and (old.low, old.high) != (new.low, new.high)
    )


@dataclass(frozen=True)
class GeneralTransport(StatewiseCost):
    """The general transport cost: 𝓛 = ∫ c₁ dγ and 𝓣 = ∫ c₂ dλ for explicit plans.

    γ ∈ C(ρ, η) moves the surplus between groups, λ = Σ τ_ℓ λ_ℓ rearranges what stays (equations
    "LearningPlan" and "TransactionMeasure"). Discrete actions are exact; action vectors are
    represented by `n_samples` points in each group, except where Gaussians have a closed form.
    From samples the independent plan's terms are unbiased; the optimal plan's are zero for equal
    policies, but otherwise too high as long as the samples are few.

    Args:
        groups: The partition of the actions.
        learning_ground: c₁: "l2", "squared_l2", "one", a matrix for discrete actions, or a function
            from points (..., n, k) and (..., m, k) to costs (..., n, m). Discrete actions are the
            points 0, 1, … of the line.
        transaction_ground: c₂, in the same forms.
        plan: The coupling.
        n_samples: Points in each group, for action vectors.
    """

    groups: ActionGroups
    learning_ground: Ground = "l2"
    transaction_ground: Ground = "l2"
    plan: Literal["independent", "optimal"] = "independent"
    n_samples: int = 16

    def __post_init__(self) -> None:
        for name in ("learning_ground", "transaction_ground"):
            object.__setattr__(self, name, freeze_ground(name, getattr(self, name)))
        if self.plan not in ("independent", "optimal"):
            raise InputError(f"plan = {self.plan!r} is unknown; known: independent, optimal")
        if not isinstance(self.n_samples, int) or self.n_samples < 1:
            raise InputError(f"n_samples = {self.n_samples}; give a whole number from 1 up")

    def compare(
        self, old: ActionDistribution, new: ActionDistribution, key: PRNGKeyArray
    ) -> Comparison:
        """Represent both by weighted points, couple them, add up the ground costs."""
        masses = compare_masses(old.mass(self.groups), new.mass(self.groups))
        if self._has_closed_form(old, new):
            learning, transaction = gaussian_costs(old, new, self.groups)  # type: ignore[arg-type]
        else:
            learning, transaction = self._couple_points(old, new, key)
        comparison = Comparison(learning, transaction, masses.flows)
        return _blank(comparison, ~jnp.isnan(masses.learning))

    def group_names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """Names of the groups."""
        for ground in (self.learning_ground, self.transaction_ground):
            if isinstance(ground, tuple):
                _check_matrix_fits(len(ground), action_space)
        return self.groups.names(action_space)

    def samples_actions(self, old: ActionDistribution, new: ActionDistribution) -> bool:
        """Unless the actions are discrete or there is a closed form."""
        return not (isinstance(old, DiscreteDistribution) or self._has_closed_form(old, new))

    def count_cells(self, action_space: gymnasium.Space[Any]) -> int:
        """Pairs of points, of which there is at least one a group."""
        n_groups = len(self.group_names(action_space))
        if isinstance(action_space, gymnasium.spaces.Discrete):
            return int(action_space.n) ** 2
        return (n_groups * self.n_samples) ** 2

    def _couple_points(
        self, old: ActionDistribution, new: ActionDistribution, key: PRNGKeyArray
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        # Independent coupling wants independent noise: paired points are closer than their
        # distributions say. Optimal coupling wants the same: identical policies, identical points.
        keys = (key, key) if self.plan == "optimal" else jax.random.split(key)
        mine = self.groups.atoms(old, keys[0], self.n_samples)
        other = self.groups.atoms(new, keys[1], self.n_samples)
        c1 = ground_matrix(self.learning_ground, mine.points, other.points)
        c2 = ground_matrix(self.transaction_ground, mine.points, other.points)
        couple = (mine.weights, other.weights, mine.membership, other.membership)
        if self.plan == "optimal":
            return optimal_plan_cost(*couple, c1, c2)
        return plan_cost(independent_plans(*couple), c1, c2)

    def _has_closed_form(self, old: ActionDistribution, new: ActionDistribution) -> bool:
        return (
            type(old) is Gaussian
            and type(new) is Gaussian
            and self.plan == "independent"
            and self.learning_ground == self.transaction_ground == "squared_l2"
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
    ground: Ground, x: Float[Array, "... n k"], y: Float[Array, "... m k"]
) -> Float[Array, "... n m"]:
    """Ground costs between two sets of points; a given matrix is used as it is."""
    if isinstance(ground, tuple):
        costs = jnp.asarray(ground, x.dtype)
    else:
        costs = jnp.asarray((GROUND_COSTS[ground] if isinstance(ground, str) else ground)(x, y))
    if costs.shape[-2:] != (x.shape[-2], y.shape[-2]):
        raise InputError(
            f"ground costs of shape {costs.shape} were given for {x.shape[-2]} old and "
            f"{y.shape[-2]} new actions; they need a row for each old and a column for each new one"
        )
    return costs


def freeze_ground(name: str, ground: str | Sequence[Sequence[float]] | GroundCost) -> Ground:
    """A ground cost from outside, checked and in a form that can be hashed."""
    if isinstance(ground, str):
        if ground not in GROUND_COSTS:
            raise InputError(f"{name} = {ground!r} is unknown; known: {', '.join(GROUND_COSTS)}")
        return ground
    if callable(ground):
        return ground
    try:
        matrix = tuple(tuple(float(value) for value in row) for row in ground)
    except (TypeError, ValueError):
        raise InputError(
            f"{name}: {ground!r:.60} is no ground cost; give a name, a matrix or a function"
        ) from None
    if {len(row) for row in matrix} != {len(matrix)}:
        raise InputError(
            f"{name}: the ground cost matrix is not square; give a row and a column for each action"
        )
    values = np.asarray(matrix)
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise InputError(f"{name}: ground costs must be finite and not negative")
    return matrix


def _check_matrix_fits(size: int, action_space: gymnasium.Space[Any]) -> None:
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
