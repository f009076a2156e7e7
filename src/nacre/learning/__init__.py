"""Finding a better policy."""

from nacre.learning.config import ActorConfig, LearnerConfig, PaperSettings, default, paper
from nacre.learning.displays import LiveBar, PlainLines, open_reporter
from nacre.learning.occupancy import OccupancyConfig
from nacre.learning.progress import Reporter, Silent, Tick
from nacre.learning.run import EpochRecord, Learned, learn
from nacre.learning.stopping import Plateau, StoppingRule, find_plateau, reason_to_stop

__all__ = [
    "ActorConfig",
    "EpochRecord",
    "Learned",
    "LearnerConfig",
    "LiveBar",
    "OccupancyConfig",
    "PaperSettings",
    "PlainLines",
    "Plateau",
    "Reporter",
    "Silent",
    "StoppingRule",
    "Tick",
    "default",
    "find_plateau",
    "learn",
    "open_reporter",
    "paper",
    "reason_to_stop",
]
