"""Spaces from a file, for policies that do not say them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.policies import Signature
from nacre.policies.signatures import read_signature

WHOLE = """[observation_space]
type = "box"
low = [-1, -2]
high = [1, 2]

[action_space]
type = "discrete"
n = 3
"""


def test_spaces_are_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "spaces.toml"
    path.write_text(WHOLE)
    box = Box(np.array([-1, -2], np.float32), np.array([1, 2], np.float32))
    assert read_signature(path) == Signature(box, Discrete(3))
    assert read_signature(None) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (WHOLE.partition("[action_space]")[0], "action_space: is missing; write it like"),
        (WHOLE.replace("n = 3", "n = 0"), r"action_space: Discrete\(0\); n has to lie"),
        ("spaces", "cannot be read as TOML"),
        (".".join("a" * 99) + " = 1", r"cannot be read as TOML \(.* has more than 32 parts"),
        ("a = " + "[" * 999, r"cannot be read as TOML \(lists or tables nested more than 64"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_write(tmp_path: Path, text: str, line: str) -> None:
    path = tmp_path / "spaces.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=f"spaces.toml: {line}"):
        read_signature(path)
