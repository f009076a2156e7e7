"""Candidates for a switch in a finite world, and the best of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from nacre.errors import InputError
from nacre.estimators.exact import start_value
from nacre.simulators.finite import FiniteWorld, Table, TabularCost


@dataclass(frozen=True, eq=False)
class SwitchOptimum:
    """The best policy found, keeping the old one included.

    Attributes:
        policy: (S, A).
        net_value: value - cost, at the start.
        value: of the policy at the start.
        cost: of switching to it; zero if the old policy is kept.
        keeps_old: whether the policy is the old one.
        method: what found it: "enumeration", "gradient", or "keep".
        n_evaluated: policies whose net value was computed.
        ties: (T, S, A), all policies tied for the optimum, ``policy`` first.
    """

    policy: Table
    net_value: float
    value: float
    cost: float
    keeps_old: bool
    method: str
    n_evaluated: int
    ties: Table


class SwitchProblem:
    """World, old policy, start and cost: what net values are made of."""

    def __init__(self, world: FiniteWorld, old: Table, start: Table, cost: TabularCost) -> None:
        self.world, self.old, self.start, self.cost = world, old, start, cost
        self.untraceable = self._refuse_trace()
        self._traced_costs = jax.jit(jax.vmap(self.trace))

    def evaluate(self, policies: Table) -> tuple[Table, Table]:
        """Start values and costs (B,) of switching to policies (B, S, A)."""
        # A batch's transition matrices, 8 S² bytes each, stay within 32 MB.
        size = max(1, (1 << 22) // self.world.n_states**2)
        chunks = [policies[first : first + size] for first in range(0, len(policies), size)]
        values = [start_value(self.world, chunk, self.start) for chunk in chunks]
        costs = np.concatenate([self._charge(chunk) for chunk in chunks])
        if np.isnan(costs).any():
            first = policies[np.isnan(costs)][0]
            raise InputError(f"cost: NaN for the new policy {first.tolist()}, give a number")
        return np.concatenate(values), costs

    def trace(self, new: Any) -> Any:
        """The cost as a traced float64 scalar of the new table (S, A)."""
        charge: Callable[..., Any] = self.cost
        return jnp.asarray(charge(jnp.asarray(self.old), new), dtype=np.float64).reshape(())

    def _charge(self, policies: Table) -> Table:
        """Costs (B,): compiled if JAX can trace the cost, else one by one."""
        if self.untraceable:
            with jax.enable_x64(True):
                return np.array([float(self.cost(self.old, new)) for new in policies])
        # Padded to powers of two, so that few sizes are compiled.
        padding = (1 << (len(policies) - 1).bit_length()) - len(policies)
        padded = np.concatenate([policies, np.repeat(policies[:1], padding, axis=0)])
        with jax.enable_x64(True):
            return np.asarray(self._traced_costs(padded))[: len(policies)]

    def _refuse_trace(self) -> str:
        """Why JAX cannot trace the cost, or nothing."""
        try:
            with jax.enable_x64(True):
                jax.eval_shape(self.trace, self.old)
        except Exception as error:  # whatever a function of NumPy arrays raises for a traced one
            return f"JAX cannot trace it ({type(error).__name__})"
        return ""


class CandidatePool:
    """The best candidates seen, with all that tie with the best."""

    def __init__(self, problem: SwitchProblem, tie: float) -> None:
        self.problem = problem
        self.tie = tie
        kept = np.asarray(start_value(problem.world, problem.old, problem.start))
        self.policies = problem.old[None]
        self.values, self.costs = kept[None], np.zeros(1)
        self.methods = ["keep"]
        self.n_evaluated = 1

    @property
    def best(self) -> float:
        """The highest net value so far."""
        return float((self.values - self.costs).max())

    def add(self, policies: Table, method: str) -> None:
        """Evaluates policies (B, S, A) and keeps what is not beaten."""
        policies = policies[~np.all(policies == self.problem.old, axis=(1, 2))]
        if not len(policies):
            return
        values, costs = self.problem.evaluate(policies)
        self.n_evaluated += len(policies)
        self.values = np.concatenate([self.values, values])
        self.costs = np.concatenate([self.costs, costs])
        slack = self.tie * max(1.0, abs(self.best))
        kept = np.flatnonzero(self.values - self.costs >= self.best - slack)
        methods = self.methods + [method] * len(policies)
        self.policies = np.concatenate([self.policies, policies])[kept]
        self.values, self.costs = self.values[kept], self.costs[kept]
        self.methods = [methods[i] for i in kept]

    def decide(self) -> SwitchOptimum:
        """The first of the tied: the old policy if it is among them."""
        value, cost = float(self.values[0]), float(self.costs[0])
        # Ascents from different starts that met are one optimum.
        rounded = self.policies.round(6).reshape(len(self.policies), -1)
        distinct = np.sort(np.unique(rounded, axis=0, return_index=True)[1])
        return SwitchOptimum(
            policy=self.policies[0],
            net_value=value - cost,
            value=value,
            cost=cost,
            keeps_old=self.methods[0] == "keep",
            method=self.methods[0],
            n_evaluated=self.n_evaluated,
            ties=self.policies[distinct],
        )
