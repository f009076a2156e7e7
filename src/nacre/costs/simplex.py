"""Exact optimal transport between finite measures, many problems at once.

A primal simplex on the spanning trees of the bipartite graph, run in step for a whole batch. Three
choices make it exact, finite and fast on arrays:

- Masses and costs are put on an integer grid (2⁻⁵² of the total mass for float64 input, 2⁻³⁰ for
  float32), so that every sum and comparison below is free of rounding.
- Ties between masses are broken by an integer perturbation carried along with the flow. Every
  basis is then non-degenerate, the cost falls strictly with every pivot, and no basis comes twice.
- A tree is kept as, for every arc, the set of nodes below it, one bit a node. Exchanging an arc is
  then an exclusive or of the arcs on the cycle, without walking through the tree.

The batch is the last axis inside this module ("lanes"), where it vectorises best.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp

from nacre.costs.lanes import (
    WORD,
    compute_once,
    count_rows,
    find_first,
    find_least,
    has_node,
    members,
    pick,
    pick_row,
    take,
)

_NEVER = 2**31 - 1
# The search is finite by construction; the bound is there for numbers nobody thought of.
_PIVOTS_PER_NODE = 500


class Tree(NamedTuple):
    """A spanning tree of every lane; node k < n is source k, node n + j is target j.

    Arcs are numbered by nodes: the arc in slot k at first joins node k to its parent, later any two
    nodes. The slots of the root and of nodes without mass stay empty.
    """

    flow: jax.Array  # (N, B) mass on the arc, in grid units
    tie: jax.Array  # (N, B) its perturbation
    below: jax.Array  # (N, W, B) the nodes that the arc cuts off from the root, one bit each
    upward: jax.Array  # (N, B) does its source lie on the far side from the root?
    cell: jax.Array  # (N, B) source * m + target


class _Search(NamedTuple):
    tree: Tree
    potential: jax.Array  # (N, B) y with y_i - y_j = c_ij on the arcs of the tree
    done: jax.Array  # (B,)
    pivots: jax.Array  # ()


class Basis(NamedTuple):
    """An optimal tree of every lane, and where the nodes without mass would attach to it."""

    flow: jax.Array  # (N, B) share of the total mass on each arc
    below: jax.Array  # (N, W, B) and
    upward: jax.Array  # (N, B) as in `Tree`
    cell: jax.Array  # (N, B) source * m + target, for nodes without mass too
    massive: jax.Array  # (N, B) does the node have mass?
    found: jax.Array  # (B,) false only if the search gave up


class _Grid(NamedTuple):
    """The integers of the computation: float64 holds those up to 2⁵³, int32 those up to 2³¹."""

    dtype: Any
    mass: int
    cost: int


def _grid(dtype: jnp.dtype[Any], nodes: int) -> _Grid:
    # No potential exceeds nodes / 2 costs, no reduced cost below exceeds nodes + 3 of them.
    if dtype == jnp.float64:
        return _Grid(jnp.float64, 2**52, 2**53 // (nodes + 4))
    return _Grid(jnp.int32, 2**30, 2**31 // (nodes + 4))


def _on_grid(mass: jax.Array, grid: _Grid) -> jax.Array:
    """Masses (k, B) as integers that sum to exactly `grid.mass`, or all zero."""
    total = mass.sum(0)
    share = mass / jnp.where(total > 0, total, 1)
    units = jnp.round(share * grid.mass).astype(grid.dtype)
    rest = jnp.where(total > 0, grid.mass, 0) - units.sum(0, dtype=grid.dtype)
    largest = count_rows(mass.shape[0]) == jnp.argmax(mass, 0)
    return jnp.where(largest, units + rest.astype(grid.dtype), units)


def _cost_on_grid(ground: jax.Array, grid: _Grid) -> jax.Array:
    low, high = ground.min((0, 1)), ground.max((0, 1))
    scaled = (ground - low) / jnp.where(high > low, high - low, 1)
    # float32 rounds the largest integer up; the clip keeps it on the grid.
    return jnp.minimum(jnp.round(scaled * grid.cost).astype(grid.dtype), grid.cost)


def _perturbation(massive: jax.Array, n: int) -> jax.Array:
    """Integer masses (N, B) for which no proper part of the sources balances one of the targets.

    Every source gets m + 1, every target 1, the first target the rest: (m + 1) · #sources equals
    #targets for no sets that leave that target out, so no arc of any tree has flow zero.
    """
    m = len(massive) - n
    source, target = massive[:n].astype(jnp.int32) * (m + 1), massive[n:].astype(jnp.int32)
    rest = source.sum(0, dtype=jnp.int32) - target.sum(0, dtype=jnp.int32)
    balanced = jnp.where(count_rows(m) == find_first(massive[n:]), target + rest, target)
    return jnp.concatenate([source, balanced])


def _preference(cost: jax.Array) -> jax.Array:
    """Cells from the best to the worst for a greedy start, as distinct integers (n, m, B or 1).

    A cell is good if it is cheap by the standards of its source and of its target. The order need
    not be exact: costs that are nearly equal go by their index.
    """
    n, m, _ = cost.shape
    # In integers, whose sums do not depend on their order: XLA computes this more than once, and
    # copies that round differently would leave no cell the best of both of its nodes, for ever.
    levels = _NEVER // (4 * n * m)
    share = cost.astype(jnp.float32) / jnp.maximum(cost.max((0, 1)), 1).astype(jnp.float32)
    level = (share * levels).astype(jnp.int32)
    by_target = level.sum(0, keepdims=True, dtype=jnp.int32) // n
    by_source = level.sum(1, keepdims=True, dtype=jnp.int32) // m
    score = level - by_target - by_source
    return (score - score.min((0, 1))) * (n * m) + (count_rows(n) * m + count_rows(m).T)[:, :, None]


def _sets_of_one(size: int) -> jax.Array:
    """The set (N, W) of each node that holds that node only."""
    words, nodes = -(-size // WORD), count_rows(size)
    return jnp.where(
        jnp.arange(words)[None] == nodes // WORD,
        jnp.uint32(1) << (nodes % WORD).astype(jnp.uint32),
        jnp.uint32(0),
    )


def _greedy_tree(mass: jax.Array, cost: jax.Array, n: int) -> Tree:
    """A first tree: the best cell left takes all it can, and so on.

    Cells that are the best of their source and of their target do so at the same time. Each empties
    either its source or its target, which thereby becomes the child of the other.
    """
    m = cost.shape[1]
    size, lanes = mass.shape
    nodes = count_rows(size)
    massive = mass > 0
    preference = _preference(cost)
    alone = _sets_of_one(size)

    def step(state: tuple[Tree, jax.Array]) -> tuple[Tree, jax.Array]:
        tree, left = state
        offers = jnp.where(left[:n, None] & left[None, n:], preference, _NEVER)
        best = jnp.concatenate([find_least(offers, 1), find_least(offers, 0)])
        cell = best % (n * m)
        partner = jnp.where(nodes < n, n + cell % m, cell // m)
        flow, tie, returned, below = compute_once(
            (
                take(tree.flow, partner),
                take(tree.tie, partner),
                take(best, partner),
                take(tree.below, partner),
            )
        )
        mutual = (best == returned) & (best < _NEVER)
        lighter = (tree.flow < flow) | ((tree.flow == flow) & (tree.tie < tie))
        heavier = (tree.flow > flow) | ((tree.flow == flow) & (tree.tie > tie))
        empties = jnp.where(nodes < n, lighter, ~heavier)
        parent, child = mutual & ~empties, mutual & empties
        tree = tree._replace(
            flow=jnp.where(parent, tree.flow - flow, tree.flow),
            tie=jnp.where(parent, tree.tie - tie, tree.tie),
            below=jnp.where(parent[:, None], tree.below | below, tree.below),
            cell=jnp.where(child, cell, tree.cell),
        )
        return tree, left & ~child

    start = Tree(
        flow=mass,
        tie=_perturbation(massive, n),
        below=jnp.broadcast_to(alone[:, :, None], (*alone.shape, lanes)),
        upward=jnp.broadcast_to(nodes < n, mass.shape),
        cell=jnp.zeros(mass.shape, jnp.int32),
    )
    tree, left = jax.lax.while_loop(
        lambda state: jnp.any(jnp.any(state[1][:n], 0) & jnp.any(state[1][n:], 0)),
        step,
        (start, massive),
    )
    filled = massive & ~left
    return tree._replace(
        flow=jnp.where(filled, tree.flow, 0),
        tie=jnp.where(filled, tree.tie, 0),
        below=jnp.where(filled[:, None], tree.below, jnp.uint32(0)),
    )


def _potentials(tree: Tree, cost: jax.Array) -> jax.Array:
    """The y (N, B) with y_i - y_j = c_ij on every arc of the tree and y = 0 at its root."""
    n, m, _ = cost.shape
    size, lanes = tree.cell.shape
    flat = jnp.broadcast_to(cost, (n, m, lanes)).reshape(n * m, lanes)
    on_arc = take(flat, tree.cell)
    signed = jnp.where(tree.upward, on_arc, -on_arc)

    def add(k: jax.Array, total: jax.Array) -> jax.Array:
        below = members(tree.below[k]).swapaxes(0, 1).reshape(-1, lanes)[:size]
        return total + jnp.where(below, signed[k], 0)

    zero = jnp.zeros((size, lanes), cost.dtype)
    return cast(jax.Array, jax.lax.fori_loop(0, size, add, zero))


def _pivot(search: _Search, cost: jax.Array, total: int) -> _Search:
    """Let the cell with the most negative reduced cost enter, the arc it empties first leave."""
    n, m, _ = cost.shape
    tree, y = search.tree, search.potential
    size, lanes = y.shape

    by_source = find_least(cost - y[:n, None] + y[None, n:], 1)
    best = find_least(by_source)
    i = find_first(by_source == best)
    j = find_first(pick_row(cost, i) - pick(y, i) + y[n:] == best)
    done = ~(best < 0)

    # The cycle: +1 where the arc loses the mass that the new cell takes over, -1 where it gains.
    under_i, under_j = has_node(tree.below, i), has_node(tree.below, n + j)
    on_cycle = (under_i ^ under_j) & ~done
    sign = jnp.where(tree.upward == under_i, 1, -1)
    loses = compute_once(jnp.where(on_cycle, sign, 0).astype(jnp.int8))
    flow = find_least(jnp.where(loses == 1, tree.flow, total))
    lightest = (loses == 1) & (tree.flow == flow)
    tie = find_least(jnp.where(lightest, tree.tie, _NEVER))
    slot = find_first(lightest & (tree.tie == tie))
    cut = pick(tree.below, slot)
    slot, cut, change, flow, tie = compute_once(
        (
            jnp.where(done, -1, slot),
            cut,
            jnp.where(done, 0, jnp.where(has_node(cut, i), best, -best)),
            jnp.where(done, 0, flow),
            jnp.where(done, 0, tie),
        )
    )
    leaving = count_rows(size) == slot
    rerouted = (loses != 0) & ~leaving
    turned = rerouted & jnp.all(tree.below & ~cut == 0, 1)
    cut_nodes = members(cut).swapaxes(0, 1).reshape(-1, lanes)[:size]
    return _Search(
        tree=Tree(
            flow=jnp.where(leaving, flow, tree.flow - loses * flow),
            tie=jnp.where(leaving, tie, tree.tie - loses * tie),
            below=jnp.where(rerouted[:, None], tree.below ^ cut, tree.below),
            upward=tree.upward ^ turned,
            cell=jnp.where(leaving, i * m + j, tree.cell),
        ),
        potential=y + jnp.where(cut_nodes, change, 0),
        done=done,
        pivots=search.pivots + 1,
    )


def find_basis(source: jax.Array, target: jax.Array, ground: jax.Array) -> Basis:
    """An optimal tree of every lane, for masses of which only the proportions count.

    Args:
        source: finite masses ≥ 0 (n, B).
        target: the same (m, B); zero in all places exactly where the source is.
        ground: finite costs (n, m, B), or (n, m, 1) if all lanes share them.
    """
    n, m, _ = ground.shape
    size = n + m
    grid = _grid(source.dtype, size)
    cost = _cost_on_grid(ground, grid)
    mass = jnp.concatenate([_on_grid(source, grid), _on_grid(target, grid)])
    massive = mass > 0
    tree = _greedy_tree(mass, cost, n)
    # So far away that a node without mass never enters, and still exact on the grid.
    far = (size // 2 + 1) * grid.cost
    outside = jnp.where(count_rows(size) < n, -far, far).astype(grid.dtype)
    potential = jnp.where(massive, _potentials(tree, cost), outside)
    search = jax.lax.while_loop(
        lambda search: ~jnp.all(search.done) & (search.pivots < _PIVOTS_PER_NODE * size),
        lambda search: _pivot(search, cost, grid.mass),
        _Search(tree, potential, jnp.zeros(source.shape[1], bool), jnp.int32(0)),
    )
    tree = search.tree
    return Basis(
        flow=(tree.flow / grid.mass).astype(source.dtype),
        below=tree.below,
        upward=tree.upward,
        cell=jnp.where(massive, tree.cell, _cheapest_cell(search.potential, massive, cost)),
        massive=massive,
        found=search.done,
    )


def _cheapest_cell(y: jax.Array, massive: jax.Array, cost: jax.Array) -> jax.Array:
    """The cell (N, B) in which the first grain of mass of a node without mass would travel."""
    n, m, _ = cost.shape
    # Targets first, seen from the sources with mass only, since the others are far away; then
    # sources may attach to any target.
    to_source = jnp.broadcast_to(cost - y[:n, None], (n, m, y.shape[1]))
    y_target = jnp.where(massive[n:], y[n:], -to_source.min(0))
    source = count_rows(n) * m + jnp.argmin(cost + y_target[None], 1)
    target = jnp.argmin(to_source, 0) * m + count_rows(m)
    return jnp.concatenate([source, target]).astype(jnp.int32)
