"""Policies of thresholds, by hand."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from nacre.policies import Categorical, RulePolicy
from tests.support.policies import CHOICES, expect


def make_rule() -> RulePolicy:
    """Below zero the first action, from zero to one the second, else the third."""
    lower = jnp.array([[-jnp.inf, -jnp.inf], [-jnp.inf, -jnp.inf]])
    upper = jnp.array([[-1e-6, jnp.inf], [1.0, jnp.inf]])
    outputs = jnp.where(jnp.eye(3, dtype=bool), 0.0, -jnp.inf)
    return RulePolicy(lower, upper, outputs, CHOICES, "categorical")


def test_the_first_box_decides() -> None:
    rows = jnp.array([[-3.0, 9.0], [0.0, -9.0], [1.0, 0.0], [2.0, 0.0]])
    rule = make_rule()
    assert rule.decide(rows).tolist() == [0, 1, 1, 2]
    said = expect(Categorical, rule(rows)).probabilities
    np.testing.assert_array_equal(said, np.eye(3)[[0, 1, 1, 2]])
    np.testing.assert_array_equal(
        rule.outputs_at(np.asarray(rows)), rule.outputs[rule.decide(rows)]
    )


def test_without_a_box_the_last_answer_is_the_only_one() -> None:
    nothing = jnp.zeros((0, 2))
    rule = RulePolicy(nothing, nothing, make_rule().outputs[:1], CHOICES, "categorical")
    assert rule.decide(jnp.ones((4, 2))).tolist() == [0, 0, 0, 0]


def test_digests_follow_the_boxes() -> None:
    rule = make_rule()
    moved = RulePolicy(rule.lower, rule.upper + 1.0, rule.outputs, CHOICES, "categorical")
    assert rule.digest == make_rule().digest != moved.digest
