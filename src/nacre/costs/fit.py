"""Whether a log and the policies whose switch is to be priced come from the same world."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium
import numpy as np

from nacre.costs.guardrail_terms import GuardrailTerms
from nacre.errors import InputError
from nacre.logs import Log
from nacre.logs.checks.problems import show, show_names
from nacre.policies.policy import Policy, Signature, describe_space


def check_log_fits(log: Log, policy: Policy, name: str = "the policy") -> None:
    """Raise `InputError` if the log does not hold what a policy observes and does.

    A log may know fewer discrete states or actions than the policy: it need not have met them all.

    Args:
        log: The log.
        policy: The policy.
        name: What to call the policy in messages.
    """
    problems = []
    for what, mine, other in (
        ("observations", log.observation_space, policy.observation_space),
        ("actions", log.action_space, policy.action_space),
    ):
        if not _fits(mine, other):
            problems.append(
                f"{name} does not fit the log: its {what} are {_describe(other)}, those of the log "
                f"are {_describe(mine)}; give a log and policies of the same world"
            )
    spaces = Signature(log.observation_space, log.action_space)
    if not problems and spaces.masks and not policy.signature.masks:
        problems.append(
            f"{name} may take actions that the log does not allow; give it as "
            "nacre.read_policy(…, log=log) reads it, with as many actions as the log has"
        )
    if problems:
        raise InputError(problems)


def check_same_spaces(old_policy: Policy, new_policy: Policy) -> None:
    """Raise `InputError` if two policies do not act between the same spaces."""
    problems = []
    for what in ("observation", "action"):
        old, new = getattr(old_policy, f"{what}_space"), getattr(new_policy, f"{what}_space")
        sizes = [getattr(policy.signature, f"{what}_size") for policy in (old_policy, new_policy)]
        if type(old) is not type(new) or sizes[0] != sizes[1]:
            problems.append(
                f"the policies do not fit together: the old one's {what}s are "
                f"{describe_space(old)}, the new one's {describe_space(new)}; both must act in "
                "the same world"
            )
    if problems:
        raise InputError(problems)


def check_states_fit(states: np.ndarray, space: gymnasium.Space[Any]) -> None:
    """Raise `InputError` unless an array holds rows of an observation space."""
    if isinstance(space, gymnasium.spaces.Discrete):
        fits = states.ndim == 1 and states.dtype.kind in "iu"
        fits = fits and (not states.size or (states.min() >= 0 and states.max() < int(space.n)))
    else:
        fits = states.ndim == 2 and states.shape[1:] == space.shape and states.dtype.kind in "fiu"
    if not fits:
        raise InputError(
            f"states of shape {states.shape} and type {states.dtype} are no rows of the policies' "
            f"observations, which are {_describe(space)}"
        )


def _fits(log_space: gymnasium.Space[Any], policy_space: gymnasium.Space[Any]) -> bool:
    if isinstance(policy_space, gymnasium.spaces.Discrete):
        return isinstance(log_space, gymnasium.spaces.Discrete) and log_space.n <= policy_space.n
    return isinstance(log_space, gymnasium.spaces.Box) and log_space.shape == policy_space.shape


def _describe(space: gymnasium.Space[Any]) -> str:
    if isinstance(space, gymnasium.spaces.Discrete):
        return f"numbers from 0 to {int(space.n) - 1}"
    size = int(np.prod(space.shape or ()))
    return f"vectors of {size} {'number' if size == 1 else 'numbers'}"


def check_guardrails(log: Log, guardrails: Iterable[GuardrailTerms]) -> list[str]:
    """Problems of guardrails with a log: a line each."""
    problems = []
    left_out = log.provenance.get("left_out")
    for terms in guardrails:
        place = f"guardrail: the column {show(terms.column)}"
        if terms.column not in log.columns:
            known = f"there are {show_names(log.columns)}" if log.columns else "it has none"
            if isinstance(left_out, dict) and terms.column in left_out:
                why = f"was left out of the log ({left_out[terms.column]}); write numbers there"
            else:
                why = f"is not a further column of the log: {known}; name one of the log's own"
            problems.append(f"{place} {why}")
            continue
        values = np.asarray(log.columns[terms.column])
        if values.ndim != 1:
            problems.append(
                f"{place} has {values.shape[1]} numbers a row; keep the one that is meant"
            )
        elif not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            problems.append(
                f"{place} is {values[row]} in row {row}; fill it in, or drop its episode"
            )
    return problems
