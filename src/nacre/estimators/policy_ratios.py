"""Two policies compared at the contexts of a log: ratios at the actions taken, and mass outside."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray
from numpy.typing import NDArray

from nacre.logs import Log
from nacre.policies.distributions import (
    ActionDistribution,
    ContinuousDistribution,
    DiscreteDistribution,
)
from nacre.policies.policy import Policy, ask
from nacre.training.noise import draw_uniforms

Floats = NDArray[np.float64]

N_DRAWS = 16
"""Action vectors drawn at each context, evenly spread: what noise is left is in the scores."""
LARGEST_LOG_RATIO = 60.0


@dataclass(frozen=True)
class PolicyAnswers:
    """What a policy says at the n contexts of a log, as weighted points.

    Args:
        distribution: As it answers.
        points: (m, n, k) action vectors drawn; none for discrete actions, where all are points.
        masses: (n, A) probabilities of all actions; none for action vectors, whose points weigh
            the same.
        taken: (n,) log probability, or density, of the actions taken; none where there is no
            density because the policy takes single vectors for sure.
    """

    distribution: ActionDistribution
    points: NDArray[np.float32] | None
    masses: Floats | None
    taken: Floats | None


@dataclass(frozen=True)
class OldRatios:
    """The old policy against what made the log, where others acted too: ρ_old = π_old / π_b.

    Args:
        taken: (n,) at the actions taken.
        points: (n, m) at the candidate's points.
        square: (n,) mean of its square under π_b.
    """

    taken: Floats
    points: Floats
    square: Floats


@dataclass(frozen=True)
class PolicyRatios:
    """A candidate against what made the log, π_b, at the n contexts of a log.

    Args:
        ratios: (n,) ρ = π_new(a|x) / π_b(a|x) at the actions taken.
        masses: (n, m) of the candidate's mass, what lies on each of m points; rows add up to one.
        inverse: (n, m) π_b / π_new at these points.
        old: The old policy's own ratios, where it is not alone in the log; None for all one.
    """

    ratios: Floats
    masses: Floats
    inverse: Floats
    old: OldRatios | None = None

    def shift(self, limit: float) -> Floats:
        """(n,) min(ρ, limit) less the old policy's ρ at the actions taken."""
        taken = 1.0 if self.old is None else self.old.taken
        return np.asarray(np.minimum(self.ratios, limit) - taken)

    def excess(self, limit: float) -> Floats:
        """(n,) Σ_a max(π_new(a|x) - limit · π_b(a|x), 0): mass beyond clipped weights.

        It is one minus the mean of min(ρ, limit) under π_b: what clipping leaves to the model. With
        no limit it is the mass on actions that were never taken; with the limit 1 it is the total
        variation distance.
        """
        if np.isinf(limit):
            return np.asarray(np.sum(self.masses * (self.inverse <= 0.0), axis=1))
        return np.asarray(np.sum(self.masses * np.maximum(1.0 - limit * self.inverse, 0.0), axis=1))

    def second_moment(self, limit: float) -> Floats:
        """(n,) mean of (min(ρ, limit) - ρ_old)² under π_b, from the policies themselves.

        Large weights count although the log may have met none of them:
        E min(ρ, τ)² = Σ_a π_new min(ρ, τ² / ρ), and where ρ_old is one E min(ρ, τ) = 1 - excess.
        """
        inverse = np.maximum(self.inverse, np.exp(-LARGEST_LOG_RATIO))
        terms = 1.0 / inverse
        if not np.isinf(limit):
            terms = np.minimum(terms, limit**2 * self.inverse)
        squares = np.sum(self.masses * np.where(self.inverse > 0, terms, 0.0), axis=1)
        if self.old is None:
            return np.asarray(np.maximum(squares - 2.0 * (1.0 - self.excess(limit)) + 1.0, 0.0))
        kept = 1.0 if np.isinf(limit) else np.minimum(1.0, limit * self.inverse)
        met = np.sum(self.masses * kept * self.old.points, axis=1)
        return np.asarray(np.maximum(squares - 2.0 * met + self.old.square, 0.0))


def read_answers(key: PRNGKeyArray, log: Log, policy: Policy) -> PolicyAnswers:
    """Ask a policy at all contexts of a log."""
    observations, actions = jnp.asarray(log.observations), jnp.asarray(log.actions)
    distribution = ask(policy, observations)
    if isinstance(distribution, DiscreteDistribution):
        masses = np.asarray(distribution.probabilities, np.float64)
        masses = masses / masses.sum(axis=1, keepdims=True)
        taken = np.take_along_axis(masses, np.asarray(log.actions)[:, None], axis=1)[:, 0]
        with np.errstate(divide="ignore"):
            return PolicyAnswers(distribution, None, masses, np.log(taken))
    uniforms = draw_uniforms(key, N_DRAWS, len(log), distribution.noise_size, "quasi")
    points = np.asarray(_transform(distribution, uniforms))
    return PolicyAnswers(distribution, points, None, _log_density(distribution, actions))


def compare(old: PolicyAnswers, new: PolicyAnswers) -> PolicyRatios | None:
    """Ratios of two answers at the same contexts; none where one of them has no density.

    Args:
        old: Of what made the log: the old policy where it is alone in it.
        new: Of the other policy.
    """
    if old.taken is None or new.taken is None:
        return None
    with np.errstate(invalid="ignore"):
        logs = np.where(np.isneginf(new.taken), -np.inf, new.taken - old.taken)
    ratios = np.exp(np.minimum(logs, LARGEST_LOG_RATIO))
    if old.masses is not None and new.masses is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            inverse = np.where(new.masses > 0, old.masses / new.masses, 1.0)
        return PolicyRatios(ratios, new.masses, inverse)
    assert new.points is not None  # noqa: S101 - action vectors are drawn
    points = jnp.asarray(new.points)
    theirs, own = (_log_density(side.distribution, points) for side in (old, new))
    assert theirs is not None  # noqa: S101 - both have densities, see above
    assert own is not None  # noqa: S101
    inverse = np.exp(np.clip(theirs - own, -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)).T
    inverse = np.where(np.isneginf(theirs).T, 0.0, inverse)
    return PolicyRatios(ratios, np.full(inverse.shape, 1.0 / len(points)), inverse)


def compare_three(
    behaviour: PolicyAnswers, old: PolicyAnswers, new: PolicyAnswers
) -> PolicyRatios | None:
    """A candidate and the old policy against what made the log; none where one has no density."""
    ratios, own = compare(behaviour, new), compare(behaviour, old)
    if ratios is None or own is None:
        return None
    if behaviour.masses is not None and old.masses is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            points = np.where(behaviour.masses > 0, old.masses / behaviour.masses, 0.0)
    else:
        assert new.points is not None  # noqa: S101 - action vectors are drawn
        drawn = jnp.asarray(new.points)
        theirs, made = (_log_density(one.distribution, drawn) for one in (old, behaviour))
        assert theirs is not None  # noqa: S101 - all have densities, see above
        assert made is not None  # noqa: S101
        points = np.exp(np.clip(theirs - made, -LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)).T
    least = np.exp(-LARGEST_LOG_RATIO)
    square = np.sum(own.masses / np.maximum(own.inverse, least), axis=1)
    return dataclasses.replace(ratios, old=OldRatios(own.ratios, points, square))


def is_same_point(old: PolicyAnswers, new: PolicyAnswers) -> bool:
    """Whether two policies without noise take the same action vectors everywhere."""
    if old.points is None or new.points is None:
        return False
    quiet = all(side.distribution.noise_size == 0 for side in (old, new))
    return quiet and bool(np.array_equal(old.points, new.points))


def _log_density(distribution: ActionDistribution, actions: Array) -> Floats | None:
    if isinstance(distribution, ContinuousDistribution) and distribution.noise_size == 0:
        return None
    try:
        return np.asarray(_log_prob(distribution, actions), np.float64)
    except TypeError:
        # A mixture with single points has no density.
        return None


@eqx.filter_jit
def _transform(distribution: ActionDistribution, uniforms: Array) -> Array:
    return distribution.transform(uniforms)


@eqx.filter_jit
def _log_prob(distribution: ActionDistribution, actions: Array) -> Array:
    return jax.lax.stop_gradient(distribution.log_prob(actions))
