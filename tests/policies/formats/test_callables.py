"""Functions and objects as policies."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.policies import (
    BlackBox,
    Categorical,
    Gaussian,
    Signature,
    fingerprint,
    read_policy,
    read_policy_with_provenance,
)
from tests.support.policies import expect

VECTORS = Signature(Box(-np.inf, np.inf, (2,)), Box(-1.0, 1.0, (2,)))
CHOICES = Signature(Box(-np.inf, np.inf, (2,)), Discrete(3))
STATES = Signature(Discrete(4), Discrete(3))
ROWS = np.array([[0.5, -0.25], [2.0, 0.0], [-1.0, 0.75], [0.0, 0.0]], np.float32)


def by_row(row: np.ndarray) -> int:
    """One observation only: the comparison of a batch has no truth value."""
    return 2 if row[0] > 0 else 0


def by_batch(rows: np.ndarray) -> np.ndarray:
    return np.where(rows[:, 0] > 0, 2, 0)


def say_probabilities(row: np.ndarray) -> list[float]:
    share = 1.0 / (1.0 + np.exp(-row[0]))
    return [share, 1.0 - share, 0.0]


def say_gaussian(rows: np.ndarray) -> dict[str, np.ndarray]:
    return {"mean": 0.5 * rows, "std": np.ones_like(rows)}


class Simulator:
    """As policies of simulators: an action and a memory."""

    def predict(
        self,
        observation: np.ndarray,
        state: object = None,
        episode_start: object = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, None]:
        return np.tanh(observation), None


class Classifier:
    """As classifiers: it has never seen action 1."""

    classes_ = np.array([0, 2])

    def predict_proba(self, rows: np.ndarray) -> np.ndarray:
        assert rows.ndim == 2
        return np.tile([0.25, 0.75], (len(rows), 1))


@pytest.mark.parametrize("function", [by_row, by_batch])
def test_actions_one_by_one_or_in_batches(function: Callable[[np.ndarray], object]) -> None:
    policy = read_policy(function, signature=CHOICES)
    assert isinstance(policy, BlackBox)
    np.testing.assert_array_equal(policy.distribution_at(ROWS).mode(), [2, 2, 0, 0])


def test_vectors_of_probabilities() -> None:
    policy = read_policy(say_probabilities, signature=CHOICES)
    expected = [say_probabilities(row) for row in ROWS]
    np.testing.assert_allclose(
        expect(Categorical, expect(BlackBox, policy).distribution_at(ROWS)).probabilities,
        expected,
        atol=1e-6,
    )


def test_mean_and_std_by_name_or_as_a_pair() -> None:
    for function in (say_gaussian, lambda rows: (0.5 * rows, np.ones_like(rows))):
        policy = read_policy(function, signature=VECTORS)
        assert (expect(BlackBox, policy).form, expect(BlackBox, policy).head) == (
            "mean_std",
            "clipped_gaussian",
        )
        np.testing.assert_allclose(
            expect(Gaussian, expect(BlackBox, policy).distribution_at(ROWS)).location, 0.5 * ROWS
        )


def test_actions_of_simulators_policies() -> None:
    policy = read_policy(Simulator(), signature=VECTORS)
    np.testing.assert_allclose(
        expect(BlackBox, policy).distribution_at(ROWS).mode(), np.tanh(ROWS), atol=1e-6
    )


def test_classes_that_a_classifier_never_met() -> None:
    policy = read_policy(Classifier(), signature=CHOICES)
    np.testing.assert_allclose(
        expect(Categorical, expect(BlackBox, policy).distribution_at(ROWS)).probabilities[0],
        [0.25, 0.0, 0.75],
        atol=1e-6,
    )


def test_discrete_observations() -> None:
    policy = read_policy(lambda state: int(state) % 3, signature=STATES)
    np.testing.assert_array_equal(
        expect(BlackBox, policy).distribution_at(np.arange(4)).mode(), [0, 1, 2, 0]
    )


def test_declared_logits_and_q() -> None:
    logits = read_policy(lambda row: [row[0], 0.0, row[1]], signature=CHOICES, outputs="logits")
    np.testing.assert_allclose(
        expect(Categorical, expect(BlackBox, logits).distribution_at(ROWS)).logits[:, 0], ROWS[:, 0]
    )
    greedy = read_policy(lambda row: [row[0], 0.0, row[1]], signature=CHOICES, outputs="q")
    np.testing.assert_array_equal(
        expect(BlackBox, greedy).distribution_at(ROWS).mode(), [0, 0, 2, 0]
    )


def test_batches_of_any_leading_shape() -> None:
    policy = read_policy(say_gaussian, signature=VECTORS)
    several = policy(jnp.asarray(ROWS).reshape(2, 2, 2))
    assert several.batch_shape == (2, 2)
    np.testing.assert_allclose(expect(Gaussian, several).location.reshape(4, 2), 0.5 * ROWS)


def test_compiled_functions_are_told_what_to_do() -> None:
    policy = read_policy(say_gaussian, signature=VECTORS)
    with pytest.raises(InputError, match="record_policy"):
        jax.jit(lambda rows: expect(Gaussian, policy(rows)).location)(jnp.asarray(ROWS))


def test_functions_count_by_their_names() -> None:
    one, again = (read_policy(by_row, signature=CHOICES) for _ in range(2))
    assert fingerprint(one) == fingerprint(again)
    assert fingerprint(one) != fingerprint(read_policy(by_batch, signature=CHOICES))


@pytest.mark.parametrize(
    ("function", "signature", "expected"),
    [
        (lambda row: 3, CHOICES, "give whole numbers from 0 to 2"),
        (lambda row: 0.5, CHOICES, "give whole numbers from 0 to 2"),
        (lambda row: [0.5, 0.6, 0.1], CHOICES, "must add up to one"),
        (lambda row: [1.5, -0.5, 0.0], CHOICES, "must not be negative"),
        (lambda row: [np.nan, 0.0], VECTORS, "NaN and infinity are no answer"),
        (lambda row: [0.0, 0.0, 0.0], VECTORS, "expected (3, 2)"),
        (lambda row: "left", CHOICES, "is not made of numbers"),
        (lambda row: {"odds": 1}, CHOICES, "expected one of mean_std"),
        (lambda row: {"mean": row, "std": -np.ones(2)}, VECTORS, "not negative"),
        (lambda row: {"probabilities": [1.0]}, VECTORS, "does not fit the action space"),
        (lambda row: 1 / 0, CHOICES, "raises ZeroDivisionError"),
    ],
)
def test_what_is_no_answer(function: object, signature: Signature, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read_policy(function, signature=signature)
    (problem,) = caught.value.problems
    assert problem.startswith("policy ")
    assert expected in problem


@pytest.mark.parametrize("source", [3, None, {"a": 1}, object()])
def test_what_cannot_be_asked_is_no_source(source: Any) -> None:
    with pytest.raises(InputError, match=r"^source .*: give a policy .* or the path of a file$"):
        read_policy(source)
    with pytest.raises(InputError, match="is no policy; nacre reads "):
        read_policy_with_provenance(source)


def test_functions_that_draw_are_refused() -> None:
    draw = np.random.default_rng(0)
    with pytest.raises(InputError, match="it draws its actions"):
        read_policy(lambda row: draw.normal(size=2), signature=VECTORS)


def test_spaces_are_needed() -> None:
    with pytest.raises(InputError, match="give signature="):
        read_policy(by_row)
    with pytest.raises(InputError, match="one word"):
        read_policy(by_row, signature=CHOICES, outputs={"mean": "x"})


@pytest.mark.parametrize("rows", [ROWS[0], ROWS[:, :1], np.array([["a", "b"]])])
def test_observations_of_another_form(rows: np.ndarray) -> None:
    policy = read_policy(by_row, signature=CHOICES)
    with pytest.raises(InputError, match=r"give numbers of shape \(rows, 2\)"):
        expect(BlackBox, policy).outputs_at(rows)
    states = read_policy(lambda state: 0, signature=STATES)
    with pytest.raises(InputError, match="whole numbers in one axis"):
        expect(BlackBox, states).outputs_at(ROWS)
