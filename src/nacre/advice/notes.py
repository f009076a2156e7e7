"""Notes of a record: what has to be said of log, policy and candidates beside the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nacre.advice.setting import Setting
from nacre.learners.base import Candidate
from nacre.learners.steps import is_step


def list_notes(
    setting: Setting, results: Mapping[str, Any], learned: Sequence[Candidate]
) -> tuple[str, ...]:
    """Of the log, of candidates that were dropped or are not tested, and of the old policy."""
    notes = list(results["log checks"].problems)
    notes += [f"{one.name} was not proposed. {one.problem}" for one in learned if one.problem]
    notes += explain_untested(results["given"], results["finalists"])
    if setting.undiscounted:
        notes.append(
            f"a discount of 1 is stood for by {setting.config.discount:.6g}, and what that changes "
            "in the log is charged on every gain"
        )
    if setting.uncertainty > 0:
        notes.append(
            f"the old policy is a clone of the log: {setting.uncertainty:.1%} of its probability "
            "may lie on the wrong actions, which the cost's error counts"
        )
    return tuple(notes)


def explain_untested(given: Sequence[Candidate], finalists: Sequence[Candidate]) -> list[str]:
    """One sentence for each candidate of the user's that is no finalist."""
    tested = {(one.name, one.origin) for one in finalists}
    notes = []
    for candidate in given:
        if (candidate.name, candidate.origin) in tested:
            continue
        steps = [one.name for one in finalists if is_step(one, candidate)]
        others = f"the smaller step {steps[0]}" if steps else "others"
        notes.append(
            f"the candidate {candidate.name} was not tested: {others} came first on the learning "
            "part of the log"
        )
    return notes
