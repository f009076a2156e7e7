"""What flags say about the policies that a command reads: one place for all commands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nacre.policies import Policy, PolicyOptions, read_policy_with_provenance
from nacre.policies.exploring import add_exploration
from nacre.policies.networks import check_activation
from nacre.policies.signatures import read_signature


@dataclass(frozen=True)
class PolicyFlags:
    """The flags.

    Args:
        epsilon: Share of uniform exploration on top of the policy in force.
        normalization: Statistics of a zip's normalised observations.
        activation: The activation of a zip that does not say it.
        signature: A file with the spaces of policies that do not say them.
    """

    epsilon: float = 0.0
    normalization: Path | None = None
    activation: str | None = None
    signature: Path | None = None

    @property
    def for_others(self) -> PolicyFlags:
        """For policies beside the one in force: exploration and statistics are its own."""
        return replace(self, epsilon=0.0, normalization=None)

    def read(self, source: str | Path, **further: Any) -> Policy:
        """Read a policy, with exploration on top if there is some.

        Args:
            source: As `nacre.read_policy` takes it.
            further: Further fields of `PolicyOptions`.
        """
        return self.read_with_provenance(source, **further)[0]

    def read_with_provenance(
        self, source: str | Path, **further: Any
    ) -> tuple[Policy, dict[str, Any]]:
        """The same, with where the policy comes from."""
        options = PolicyOptions(
            normalization=self.normalization,
            activation=check_activation(self.activation),
            signature=read_signature(self.signature),
            **further,
        )
        policy, provenance = read_policy_with_provenance(source, options)
        return add_exploration(policy, self.epsilon), provenance


NO_FLAGS = PolicyFlags()
"""Nothing is said: files say all themselves."""
