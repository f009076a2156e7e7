"""The family of switching costs C = link(E_μ[importance(s) · F(π_o(·|s), π_n(·|s))])."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from nacre.costs.fit import check_log_fits, check_states_fit
from nacre.costs.groups import ActionGroups
from nacre.costs.importance import StateImportance
from nacre.costs.measures import FiniteStates, LogStates, StateMeasure, StateSample
from nacre.costs.statewise import (
    Comparison,
    Difference,
    GeneralTransport,
    GroundCost,
    StatewiseCost,
    Transport,
)
from nacre.errors import InputError
from nacre.log import Log
from nacre.policies.policy import Policy

Link = Literal["identity", "times_states", "positive"] | Callable[[Array], Array]
Importance = Callable[[Array], Array]

CHUNK = 4096


@dataclass(frozen=True)
class CostBreakdown:
    """The price of a switch and where it comes from.

    With the identity link `total = learning + transaction`; any other link is applied to their sum.
    """

    total: float
    learning: float
    transaction: float
    learning_mass: float
    transaction_mass: float
    flows: np.ndarray
    group_names: tuple[str, ...]
    per_state: np.ndarray
    standard_error: float
    n_states: int

    def __repr__(self) -> str:
        error = f" ± {self.standard_error:.3g}" if self.standard_error else ""
        return (
            f"CostBreakdown(total={self.total:.6g}{error}, learning={self.learning:.6g}, "
            f"transaction={self.transaction:.6g}, moved mass={self.learning_mass:.4g}, "
            f"states={self.n_states})"
        )

    def as_json(self) -> dict[str, Any]:
        """Plain numbers for a decision record; the per-state costs are left out."""
        return {
            "total": self.total,
            "learning": self.learning,
            "transaction": self.transaction,
            "learning_mass": self.learning_mass,
            "transaction_mass": self.transaction_mass,
            "standard_error": self.standard_error,
            "n_states": self.n_states,
            "groups": list(self.group_names),
            "flows": self.flows.tolist(),
        }


@dataclass(frozen=True)
class SwitchingCost:
    """One member of the family; made by `TransportCost` and its siblings.

    Args:
        statewise: The comparison of two distributions at a state.
        learning_weight: c_l, the price of one unit of the learning term.
        transaction_weight: c_t, the price of one unit of the transaction term.
        state_measure: μ, the states to average over.
        importance: f, the weight of a state; takes a batch of states, 1 where absent.
        link: σ, applied to the average.
    """

    statewise: StatewiseCost
    learning_weight: float
    transaction_weight: float = 0.0
    state_measure: StateMeasure = field(default_factory=LogStates)
    importance: Importance | None = None
    link: Link = "identity"

    def __post_init__(self) -> None:
        problems = []
        for name in ("learning_weight", "transaction_weight"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                problems.append(f"{name} = {value}: a price must be finite and not negative")
        if not problems and self.learning_weight < self.transaction_weight:
            problems.append(
                f"learning_weight = {self.learning_weight:g} is below transaction_weight = "
                f"{self.transaction_weight:g}: it would then be cheaper to move mass between "
                "groups than within them and the cost would no longer be an optimal transport; raise the "
                "learning weight or lower the transaction weight"
            )
        if not callable(self.link) and self.link not in ("identity", "times_states", "positive"):
            problems.append(
                f"link = {self.link!r} is unknown; known: identity, times_states, positive"
            )
        if problems:
            raise InputError(problems)

    def check(
        self, observation_space: gymnasium.Space[Any], action_space: gymnasium.Space[Any]
    ) -> None:
        """Raise `InputError` if this cost cannot be computed between policies of these spaces."""
        self.statewise.group_names(action_space)
        self.link_function(observation_space)
        if isinstance(self.importance, StateImportance):
            self.importance.check(observation_space)

    def link_function(self, observation_space: gymnasium.Space[Any]) -> Callable[[Array], Array]:
        """σ as a function of the average."""
        if callable(self.link):
            return self.link
        if self.link == "positive":
            return lambda x: jnp.where(x > 0, 1.0, 0.0)
        if self.link == "times_states":
            if not isinstance(observation_space, gymnasium.spaces.Discrete):
                raise InputError(
                    f"link = 'times_states' multiplies by the number of states, observations are "
                    f"{observation_space}: use 'identity'"
                )
            count = float(observation_space.n)
            return lambda x: count * x
        return lambda x: x

    def statewise_cost(self, comparison: Comparison) -> Float[Array, "..."]:
        """F = c_l 𝓛 + c_t 𝓣 at each state."""
        return (
            self.learning_weight * comparison.learning
            + self.transaction_weight * comparison.transaction
        )

    def at(
        self,
        old_policy: Policy,
        new_policy: Policy,
        states: Array,
        key: PRNGKeyArray,
        weights: Float[Array, " n"] | None = None,
    ) -> Float[Array, ""]:
        """C estimated on given states, for training: compiled, differentiable in the new policy."""
        comparison = self.statewise.compare(old_policy(states), new_policy(states), key)
        costs = self.statewise_cost(comparison) * self._importance(states)
        average = jnp.mean(costs) if weights is None else jnp.sum(weights * costs)
        return self.link_function(new_policy.observation_space)(average)

    def evaluate(
        self,
        old_policy: Policy,
        new_policy: Policy,
        log: Log | ArrayLike | None = None,
        *,
        seed: int = 0,
    ) -> CostBreakdown:
        """The price of switching from one policy to the other, with its parts.

        Args:
            old_policy: The policy in force.
            new_policy: The one proposed.
            log: The log, or an array of states, where the state measure asks for it.
            seed: Seed of the state and action samples, where the cost needs any.
        """
        check_same_spaces(old_policy, new_policy)
        self.check(new_policy.observation_space, new_policy.action_space)
        if isinstance(log, Log):
            check_log_fits(log, new_policy)
        observations = log.observations if isinstance(log, Log) else log
        state_key, action_key = jax.random.split(jax.random.key(seed))
        sample = self.state_measure.support(
            state_key,
            None if observations is None else np.asarray(observations),
            new_policy.observation_space,
        )
        check_states_fit(np.asarray(sample.states), new_policy.observation_space)
        sums, per_state = _scan_states(
            self, old_policy, new_policy, *_in_chunks(sample), action_key
        )
        return self._summarise(sample, sums, per_state, new_policy)

    def _importance(self, states: Array) -> Array | float:
        return 1.0 if self.importance is None else self.importance(states)

    def _summarise(
        self, sample: StateSample, sums: Comparison, per_state: Array, policy: Policy
    ) -> CostBreakdown:
        n = len(sample.states)
        costs = np.asarray(per_state, np.float64).reshape(-1)[:n]
        if not np.all(np.isfinite(costs)):
            raise InputError(
                "the switching cost is not finite at state "
                f"{int(np.argmin(np.isfinite(costs)))}: a policy returns NaN there, or the importance does"
            )
        weights = np.full(n, 1.0 / n) if sample.weights is None else sample.weights
        totals = jax.tree.map(lambda x: np.asarray(x, np.float64).sum(axis=0), sums)
        average = float(weights @ costs)
        link = self.link_function(policy.observation_space)
        total, slope = jax.value_and_grad(lambda x: jnp.asarray(link(x), float))(average)
        error = 0.0
        if not sample.exact and n > 1:
            error = abs(float(slope)) * float(costs.std(ddof=1)) / math.sqrt(n)
        return CostBreakdown(
            total=float(total) if self.link != "identity" else average,
            learning=self.learning_weight * float(totals.learning),
            transaction=self.transaction_weight * float(totals.transaction),
            learning_mass=float(totals.learning_mass),
            transaction_mass=float(totals.transaction_mass),
            flows=totals.flows,
            group_names=self.statewise.group_names(policy.action_space),
            per_state=costs,
            standard_error=error,
            n_states=n,
        )


def TransportCost(  # noqa: N802 - reads as the class it configures
    learning_weight: float,
    transaction_weight: float = 0.0,
    groups: ActionGroups | None = None,
    *,
    state_measure: StateMeasure | None = None,
    importance: Importance | None = None,
    link: Link = "identity",
) -> SwitchingCost:
    """The transport switching cost of the paper's main text, with any number of groups."""
    if groups is None:
        raise InputError("a transport cost needs groups of actions, e.g. nacre.groups.sign(0)")
    return SwitchingCost(
        Transport(groups),
        learning_weight,
        transaction_weight,
        state_measure or LogStates(),
        importance,
        link,
    )


def GeneralTransportCost(  # noqa: N802
    learning_weight: float,
    transaction_weight: float = 0.0,
    groups: ActionGroups | None = None,
    *,
    learning_ground: str | Sequence[Sequence[float]] | GroundCost = "l2",
    transaction_ground: str | Sequence[Sequence[float]] | GroundCost = "l2",
    plan: Literal["independent", "optimal"] = "independent",
    n_samples: int = 16,
    state_measure: StateMeasure | None = None,
    importance: Importance | None = None,
    link: Link = "identity",
) -> SwitchingCost:
    """The transport cost of the paper's appendix, with ground costs between actions."""
    if groups is None:
        raise InputError("a transport cost needs groups of actions, e.g. nacre.groups.sign(0)")
    statewise = GeneralTransport(
        groups, _frozen(learning_ground), _frozen(transaction_ground), plan, n_samples
    )
    return SwitchingCost(
        statewise,
        learning_weight,
        transaction_weight,
        state_measure or LogStates(),
        importance,
        link,
    )


def LocalCost(weight: float = 1.0) -> SwitchingCost:  # noqa: N802
    """Number of states at which the policies differ (Table "CoveredSC")."""
    return SwitchingCost(Difference(), weight, state_measure=FiniteStates(), link="times_states")


def GlobalCost(weight: float = 1.0) -> SwitchingCost:  # noqa: N802
    """`weight` if the policies differ anywhere, else 0 (Table "CoveredSC")."""
    return SwitchingCost(
        Difference(),
        1.0,
        state_measure=FiniteStates(),
        link="positive" if weight == 1.0 else _ScaledPositive(weight),
    )


@dataclass(frozen=True)
class _ScaledPositive:
    weight: float

    def __call__(self, x: Array) -> Array:
        return jnp.where(x > 0, self.weight, 0.0)


def check_same_spaces(old_policy: Policy, new_policy: Policy) -> None:
    """Raise `InputError` if two policies do not act between the same spaces."""
    problems = []
    for what in ("observation_size", "action_size", "discrete_actions"):
        old, new = getattr(old_policy.signature, what), getattr(new_policy.signature, what)
        if old != new:
            problems.append(
                f"the policies do not fit together: {what.replace('_', ' ')} is {old} for the old "
                f"and {new} for the new one; both must act in the same world"
            )
    if problems:
        raise InputError(problems)


def _frozen(
    ground: str | Sequence[Sequence[float]] | GroundCost,
) -> str | tuple[tuple[float, ...], ...] | GroundCost:
    if isinstance(ground, str) or callable(ground):
        return ground
    return tuple(tuple(float(value) for value in row) for row in ground)


def _in_chunks(sample: StateSample) -> tuple[Array, Array]:
    """States (chunks, CHUNK, …) and weights (chunks, CHUNK); padding has weight zero."""
    states = jnp.asarray(sample.states)
    n = len(states)
    chunk = min(CHUNK, n)
    padding = -n % chunk
    weights = jnp.full(n, 1.0 / n) if sample.weights is None else jnp.asarray(sample.weights)
    if padding:
        states = jnp.concatenate(
            [states, jnp.broadcast_to(states[:1], (padding, *states.shape[1:]))]
        )
        weights = jnp.concatenate([weights, jnp.zeros(padding, weights.dtype)])
    return states.reshape(-1, chunk, *states.shape[1:]), weights.reshape(-1, chunk)


@eqx.filter_jit
def _scan_states(
    cost: SwitchingCost,
    old_policy: Policy,
    new_policy: Policy,
    states: Array,
    weights: Array,
    key: PRNGKeyArray,
) -> tuple[Comparison, Array]:
    """One pass over all chunks: weighted sums of every chunk, and the cost of every state."""

    def visit(_: None, chunk: tuple[Array, Array, PRNGKeyArray]) -> tuple[None, tuple[Any, Array]]:
        states, weights, key = chunk
        comparison = cost.statewise.compare(old_policy(states), new_policy(states), key)
        importance = jnp.broadcast_to(jnp.asarray(cost._importance(states)), weights.shape)
        costs = importance * cost.statewise_cost(comparison)
        weights = weights * importance
        sums = jax.tree.map(lambda x: jnp.tensordot(weights, x, axes=1), comparison)
        return None, (sums, costs)

    keys = jax.random.split(key, len(states))
    return jax.lax.scan(visit, None, (states, weights, keys))[1]
