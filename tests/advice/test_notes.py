"""Notes of a record: candidates of the user's that are not tested."""

from __future__ import annotations

import dataclasses

from nacre.advice.notes import explain_untested
from nacre.learners.steps import make_steps
from tests.support.rooms import BEST, OLD, make_candidate, make_policy


def test_candidates_of_the_user_that_are_not_tested_are_named() -> None:
    given = [
        make_candidate(f"share {one}", one * BEST + (1 - one) * OLD) for one in (0.2, 1.0, 0.0)
    ]
    step = make_steps(given[2], make_policy(OLD))[1]
    # As it comes back from another process.
    tested = dataclasses.replace(given[0], policy=make_policy(OLD))
    stranger = dataclasses.replace(given[1], origin="of a learner")
    assert explain_untested(given, (tested, stranger, step)) == [
        "the candidate share 1.0 was not tested: others came first on the learning part of the log",
        "the candidate share 0.0 was not tested: the smaller step share 0.0-step0.2 came first on "
        "the learning part of the log",
    ]
    assert explain_untested(given, given) == []
