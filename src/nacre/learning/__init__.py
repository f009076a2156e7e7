"""Finding a better policy."""

from nacre.learning.config import ActorConfig, LearnerConfig, PaperSettings, default, paper
from nacre.learning.occupancy import OccupancyConfig
from nacre.learning.progress import LiveBar, PlainLines, Reporter, Silent, Tick, open_reporter
from nacre.learning.run import EpochRecord, Learned, learn
from nacre.learning.stopping import StoppingRule, reason_to_stop

__all__ = [
    "ActorConfig",
    "EpochRecord",
    "Learned",
    "LearnerConfig",
    "LiveBar",
    "OccupancyConfig",
    "PaperSettings",
    "PlainLines",
    "Reporter",
    "Silent",
    "StoppingRule",
    "Tick",
    "default",
    "learn",
    "open_reporter",
    "paper",
    "reason_to_stop",
]
