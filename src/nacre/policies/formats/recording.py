"""Policies that can only be asked: recorded at the log's states where there is a log."""

from __future__ import annotations

import jax

from nacre.policies.blackbox import BlackBox
from nacre.policies.formats.base import PolicyOptions, Provenance
from nacre.policies.policy import Policy
from nacre.policies.records import Record, record_policy


def record_black_box(
    policy: BlackBox, options: PolicyOptions, source: str
) -> tuple[Policy, Provenance]:
    """The record of a black box at the states of the options' log; the black box without a log.

    Args:
        policy: The policy.
        options: The log, further states, and how to clone.
        source: What kind of source it comes from, for the provenance.
    """
    provenance = {"source": source, "form": policy.form, "identity": policy.identity}
    if options.log is None:
        return policy, provenance
    key = jax.random.key(options.seed)
    record = record_policy(policy, options.log, key, states=options.states, config=options.clone)
    return add_match(record, provenance)


def add_match(record: Record, provenance: Provenance) -> tuple[Policy, Provenance]:
    """A record's policy, and its provenance with how well the clone behind it matches."""
    if record.match is not None:
        provenance = provenance | {"clone_match": record.match.as_json()}
    return record.policy, provenance
