"""Smaller steps: between the old policy and the candidate, where both can be asked anywhere."""

from __future__ import annotations

import numpy as np

from nacre.learners.base import Candidate
from nacre.learners.steps import make_steps
from nacre.policies.blackbox import BlackBox
from tests.support.policies import say_logits
from tests.support.rooms import BEST, OLD, make_candidate, make_policy


def test_steps_lie_between_the_old_policy_and_the_candidate() -> None:
    half, fifth = make_steps(make_candidate("best", BEST), make_policy(OLD))
    assert (half.name, fifth.name) == ("best-step0.5", "best-step0.2")
    table = np.asarray(fifth.policy.table)  # type: ignore[attr-defined]
    np.testing.assert_allclose(table, 0.8 * OLD + 0.2 * BEST, atol=1e-6)
    assert half.origin.endswith("in 50 % of all steps, else the old policy")


def test_no_steps_where_a_policy_cannot_be_asked_anywhere() -> None:
    policy = make_policy(OLD)
    box = BlackBox(say_logits, policy.signature, "logits", "a function")
    assert make_steps(Candidate("box", box, "given"), policy) == []
