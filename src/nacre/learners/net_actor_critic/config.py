"""Configurations of Net Actor-Critic: the paper's, and ours."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Literal

from nacre.errors import InputError, check_arguments
from nacre.learners.net_actor_critic.occupancy import OccupancyConfig
from nacre.learners.net_actor_critic.stopping import Plateau, StoppingRule
from nacre.policies.networks import check_hidden
from nacre.policies.optimisers import check_adam
from nacre.training.backup import CriticConfig, Form
from nacre.training.fitted_evaluation import EvaluationConfig
from nacre.training.noise import Sampling

ActorStates = Literal["start", "log", "mixture"]


@check_arguments
@dataclass(frozen=True)
class ActorConfig:
    """How the new policy is improved.

    Args:
        states: Where the objective is taken: at the start (the paper), at the log's states, or
            both.
        start_share: Weight of the start in a mixture.
        n_start_states: Start states drawn for each step when there are more than this many.
        n_action_samples: Actions drawn at each start state (action vectors only).
        n_log_action_samples: Actions drawn at each of the log's states (action vectors only).
        sampling: Ordinary or quasi-random action samples at the start.
        discounted_states: Let the log's states weigh γ^t, t steps into their episode.
        combine: What the actor maximises of the ensemble: its minimum (the paper) or mean.
        kl_weight: Weight of KL(new ‖ old) at the log's states.
        learning_rate: Adam's.
        max_gradient_norm: Gradients longer than this are shortened to it; None for never.
        averaging: Share that the average of the policy's weights keeps at each step; the average is
            what is learned. None to take the weights as the last step left them.
        warm_start: Start from the old policy's weights ("train from scratch" off).
        hidden: Hidden layers of a policy trained from scratch.
    """

    states: ActorStates = "start"
    start_share: float = 0.5
    n_start_states: int = 16
    n_action_samples: int = 1000
    n_log_action_samples: int = 1
    sampling: Sampling = "ordinary"
    discounted_states: bool = False
    combine: Literal["min", "mean"] = "min"
    kl_weight: float = 0.0
    learning_rate: float = 3e-4
    max_gradient_norm: float | None = None
    averaging: float | None = None
    warm_start: bool = True
    hidden: tuple[int, ...] = (256, 256)

    def __post_init__(self) -> None:
        problems = self._find_unknown_words() + self._find_wrong_numbers()
        if problems:
            raise InputError(problems)

    def _find_unknown_words(self) -> list[str]:
        known = {
            "states": ("start", "log", "mixture"),
            "sampling": ("ordinary", "quasi"),
            "combine": ("min", "mean"),
        }
        return [
            f"actor.{name} = {getattr(self, name)!r}: known are {', '.join(words)}"
            for name, words in known.items()
            if getattr(self, name) not in words
        ]

    def _find_wrong_numbers(self) -> list[str]:
        problems = [
            f"actor.{name} = {getattr(self, name)}: at least 1 is needed"
            for name in ("n_start_states", "n_action_samples", "n_log_action_samples")
            if getattr(self, name) < 1
        ]
        if not 0.0 <= self.start_share <= 1.0:
            problems.append(f"actor.start_share = {self.start_share}: must lie in [0, 1]")
        if not 0.0 <= self.kl_weight < math.inf:
            problems.append(f"actor.kl_weight = {self.kl_weight}: must be finite and not negative")
        problems += check_adam("actor", self.learning_rate, self.max_gradient_norm)
        if self.averaging is not None and not 0.0 <= self.averaging < 1.0:
            problems.append(
                f"actor.averaging = {self.averaging}: must lie in [0, 1), or None for no average"
            )
        return problems + check_hidden("actor.hidden", self.hidden)


@check_arguments
@dataclass(frozen=True)
class LearnerConfig:
    """Everything that Net Actor-Critic can be told.

    Args:
        discount: γ.
        critics: The ensemble of Algorithm 1.
        actor: The policy improvement step.
        occupancy: Correct the log's states to those that the new policy visits; None for not.
        evaluation: Algorithm 2, for the old policy and for the final one.
        stopping: Algorithm 3, a plateau, or None to run all epochs.
        epochs: Largest number of epochs.
        steps_per_epoch: Updates in each.
        ramp_epochs: Epochs over which the cost rises from nothing to all of it. From the old
            policy a switch that pays only as a whole cannot be found step by step; from a free
            switch the rising cost takes back what is not worth it.
        prefit_steps: Steps of regression on the log's returns before the first epoch.
        warm_critics: Begin with the critics that evaluated the old policy, as the published runs
            do; else with fresh ones.
        n_cost_states: States drawn for the cost at each update.
        n_cost_states_evaluation: States drawn for the final cost, where its measure is sampled.
        form: Keep Q and C apart, or learn net values by the net Bellman operator.
        clip_targets: Keep the critics' targets within what the log's rewards allow.
        reevaluate: Evaluate the final policy with fresh critics; off, by the training critics.
    """

    discount: float = 0.99
    critics: CriticConfig = field(default_factory=CriticConfig)
    actor: ActorConfig = field(default_factory=ActorConfig)
    occupancy: OccupancyConfig | None = None
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    stopping: StoppingRule | Plateau | None = field(default_factory=StoppingRule)
    epochs: int = 100
    steps_per_epoch: int = 1000
    ramp_epochs: int = 0
    prefit_steps: int = 0
    warm_critics: bool = False
    n_cost_states: int = 10
    n_cost_states_evaluation: int = 10_000
    form: Form = "apart"
    clip_targets: bool = False
    reevaluate: bool = True

    def __post_init__(self) -> None:
        problems = []
        if not 0.0 <= self.discount < 1.0:
            problems.append(f"discount = {self.discount}: must lie in [0, 1)")
        for name in ("epochs", "steps_per_epoch", "n_cost_states", "n_cost_states_evaluation"):
            if getattr(self, name) < 1:
                problems.append(f"{name} = {getattr(self, name)}: at least 1 is needed")
        for name in ("prefit_steps", "ramp_epochs"):
            if getattr(self, name) < 0:
                problems.append(f"{name} = {getattr(self, name)}: cannot be negative")
        if self.form not in ("apart", "net"):
            problems.append(f"form = {self.form!r}: known are apart, net")
        if self.occupancy is not None and not self.actor.discounted_states:
            problems.append(
                "occupancy corrects discounted visits, actor.discounted_states is False: set it to "
                "True, or occupancy to None"
            )
        if self.warm_critics and self.prefit_steps:
            problems.append(
                f"prefit_steps = {self.prefit_steps} would overwrite the critics that warm_critics "
                "brings: set one of the two"
            )
        if self.warm_critics and not self.critics.alike(self.evaluation.critics):
            problems.append(
                "warm_critics takes over the critics of the evaluation, which are built otherwise: "
                "give critics and evaluation.critics the same networks and scalings"
            )
        if problems:
            raise InputError(problems)

    @property
    def stops_on_last(self) -> bool:
        """Whether the stopping rule looks at the value at the end of an epoch."""
        return isinstance(self.stopping, StoppingRule) and self.stopping.value == "last"

    def as_json(self) -> dict[str, Any]:
        """All values as plain data, for records."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class PaperSettings:
    """A column of the paper's hyper-parameter tables: the learner and the experiment around it."""

    world: str
    learner: LearnerConfig
    learning_weights: tuple[float, ...]
    transaction_weights: tuple[float, ...]
    cost_pairs: tuple[tuple[float, float], ...]
    data_size: int
    episode_length: int
    repetitions: int = 10
    seeds: tuple[int, ...] = tuple(range(4, 14))


def _paper_learner(
    critics: CriticConfig,
    actor: ActorConfig,
    evaluation: EvaluationConfig,
    stopping: StoppingRule,
    *,
    epochs: int,
    steps_per_epoch: int,
) -> LearnerConfig:
    """What the paper's learners have in common: net critics that go on from the old policy's."""
    return LearnerConfig(
        discount=0.99,
        critics=critics,
        actor=actor,
        evaluation=evaluation,
        stopping=stopping,
        epochs=epochs,
        steps_per_epoch=steps_per_epoch,
        n_cost_states=10,
        n_cost_states_evaluation=10_000,
        warm_critics=True,
        form="net",
        reevaluate=False,
    )


@check_arguments
def paper(world: str) -> PaperSettings:
    """The paper's settings for "Ant-v4", "HalfCheetah-v4", "Hopper-v4" or "sumo"."""
    if world == "sumo":
        return _paper_traffic()
    if world not in _GYMNASIUM:
        known = ", ".join([*_GYMNASIUM, "sumo"])
        raise InputError(f"the paper has no settings for {world!r}; it has {known}")
    actor_norm, n_actions, growth_rate, transaction_weights = _GYMNASIUM[world]
    critics = CriticConfig(
        n_critics=2, learning_rate=3e-4, max_gradient_norm=1.0, batch_size=256, backup="min"
    )
    learner = _paper_learner(
        critics=critics,
        actor=ActorConfig(
            states="start",
            n_action_samples=n_actions,
            learning_rate=3e-4,
            max_gradient_norm=actor_norm,
            warm_start=True,
        ),
        evaluation=EvaluationConfig(
            critics, epochs=50, steps_per_epoch=1000, combine="min", n_actions=10_000
        ),
        stopping=StoppingRule(
            least_epochs=20, growth_rate=growth_rate, upper_bound=50.0, lower_bound=10.0
        ),
        epochs=100,
        steps_per_epoch=1000,
    )
    return PaperSettings(
        world=world,
        learner=learner,
        learning_weights=(5.0,),
        transaction_weights=transaction_weights,
        cost_pairs=tuple((5.0, weight) for weight in transaction_weights),
        data_size=1_000_000,
        episode_length=1000,
    )


_GYMNASIUM: dict[str, tuple[float, int, float, tuple[float, ...]]] = {
    "Ant-v4": (1.0, 1000, 1.0, (0.0, 1.0)),
    "HalfCheetah-v4": (5.0, 2000, 0.15, (0.0, 0.1)),
    "Hopper-v4": (1.0, 1000, 1.0, (0.0, 0.1)),
}
"""Maximum gradient norm of the actor, action samples in training, α, and the values of c_t."""


def _paper_traffic() -> PaperSettings:
    critics = CriticConfig(
        n_critics=2, learning_rate=3e-4, max_gradient_norm=None, batch_size=256, backup="min"
    )
    pairs = ((0.5, 0.01), (5.0, 0.1), (10.0, 1.0))
    learner = _paper_learner(
        critics=critics,
        actor=ActorConfig(states="start", max_gradient_norm=None, learning_rate=3e-4),
        evaluation=EvaluationConfig(critics, epochs=50, steps_per_epoch=400, combine="min"),
        stopping=StoppingRule(least_epochs=20, growth_rate=0.5, upper_bound=5.0, lower_bound=5.0),
        epochs=150,
        steps_per_epoch=400,
    )
    return PaperSettings(
        world="sumo",
        learner=learner,
        learning_weights=tuple(pair[0] for pair in pairs),
        transaction_weights=tuple(pair[1] for pair in pairs),
        cost_pairs=pairs,
        data_size=100_000,
        episode_length=100,
    )


def default() -> LearnerConfig:
    """Our own: the actor learns at the log's states with five normalised, pre-fitted critics.

    Small networks, fast targets and large steps reach in a few thousand updates what the paper's
    settings do not reach at all. The final policy is evaluated by fresh critics that never saw its
    training, each with its own target network, fitted first to the log's returns.
    """
    critics = CriticConfig.normalised(5, hidden=(128, 128), polyak=0.98)
    judges = dataclasses.replace(critics, backup="own")
    return LearnerConfig(
        critics=critics,
        actor=ActorConfig(states="log", sampling="quasi", n_action_samples=128, learning_rate=1e-3),
        evaluation=EvaluationConfig(
            judges, epochs=8, prefit_steps=2000, combine="mean", averaged=True
        ),
        stopping=None,
        epochs=8,
        prefit_steps=2000,
        n_cost_states=64,
        clip_targets=True,
    )
