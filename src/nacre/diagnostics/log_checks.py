"""Stand-in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nacre.diagnostics.on_policy import Behaviour, examine_behaviour
from nacre.logs import Log
from nacre.policies.policy import Policy


@dataclass(frozen=True)
class LogChecks:
    """Stand-in."""

    behaviour: Behaviour

    @property
    def on_policy(self) -> bool:
        """Stand-in."""
        return self.behaviour.on_policy

    @property
    def own(self) -> Any:
        """Stand-in."""
        return self.behaviour.own

    @property
    def forbidden(self) -> str:
        """Stand-in."""
        return "" if self.on_policy else self.behaviour.describe()

    remedy = "give the policy that made the log"

    @property
    def problems(self) -> tuple[str, ...]:
        """Stand-in."""
        return (self.behaviour.describe(),)

    def as_json(self) -> dict[str, Any]:
        """Stand-in."""
        return {"on_policy": {"on_policy": self.on_policy, "share": self.behaviour.share}}


def check_log(log: Log, policy: Policy) -> LogChecks:
    """Stand-in."""
    return LogChecks(examine_behaviour(log, policy))
