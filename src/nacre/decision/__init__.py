"""Switch or keep."""

from nacre.decision.algorithm import Outcome, net_actor_critic
from nacre.decision.rule import Choice, decide

__all__ = ["Choice", "Outcome", "decide", "net_actor_critic"]
