"""What a policy is worth in a finite world, by linear solves in float64.

Policies are tables of action probabilities, (S, A) or a batch (..., S, A). Every function of a
policy may be traced by JAX (``grad``, ``vmap``, ``jit``) inside ``jax.enable_x64(True)``; it then
gives traced arrays, otherwise NumPy ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from nacre.errors import InputError
from nacre.simulators.finite import FiniteWorld, Table, TabularCost

Operator = Callable[[Table], Table]


def state_action_values(world: FiniteWorld, policy: npt.ArrayLike) -> Table:
    """Q(s, a) = R(s, a) + γ (1 - d(s, a)) Σ_s' P(s'|s, a) V(s'), d the termination; (..., S, A)."""
    ahead = values(world, policy)
    discounted = world.discount * world.continuation
    expected: Table = world.reward + (ahead @ discounted.reshape(-1, world.n_states).T).reshape(
        *ahead.shape[:-1], world.n_states, world.n_actions
    )
    return expected


def values(world: FiniteWorld, policy: npt.ArrayLike) -> Table:
    """V, the solution of V = R_π + γ P_π V, where P_π leaves out steps that terminate; (..., S)."""
    xp, table = _read_policy(world, policy)
    matrix = _transfer(world, xp, table)
    earned = (table * world.reward).sum(axis=-1)
    solved: Table = xp.linalg.solve(matrix, earned[..., None])[..., 0]
    return solved


def start_value(
    world: FiniteWorld, policy: npt.ArrayLike, start: int | npt.ArrayLike | None = None
) -> Table:
    """Σ_s start(s) V(s), at the world's own start unless another is given; (...)."""
    return values(world, policy) @ world.start_distribution(start)


def occupancy(
    world: FiniteWorld, policy: npt.ArrayLike, start: int | npt.ArrayLike | None = None
) -> Table:
    """Σ_t γ^t P(s_t = s, not yet ended): discounted number of visits of each state; (..., S).

    Not normalised: without termination it sums to 1/(1-γ). The start's value is
    Σ_s occupancy(s) R_π(s).
    """
    xp, table = _read_policy(world, policy)
    transposed = xp.swapaxes(_transfer(world, xp, table), -1, -2)
    visits: Table = xp.linalg.solve(transposed, world.start_distribution(start)[:, None])[..., 0]
    return visits


def switching_cost(old: npt.ArrayLike, new: npt.ArrayLike, cost: TabularCost) -> float:
    """C(π_o, π_n) if there is a switch: keeping the old table, entry by entry, costs nothing.

    The family of costs may charge an unchanged policy (the transport cost charges its transaction
    weight), but the paper compares with V(π_o), for which no cost is due.
    """
    old, new = np.asarray(old, dtype=np.float64), np.asarray(new, dtype=np.float64)
    if np.array_equal(old, new):
        return 0.0
    with jax.enable_x64(True):  # a cost in jax.numpy would otherwise round to float32
        return float(cost(old, new))


def net_values(
    world: FiniteWorld, old: npt.ArrayLike, new: npt.ArrayLike, cost: TabularCost
) -> Table:
    """V_N(s) = V(s) - C(π_o, π_n) of the new policy, V(s) itself if it is the old one; (S,)."""
    return values(world, new) - switching_cost(old, new, cost)


def net_state_action_values(
    world: FiniteWorld, old: npt.ArrayLike, new: npt.ArrayLike, cost: TabularCost
) -> Table:
    """Q_N(s, a) = Q(s, a) - C(π_o, π_n) of the new policy; (S, A)."""
    return state_action_values(world, new) - switching_cost(old, new, cost)


def net_bellman_operator(world: FiniteWorld, policy: npt.ArrayLike, cost_value: float) -> Operator:
    """B^π of the definition "Net Bellman operator", for steps that may end the episode.

    (B Q_N)(s, a) = R(s, a) - (1-γ) C + γ [(1 - d) Σ_s' P(s'|s, a) V_N(s') + d · (-C)],
    with V_N(s) = Σ_a π(a|s) Q_N(s, a) and d = d(s, a) the probability to terminate. The absorbing
    state earns nothing, so its net value is -C: only then is Q - C the fixed point also where
    episodes terminate. B is a contraction by γ in the sup norm.
    """
    table = world.check_policy(policy)
    earned = world.reward - (1.0 - world.discount) * cost_value
    absorbed = -cost_value * world.termination

    def apply(net_q: Table) -> Table:
        net_value = (table * net_q).sum(axis=-1)
        backed_up: Table = earned + world.discount * (world.continuation @ net_value + absorbed)
        return backed_up

    return apply


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Where an iteration came to rest.

    Attributes:
        value: the last iterate.
        error_bound: its distance to the fixed point in the sup norm is at most this.
        n_iterations: how often the operator was applied.
        converged: whether the bound met the tolerance.
    """

    value: Table
    error_bound: float
    n_iterations: int
    converged: bool


def iterate_to_fixed_point(
    operator: Operator,
    initial: npt.ArrayLike,
    *,
    contraction: float,
    tolerance: float = 1e-10,
    max_iterations: int = 100_000,
) -> FixedPoint:
    """Applies a contraction until Banach's bound c/(1-c) ‖x_k - x_(k-1)‖_∞ meets the tolerance.

    Args:
        operator: the contraction, such as a net Bellman operator.
        initial: where to begin; any finite array of the right shape.
        contraction: its factor c in [0, 1): γ for the net Bellman operator.
        tolerance: largest distance to the fixed point accepted.
        max_iterations: give up, with ``converged`` False, after so many.
    """
    if not 0 <= contraction < 1:
        raise InputError(f"contraction: {contraction} is outside [0, 1), no fixed point is assured")
    value, bound, iteration = np.asarray(initial, dtype=np.float64), np.inf, 0
    while bound > tolerance and iteration < max_iterations:
        following = operator(value)
        bound = contraction / (1.0 - contraction) * float(np.max(np.abs(following - value)))
        value, iteration = following, iteration + 1
    return FixedPoint(value, bound, iteration, bound <= tolerance)


def optimal_policy(world: FiniteWorld) -> Table:
    """A deterministic table (S, A) that is best in every state, by policy iteration.

    An action is left only for one that is better by more than rounding, so it ends.
    """
    actions = world.reward.argmax(axis=-1)
    while True:
        table: Table = np.eye(world.n_actions)[actions]
        q = state_action_values(world, table)
        current = np.take_along_axis(q, actions[:, None], axis=-1)[:, 0]
        slack = 1e-12 * max(1.0, float(np.abs(q).max()))
        improved = np.where(q.max(axis=-1) > current + slack, q.argmax(axis=-1), actions)
        if np.array_equal(improved, actions):
            return table
        actions = improved


def value_range(
    world: FiniteWorld, start: int | npt.ArrayLike | None = None
) -> tuple[float, float]:
    """The least and the largest start value that any policy has."""
    worst = optimal_policy(dataclasses.replace(world, reward=-world.reward))
    return (
        float(start_value(world, worst, start)),
        float(start_value(world, optimal_policy(world), start)),
    )


def _transfer(world: FiniteWorld, xp: ModuleType, table: Any) -> Any:
    """I - γ P_π; (..., S, S)."""
    moves = xp.einsum("...sa,sat->...st", table, world.continuation)
    return np.eye(world.n_states) - world.discount * moves


def _read_policy(world: FiniteWorld, policy: npt.ArrayLike) -> tuple[ModuleType, Any]:
    """The array module to compute in, and the table: traced as it is, otherwise checked."""
    if not isinstance(policy, jax.core.Tracer):
        return np, world.check_policy(policy)
    if policy.dtype != np.float64:
        raise InputError(
            f"policy: traced in {policy.dtype}, exact values need float64: "
            "differentiate inside `with jax.enable_x64(True):`"
        )
    return jnp, policy
