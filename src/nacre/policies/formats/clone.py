"""The word "clone": the old policy fitted to the actions of its log."""

from __future__ import annotations

from typing import Any

import jax

from nacre.policies.cloning.log_cloning import clone_log
from nacre.policies.formats.base import PolicyFormat, PolicyOptions, Provenance
from nacre.policies.formats.columns import require_log
from nacre.policies.policy import Policy


class CloneFormat(PolicyFormat):
    """A policy fitted to the log's actions by maximum likelihood."""

    label = "'clone'"
    words = ("clone",)

    def read(self, source: Any, options: PolicyOptions) -> tuple[Policy, Provenance]:
        """The clone, and how well it predicts the actions of episodes held out."""
        log = require_log(str(source), options)
        policy, report = clone_log(log, jax.random.key(options.seed), options.clone)
        return policy, {"source": "clone", "report": report.as_json()}


CLONE = CloneFormat()
