"""Optimal transport between finite measures: exact plans, their cost and its derivatives.

Batched over leading axes, in the precision of the input, for compilation and differentiation. The
search for an optimal basis is in `nacre.costs.simplex`; here the plan is made from it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from nacre.costs.lanes import members
from nacre.costs.simplex import Basis, find_basis
from nacre.errors import InputError

# Totals may differ by rounding, in float32 and over large supports, but not by more.
_TOTALS_TOLERANCE = 1e-4
# Problems are solved in chunks of about this many cells: large enough to keep the processor busy,
# small enough for a few dozen megabytes.
_CELLS_PER_CHUNK = 2**21


class Moves(NamedTuple):
    """A plan by its arcs (..., n + m): `mass` goes from `source` to `target`.

    At most n + m - 1 of them carry mass, as at any vertex of the transport polytope.
    """

    source: jax.Array
    target: jax.Array
    mass: jax.Array


def optimal_transport(source: ArrayLike, target: ArrayLike, ground: ArrayLike) -> jax.Array:
    """An optimal transport plan, exact and a vertex of the transport polytope.

    Args:
        source: masses (..., n).
        target: masses (..., m) of the same total; rescaled to it within rounding.
        ground: cost of moving a unit from each source to each target (n, m) or (..., n, m).

    Returns:
        The plan (..., n, m).
    """
    moves = _balanced_moves(source, target, ground)
    plan: jax.Array = write_out(moves, jnp.shape(source)[-1], jnp.shape(target)[-1])
    return plan


def optimal_transport_cost(source: ArrayLike, target: ArrayLike, ground: ArrayLike) -> jax.Array:
    """Cost (...,) of the optimal plan between masses (..., n) and (..., m).

    Its gradient is the plan with respect to the ground costs, and the dual potentials with respect
    to the masses. Only along changes that keep both totals equal does the latter mean anything; the
    free constant is that of a target rescaled to the source's total.
    """
    cost: jax.Array = price_moves(_balanced_moves(source, target, ground), ground)
    return cost


def _balanced_moves(source: ArrayLike, target: ArrayLike, ground: ArrayLike) -> Moves:
    dtype = jnp.result_type(source, target, jnp.float32)
    source, target = jnp.asarray(source, dtype), jnp.asarray(target, dtype)
    moves: Moves = _solve_balanced(source, target, read_ground(ground, source, target))
    return moves


@jax.jit
def _solve_balanced(source: jax.Array, target: jax.Array, ground: jax.Array) -> Moves:
    return blank(solve_moves(source, target, ground), comparable(source, target))


def solve_moves(source: jax.Array, target: jax.Array, ground: jax.Array) -> Moves:
    """Optimal moves; the target's total is taken to be the source's, zero if either is."""
    n, m = source.shape[-1], target.shape[-1]
    batch = jnp.broadcast_shapes(source.shape[:-1], target.shape[:-1], ground.shape[:-2])
    count = math.prod(batch)
    if count == 0:
        return Moves(*(jnp.zeros((*batch, n + m), kind) for kind in (int, int, source.dtype)))
    source = jnp.broadcast_to(source, (*batch, n)).reshape(-1, n)
    target = jnp.broadcast_to(target, (*batch, m)).reshape(-1, m)
    shared = ground.ndim == 2 or ground.size == n * m
    ground = (
        ground.reshape(1, n, m)
        if shared
        else jnp.broadcast_to(ground, (*batch, n, m)).reshape(-1, n, m)
    )
    chunks = max(1, -(-count * n * m // _CELLS_PER_CHUNK))
    lanes = -(-count // chunks)

    def split(array: jax.Array) -> jax.Array:
        padded = jnp.pad(array, [(0, chunks * lanes - count)] + [(0, 0)] * (array.ndim - 1))
        return padded.reshape(chunks, lanes, *array.shape[1:])

    def solve_chunk(problem: tuple[jax.Array, ...]) -> Moves:
        return _solve_lanes(problem[0], problem[1], ground if shared else problem[2])

    problems = [split(source), split(target)] + ([] if shared else [split(ground)])
    if chunks == 1:
        moves = solve_chunk(tuple(part[0] for part in problems))
    else:
        moves = jax.lax.map(solve_chunk, tuple(problems))
    return Moves(*(part.reshape(-1, n + m)[:count].reshape(*batch, n + m) for part in moves))


def _solve_lanes(source: jax.Array, target: jax.Array, ground: jax.Array) -> Moves:
    """Optimal moves of source (B, n), target (B, m), ground (B or 1, n, m)."""
    m = target.shape[-1]
    sound = (
        jnp.all(jnp.isfinite(source) & (source >= 0), -1)
        & jnp.all(jnp.isfinite(target) & (target >= 0), -1)
        & jnp.all(jnp.isfinite(ground), (-2, -1))
    )
    either = jnp.minimum(source.sum(-1), target.sum(-1)) > 0
    source = jnp.where((sound & either)[:, None], source, 0).T
    target = jnp.where((sound & either)[:, None], target, 0).T
    ground = jnp.moveaxis(jnp.where(jnp.isfinite(ground), ground, 0), 0, -1)
    basis = find_basis(*jax.lax.stop_gradient((source, target, ground)))
    mass = _flow(source, target, basis)
    moves = Moves((basis.cell // m).T, (basis.cell % m).T, mass.T)
    return blank(moves, sound & basis.found)


@jax.custom_jvp
def _flow(source: jax.Array, target: jax.Array, basis: Basis) -> jax.Array:
    """Mass (N, B) on the arcs of the optimal tree, from the exact integers of the search."""
    return basis.flow * source.sum(0)


@_flow.defjvp
def _flow_jvp(
    primals: tuple[jax.Array, jax.Array, Basis], tangents: tuple[jax.Array, jax.Array, Basis]
) -> tuple[jax.Array, jax.Array]:
    source, target, basis = primals
    linear = partial(_linear_flow, basis=basis)
    return _flow(*primals), jax.jvp(linear, (source, target), tangents[:2])[1]


def _linear_flow(source: jax.Array, target: jax.Array, basis: Basis) -> jax.Array:
    """The same mass by carrying the supplies along the tree, for its derivative.

    Where the optimal tree stays the same, which is almost everywhere, the plan is linear in the
    masses. The derivative of its cost is then the dual potentials.
    """
    n, m = source.shape[0], target.shape[0]
    target = target * divide(source.sum(0), target.sum(0))
    row, column = basis.cell // m, basis.cell % m
    # Nodes without mass hang on the tree as leaves: no flow, but a derivative.
    leaf = ~basis.massive
    out = jnp.where(leaf[:n], source, 0)
    met = column[:n, None] == jnp.arange(m)[:, None]
    demand = target - jnp.where(met, out[:, None], 0).sum(0)
    into = jnp.where(leaf[n:], demand, 0)
    met = row[None, n:] == jnp.arange(n)[:, None, None]
    supply = source - jnp.where(met, into[None], 0).sum(1)
    # An arc carries what all nodes below it supply, towards the root or from it.
    total = jnp.zeros_like(basis.flow)
    for word in range(basis.below.shape[1]):
        part = jnp.concatenate([supply, -demand])[32 * word : 32 * (word + 1), None]
        is_below = members(basis.below[:, word])[: part.shape[0]]
        total = total + jnp.where(is_below, part, 0).sum(0)
    flow = jnp.where(basis.upward, total, -total)
    return jnp.where(leaf, jnp.concatenate([out, into]), flow)


@partial(jax.jit, static_argnums=(1, 2))
def write_out(moves: Moves, n: int, m: int) -> jax.Array:
    """The moves as a matrix (..., n, m)."""
    batch = moves.mass.shape[:-1]
    cell = (moves.source * m + moves.target).reshape(math.prod(batch), moves.mass.shape[-1])
    mass = moves.mass.reshape(cell.shape)
    plan = jnp.zeros((cell.shape[0], n * m), mass.dtype)
    plan = plan.at[jnp.arange(cell.shape[0])[:, None], cell].add(mass)
    plan = jnp.where(jnp.isnan(mass).any(-1, keepdims=True), jnp.nan, plan)
    return plan.reshape(*batch, n, m)


@jax.jit
def price_moves(moves: Moves, ground: ArrayLike) -> jax.Array:
    """What the moves cost in all (...,) at ground costs (n, m) or (..., n, m)."""
    ground = jnp.asarray(ground, moves.mass.dtype)
    cell = moves.source * ground.shape[-1] + moves.target
    return jnp.sum(moves.mass * take_cells(ground, cell, 1), -1)


def take_cells(ground: jax.Array, cell: jax.Array, axes: int) -> jax.Array:
    """Ground costs (n, m) or (..., n, m) at `cell` = row * m + column, with `axes` axes a batch."""
    n, m = ground.shape[-2:]
    if ground.size == n * m:
        return ground.reshape(-1).at[cell].get(mode="promise_in_bounds")
    inner = cell.shape[cell.ndim - axes :]
    batch = jnp.broadcast_shapes(ground.shape[:-2], cell.shape[: cell.ndim - axes])
    flat = jnp.broadcast_to(ground, (*batch, n, m)).reshape(*batch, n * m)
    cell = jnp.broadcast_to(cell, (*batch, *inner)).reshape(*batch, -1)
    return jnp.take_along_axis(flat, cell, -1, mode="promise_in_bounds").reshape(*batch, *inner)


def read_ground(ground: ArrayLike, source: jax.Array, target: jax.Array) -> jax.Array:
    """Ground costs in the precision of the masses; `InputError` if they do not fit them."""
    ground = jnp.asarray(ground, source.dtype)
    if ground.shape[-2:] != (source.shape[-1], target.shape[-1]):
        raise InputError(
            f"ground costs have shape {ground.shape} for {source.shape[-1]} sources and "
            f"{target.shape[-1]} targets; they need a row for each source, a column for each target"
        )
    return ground


def divide(numerator: jax.Array, denominator: jax.Array) -> jax.Array:
    """The quotient, zero where the denominator is so small that its square vanishes."""
    enough = denominator > np.sqrt(np.finfo(denominator.dtype).tiny)
    return jnp.where(enough, numerator / jnp.where(enough, denominator, 1), 0)


def comparable(source: jax.Array, target: jax.Array) -> jax.Array:
    """Are these measures (..., n) and (..., m) of the same total, up to rounding?"""
    a, b = source.sum(-1), target.sum(-1)
    same = jnp.abs(a - b) <= _TOTALS_TOLERANCE * jnp.maximum(a, b)
    return same & jnp.all(source >= 0, -1) & jnp.all(target >= 0, -1)


def blank(moves: Moves, sound: jax.Array) -> Moves:
    """Moves (..., k) with a mass of NaN for every problem that is not `sound` (...,)."""
    return moves._replace(mass=jnp.where(sound[..., None], moves.mass, jnp.nan))
