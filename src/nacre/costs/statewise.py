"""What a switch costs at one state: F(π_o(·|s), π_n(·|s)).

All functions are pure, take any batch of states and are differentiable in the new policy wherever
the cost itself is.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from nacre.costs.groups import ActionGroups
from nacre.errors import InputError
from nacre.policies.distributions import (
    ActionDistribution,
    DiscreteDistribution,
    SquashedGaussian,
)

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
        self,
        old: ActionDistribution,
        new: ActionDistribution,
        key: PRNGKeyArray,
        states: Array | None = None,
    ) -> Comparison:
        """Learning and transaction terms at each state.

        Args:
            old: What the old policy does at each state.
            new: What the new one does.
            key: Serves costs that need samples.
            states: The states themselves, for costs that depend on them.
        """

    @abc.abstractmethod
    def group_names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """Names of the groups; raises `InputError` if the cost does not fit the action space."""

    def check_states(self, observation_space: gymnasium.Space[Any]) -> None:
        """Raise `InputError` if the cost does not fit the observations."""
        return

    def explain(
        self,
        old: ActionDistribution,
        new: ActionDistribution,
        key: PRNGKeyArray,
        states: Array,
    ) -> str:
        """Why the comparison is not finite at these states, if it is this cost's own doing."""
        return ""

    def samples_actions(self, old: ActionDistribution, new: ActionDistribution) -> bool:
        """Whether `compare` draws actions with its key, so that its terms are noisy."""
        return False

    def count_cells(self, action_space: gymnasium.Space[Any]) -> int:
        """Numbers in the largest array of one state's comparison: fewer states at once if many."""
        return len(self.group_names(action_space)) ** 2

    def masses(
        self, learning: float, transaction: float, flows: Float[np.ndarray, "groups groups"]
    ) -> tuple[float, float]:
        """Mass that goes between groups and within them, of averages over the states."""
        kept = float(np.trace(flows))
        return float(flows.sum()) - kept, kept


@dataclass(frozen=True)
class Transport(StatewiseCost):
    """Mass moved between groups and mass kept within them (learning and transaction cost).

    𝓛 = Σ_ℓ (a_ℓ - b_ℓ)₊ and 𝓣 = Σ_ℓ min(a_ℓ, b_ℓ) with a, b the groups' masses under the old and
    the new policy. Their weighted sum is the optimal transport cost for ground cost c_l between and
    c_t within groups when c_l ≥ c_t (Proposition "Optimality of the proposed cost").
    """

    groups: ActionGroups

    def compare(
        self,
        old: ActionDistribution,
        new: ActionDistribution,
        key: PRNGKeyArray,
        states: Array | None = None,
    ) -> Comparison:
        """Closed form; key and states are not used."""
        return compare_masses(old.mass(self.groups), new.mass(self.groups))

    def group_names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """Names of the groups."""
        return self.groups.names(action_space)

    def masses(
        self, learning: float, transaction: float, flows: Float[np.ndarray, "groups groups"]
    ) -> tuple[float, float]:
        """The two terms themselves: c_l and c_t times them is the cost to the last digit.

        Flows are added up in single precision.
        """
        return learning, transaction


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
    return blank(comparison, excess <= MASS_TOLERANCE)


def blank(comparison: Comparison, sound: Bool[Array, "..."]) -> Comparison:
    """NaN wherever a comparison is not sound."""
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
        self,
        old: ActionDistribution,
        new: ActionDistribution,
        key: PRNGKeyArray,
        states: Array | None = None,
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
        return blank(Comparison(learning, nothing, flows), ~unknown)

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
