"""Clones of what a policy says."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.policies import (
    CloneConfig,
    MLPPolicy,
    Signature,
    clone_policy,
    fingerprint,
)
from nacre.policies.cloning import rows as rows_module
from nacre.policies.records import hash_rows
from tests.support.policies import (
    CHOICES,
    QUICK,
    VECTORS,
    Answering,
    ask_black_box,
    say_action,
    say_gaussian,
    say_logits,
)


@pytest.mark.parametrize(
    ("function", "signature", "divergence"),
    [(say_logits, CHOICES, 2e-3), (say_gaussian, VECTORS, 3e-2), (say_action, VECTORS, 2e-3)],
)
def test_clones_match_on_states_held_out(
    function: Answering, signature: Signature, divergence: float
) -> None:
    rows = np.random.default_rng(1).normal(size=(3000, 2)).astype(np.float32)
    config = CloneConfig(hidden=(32,), n_steps=1500, batch_size=128)
    black_box = ask_black_box(function, signature)
    clone, match = clone_policy(black_box, rows, jax.random.key(0), config)
    assert isinstance(clone, MLPPolicy)
    assert clone.head == black_box.head
    assert (match.n_rows, match.n_held_out) == (2700, 300)
    assert match.divergence < divergence
    assert match.largest_difference < 0.7
    fresh = np.random.default_rng(2).normal(size=(1000, 2)).astype(np.float32)
    assert (
        np.mean(np.abs(clone(jnp.asarray(fresh)).mode() - black_box(jnp.asarray(fresh)).mode()))
        < 0.05
    )


def test_rows_that_fill_up_teach_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same clone from arrays of its own size and from those of a size that others share."""
    rows = np.random.default_rng(1).normal(size=(301, 2)).astype(np.float32)
    black_box = ask_black_box(say_logits, CHOICES)
    padded, _ = clone_policy(black_box, rows, jax.random.key(0), QUICK)
    monkeypatch.setattr(rows_module, "round_up", lambda n: n)
    exact, _ = clone_policy(black_box, rows, jax.random.key(0), QUICK)
    said, expected = (np.asarray(one.outputs_at(jnp.asarray(rows))) for one in (padded, exact))
    np.testing.assert_allclose(said, expected, atol=1e-4)


def test_a_clone_of_a_sure_choice() -> None:
    rows = np.random.default_rng(1).normal(size=(2000, 2)).astype(np.float32)
    black_box = ask_black_box(lambda r: np.where(r[:, 0] > 0, 2, 0), CHOICES)
    _, match = clone_policy(black_box, rows, jax.random.key(0), QUICK)
    assert match.agreement > 0.97
    assert 0 < match.divergence < 0.2


def test_clones_are_reproducible() -> None:
    rows = np.random.default_rng(1).normal(size=(200, 2)).astype(np.float32)
    black_box = ask_black_box(say_logits, CHOICES)
    one, two = (clone_policy(black_box, rows, jax.random.key(4), QUICK) for _ in range(2))
    assert fingerprint(one[0]) == fingerprint(two[0])
    assert one[1] == two[1]


def test_too_few_observations() -> None:
    black_box = ask_black_box(say_logits, CHOICES)
    with pytest.raises(InputError, match="fewer than 2"):
        clone_policy(black_box, np.zeros((1, 2)), jax.random.key(0))
    with pytest.raises(InputError, match="no observation"):
        hash_rows(np.zeros((0, 2)))


@pytest.mark.parametrize("change", [{"n_steps": 0}, {"learning_rate": 0.0}, {"held_out": 1.0}])
def test_configurations_that_make_no_sense(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        CloneConfig(**change)
