"""Policies that can only be asked."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.policies import BlackBox, Categorical, blackbox
from nacre.policies.blackbox import as_batch
from tests.support.policies import CHOICES, VECTORS, expect, say_logits

ROWS = np.random.default_rng(0).normal(size=(10, 2)).astype(np.float32)


def make_black_box() -> BlackBox:
    return BlackBox(say_logits, CHOICES, "logits", "a function")


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = make_black_box().outputs_at(ROWS)
    monkeypatch.setattr(blackbox, "CHUNK", 3)
    np.testing.assert_array_equal(make_black_box().outputs_at(ROWS), whole)
    np.testing.assert_array_equal(whole, say_logits(ROWS)["logits"])


def test_any_leading_shape_but_no_compiled_function() -> None:
    policy = make_black_box()
    said = expect(Categorical, policy(jnp.asarray(ROWS).reshape(2, 5, 2)))
    np.testing.assert_array_equal(said.logits.reshape(10, 3), policy.outputs_at(ROWS))
    with pytest.raises(InputError, match="record it at the log's states"):
        jax.jit(lambda rows: policy(rows).mode())(ROWS)


def test_form_and_actions_have_to_fit() -> None:
    with pytest.raises(InputError, match="does not fit the action space"):
        BlackBox(say_logits, VECTORS, "logits", "a function")
    with pytest.raises(InputError, match=r"give numbers of shape \(rows, 2\)"):
        as_batch(ROWS[:, :1], CHOICES)


def test_digests_tell_identities_apart() -> None:
    other = BlackBox(say_logits, CHOICES, "logits", "another function")
    assert make_black_box().digest == make_black_box().digest != other.digest
