"""Finding a better policy: learners make candidates from a log."""

from nacre.learners.base import Candidate, Learner
from nacre.learners.net_actor_critic.config import (
    ActorConfig,
    LearnerConfig,
    PaperSettings,
    default,
    paper,
)
from nacre.learners.net_actor_critic.journal import EpochRecord, Learned
from nacre.learners.net_actor_critic.occupancy import OccupancyConfig
from nacre.learners.net_actor_critic.run import learn
from nacre.learners.net_actor_critic.stopping import (
    Plateau,
    StoppingRule,
    find_plateau,
    reason_to_stop,
)
from nacre.plugins.registry import Registry
from nacre.training.progress import NoProgress, Progress, ProgressEvent

LEARNERS: Registry[type[Learner]] = Registry(
    "nacre.learners",
    "learner",
    {
        "net_actor_critic": "nacre.learners.net_actor_critic.learner:NetActorCritic",
        "one_step": "nacre.learners.one_step:OneStepLearner",
        "policy_iteration": "nacre.learners.policy_iteration:PolicyIteration",
        "scale_noise": "nacre.learners.scale_noise:ScaleNoise",
        "tabular_planner": "nacre.learners.tabular_planner:TabularPlanner",
        "td3": "nacre.learners.td3:TD3",
    },
)
"""Every learner; an advice asks ours with settings that fit the log, and all others as they are."""

__all__ = [
    "LEARNERS",
    "ActorConfig",
    "Candidate",
    "EpochRecord",
    "Learned",
    "Learner",
    "LearnerConfig",
    "NoProgress",
    "OccupancyConfig",
    "PaperSettings",
    "Plateau",
    "Progress",
    "ProgressEvent",
    "StoppingRule",
    "default",
    "find_plateau",
    "learn",
    "paper",
    "reason_to_stop",
]
