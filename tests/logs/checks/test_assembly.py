from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict

from nacre.logs import Log
from nacre.logs.checks.assembly import assemble
from nacre.logs.checks.problems import Problems
from nacre.logs.schema.draft import Draft
from tests.support.logs import plain_columns


def make_draft(**changes: Any) -> Draft:
    return Draft({name: np.asarray(v) for name, v in plain_columns(**changes).items()})


def texts_of(draft: Draft) -> list[str]:
    problems = Problems()
    assert assemble(draft, problems) is None
    return [str(problem) for problem in problems.found]


def test_content_becomes_a_log_with_notes_of_what_was_assumed() -> None:
    content = assemble(make_draft(), Problems())
    assert content is not None
    log = Log.from_content(content)
    np.testing.assert_array_equal(log.offsets, [0, 2, 4])
    assert log.observations.dtype == log.rewards.dtype == np.float32
    assert log.observation_space == Box(-np.inf, np.inf, (2,))
    notes = log.provenance["notes"]
    assert isinstance(notes, list)
    assert [str(note).split(":")[0] for note in notes] == [
        "the observation space was not given",
        "the action space was not given",
    ]


def test_rows_in_any_order_are_the_same_log() -> None:
    ordered, mixed = make_draft(), make_draft()
    for draft in (ordered, mixed):
        draft.columns["step"] = np.array([0, 1, 0, 1])
    mixed.select_rows(np.array([1, 3, 0, 2]))
    first, second = (assemble(draft, Problems()) for draft in (ordered, mixed))
    assert first is not None
    assert second is not None
    assert "rows were put in order" in str(second.provenance["notes"])
    assert Log.from_content(first).fingerprint() == Log.from_content(second).fingerprint()


def test_columns_of_different_lengths() -> None:
    assert texts_of(make_draft(reward=[1.0, 2.0]))[0] == (
        "log: column 'reward': has 2 rows where the others have 4; "
        "give every column one entry a transition"
    )


def test_problems_of_different_kinds_are_found_at_once() -> None:
    draft = make_draft(terminated=[0, 2, 0, 0])
    draft.columns["reward_0"] = np.array(["a", "b", "c", "d"])
    draft.columns["observation_0"] = np.zeros(4)
    draft.spaces["action"] = Dict({})
    draft.provenance["x"] = float("nan")
    texts = "\n".join(texts_of(draft))
    for part in (
        "the provenance cannot be written as JSON",
        "the action space cannot be; Dict",
        "column 'terminated', row 1: is neither true nor false, found 2",
        "column 'reward_0': has the dtype <U1, not numbers",
        "column 'observation_0': cannot be the name of a further column",
    ):
        assert part in texts


def test_without_episodes_flags_end_them() -> None:
    draft = make_draft(episode=None)
    draft.spaces["action"] = Box(-1, 1, (1,))
    content = assemble(draft, Problems())
    assert content is not None
    np.testing.assert_array_equal(content.offsets, [0, 2, 4])
    assert content.action_space == Box(-1, 1, (1,))
