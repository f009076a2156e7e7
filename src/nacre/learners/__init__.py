"""Finding a better policy."""

from nacre.learners.net_actor_critic.config import (
    ActorConfig,
    LearnerConfig,
    PaperSettings,
    default,
    paper,
)
from nacre.learners.net_actor_critic.occupancy import OccupancyConfig
from nacre.learners.net_actor_critic.run import EpochRecord, Learned, learn
from nacre.learners.net_actor_critic.stopping import (
    Plateau,
    StoppingRule,
    find_plateau,
    reason_to_stop,
)
from nacre.training.progress import NoProgress, Progress, ProgressEvent

__all__ = [
    "ActorConfig",
    "EpochRecord",
    "Learned",
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
