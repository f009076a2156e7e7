"""An estimator: per-decision importance sampling.

Episode i of the old policy, with ratios ρ_t = π(a_t|s_t) / π_o(a_t|s_t), says of the gain

    g_i = Σ_t γ^t (ρ_0 ⋯ ρ_t - 1) r_t,

and the estimate is the mean of the g_i. It is unbiased where the old policy takes every action that
the candidate takes. Products of many ratios are wild, so few logs of long episodes allow it.

Registered in this package's `pyproject.toml`:

    [project.entry-points."nacre.estimators"]
    importance_sampling = "nacre_example.estimator:ImportanceSampling"
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import gymnasium
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.estimators.base import Estimate, Problem, Report, abstain
from nacre.estimators.doubly_robust import starts_alike
from nacre.policies.policy import Policy, ask

MOST_CUT = 0.01
"""Share of an episode's weight that may lie behind the step where it was cut off."""
LARGEST_LOG_WEIGHT = 50.0


@dataclass(frozen=True)
class ImportanceSampling:
    """Weighted episodes without a model.

    Args:
        least_effective: Effective episodes that are needed.
        extrapolates: What the old policy never does has the weight zero here, so what lies outside
            of the log is charged on this estimate.
    """

    least_effective: float = 20.0
    name: str = "importance_sampling"
    extrapolates: bool = True

    def __post_init__(self) -> None:
        if not self.least_effective >= 2:
            raise InputError(f"least_effective = {self.least_effective}: must be at least 2")

    def applies(self, problem: Problem) -> str:
        """To discrete actions and whole episodes that begin where the next one does."""
        log = problem.log
        if not isinstance(log.action_space, gymnasium.spaces.Discrete):
            return "its weights are for discrete actions"
        if not starts_alike(problem.start, log.starts):
            return "weighted episodes begin at the log's own starts, not at the given one"
        cut = np.asarray(log.truncated)[log.offsets[1:] - 1]
        behind = np.where(cut, problem.discount**log.episode_lengths, 0.0).mean()
        return "episodes are cut off before they end" if behind > MOST_CUT else ""

    def prepare(self, key: PRNGKeyArray, problem: Problem, report: Report) -> NDArray[np.float64]:
        """(N,) logarithms of the old policy's probabilities, the same for all candidates."""
        return _log_probabilities(problem, problem.old_policy)

    def estimate(
        self,
        key: PRNGKeyArray,
        problem: Problem,
        prepared: NDArray[np.float64],
        candidate: Policy,
        report: Report,
    ) -> Estimate:
        """The mean over episodes; says nothing where few of them carry the weight."""
        log = problem.log
        with np.errstate(invalid="ignore"):
            ratios = _log_probabilities(problem, candidate) - prepared
        gains, weights = np.empty(log.n_episodes), np.empty(log.n_episodes)
        for episode, (begin, end) in enumerate(pairwise(log.offsets)):
            products = np.exp(np.minimum(np.cumsum(ratios[begin:end]), LARGEST_LOG_WEIGHT))
            discounts = problem.discount ** np.arange(end - begin)
            gains[episode] = np.sum(discounts * (products - 1.0) * log.rewards[begin:end])
            weights[episode] = products[-1]
        # Weights have mean one. Where nobody follows the candidate they vanish, and so does Σ w.
        total, squares = float(weights.sum()), float(np.sum(weights**2))
        effective = min(total, total**2 / squares) if squares > 0 else 0.0
        error = float(np.std(gains, ddof=1) / np.sqrt(log.n_episodes))
        facts = {"effective_episodes": effective}
        if not effective >= self.least_effective:
            reason = f"{effective:.1f} episodes carry the weight, {self.least_effective:g} needed"
            return abstain(self.name, "data", reason, facts)
        if not 0 < error < np.inf:
            return abstain(self.name, "data", "its episodes do not differ", facts)
        return Estimate(
            self.name,
            float(gains.mean()),
            error,
            "data",
            reason=f"{effective:.0f} episodes carry the weight",
            degrees=effective - 1.0,
            diagnostics=facts,
        )


def _log_probabilities(problem: Problem, policy: Policy) -> NDArray[np.float64]:
    """(N,) log π(a|s) of the log's own actions."""
    answer = ask(policy, jnp.asarray(problem.log.observations))
    return np.asarray(answer.log_prob(jnp.asarray(problem.log.actions)), np.float64)
