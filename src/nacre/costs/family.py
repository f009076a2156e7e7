"""The family of switching costs C = link(E_μ[importance(s) · F(π_o(·|s), π_n(·|s))])."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from nacre.costs.breakdown import CostBreakdown
from nacre.costs.fit import check_log_fits, check_same_spaces, check_states_fit
from nacre.costs.group_names import name_groups
from nacre.costs.importance import StateImportance
from nacre.costs.links import Link, SharedLink, is_positive, read_link
from nacre.costs.measures import LogStates, StateMeasure, StateSample, read_rows
from nacre.costs.statewise import Comparison, StatewiseCost
from nacre.costs.value_terms import ValueTerms
from nacre.costs.weights import read_price
from nacre.errors import InputError, check_arguments
from nacre.logs import Log
from nacre.policies.policy import Policy

Importance = Callable[[Array], Array]

# States that go through the networks at once: enough to keep the processor busy, few enough for its
# caches. Where the comparison of a state is large it is fewer: about so many numbers an array.
CHUNK = 4096
CELLS = 2**22

MOST_MAPPED = 1_000_000
"""States that are drawn of a log larger than memory; the standard error counts that."""


@check_arguments
@dataclass(frozen=True)
class SwitchingCost:
    """One member of the family; made by `TransportCost` and its siblings.

    Args:
        statewise: The comparison of two distributions at a state.
        learning_weight: c_l, the price of one unit of the learning term.
        transaction_weight: c_t, the price of one unit of the transaction term.
        state_measure: μ, the states to average over.
        importance: f, the weight of a state; takes a batch of states, 1 where absent.
        link: σ, applied to the average: "identity", "times_states", "positive", an expression of x
            such as "min(x, 10)", or a function.
        weight_errors: Standard deviations of what is believed of c_l and c_t; the weights are then
            means. They widen the interval of a net gain, and change no price.
        group_labels: What to call the groups; the log's names or numbers if not given.
        terms: Unit, and over how many episodes the switch has to pay.
    """

    statewise: StatewiseCost
    learning_weight: float
    transaction_weight: float = 0.0
    state_measure: StateMeasure = field(default_factory=LogStates)
    importance: Importance | None = None
    link: Link = "identity"
    weight_errors: tuple[float, float] = (0.0, 0.0)
    group_labels: tuple[str, ...] = ()
    terms: ValueTerms = field(default_factory=ValueTerms)

    def __post_init__(self) -> None:
        problems: list[str] = []
        for name in ("learning_weight", "transaction_weight"):
            try:
                object.__setattr__(self, name, read_price(name, getattr(self, name)))
            except InputError as error:
                problems += error.problems
        if not (
            len(self.weight_errors) == 2
            and all(math.isfinite(error) and error >= 0 for error in self.weight_errors)
        ):
            problems.append(
                f"weight_errors = {self.weight_errors!s:.60}: give two numbers, not negative"
            )
        if not problems and self.learning_weight < self.transaction_weight:
            problems.append(
                f"learning_weight = {self.learning_weight:g} is below transaction_weight = "
                f"{self.transaction_weight:g}: it would then be cheaper to move mass between "
                "groups than within them and the cost would no longer be an optimal transport; "
                "raise the learning weight or lower the transaction weight"
            )
        try:
            object.__setattr__(self, "link", read_link(self.link))
        except InputError as error:
            problems += error.problems
        if problems:
            raise InputError(problems)

    @check_arguments
    def check(
        self, observation_space: gymnasium.Space[Any], action_space: gymnasium.Space[Any]
    ) -> None:
        """Raise `InputError` if this cost cannot be computed between policies of these spaces."""
        name_groups(self.statewise, action_space, own=self.group_labels)
        self.statewise.check_states(observation_space)
        self.link_function(observation_space)
        if isinstance(self.importance, StateImportance):
            self.importance.check(observation_space)

    def link_function(self, observation_space: gymnasium.Space[Any]) -> Callable[[Array], Array]:
        """σ as a function of the average."""
        if callable(self.link):
            return self.link
        if self.link == "positive":
            return is_positive
        if self.link == "times_states":
            if not isinstance(observation_space, gymnasium.spaces.Discrete):
                raise InputError(
                    f"link = 'times_states' multiplies by the number of states, observations are "
                    f"{observation_space}: use 'identity'"
                )
            count = float(observation_space.n)
            return lambda x: count * x
        return lambda x: x

    @property
    def prices(self) -> tuple[float, float]:
        """c_l and c_t."""
        return self.learning_weight, self.transaction_weight

    def statewise_cost(
        self, comparison: Comparison, prices: Float[Array, "2"] | tuple[float, float] | None = None
    ) -> Float[Array, "..."]:
        """F = c_l 𝓛 + c_t 𝓣 at each state; at other prices where given."""
        learning, transaction = self.prices if prices is None else prices
        return learning * comparison.learning + transaction * comparison.transaction

    @check_arguments
    def at(
        self,
        old_policy: Policy,
        new_policy: Policy,
        states: Array,
        key: PRNGKeyArray,
        weights: Float[Array, " n"] | None = None,
        prices: Float[Array, "2"] | None = None,
    ) -> Float[Array, ""]:
        """C estimated on given states, for training: compiled, differentiable in the new policy.

        Args:
            old_policy: The policy in force.
            new_policy: The one proposed.
            states: Where to compare them.
            key: Of the action samples, where the cost needs any.
            weights: Probabilities of the states; all alike if not given.
            prices: c_l and c_t instead of the cost's own: what is compiled then serves all prices.
        """
        comparison = self.statewise.compare(old_policy(states), new_policy(states), key, states)
        costs = self.statewise_cost(comparison, prices)
        costs = costs * weigh_states(self.importance, states, costs.shape)
        average = jnp.mean(costs) if weights is None else jnp.sum(weights * costs)
        return self.link_function(new_policy.observation_space)(average)

    def untraceable(self, old_policy: Policy) -> str:
        """Why learners cannot follow the gradient of `at`, or nothing."""
        return ""

    @check_arguments
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
        state_key, action_key = jax.random.split(jax.random.key(seed))
        sample = self._find_states(log, state_key, new_policy.observation_space)
        check_states_fit(np.asarray(sample.states), new_policy.observation_space)
        cells = self.statewise.count_cells(new_policy.action_space)
        states, weights = sample.split(min(CHUNK, max(CELLS // cells, 1)))
        terms = _scan_states(
            self.statewise, self.importance, old_policy, new_policy, states, weights, action_key
        )
        names = name_groups(self.statewise, new_policy.action_space, log, self.group_labels)
        if not np.all(np.isfinite(terms.learning) & np.isfinite(terms.transaction)):
            raise InputError(self._explain(sample, terms, old_policy, new_policy, action_key))
        return self._summarise(sample, terms, new_policy, names)

    def per_episode(self) -> SwitchingCost:
        """What the cost adds to one episode if all episodes of the horizon share it."""
        episodes = self.terms.episodes
        if episodes == 1.0:
            return self
        if self.link in ("identity", "times_states"):
            return dataclasses.replace(
                self,
                learning_weight=self.learning_weight / episodes,
                transaction_weight=self.transaction_weight / episodes,
                weight_errors=(self.weight_errors[0] / episodes, self.weight_errors[1] / episodes),
                terms=ValueTerms(self.terms.unit),
            )
        link = is_positive if self.link == "positive" else self.link
        assert callable(link)  # noqa: S101 - the constructor checked the names
        shared = SharedLink(link, episodes)
        return dataclasses.replace(self, link=shared, terms=ValueTerms(self.terms.unit))

    def _find_states(
        self, log: Log | ArrayLike | None, key: PRNGKeyArray, space: gymnasium.Space[Any]
    ) -> StateSample:
        """The states to average over; of a log larger than memory a part of them."""
        measure = self.state_measure
        if isinstance(log, Log) and log.is_mapped:
            if isinstance(measure, LogStates) and (measure.n or len(log)) > MOST_MAPPED:
                measure = LogStates(MOST_MAPPED)
            return measure.support(key, log.observations, space)
        observations = log.observations if isinstance(log, Log) else log
        rows = None if observations is None else read_rows(observations)
        return measure.support(key, rows, space)

    def _explain(
        self,
        sample: StateSample,
        terms: Comparison,
        old_policy: Policy,
        new_policy: Policy,
        key: PRNGKeyArray,
    ) -> str:
        """Why a cost is not finite: what is wrong with the state, with the cost, or else."""
        n = len(sample.states)
        both = np.asarray(terms.learning + terms.transaction).reshape(-1, terms.learning.shape[-1])
        costs = both[:n].mean(axis=-1)
        place = int(np.argmin(np.isfinite(costs)))
        state = jnp.asarray(sample.states[place : place + 1])
        if np.all(np.isfinite(np.asarray(state))):
            why = self.statewise.explain(old_policy(state), new_policy(state), key, state)
            if why:
                return f"{why} (at state {place})"
        return sample.describe_bad_state(costs)

    def _summarise(
        self, sample: StateSample, terms: Comparison, policy: Policy, names: tuple[str, ...]
    ) -> CostBreakdown:
        """Averages in double precision, which a million states need."""
        n = len(sample.states)
        learning, transaction = (
            np.asarray(term, np.float64).reshape(-1, term.shape[-1])[:n]
            for term in (terms.learning, terms.transaction)
        )
        replicates = self.learning_weight * learning + self.transaction_weight * transaction
        costs = replicates.mean(axis=-1)
        chances = sample.probabilities
        averages = (
            float(chances @ learning.mean(axis=-1)),
            float(chances @ transaction.mean(axis=-1)),
        )
        learning_price = self.learning_weight * averages[0]
        transaction_price = self.transaction_weight * averages[1]
        flows = np.asarray(terms.flows, np.float64).sum(axis=0)
        masses = self.statewise.masses(*averages, flows)
        total, error = learning_price + transaction_price, sample.standard_error(replicates)
        if self.link != "identity":
            total, error = apply_link(self.link_function(policy.observation_space), total, error)
        return CostBreakdown(
            total=total,
            learning=learning_price,
            transaction=transaction_price,
            learning_mass=masses[0],
            transaction_mass=masses[1],
            flows=flows,
            group_names=names,
            per_state=costs,
            standard_error=error,
            n_states=n,
        )


def weigh_states(importance: Importance | None, states: Array, shape: tuple[int, ...]) -> Array:
    """Importance of each state, in the shape of the batch."""
    weights = jnp.asarray(1.0 if importance is None else importance(states))
    if weights.shape not in ((), shape):
        raise InputError(
            f"the importance has shape {weights.shape} for states of shape {states.shape}; it must "
            "give one number a state"
        )
    return jnp.broadcast_to(weights, shape)


def apply_link(link: Callable[[Array], Array], average: float, error: float) -> tuple[float, float]:
    """σ(average) and its standard error, by the delta method."""
    with jax.enable_x64(True):
        total = float(link(jnp.asarray(average)))
        if error > 0:
            error *= abs(float(jax.grad(lambda x: jnp.asarray(link(x), float))(average)))
    if not math.isfinite(total):
        raise InputError(
            f"the link gives {total} for the average cost {average:g}; it must be finite there"
        )
    return total, error


@eqx.filter_jit
def _scan_states(
    statewise: StatewiseCost,
    importance: Importance | None,
    old_policy: Policy,
    new_policy: Policy,
    states: Array,
    weights: Array,
    key: PRNGKeyArray,
) -> Comparison:
    """One pass over all chunks; prices, measure and link stay outside, they change more often.

    Returns:
        Terms times importance at every state (chunks, size, times), twice where they are noisy, and
        flows (chunks, groups, groups) summed over the states with their weights.
    """

    def visit(_: None, chunk: tuple[Array, Array, PRNGKeyArray]) -> tuple[None, Comparison]:
        states, weights, key = chunk
        old, new = old_policy(states), new_policy(states)

        def compare(key: PRNGKeyArray) -> Comparison:
            return statewise.compare(old, new, key, states)

        if statewise.samples_actions(old, new):
            times = jax.lax.map(compare, jax.random.split(key, 2))
        else:
            times = jax.tree.map(lambda term: term[None], compare(jax.random.split(key, 1)[0]))
        weighed = weigh_states(importance, states, weights.shape)
        return None, Comparison(
            jnp.moveaxis(weighed * times.learning, 0, -1),
            jnp.moveaxis(weighed * times.transaction, 0, -1),
            jnp.tensordot(weights * weighed, times.flows[0], axes=1),
        )

    return jax.lax.scan(visit, None, (states, weights, jax.random.split(key, len(states))))[1]
