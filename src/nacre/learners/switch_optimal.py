"""The search for switch-optimal policies of finite worlds, where values are known exactly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax

from nacre.errors import InputError
from nacre.estimators.exact import optimal_policy, start_value
from nacre.learners.switch_candidates import CandidatePool, SwitchOptimum, SwitchProblem
from nacre.simulators.finite import FiniteWorld, Table, TabularCost

_BATCH = 4096
"""Policies enumerated at a time."""

_POLISHED = 3
"""Ascents that are refined by exchanges: the best ones."""


@dataclass(frozen=True)
class Search:
    """How to look for a switch-optimal policy.

    Attributes:
        resolution: enumeration takes rows whose probabilities are multiples of 1/resolution; 1 is
            the deterministic policies. The old policy's row is always among them.
        limit: the largest number of policies to enumerate.
        n_random: random starts of the gradient search, beside the old policy, the uniform and the
            optimal one.
        n_steps: gradient steps from each start.
        learning_rate: of Adam on the logits; it decays to a ten-thousandth along a cosine.
        tie: net values this close, relative to their size where that is above one, are equal.
        seed: of the random starts.
    """

    resolution: int = 1
    limit: int = 100_000
    n_random: int = 5
    n_steps: int = 1_000
    learning_rate: float = 0.3
    tie: float = 1e-9
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuses a grid without points, and a search of no steps."""
        problems = [
            f"{name}: {getattr(self, name)} is below 1, give a positive number"
            for name in ("resolution", "n_steps")
            if getattr(self, name) < 1
        ]
        if problems:
            raise InputError(problems)


def switch_optimal(
    world: FiniteWorld,
    old: npt.ArrayLike,
    cost: TabularCost,
    *,
    start: int | npt.ArrayLike | None = None,
    method: Literal["auto", "enumeration", "gradient"] = "auto",
    search: Search | None = None,
) -> SwitchOptimum:
    """Maximises V_N(start) = V(start) - C(π_o, π) over π (Definition "Switch-optimal policy").

    Keeping the old policy costs nothing and is always a candidate; a tie is decided for it.
    Enumeration is exact over its grid. The gradient search finds local optima, refined by moving
    mass within single states, from several starts. "auto" does what can be done, the gradient
    search from the enumeration's best too, and keeps the better.

    Args:
        world: the world.
        old: (S, A), the policy in force.
        cost: C(old, new) of two tables. Where it is written for JAX it is evaluated in batches and
            can be searched by gradient; any other function is called policy by policy.
        start: a state's index or a distribution, by default the world's own.
        method: which search.
        search: its settings.
    """
    search = search or Search()
    table = world.check_policy(old)
    problem = SwitchProblem(world, table, world.start_distribution(start), cost)
    methods = [name for name in _REFUSALS if method in (name, "auto")]
    if not methods:
        raise InputError(f"method: {method!r} is not one of auto, {', '.join(_REFUSALS)}")
    refusals = {name: _REFUSALS[name](problem, search) for name in methods}
    if all(refusals.values()):
        raise InputError(list(refusals.values()))
    pool = CandidatePool(problem, search.tie)
    if refusals.get("enumeration") == "":
        for batch in _enumerate(table, search.resolution):
            pool.add(batch, "enumeration")
    if refusals.get("gradient") == "":
        ascended = _ascend(problem, search, pool.policies[:1])
        values, costs = problem.evaluate(ascended)
        pool.add(ascended, "gradient")
        for best in np.argsort(costs - values, kind="stable")[:_POLISHED]:
            _exchange(pool, ascended[best])
    return pool.decide()


def _grid_rows(old: Table, resolution: int) -> list[Table]:
    """For each state the rows to try: the old one, then the grid on the simplex."""
    n_actions = old.shape[1]
    bars = itertools.combinations(range(resolution + n_actions - 1), n_actions - 1)
    cuts = np.array([(-1, *cut, resolution + n_actions - 1) for cut in bars])
    grid = (np.diff(cuts, axis=1) - 1)[::-1] / resolution
    return [np.concatenate([row[None], grid[~np.all(grid == row, axis=1)]]) for row in old]


def _enumerate(old: Table, resolution: int) -> Iterator[Table]:
    """All policies (B, S, A) made of the states' rows, in batches."""
    rows = _grid_rows(old, resolution)
    sizes = [len(choices) for choices in rows]
    for first in range(0, math.prod(sizes), _BATCH):
        numbers = np.arange(first, min(first + _BATCH, math.prod(sizes)))
        picks = np.unravel_index(numbers, sizes)
        yield np.stack([choices[pick] for choices, pick in zip(rows, picks, strict=True)], axis=1)


def _refuse_enumeration(problem: SwitchProblem, search: Search) -> str:
    """Why enumeration is out of reach, or nothing."""
    n_states, n_actions = problem.old.shape
    n_rows = math.comb(search.resolution + n_actions - 1, n_actions - 1) + 1
    if n_rows**n_states <= search.limit:
        return ""
    return (
        f"enumeration: {n_rows}^{n_states} policies at resolution {search.resolution} are above "
        f"the limit {search.limit}: lower the resolution, raise the limit or search by gradient"
    )


def _refuse_gradient(problem: SwitchProblem, search: Search) -> str:
    """Why the gradient does not show the way, or nothing.

    A cost that is flat wherever it is smooth, yet not constant, counts changes; its gradient is
    zero and says nothing about them.
    """
    reason = problem.untraceable
    if not reason:
        n_states, n_actions = problem.old.shape
        inside = np.random.default_rng(search.seed).dirichlet(np.ones(n_actions), (4, n_states))
        one_changed = np.concatenate([inside[:1, :1], problem.old[None, 1:]], axis=1)
        plain = np.tile(np.eye(n_actions)[0], (1, n_states, 1))
        _, costs = problem.evaluate(np.concatenate([inside, one_changed, plain]))
        with jax.enable_x64(True):
            slopes = np.asarray(jax.vmap(jax.grad(problem.trace))(inside))
        if not slopes.any() and np.ptp(costs) > 0:
            reason = "it is a step function, its gradient is zero"
    if not reason:
        return ""
    return (
        f"gradient: the cost does not lend itself, {reason}: write it in jax.numpy as a function "
        "that varies with the probabilities, or enumerate"
    )


_REFUSALS = {"enumeration": _refuse_enumeration, "gradient": _refuse_gradient}


def _ascend(problem: SwitchProblem, search: Search, extra: Table) -> Table:
    """Adam on the logits of softmax tables, all starts side by side; (B, S, A)."""
    shape = problem.old.shape
    rng = np.random.default_rng(search.seed)
    starts = [
        problem.old[None],
        np.full((1, *shape), 1.0 / shape[1]),
        optimal_policy(problem.world)[None],
        rng.dirichlet(np.ones(shape[1]), (search.n_random, shape[0])),
        extra,
    ]
    # Away from the edge of the simplex, where a softmax has no gradient left.
    inside = 0.98 * np.concatenate(starts) + 0.02 / shape[1]

    def loss(logits: jax.Array) -> Any:
        new = jax.nn.softmax(logits, axis=-1)
        gross = start_value(problem.world, new, problem.start)
        return problem.trace(new) - gross

    def ascend(logits: jax.Array) -> jax.Array:
        optimiser = optax.adam(
            optax.cosine_decay_schedule(search.learning_rate, search.n_steps, alpha=1e-4), eps=1e-12
        )

        def step(carry: Any, _: None) -> tuple[Any, None]:
            logits, state = carry
            updates, state = optimiser.update(jax.grad(loss)(logits), state)
            return (optax.apply_updates(logits, updates), state), None

        carry = (logits, optimiser.init(logits))
        (logits, _), _ = jax.lax.scan(step, carry, None, length=search.n_steps)
        return jax.nn.softmax(logits, axis=-1)

    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.vmap(ascend))(jnp.log(inside)))


def _exchange(pool: CandidatePool, policy: Table) -> None:
    """Moves mass within one state at a time while the net value grows, into the pool.

    It ends what the softmax only approaches: rows with exact zeros, the old row, and rows that
    rearrange mass within an action group without moving any across.
    """
    best = -1
    while best != 0:
        moves = np.concatenate([policy[None], _neighbours(policy, pool.problem.old)])
        values, costs = pool.problem.evaluate(moves)
        net = values - costs
        # Standing still, the first of them, wins unless something is better by more than a tie.
        net[0] += pool.tie * max(1.0, abs(net[0]))
        best = int(net.argmax())
        policy = moves[best]
        pool.n_evaluated += len(moves)
    pool.add(policy[None], "gradient")


def _neighbours(policy: Table, old: Table) -> Table:
    """One state's row changed: to the old one, to one action, or an action's mass to another's.

    (B, S, A).
    """
    n_states, n_actions = policy.shape
    giver, taker = np.nonzero(~np.eye(n_actions, dtype=bool))
    rows = np.repeat(policy[:, None], len(giver), axis=1)
    pairs = np.arange(len(giver))
    rows[:, pairs, taker] += rows[:, pairs, giver]
    rows[:, pairs, giver] = 0.0
    rows = np.concatenate(
        [rows, old[:, None], np.tile(np.eye(n_actions), (n_states, 1, 1))], axis=1
    )
    moves = np.tile(policy, (n_states, rows.shape[1], 1, 1))
    moves[np.arange(n_states), :, np.arange(n_states)] = rows
    return moves.reshape(-1, n_states, n_actions)
