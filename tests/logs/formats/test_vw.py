"""Bandit logs of Vowpal Wabbit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre.errors import InputError
from nacre.logs import read_log
from nacre.logs.schema.naming import action_labels, observation_names

ROWS = """1:2:0.4 | a c:0.5
3:-0.5:0.2 |user age:30 b |item b:2
4:1:0.25 'tag |user age:40

2:1.5e0:1.0 | a
"""


def test_rows_are_episodes_of_one_step(tmp_path: Path) -> None:
    path = tmp_path / "log.vw"
    path.write_text(ROWS)
    log = read_log(path)
    assert log.n_episodes == len(log) == 4
    assert log.action_space == Discrete(4)
    assert action_labels(log) == (1, 2, 3, 4)
    np.testing.assert_array_equal(log.actions, [0, 2, 3, 1])
    np.testing.assert_array_equal(log.rewards, [-2.0, 0.5, -1.0, -1.5])
    np.testing.assert_allclose(log.columns["propensity"], [0.4, 0.2, 0.25, 1.0])
    names = [name.removeprefix("observation.") for name in observation_names(log)]
    assert names == ["a", "c", "user.age", "user.b", "item.b"]
    np.testing.assert_array_equal(log.observations[1], [0, 0, 30, 1, 2])


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("shared | a\n0:1:0.5 | b\n", "line 1 is of the form cb_adf"),
        ("1 | a\n", "line 1 begins with '1'; write action:cost:probability"),
        ("0:1:0.5 | a\n", "actions counted from 1"),
        ("1:1:0.5 | a\n1000000000:1:0.5 | a\n", "line 2 begins with '1000000000:1:0.5'"),
        (f"{'9' * 5000}:1:0.5 | a\n", "counted from 1 to 100,000"),
        ("1:1:0.5 | a:b\n", "line 1: could not convert"),
        ("1:1:0.5 |\n", "has 0 different features"),
    ],
)
def test_other_rows_are_refused(tmp_path: Path, text: str, line: str) -> None:
    path = tmp_path / "log.vw"
    path.write_text(text)
    with pytest.raises(InputError, match=line):
        read_log(path)
