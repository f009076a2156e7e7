"""What a switch costs at one state: F(π_o(·|s), π_n(·|s)).

All functions are pure, take any batch of states and are differentiable in the new policy wherever
the cost itself is.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.costs.groups import ActionGroups
from nacre.costs.moments import gaussian_costs
from nacre.costs.plans import independent_plans, optimal_plan_cost, plan_cost
from nacre.errors import InputError
from nacre.policies.distributions import ActionDistribution, DiscreteDistribution, Gaussian

GroundCost = Callable[[Array, Array], Array]


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
    """The transport comparison of two vectors of group masses."""
    surplus = jnp.maximum(old - new, 0.0)
    deficit = jnp.maximum(new - old, 0.0)
    kept = jnp.minimum(old, new)
    learning = jnp.sum(surplus, axis=-1)
    # Any plan between surplus and deficit costs the same; the product plan needs no search.
    moved = jnp.where(learning > 0, learning, 1.0)[..., None, None]
    flows = surplus[..., :, None] * deficit[..., None, :] / moved
    return Comparison(
        learning, jnp.sum(kept, axis=-1), flows + kept[..., None] * jnp.eye(kept.shape[-1])
    )


@dataclass(frozen=True)
class Difference(StatewiseCost):
    """1 where the two distributions differ at all, 0 where they are equal (Table "CoveredSC").

    The learning term of the local and the global switching cost. Two distributions are equal when
    no parameter differs by more than `tolerance`. It has no useful gradient.
    """

    tolerance: float = 1e-6

    def compare(
        self, old: ActionDistribution, new: ActionDistribution, key: PRNGKeyArray
    ) -> Comparison:
        """Compare probabilities, or parameters of continuous distributions."""
        if type(old) is not type(new) and not isinstance(old, DiscreteDistribution):
            raise InputError(
                f"cannot tell whether a {type(old).__name__} equals a {type(new).__name__}; use a "
                "transport cost, or give both policies in the same form"
            )
        differs = jnp.zeros(new.batch_shape, bool)
        for mine, other in zip(_parameters(old), _parameters(new), strict=True):
            differs |= jnp.any(jnp.abs(mine - other) > self.tolerance, axis=-1)
        learning = differs.astype(jnp.result_type(float))
        flows = jnp.stack(
            [1.0 - learning, learning, jnp.zeros_like(learning), jnp.zeros_like(learning)]
        )
        flows = jnp.moveaxis(flows, 0, -1).reshape(*learning.shape, 2, 2)
        return Comparison(learning, jnp.zeros_like(learning), flows)

    def group_names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """Unchanged and changed states."""
        return ("unchanged", "changed")


def _parameters(distribution: ActionDistribution) -> list[Array]:
    if isinstance(distribution, DiscreteDistribution):
        return [distribution.probabilities]
    return [leaf for leaf in jax.tree.leaves(distribution) if eqx.is_inexact_array(leaf)]


@dataclass(frozen=True)
class GeneralTransport(StatewiseCost):
    """The general transport cost: 𝓛 = ∫ c₁ dγ and 𝓣 = ∫ c₂ dλ for explicit plans.

    γ ∈ C(ρ, η) moves the surplus between groups, λ = Σ τ_ℓ λ_ℓ rearranges what stays (equations
    "LearningPlan" and "TransactionMeasure"). Discrete actions are exact; action vectors are
    represented by `n_samples` points in each group, except where Gaussians have a closed form.
    """

    groups: ActionGroups
    learning_ground: str | tuple[tuple[float, ...], ...] | GroundCost = "l2"
    transaction_ground: str | tuple[tuple[float, ...], ...] | GroundCost = "l2"
    plan: Literal["independent", "optimal"] = "independent"
    n_samples: int = 16

    def __post_init__(self) -> None:
        for name, ground in (
            ("learning_ground", self.learning_ground),
            ("transaction_ground", self.transaction_ground),
        ):
            if isinstance(ground, str) and ground not in GROUND_COSTS:
                raise InputError(
                    f"{name} = {ground!r} is unknown; known: {', '.join(GROUND_COSTS)}"
                )
            if isinstance(ground, tuple):
                _check_matrix(name, ground)
        if self.plan not in ("independent", "optimal"):
            raise InputError(f"plan = {self.plan!r} is unknown; known: independent, optimal")
        if self.n_samples < 1:
            raise InputError(f"n_samples = {self.n_samples}; at least one sample is needed")

    def compare(
        self, old: ActionDistribution, new: ActionDistribution, key: PRNGKeyArray
    ) -> Comparison:
        """Represent both by weighted points, couple them, add up the ground costs."""
        masses = compare_masses(old.mass(self.groups), new.mass(self.groups))
        if self._has_closed_form(old, new):
            learning, transaction = gaussian_costs(old, new, self.groups)  # type: ignore[arg-type]
            return Comparison(learning, transaction, masses.flows)
        # The same noise for both: identical policies then have identical points.
        mine = self.groups.atoms(old, key, self.n_samples)
        other = self.groups.atoms(new, key, self.n_samples)
        c1 = ground_matrix(self.learning_ground, mine.points, other.points)
        c2 = ground_matrix(self.transaction_ground, mine.points, other.points)
        couple = (mine.weights, other.weights, mine.membership, other.membership)
        if self.plan == "optimal":
            learning, transaction = optimal_plan_cost(*couple, c1, c2)
        else:
            learning, transaction = plan_cost(independent_plans(*couple), c1, c2)
        return Comparison(learning, transaction, masses.flows)

    def group_names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """Names of the groups."""
        return self.groups.names(action_space)

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
    return jnp.ones((*jnp.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-2]))


GROUND_COSTS: dict[str, GroundCost] = {"l2": l2, "squared_l2": squared_l2, "one": one}


def ground_matrix(
    ground: str | tuple[tuple[float, ...], ...] | GroundCost,
    x: Float[Array, "... n k"],
    y: Float[Array, "... m k"],
) -> Float[Array, "... n m"]:
    """Ground costs between two sets of points; a given matrix is used as it is."""
    if isinstance(ground, str):
        return GROUND_COSTS[ground](x, y)
    if callable(ground):
        return ground(x, y)
    matrix = jnp.asarray(ground)
    if matrix.shape != (x.shape[-2], y.shape[-2]):
        raise InputError(
            f"a ground cost matrix of shape {matrix.shape} was given for {x.shape[-2]} actions; it "
            "has a row and a column for each discrete action"
        )
    return matrix


def _check_matrix(name: str, matrix: tuple[tuple[float, ...], ...]) -> None:
    if len({len(row) for row in matrix} | {len(matrix)}) != 1:
        raise InputError(f"{name}: the ground cost matrix is not square")
    values = np.asarray(matrix, float)
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise InputError(f"{name}: ground costs must be finite and not negative")
