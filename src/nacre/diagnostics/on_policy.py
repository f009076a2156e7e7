"""Did the old policy make this log? Looked at, not assumed.

Every action of the policy's own is an unpredictable draw: its place u in the policy's distribution
is uniform on [0, 1], whatever the state. So 2u - 1 and (2u - 1)² - 1/3 have mean zero, and so have,
for discrete actions, the surprise -log π(a|s) minus its expectation and each action's count minus
its probability. They are summed over each episode and compared with the spread that they would
have; an episode whose sum lies further out than chance allows was made by something else. What is
too short to tell by itself may tell together: a run of neighbouring episodes between two changes is
looked at like one episode, and so are all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float
from numpy.typing import NDArray

from nacre.diagnostics.log_answers import ask_along
from nacre.diagnostics.runs import find_runs, widen_score
from nacre.logs import Log
from nacre.logs.acting import find_acting
from nacre.policies.distributions import ClippedGaussian, Gaussian, SquashedGaussian
from nacre.policies.distributions.interface import (
    ActionDistribution,
    ContinuousDistribution,
    DiscreteDistribution,
)
from nacre.policies.policy import Policy

Floats = NDArray[np.float64]

LARGEST_SCORE = 5.0
"""Standard deviations beyond which it was not chance: less than one in 10⁵ episodes."""
LARGEST_EFFECT = 0.1
"""Standard deviations of a single step up to which a policy and its copy are the same.

In a long log chance allows next to nothing, but a policy cloned from it, or computed on another
machine, is never the same to the last digit.
"""
TOLERANCE = 1e-3
"""A deterministic policy's actions may differ from the log's by this share of their range."""
LEAST_PROBABILITY = 1e-9
"""What is rarer is not the policy's own, not even once in a log."""
LARGEST_SURPRISE = float(np.log(1000.0))
SATURATED = float(np.arctanh(1.0 - 1e-4))
"""Beyond this a squashed action does not tell its place any more."""


@dataclass(frozen=True)
class Behaviour:
    """Whose actions a log holds.

    `scores` (E,) are standard deviations from what the policy's own episodes would show; `own` (E,)
    marks those that look like its own. `share` is the share of transitions in them. `overall_score`
    is that of all of them together, and `consistent` whether together, too, they look like its own.
    """

    scores: Floats
    own: NDArray[np.bool_]
    share: float
    overall_score: float
    consistent: bool = True

    @property
    def on_policy(self) -> bool:
        """Whether most of the log is the policy's own."""
        return self.share >= 0.5 and self.consistent

    def describe(self) -> str:
        """One sentence for people."""
        foreign = int((~self.own).sum())
        if self.on_policy and not foreign:
            return "every episode looks like the old policy's own"
        if self.on_policy:
            return (
                f"{foreign} of {len(self.own)} episodes were not made by the old policy and are "
                "left out of its value"
            )
        named = "the log was not made by the given old policy"
        if foreign:
            named += (
                f": {foreign} of {len(self.own)} episodes hold actions that it would not choose"
            )
        else:
            named += ": taken together its actions are not those that it would choose"
        return named


class Deviations(NamedTuple):
    """Of each row k numbers of mean zero under the policy, their variances and largest sizes.

    `possible` is False where the policy would never act so.
    """

    numbers: Float[Array, "rows k"]
    variances: Float[Array, "rows k"]
    largest: Float[Array, " k"]
    possible: Bool[Array, " rows"]


def examine_behaviour(log: Log, policy: Policy, uncertainty: float = 0.0) -> Behaviour:
    """Compare the log's actions with what the policy would do at the same states.

    Args:
        log: The log.
        policy: The policy that is said to have made it.
        uncertainty: Of a clone: share of its probability that may lie on the wrong actions. Means
            of numbers up to b may then be off by twice that share of b.
    """
    ids, lengths = log.episode_ids, log.episode_lengths
    reach = jnp.ones(1) if policy.signature.discrete_actions else _action_range(policy)
    parts = []
    for rows, said, actions in ask_along(log, policy):
        found = _deviate(said, jnp.asarray(actions), reach)
        impossible = ~np.asarray(found.possible)[:, None]
        columns = np.concatenate([found.numbers, found.variances, impossible], axis=1)
        columns = columns[: len(rows)]
        parts.append([np.bincount(ids[rows], column, log.n_episodes) for column in columns.T])
    *totals, impossible = np.sum(parts, axis=0)
    sums, variances = np.split(np.stack(totals, axis=-1), 2, axis=-1)
    largest = np.asarray(found.largest, np.float64)
    allowed = 2.0 * uncertainty * largest
    scores, foreign = _score(sums, variances, largest, lengths, allowed)
    scores[impossible > 0] = np.inf
    own = ~(foreign | (impossible > 0))
    if uncertainty == 0.0:
        # A clone is the mean of all that acted: which part is foreign it cannot say.
        own &= ~_find_foreign_runs(sums, variances, largest, lengths)
    score, differs = _score(
        sums[own].sum(axis=0), variances[own].sum(axis=0), largest, lengths[own].sum(), allowed
    )
    share = float(lengths[own].sum() / lengths.sum())
    return Behaviour(scores, own, share, float(score), not differs)


def examine_behaviours(log: Log, policies: Sequence[Policy], uncertainty: float = 0.0) -> Behaviour:
    """The same where several policies acted, each in its episodes, the old one first.

    All of them have to act like themselves, taken together as well. The uncertainty is the old
    policy's.
    """
    acting = find_acting(log)
    if len(policies) == 1 or not acting.any():
        return examine_behaviour(log, policies[0], uncertainty)
    scores, own = np.zeros(log.n_episodes), np.zeros(log.n_episodes, bool)
    overall, consistent = 0.0, True
    for number, policy in enumerate(policies):
        chosen = np.flatnonzero(acting == number)
        if len(chosen):
            allowed = 0.0 if number else uncertainty
            found = examine_behaviour(log.select(chosen), policy, allowed)
            scores[chosen], own[chosen] = found.scores, found.own
            overall = max(overall, found.overall_score)
            consistent &= found.on_policy
    share = float(log.episode_lengths[own].sum() / len(log))
    return Behaviour(scores, own, share, overall, consistent)


def _find_foreign_runs(
    sums: Floats, variances: Floats, largest: Floats, lengths: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(E,) episodes of runs that, taken together, the policy did not make.

    Where nothing changes there is one run: whether it is the policy's is asked of the whole log.
    """
    foreign = np.zeros(len(sums), bool)
    limit = widen_score(LARGEST_SCORE, len(sums))
    runs = find_runs(sums, variances, limit)
    for run in runs if len(runs) > 1 else ():
        _, differs = _score(
            sums[run].sum(axis=0),
            variances[run].sum(axis=0),
            largest,
            lengths[run].sum(),
            np.zeros_like(largest),
            limit,
        )
        foreign[run] = differs
    return foreign


def _score(
    sums: Floats,
    variances: Floats,
    largest: Floats,
    steps: NDArray[np.int64],
    allowed: Floats,
    limit: float = LARGEST_SCORE,
) -> tuple[Any, Any]:
    """How far sums (..., k) of numbers of mean zero lie out, and whether further than they may.

    Bernstein's inequality: sums of numbers no larger than b and of variance V are beyond x with a
    probability of less than 2 exp(-s²/2), s = x / √(V + b x / 3). The score is the largest s. What
    is `allowed` (k,) for each step does not count.
    """
    reach = np.maximum(np.abs(sums) - allowed * steps[..., None], 0.0)
    scores = reach / np.sqrt(np.maximum(variances + largest * reach / 3.0, 1e-30))
    # x / steps, in units of √(V / steps).
    effects = reach / np.sqrt(np.maximum(variances * steps[..., None], 1e-30))
    foreign = (scores > limit) & (effects > LARGEST_EFFECT)
    return scores.max(axis=-1), foreign.any(axis=-1)


@eqx.filter_jit
def _deviate(
    distribution: ActionDistribution, actions: Array, reach: Float[Array, " size"]
) -> Deviations:
    """Compiled once for all policies that answer in one way; `reach` is the range of actions."""
    if isinstance(distribution, DiscreteDistribution):
        found = _count(distribution.probabilities, actions)
    elif isinstance(distribution, Gaussian):
        found = _place(distribution, actions, reach)
    else:
        found = _match(distribution, actions, reach)
    # A policy that says NaN has not acted so.
    sound = jnp.all(jnp.isfinite(found.numbers) & jnp.isfinite(found.variances), axis=-1)
    return found._replace(
        numbers=jnp.where(sound[:, None], found.numbers, 0.0),
        variances=jnp.where(sound[:, None], found.variances, 0.0),
        possible=found.possible & sound,
    )


def _count(probabilities: Float[Array, "rows n"], actions: Array) -> Deviations:
    """Surprise, cut off where it would be endless, and the count of each action."""
    surprises = jnp.minimum(-jnp.log(jnp.maximum(probabilities, 1e-30)), LARGEST_SURPRISE)
    expected = jnp.sum(probabilities * surprises, axis=-1, keepdims=True)
    taken = jax.nn.one_hot(actions, probabilities.shape[-1])
    surprise = jnp.sum(taken * surprises, axis=-1, keepdims=True) - expected
    variance = jnp.sum(probabilities * (surprises - expected) ** 2, axis=-1, keepdims=True)
    return Deviations(
        jnp.concatenate([surprise, taken - probabilities], axis=-1),
        jnp.concatenate([variance, probabilities * (1.0 - probabilities)], axis=-1),
        jnp.asarray([LARGEST_SURPRISE] + [1.0] * probabilities.shape[-1]),
        jnp.sum(taken * probabilities, axis=-1) > LEAST_PROBABILITY,
    )


def _place(
    distribution: Gaussian, actions: Float[Array, "rows size"], reach: Float[Array, " size"]
) -> Deviations:
    """Places c = 2u - 1 in [-1, 1]: c² - 1/3 over all coordinates, and c of each.

    Where actions saturate, c is only known to lie below a or above b: c and c² are their means
    there, (a - 1)/2 and (a² - a + 1)/3 below a, and have less variance than in between.
    """
    low, high = _edges(distribution)
    latent = distribution.unsquash(actions)
    a, b = (_centre(distribution, edge) for edge in (low, high))
    below, above = latent <= low, latent >= high
    c = _centre(distribution, latent)
    linear = jnp.where(below, (a - 1) / 2, jnp.where(above, (b + 1) / 2, c))
    tails = (a**2 - a + 1) / 3, (b**2 + b + 1) / 3
    square = jnp.where(below, tails[0], jnp.where(above, tails[1], c**2))
    share_low, share_high = (a + 1) / 2, (1 - b) / 2
    linear_variance = (
        share_low * ((a - 1) / 2) ** 2 + share_high * ((b + 1) / 2) ** 2 + (b**3 - a**3) / 6
    )
    square_variance = (
        share_low * tails[0] ** 2 + share_high * tails[1] ** 2 + (b**5 - a**5) / 10 - 1 / 9
    )
    # Next to no noise: the rounding of the log would decide over the place.
    told = distribution.std > 1e-5 * jnp.maximum(1.0, jnp.abs(distribution.location))
    near = told | (jnp.abs(actions - distribution.mode()) <= TOLERANCE * reach)

    def collect(squares: Array, linears: Array) -> Array:
        total = jnp.sum(jnp.where(told, squares, 0.0), axis=-1, keepdims=True)
        return jnp.concatenate([total, jnp.where(told, linears, 0.0)], axis=-1)

    return Deviations(
        collect(square - 1 / 3, linear),
        collect(square_variance, linear_variance),
        jnp.asarray([2 / 3] + [1.0] * c.shape[-1]),
        jnp.all(near, axis=-1),
    )


def _centre(distribution: Gaussian, latent: Array) -> Array:
    """2u - 1 = 2Φ(z) - 1."""
    z = (latent - distribution.location) / distribution.std
    return jax.scipy.special.erf(z / np.sqrt(2.0))


def _edges(distribution: Gaussian) -> tuple[Array, Array]:
    """Between which latent numbers an action tells its place."""
    if isinstance(distribution, ClippedGaussian):
        return jnp.asarray(distribution.low), jnp.asarray(distribution.high)
    edge = SATURATED if isinstance(distribution, SquashedGaussian) else np.inf
    return jnp.asarray(-edge), jnp.asarray(edge)


def _match(distribution: Any, actions: Array, reach: Float[Array, " size"]) -> Deviations:
    """A deterministic policy's actions have to be the log's; anything else must be possible."""
    if isinstance(distribution, ContinuousDistribution) and distribution.noise_size == 0:
        near = jnp.all(jnp.abs(actions - distribution.mode()) <= TOLERANCE * reach, axis=-1)
    else:
        near = _is_possible(distribution, actions)
    zeros = jnp.zeros((len(actions), 1))
    return Deviations(zeros, zeros, jnp.zeros(1), near)


def _is_possible(distribution: Any, actions: Array) -> Bool[Array, " rows"]:
    try:
        return jnp.isfinite(distribution.log_prob(actions))
    except TypeError:
        # Points among densities have no density; nothing can be said.
        return jnp.ones(len(actions), bool)


def _action_range(policy: Policy) -> Float[Array, " size"]:
    low, high = (jnp.asarray(bound) for bound in policy.signature.action_limits)
    return jnp.where(jnp.isfinite(high - low), high - low, 1.0)
