"""Optimal transport between two sets of n points of equal mass: a matching of least cost.

Between equal masses some optimal plan moves every point as a whole. Such a plan is found by
shortest augmenting paths: one row after the other is matched, along the path that raises the cost
least, with dual prices that keep all reduced costs from being negative. Many problems run side by
side and each at its own pace: in one step some look one column further, others are still taking
over the columns of the path they have found. A step passes over one row of each problem, so the
whole takes O(n³) at most, and compiles in about a second.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

_NONE = -1


class _Search(NamedTuple):
    """Where each of B problems stands."""

    row: jax.Array  # (B, n) the row that a column is matched to, or none
    price: jax.Array  # (B, n) of the columns; a matched row's follows, its own cell costs nothing
    free: jax.Array  # (B, n) rows without a column
    begun: jax.Array  # (B,) the row that the path begins at
    at: jax.Array  # (B,) the row that was reached last
    through: jax.Array  # (B,) the column through which, or none for the first
    distance: jax.Array  # (B, n) of the columns, along the best path so far
    reached: jax.Array  # (B,) the distance of the row reached last
    scanned: jax.Array  # (B, n) columns whose distance is final
    before: jax.Array  # (B, n) the row from which a column was reached
    end: jax.Array  # (B,) the column to take over next, or none while still looking


def match_points(ground: jax.Array) -> jax.Array:
    """The column (..., n) of each row in a matching of least total cost (..., n, n).

    Not differentiable, and it need not be: where the best matching stays the same, the cost of the
    matching has the derivative of the optimal cost. Costs that are not finite count as zero.
    """
    n = ground.shape[-1]
    batch = ground.shape[:-2]
    cost = jax.lax.stop_gradient(ground).reshape(-1, n, n)
    if cost.size == 0:
        return jnp.zeros((*batch, n), jnp.int32)
    found: jax.Array = _match(jnp.where(jnp.isfinite(cost), cost, 0))
    return found.reshape(*batch, n)


@jax.jit
def _match(cost: jax.Array) -> jax.Array:
    search = jax.lax.while_loop(
        lambda search: jnp.any(search.begun != _NONE),
        lambda search: _step(search, cost),
        _begin(cost),
    )
    return jnp.argsort(search.row, axis=-1).astype(jnp.int32)


def _begin(cost: jax.Array) -> _Search:
    """Prices that leave no reduced cost negative, and what can be matched at once."""
    lanes, n, _ = cost.shape
    price = cost.min(1)
    best = (cost - price[:, None, :]).argmin(2)
    # Of the rows that want the same column the first one gets it.
    wanted = best[:, :, None] == jnp.arange(n)
    taken = wanted.any(1)
    row = jnp.where(taken, wanted.argmax(1), _NONE)
    free = row[jnp.arange(lanes)[:, None], best] != jnp.arange(n)
    search = _Search(
        row=row,
        price=price,
        free=free,
        begun=jnp.full(lanes, _NONE),
        at=jnp.full(lanes, _NONE),
        through=jnp.full(lanes, _NONE),
        distance=jnp.zeros((lanes, n), cost.dtype),
        reached=jnp.zeros(lanes, cost.dtype),
        scanned=jnp.zeros((lanes, n), bool),
        before=jnp.full((lanes, n), _NONE),
        end=jnp.full(lanes, _NONE),
    )
    return _start_paths(search, jnp.ones(lanes, bool))


def _start_paths(search: _Search, ready: jax.Array) -> _Search:
    """Begin at the next free row, in the problems that are ready for it."""
    first = jnp.where(search.free.any(1), search.free.argmax(1), _NONE)
    begun = jnp.where(ready, first, search.begun)
    column = ready[:, None]
    return search._replace(
        begun=begun,
        at=jnp.where(ready, begun, search.at),
        through=jnp.where(ready, _NONE, search.through),
        distance=jnp.where(column, jnp.inf, search.distance),
        reached=jnp.where(ready, 0, search.reached),
        scanned=search.scanned & ~column,
        before=jnp.where(column, _NONE, search.before),
    )


def _step(search: _Search, cost: jax.Array) -> _Search:
    """One column further, or one column of a path that is complete."""
    search = _look(search, cost)
    return _take_over(search)


def _look(search: _Search, cost: jax.Array) -> _Search:
    """Reach the nearest column that is not yet scanned; a free one ends the path."""
    lanes, n, _ = cost.shape
    lane = jnp.arange(lanes)
    looking = (search.end == _NONE) & (search.begun != _NONE)
    reduced = cost[lane, jnp.maximum(search.at, 0)] - search.price
    own = jnp.where(search.through == _NONE, 0, reduced[lane, jnp.maximum(search.through, 0)])
    through = search.reached[:, None] + reduced - own[:, None]
    shorter = (through < search.distance) & ~search.scanned & looking[:, None]
    distance = jnp.where(shorter, through, search.distance)
    before = jnp.where(shorter, search.at[:, None], search.before)
    nearest = jnp.argmin(jnp.where(search.scanned, jnp.inf, distance), 1)
    partner = search.row[lane, nearest]
    reached = jnp.where(looking, distance[lane, nearest], search.reached)
    ends, goes_on = looking & (partner == _NONE), looking & (partner != _NONE)
    # The path is complete: columns nearer than its end lose the difference in price.
    nearer = search.scanned & ends[:, None]
    return search._replace(
        price=search.price - jnp.where(nearer, reached[:, None] - distance, 0),
        at=jnp.where(goes_on, partner, search.at),
        through=jnp.where(goes_on, nearest, search.through),
        distance=distance,
        reached=reached,
        scanned=search.scanned | ((jnp.arange(n) == nearest[:, None]) & goes_on[:, None]),
        before=before,
        end=jnp.where(ends, nearest, search.end),
    )


def _take_over(search: _Search) -> _Search:
    """Give the last column of a path to the row before it, whose own column becomes the last."""
    lanes, n = search.row.shape
    lane = jnp.arange(lanes)
    going = search.end != _NONE
    end = jnp.maximum(search.end, 0)
    row = search.before[lane, end]
    had = search.row == row[:, None]
    given_up = jnp.where(had.any(1), had.argmax(1), _NONE)
    taken = (jnp.arange(n) == end[:, None]) & going[:, None]
    done = going & (row == search.begun)
    free = search.free & ~((jnp.arange(n) == row[:, None]) & done[:, None])
    search = search._replace(
        row=jnp.where(taken, row[:, None], search.row),
        free=free,
        end=jnp.where(going & ~done, given_up, _NONE),
    )
    return _start_paths(search, done)
