"""The configuration `authors`: what the published code does where it differs from the paper.

Each difference is a piece of its own:

- `separate_cost`: the cost is kept apart from the backup and subtracted once;
- `evaluate_unclipped`: the evaluation of the old policy does not clip gradients;
- `stop_on_last`: Algorithm 3 looks at the last update of an epoch, not at its average;
- `Orthant`: the first group holds u_0 ≤ 0 and every other u_i ≤ 100, before the squashing;
- `Source.read_critics` (in `old_policies`): good policies and weak Ant come with the critics of
  their online training, from which their evaluation begins;
- `refit_online`: the new policy's critics are refitted online, the old policy's are not, and this
  is called the truth.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from nacre.advice.paper_algorithm import Outcome, evaluate_old
from nacre.costs.groups import ActionGroups, Atoms
from nacre.errors import InputError
from nacre.experiments.shared import Shared
from nacre.experiments.tables import Row
from nacre.learners.net_actor_critic.config import LearnerConfig
from nacre.learners.net_actor_critic.stopping import StoppingRule
from nacre.policies.distributions import ActionDistribution
from nacre.policies.distributions.gaussian import Gaussian, normal_cdf
from nacre.policies.policy import describe_space
from nacre.training.progress import Progress

LARGEST_COORDINATE = 100.0
"""The published thresholds are 0 for the first coordinate and this for all others."""


@dataclass(frozen=True)
class AuthorsConfig:
    """Net Actor-Critic as the published code runs it.

    Args:
        learner: The learner, with the pieces that are options of it.
        refit_steps: Steps of the new policy in the world, and updates of its critics, afterwards.
    """

    learner: LearnerConfig
    refit_steps: int

    @classmethod
    def of(cls, row: Row) -> AuthorsConfig:
        """The paper's settings of a row, with all differences."""
        learner = stop_on_last(evaluate_unclipped(separate_cost(row.paper.learner)))
        return cls(learner, learner.evaluation.epochs * learner.evaluation.steps_per_epoch)

    def as_json(self) -> dict[str, Any]:
        """Plain data for a record."""
        return {"learner": self.learner.as_json(), "refit_steps": self.refit_steps}


def separate_cost(learner: LearnerConfig) -> LearnerConfig:
    """Learn Q and subtract C once, instead of net values by the net Bellman operator."""
    return dataclasses.replace(learner, form="apart")


def evaluate_unclipped(learner: LearnerConfig) -> LearnerConfig:
    """Evaluate without a bound on the gradients; learning keeps its bound."""
    critics = dataclasses.replace(learner.evaluation.critics, max_gradient_norm=None)
    evaluation = dataclasses.replace(learner.evaluation, critics=critics)
    return dataclasses.replace(learner, evaluation=evaluation)


def stop_on_last(learner: LearnerConfig) -> LearnerConfig:
    """Compare the value at the end of each epoch with the old one, instead of its average."""
    if not isinstance(learner.stopping, StoppingRule):
        return learner
    return dataclasses.replace(
        learner, stopping=dataclasses.replace(learner.stopping, value="last")
    )


@dataclass(frozen=True)
class Orthant(ActionGroups):
    """Two groups of action vectors, by their coordinates u before the squashing.

    The first holds u_0 ≤ 0 and u_i ≤ limit for every other coordinate. At states far from those
    that occur, where the published cost is taken, such coordinates can be larger than the limit.
    """

    limit: float = LARGEST_COORDINATE

    def mass_of(self, distribution: ActionDistribution) -> Float[Array, "... groups"]:
        """Π_i Φ((t_i - mean_i) / std_i), and the rest."""
        if not isinstance(distribution, Gaussian):
            raise InputError(
                f"groups before the squashing need a normal policy, this one is "
                f"{type(distribution).__name__}; use groups.sign(0)"
            )
        thresholds = np.full(distribution.action_size, self.limit)
        thresholds[0] = 0.0
        z = (jnp.asarray(thresholds, float) - distribution.location) / distribution.std
        first = jnp.prod(normal_cdf(z), axis=-1)
        return jnp.stack([first, 1.0 - first], axis=-1)

    def names(self, action_space: gymnasium.Space[Any]) -> tuple[str, ...]:
        """By the coordinates."""
        if not isinstance(action_space, gymnasium.spaces.Box):
            raise InputError(
                "groups before the squashing need action vectors, the actions are "
                f"{describe_space(action_space)}: use groups.halves()"
            )
        return f"u[0] ≤ 0 and every other u ≤ {self.limit:g}", "the rest"

    def atoms(self, distribution: ActionDistribution, key: PRNGKeyArray, n: int) -> Atoms:
        """The published cost moves no single points."""
        raise InputError("groups before the squashing have no transport plans; use groups.sign(0)")


def refit_online(
    shared: Shared, config: AuthorsConfig, outcome: Outcome, start: Any, report: Progress
) -> dict[str, Any]:
    """What critics say of the new policy after they were refitted to a log of its own.

    They begin as learning left them. The published code adds to its memory while it fits; here the
    steps are collected first.
    """
    log = shared.online_log(outcome.new_policy, config.refit_steps)
    found = evaluate_old(
        log,
        outcome.new_policy,
        start,
        config.learner,
        seed=shared.seed,
        progress=report,
        critics=outcome.learned.state.critics.online,
    )
    return {
        "value": found.value,
        "per_critic": found.per_critic.tolist(),
        "settled": bool(found.settled),
        "healthy": bool(found.healthy),
        "steps": config.refit_steps,
    }
