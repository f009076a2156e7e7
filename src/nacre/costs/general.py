"""The transport cost of the paper's appendix: ground costs between actions, explicit plans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.costs.feasibility import MISFIT, check_plans, measure_misfit
from nacre.costs.grounds import (
    Ground,
    check_ground_fits,
    check_states_fit_ground,
    freeze_ground,
    ground_matrix,
)
from nacre.costs.groups import ActionGroups, Atoms
from nacre.costs.moments import gaussian_costs
from nacre.costs.plans import (
    Plans,
    independent_plans,
    matched_plan_cost,
    optimal_plan_cost,
    plan_cost,
)
from nacre.costs.statewise import Comparison, StatewiseCost, blank, compare_masses
from nacre.errors import InputError
from nacre.policies.distributions import ActionDistribution, DiscreteDistribution, Gaussian

PlanFunction: TypeAlias = Callable[[Atoms, Atoms, Array], Plans]
Plan: TypeAlias = Literal["independent", "optimal"] | PlanFunction


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
            points 0, 1, … of the line. Where c₁ depends on the state: a matrix for each discrete
            state, or a `StateGround`.
        transaction_ground: c₂, in the same forms.
        plan: The coupling: "independent", "optimal", or a function from the old and the new
            distribution as `Atoms`, and the states, to any feasible `Plans`. Plans with other
            marginals are refused. Both policies' points come from the same noise: equal policies
            have equal points.
        n_samples: Points in each group, for action vectors.
    """

    groups: ActionGroups
    learning_ground: Ground = "l2"
    transaction_ground: Ground = "l2"
    plan: Plan = "independent"
    n_samples: int = 16

    def __post_init__(self) -> None:
        for name in ("learning_ground", "transaction_ground"):
            object.__setattr__(self, name, freeze_ground(name, getattr(self, name)))
        if not callable(self.plan) and self.plan not in ("independent", "optimal"):
            raise InputError(
                f"plan = {self.plan!r} is unknown; known: independent, optimal, or give a function"
            )
        if not isinstance(self.n_samples, int) or self.n_samples < 1:
            raise InputError(f"n_samples = {self.n_samples}; give a whole number from 1 up")

    def compare(
        self,
        old: ActionDistribution,
        new: ActionDistribution,
        key: PRNGKeyArray,
        states: Array | None = None,
    ) -> Comparison:
        """Represent both by weighted points, couple them, add up the ground costs."""
        masses = compare_masses(old.mass(self.groups), new.mass(self.groups))
        if self._has_closed_form(old, new):
            learning, transaction = gaussian_costs(old, new, self.groups)  # type: ignore[arg-type]
        else:
            learning, transaction = self._couple_points(old, new, key, states)
        comparison = Comparison(learning, transaction, masses.flows)
        return blank(comparison, ~jnp.isnan(masses.learning))

    def group_names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """Names of the groups."""
        for ground in (self.learning_ground, self.transaction_ground):
            check_ground_fits(ground, action_space)
        return self.groups.names(action_space)

    def check_states(self, observation_space: gymnasium.Space[Any]) -> None:
        """Matrices by state need one for each."""
        for ground in (self.learning_ground, self.transaction_ground):
            check_states_fit_ground(ground, observation_space)

    def explain(
        self,
        old: ActionDistribution,
        new: ActionDistribution,
        key: PRNGKeyArray,
        states: Array,
    ) -> str:
        """A plan that is not feasible, or a ground cost that is negative or not finite."""
        mine, other = self._draw_points(old, new, key)
        for name in ("learning_ground", "transaction_ground"):
            costs = np.asarray(self._measure(name, mine, other, states))
            if np.isnan(costs).any():
                return f"{name}: ground costs must be finite and not negative"
        if callable(self.plan):
            plans = Plans(*self.plan(mine, other, states))
            try:
                check_plans(plans, mine.weights, other.weights, mine.membership, other.membership)
            except InputError as error:
                return f"plan: {error.problems[0]}"
        return ""

    def samples_actions(self, old: ActionDistribution, new: ActionDistribution) -> bool:
        """Unless the actions are discrete or there is a closed form."""
        return not (isinstance(old, DiscreteDistribution) or self._has_closed_form(old, new))

    def count_cells(self, action_space: gymnasium.Space[Any]) -> int:
        """Pairs of points, of which there is at least one a group."""
        n_groups = len(self.group_names(action_space))
        if isinstance(action_space, gymnasium.spaces.Discrete):
            return int(action_space.n) ** 2
        return (n_groups * self.n_samples) ** 2

    def _draw_points(
        self, old: ActionDistribution, new: ActionDistribution, key: PRNGKeyArray
    ) -> tuple[Atoms, Atoms]:
        # Independent coupling wants independent noise: paired points are closer than their
        # distributions say. Other couplings want the same: identical policies, identical points.
        keys = jax.random.split(key) if self.plan == "independent" else (key, key)
        mine = self.groups.atoms(old, keys[0], self.n_samples)
        return mine, self.groups.atoms(new, keys[1], self.n_samples)

    def _measure(self, name: str, mine: Atoms, other: Atoms, states: Array | None) -> Array:
        """Ground costs between the points; NaN where they are no costs."""
        costs = ground_matrix(getattr(self, name), mine.points, other.points, states)
        return jnp.where(jnp.isfinite(costs) & (costs >= 0), costs, jnp.nan)

    def _couple_points(
        self,
        old: ActionDistribution,
        new: ActionDistribution,
        key: PRNGKeyArray,
        states: Array | None,
    ) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        mine, other = self._draw_points(old, new, key)
        c1 = self._measure("learning_ground", mine, other, states)
        c2 = self._measure("transaction_ground", mine, other, states)
        couple = (mine.weights, other.weights, mine.membership, other.membership)
        if self.plan == "independent":
            return plan_cost(independent_plans(*couple), c1, c2)
        if callable(self.plan):
            plans = Plans(*self.plan(mine, other, jnp.asarray(states)))
            misfit = jnp.stack(jnp.broadcast_arrays(*measure_misfit(plans, *couple)))
            sound = jnp.all(misfit <= MISFIT, axis=0)
            learning, transaction = plan_cost(plans, c1, c2)
            return jnp.where(sound, learning, jnp.nan), jnp.where(sound, transaction, jnp.nan)
        if mine.per_group is None or mine.per_group != other.per_group:
            return optimal_plan_cost(*couple, c1, c2)
        masses = old.mass(self.groups), new.mass(self.groups)
        return matched_plan_cost(*masses, c1, c2)

    def _has_closed_form(self, old: ActionDistribution, new: ActionDistribution) -> bool:
        return (
            type(old) is Gaussian
            and type(new) is Gaussian
            and self.plan == "independent"
            and self.learning_ground == self.transaction_ground == "squared_l2"
        )
