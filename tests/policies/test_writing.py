"""Writing policies, and delivering them in several formats."""

from pathlib import Path

import jax.numpy as jnp
import pytest
from gymnasium.spaces import Discrete

from nacre.errors import InputError
from nacre.policies import (
    RulePolicy,
    Signature,
    TabularPolicy,
    write_policy,
)
from tests.support.policies import VECTOR

TABLE = TabularPolicy.from_probabilities([[0.7, 0.3, 0.0], [0.1, 0.6, 0.3]])


def test_policies_without_a_file_form(tmp_path: Path) -> None:
    signature = Signature(VECTOR, Discrete(2))
    empty = jnp.zeros((0, 3))
    rule = RulePolicy(empty, empty, jnp.zeros((1, 2)), signature, "categorical")
    for name in ("p.onnx", "p.safetensors"):
        with pytest.raises(InputError, match="clone it into a network"):
            write_policy(rule, tmp_path / name)
    with pytest.raises(InputError, match=r"ends in \.safetensors or \.onnx"):
        write_policy(TABLE, tmp_path / "p.pt")
    assert list(tmp_path.iterdir()) == []
