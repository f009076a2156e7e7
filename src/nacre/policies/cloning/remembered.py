"""How far a clone may be off, as long as it lives: it travels with the policy object."""

from __future__ import annotations

import weakref

from nacre.policies.policy import Policy

_SHARES: dict[int, float] = {}


def remember_uncertainty(policy: Policy, share: float) -> None:
    """Keep the share of its probability that may lie on the wrong actions; nothing is not kept."""
    if share > 0:
        _SHARES[id(policy)] = share
        weakref.finalize(policy, _SHARES.pop, id(policy), None)


def recall_uncertainty(policy: Policy) -> float:
    """What was remembered of this very object; 0 for a policy that is no clone."""
    return _SHARES.get(id(policy), 0.0)
