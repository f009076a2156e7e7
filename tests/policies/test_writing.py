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
    deliver_policy,
    fingerprint,
    read_policy_with_provenance,
    write_policy,
)
from nacre.policies.mixture import mix_policies
from tests.support.policies import VECTOR, make_policy

TABLE = TabularPolicy.from_probabilities([[0.7, 0.3, 0.0], [0.1, 0.6, 0.3]])


def make_rule() -> RulePolicy:
    """A policy of a kind that has no tensors to write."""
    empty, signature = jnp.zeros((0, 3)), Signature(VECTOR, Discrete(2))
    return RulePolicy(empty, empty, jnp.zeros((1, 2)), signature, "categorical")


def test_policies_without_a_file_form(tmp_path: Path) -> None:
    arms = [make_policy("squashed_gaussian", seed=seed) for seed in (0, 1)]
    for policy, name in ((mix_policies(*arms, 0.5), "p.onnx"), (make_rule(), "p.safetensors")):
        with pytest.raises(InputError, match="clone it into a network"):
            write_policy(policy, tmp_path / name)
    with pytest.raises(InputError, match=r"ends in \.safetensors, \.onnx or \.toml"):
        write_policy(TABLE, tmp_path / "p.pt")
    assert list(tmp_path.iterdir()) == []


def test_a_delivery_holds_every_format_and_what_acts_with_it(tmp_path: Path) -> None:
    delivery = deliver_policy(TABLE, tmp_path, "new", {"verdict": "switch"})
    assert delivery.missing == ()
    assert list(delivery.files) == ["new.safetensors", "new.onnx", "predict.py"]
    assert {path.name for path in tmp_path.iterdir()} == set(delivery.files)
    policy, provenance = read_policy_with_provenance(tmp_path / "new.safetensors")
    assert fingerprint(policy) == fingerprint(TABLE)
    assert provenance == {"verdict": "switch"}


def test_a_delivery_removes_files_of_another_policy(tmp_path: Path) -> None:
    deliver_policy(TABLE, tmp_path, "new", {})
    delivery = deliver_policy(make_rule(), tmp_path, "new", {})
    assert list(delivery.files) == ["new.toml", "new.onnx", "predict.py"]
    assert delivery.missing == ()
    assert {path.name for path in tmp_path.iterdir()} == set(delivery.files)
