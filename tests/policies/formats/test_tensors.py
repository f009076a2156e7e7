"""Tensors of policy files: taken by name, checked, stacked."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.policies.formats.tensors import (
    check_tensors,
    describe_error,
    stack_layers,
    take,
    take_layer,
)


def test_layers_are_taken_whole_and_stacked() -> None:
    tensors = {"a.weight": np.array([[1.0, 2.0]], np.float16), "a.bias": np.array([0.5])}
    weight, bias = take_layer(tensors, "a")
    assert tensors == {}
    assert weight.dtype == np.float32
    network = stack_layers([(weight, bias)], ("identity",))
    assert float(network(jnp.array([3.0, 4.0]))[0]) == 11.5


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(InputError, match="'a' is missing"):
        take({}, "a")
    with pytest.raises(InputError, match=r"a: weight of shape \(2, 3\) and bias of shape \(3,\)"):
        take_layer({"a.weight": np.zeros((2, 3)), "a.bias": np.zeros(3)}, "a")
    never = {"logits": np.array([[0.0, -np.inf]])}
    assert check_tensors(never) == []
    assert "holds NaN or infinity" in check_tensors({"bias": never["logits"]})[0]


def test_errors_of_others_are_one_short_line() -> None:
    assert describe_error(ValueError("two\nlines")) == "two lines"
    assert describe_error(ValueError()) == "ValueError"
    assert len(describe_error(ValueError("x" * 1000))) == 160
