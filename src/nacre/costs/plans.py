"""Explicit transport plans of the general transport cost.

The paper's appendix splits a switch from π_o to π_n at a state into γ, which moves the surplus mass
between groups, and λ, which rearranges what stays within each group. Here are both plans on finite
supports, as independent and as optimal couplings. All functions are pure and batched over leading
axes, compute in the precision of their input, and can be compiled and differentiated.

Masses that are negative, not finite, or of different totals give a plan of NaN, never a wrong one.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from nacre.costs.assignment import (
    Moves,
    blank,
    comparable,
    divide,
    optimal_transport,
    optimal_transport_cost,
    price_moves,
    read_ground,
    solve_moves,
    take_cells,
    write_out,
)
from nacre.costs.matching import match_points
from nacre.errors import InputError

__all__ = [
    "Plans",
    "independent_plans",
    "matched_plan_cost",
    "optimal_plan_cost",
    "optimal_plans",
    "optimal_transport",
    "optimal_transport_cost",
    "plan_cost",
    "surplus",
]


class Plans(NamedTuple):
    """The two steps of a switch; their sum has the marginals `old` and `new`."""

    learning: jax.Array
    """γ ∈ C(ρ, η) of equation "LearningPlan" (..., n, m): moves between groups."""
    transaction: jax.Array
    """λ = Σ τ_ℓ λ_ℓ of equation "TransactionMeasure" (..., n, m): moves within groups."""


@jax.jit
def surplus(
    old: ArrayLike, new: ArrayLike, membership_old: ArrayLike, membership_new: ArrayLike
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Mass that has to leave and to enter the groups, and mass that stays in each.

    ρ = Σ (a_ℓ - b_ℓ)₊ π_{o,ℓ}, η = Σ (b_ℓ - a_ℓ)₊ π_{n,ℓ} and τ_ℓ = a_ℓ ∧ b_ℓ (equation
    "surplusmass").

    Args:
        old: mass of each point (..., n).
        new: mass of each point (..., m).
        membership_old: which group each point belongs to, one-hot (n, L) or (..., n, L).
        membership_new: the same (m, L) or (..., m, L).

    Returns:
        ρ (..., n), η (..., m) and τ (..., L).
    """
    old, new, of_old, of_new = _read(old, new, membership_old, membership_new)
    a, b = _group_mass(old, of_old), _group_mass(new, of_new)
    rho = old * _spread(divide(jnp.maximum(a - b, 0), a), of_old)
    eta = new * _spread(divide(jnp.maximum(b - a, 0), b), of_new)
    return rho, eta, jnp.minimum(a, b)


@jax.jit
def independent_plans(
    old: ArrayLike, new: ArrayLike, membership_old: ArrayLike, membership_new: ArrayLike
) -> Plans:
    """Independent couplings: γ = ρ ⊗ η / |ρ| and λ_ℓ = π_{o,ℓ} ⊗ π_{n,ℓ}.

    In closed form, with finite gradients also at equal policies and for empty groups. Shapes as in
    `surplus`.
    """
    old, new, of_old, of_new = _read(old, new, membership_old, membership_new)
    a, b = _group_mass(old, of_old), _group_mass(new, of_new)
    rho, eta, _ = surplus(old, new, of_old, of_new)
    # |ρ| = |η| up to rounding. The larger one keeps the quotient of two roundings below one.
    total = jnp.maximum(rho.sum(-1), eta.sum(-1))[..., None]
    gamma = rho[..., :, None] * divide(eta, total)[..., None, :]
    # τ_ℓ / (a_ℓ b_ℓ) = 1 / (a_ℓ ∨ b_ℓ)
    share = _spread(divide(jnp.ones_like(a), jnp.maximum(a, b)), of_old) * old
    together = jnp.einsum("...il,...jl->...ij", of_old, of_new)
    lam = share[..., :, None] * new[..., None, :] * together
    sound = comparable(old, new)[..., None, None]
    return Plans(jnp.where(sound, gamma, jnp.nan), jnp.where(sound, lam, jnp.nan))


def optimal_plans(
    old: ArrayLike,
    new: ArrayLike,
    membership_old: ArrayLike,
    membership_new: ArrayLike,
    ground_learning: ArrayLike,
    ground_transaction: ArrayLike,
) -> Plans:
    """The γ that is optimal for c_1, and every λ_ℓ optimal for c_2: exact, vertices both.

    Differentiable in the masses with the optimal basis held, so that `plan_cost` of these plans has
    the optimal cost's gradients. Memberships that are known when this is traced make for smaller
    problems. Shapes as in `surplus`, ground costs (n, m) or (..., n, m).
    """
    learning, transaction = _optimal_moves(
        old, new, membership_old, membership_new, ground_learning, ground_transaction
    )
    shape = (jnp.shape(old)[-1], jnp.shape(new)[-1])
    return Plans(write_out(learning, *shape), write_out(transaction, *shape))


def optimal_plan_cost(
    old: ArrayLike,
    new: ArrayLike,
    membership_old: ArrayLike,
    membership_new: ArrayLike,
    ground_learning: ArrayLike,
    ground_transaction: ArrayLike,
) -> tuple[jax.Array, jax.Array]:
    """`plan_cost` of the `optimal_plans`, without ever writing out the plans."""
    learning, transaction = _optimal_moves(
        old, new, membership_old, membership_new, ground_learning, ground_transaction
    )
    return price_moves(learning, ground_learning), price_moves(transaction, ground_transaction)


def plan_cost(
    plans: Plans, ground_learning: ArrayLike, ground_transaction: ArrayLike
) -> tuple[jax.Array, jax.Array]:
    """∫ c_1 dγ and ∫ c_2 dλ (equations "LearningCost" and "TransactionCost"), each (...,)."""
    learning = jnp.sum(plans.learning * jnp.asarray(ground_learning), axis=(-2, -1))
    transaction = jnp.sum(plans.transaction * jnp.asarray(ground_transaction), axis=(-2, -1))
    return learning, transaction


def matched_plan_cost(
    old: ArrayLike, new: ArrayLike, ground_learning: ArrayLike, ground_transaction: ArrayLike
) -> tuple[jax.Array, jax.Array]:
    """`optimal_plan_cost` where each group is n points of equal mass, group after group.

    An optimal λ_ℓ is then a matching of n points with n points, and so is γ between two groups.
    Between more than two groups the surplus is no matching and is coupled by the simplex method.

    Args:
        old: masses of the groups (..., L).
        new: the same.
        ground_learning: c_1 (..., L n, L n), groups in the order of the masses.
        ground_transaction: c_2, the same.
    """
    old, new = jnp.asarray(old), jnp.asarray(new)
    groups, size = old.shape[-1], jnp.shape(ground_learning)[-1]
    n = size // groups
    parts = [slice(k * n, (k + 1) * n) for k in range(groups)]
    first = jnp.broadcast_to(jnp.asarray(ground_learning, old.dtype), (*old.shape[:-1], size, size))
    second = jnp.broadcast_to(jnp.asarray(ground_transaction, old.dtype), first.shape)
    blocks = [second[..., part, part] for part in parts]
    masses = [jnp.minimum(old, new)[..., k] for k in range(groups)]
    if groups == 2:
        falls = (old > new)[..., 0, None, None]
        blocks.append(
            jnp.where(falls, first[..., parts[0], parts[1]], first[..., parts[1], parts[0]])
        )
        masses.append(jnp.maximum(old - new, 0).sum(-1))
    ground, mass = jnp.stack(blocks, -3), jnp.stack(masses, -1)
    column = match_points(ground)
    each = jnp.take_along_axis(ground, column[..., None], -1, mode="promise_in_bounds")[..., 0]
    # A group without mass may have no points to speak of.
    costs = jnp.where(mass > 0, mass * jnp.where(mass[..., None] > 0, each, 0).mean(-1), 0)
    transaction = costs[..., :groups].sum(-1)
    if groups == 2:
        return costs[..., -1], transaction
    rho, eta = (
        jnp.repeat(jnp.maximum(part, 0) / n, n, axis=-1, total_repeat_length=size)
        for part in (old - new, new - old)
    )
    learning = _couple_parts(rho > 0, eta > 0, rho, eta, first, size - n, size - n)
    return price_moves(learning, first), transaction


def _optimal_moves(
    old: ArrayLike,
    new: ArrayLike,
    membership_old: ArrayLike,
    membership_new: ArrayLike,
    ground_learning: ArrayLike,
    ground_transaction: ArrayLike,
) -> tuple[Moves, Moves]:
    old, new, of_old, of_new = _read(old, new, membership_old, membership_new)
    first = read_ground(ground_learning, old, new)
    second = read_ground(ground_transaction, old, new)
    sizes = _support_sizes(membership_old), _support_sizes(membership_new)
    moves: tuple[Moves, Moves] = _couple_groups(old, new, of_old, of_new, first, second, *sizes)
    return moves


class _Sizes(NamedTuple):
    """How many points a learning and a transaction problem can involve at most."""

    learning: int
    transaction: int


def _support_sizes(membership: ArrayLike) -> _Sizes:
    n = int(jnp.shape(membership)[-2])
    if isinstance(membership, jax.core.Tracer):
        return _Sizes(n, n)
    points = np.count_nonzero(np.asarray(membership), axis=-2)
    # Not every group can have a surplus.
    return _Sizes(max(n - int(points.min()), 1), max(int(points.max()), 1))


@partial(jax.jit, static_argnums=(6, 7))
def _couple_groups(
    old: jax.Array,
    new: jax.Array,
    of_old: jax.Array,
    of_new: jax.Array,
    ground_learning: jax.Array,
    ground_transaction: jax.Array,
    rows: _Sizes,
    columns: _Sizes,
) -> tuple[Moves, Moves]:
    sound = comparable(old, new)
    a, b = _group_mass(old, of_old), _group_mass(new, of_new)
    rho, eta, tau = surplus(old, new, of_old, of_new)
    learning = _couple_parts(
        rho > 0, eta > 0, rho, eta, ground_learning, rows.learning, columns.learning
    )
    in_old, in_new = jnp.moveaxis(of_old, -1, -2), jnp.moveaxis(of_new, -1, -2)
    stays = old[..., None, :] * divide(tau, a)[..., None] * in_old
    becomes = new[..., None, :] * divide(tau, b)[..., None] * in_new
    transaction = _couple_parts(
        in_old > 0,
        in_new > 0,
        stays,
        becomes,
        ground_transaction[..., None, :, :],
        rows.transaction,
        columns.transaction,
    )
    transaction = Moves(*(part.reshape(*part.shape[:-2], -1) for part in transaction))
    return blank(learning, sound), blank(transaction, sound)


def _couple_parts(
    in_source: jax.Array,
    in_target: jax.Array,
    source: jax.Array,
    target: jax.Array,
    ground: jax.Array,
    rows: int,
    columns: int,
) -> Moves:
    """Couple the points marked (..., n) and (..., m), at most `rows` and `columns` of them."""
    n, m = source.shape[-1], target.shape[-1]
    if (rows, columns) == (n, m):
        return solve_moves(source, target, ground)
    row = jnp.argsort(~in_source, axis=-1, stable=True)[..., :rows]
    column = jnp.argsort(~in_target, axis=-1, stable=True)[..., :columns]
    batch = jnp.broadcast_shapes(
        source.shape[:-1], target.shape[:-1], ground.shape[:-2], row.shape[:-1], column.shape[:-1]
    )
    row = jnp.broadcast_to(row, (*batch, rows))
    column = jnp.broadcast_to(column, (*batch, columns))
    take = partial(jnp.take_along_axis, axis=-1, mode="promise_in_bounds")
    moves = solve_moves(
        take(jnp.broadcast_to(source, (*batch, n)), row),
        take(jnp.broadcast_to(target, (*batch, m)), column),
        take_cells(ground, row[..., :, None] * m + column[..., None, :], 2),
    )
    return Moves(take(row, moves.source), take(column, moves.target), moves.mass)


def _read(
    old: ArrayLike, new: ArrayLike, membership_old: ArrayLike, membership_new: ArrayLike
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    dtype = jnp.result_type(old, new, jnp.float32)
    old, new = jnp.asarray(old, dtype), jnp.asarray(new, dtype)
    of_old, of_new = jnp.asarray(membership_old, dtype), jnp.asarray(membership_new, dtype)
    problems = [
        f"membership_{name} has shape {of.shape} for masses of shape {mass.shape}; it needs a row "
        "for each point and a column for each group"
        for name, mass, of in (("old", old, of_old), ("new", new, of_new))
        if of.ndim < 2 or of.shape[-2] != mass.shape[-1]
    ]
    if not problems and of_old.shape[-1] != of_new.shape[-1]:
        problems = [
            f"membership_old has {of_old.shape[-1]} groups, membership_new {of_new.shape[-1]}; "
            "both policies need the same groups"
        ]
    if problems:
        raise InputError(problems)
    return old, new, of_old, of_new


def _group_mass(mass: jax.Array, membership: jax.Array) -> jax.Array:
    return jnp.einsum("...i,...il->...l", mass, membership)


def _spread(value: jax.Array, membership: jax.Array) -> jax.Array:
    return jnp.einsum("...l,...il->...i", value, membership)
