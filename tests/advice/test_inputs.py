"""What advice is given: objects or files, all of it checked before anything is learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.advice.inputs import Inputs, read_inputs
from nacre.errors import InputError
from nacre.logs import write_log
from nacre.policies import fingerprint, write_policy
from tests.support.rooms import (
    BEST,
    OLD,
    make_candidate,
    make_cost,
    make_policy,
    make_rooms_log,
)


def read(**changes: Any) -> Inputs:
    given: dict[str, Any] = {
        "log": make_rooms_log(),
        "old_policy": make_policy(OLD),
        "cost": make_cost(2.0),
        "start": None,
        "candidates": (),
        "uncertainty": None,
        "seed": 0,
    }
    return read_inputs(**(given | changes))


def test_objects_are_taken_as_they_are() -> None:
    mine = make_candidate("mine", BEST)
    found = read(candidates=[mine])
    assert found.log is make_rooms_log()
    assert found.candidates == (mine,)
    assert (found.uncertainty, found.given_start) == (0.0, False)
    np.testing.assert_array_equal(found.start, make_rooms_log().starts)
    named = read(start=1, uncertainty=0.1)
    assert named.given_start
    assert named.start.tolist() == [1]
    assert named.uncertainty == 0.1


def test_files_hold_the_same(tmp_path: Path) -> None:
    log, old, new = (
        tmp_path / name for name in ("log.parquet", "old.safetensors", "new.safetensors")
    )
    write_log(make_rooms_log(), log)
    write_policy(make_policy(OLD), old)
    write_policy(make_policy(BEST), new)
    found = read(log=log, old_policy=str(old), candidates=[new])
    assert found.log.fingerprint() == make_rooms_log().fingerprint()
    assert fingerprint(found.old_policy) == fingerprint(make_policy(OLD))
    (candidate,) = found.candidates
    assert (candidate.name, candidate.origin) == ("new", "given as new.safetensors")
    assert fingerprint(candidate.policy) == fingerprint(make_policy(BEST))


def test_everything_that_does_not_fit_is_named_at_once() -> None:
    wide = make_candidate("wide", np.full((3, 2), 0.5))
    with pytest.raises(InputError) as caught:
        read(log=make_rooms_log().select([0, 1, 2]), candidates=[wide], uncertainty=-0.1)
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "the log has 3 episodes; advice needs at least 4, some to learn from and others to test on",
        "uncertainty = -0.1",
        "candidate wide",
    ]


def test_a_policy_of_another_world_is_refused() -> None:
    with pytest.raises(InputError, match="the old policy"):
        read(old_policy=make_policy(np.ones((2, 1))))


@pytest.mark.parametrize("start", [7, -1, [[0.5]]])
def test_a_start_that_is_no_state_is_refused(start: Any) -> None:
    with pytest.raises(InputError, match="start"):
        read(start=start)
