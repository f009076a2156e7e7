"""The old policy from the log: its columns, or its actions."""

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies import (
    Categorical,
    CloneConfig,
    Gaussian,
    PolicyOptions,
    RecordedPolicy,
    TabularPolicy,
    read_policy,
    read_policy_with_provenance,
)
from tests.support.policies import choose_actions, expect, make_column_log

QUICK = CloneConfig(hidden=(16,), n_steps=500, batch_size=128)


LOW, HIGH = -1.0, 1.0


@pytest.mark.parametrize("form", ["list", "numbered", "prefixed", "logits"])
def test_probabilities_row_by_row(form: str) -> None:
    rows, probabilities, actions = choose_actions()
    columns = {
        "list": {"probabilities": probabilities},
        "numbered": {f"probability_{i}": probabilities[:, i] for i in range(2)},
        "prefixed": {f"old_probability_{i}": probabilities[:, i] for i in range(2)},
        "logits": {"logits": np.log(probabilities)},
    }[form]
    log = make_column_log(actions, columns, observations=rows)
    policy, provenance = read_policy_with_provenance("columns", PolicyOptions(log=log, clone=QUICK))
    assert isinstance(policy, RecordedPolicy)
    said = expect(Categorical, policy(jnp.asarray(log.observations))).probabilities
    np.testing.assert_allclose(said, probabilities, atol=1e-5)
    assert provenance["clone_match"]["divergence"] < 0.02


def test_means_and_stds_row_by_row() -> None:
    rows, _, _ = choose_actions()
    mean, std = np.sin(rows[:, :1]), np.exp(rows[:, 1:] / 4)
    space = Box(LOW, HIGH, (1,))
    actions = np.clip(mean, LOW, HIGH)
    log = make_column_log(
        actions, {"action_mean_0": mean[:, 0], "std": std[:, 0]}, observations=rows, space=space
    )
    policy = read_policy("columns", log=log, clone=QUICK)
    said = policy(jnp.asarray(log.observations))
    assert expect(RecordedPolicy, policy).head == "clipped_gaussian"
    np.testing.assert_allclose(expect(Gaussian, said).location, mean, atol=1e-5)
    np.testing.assert_allclose(expect(Gaussian, said).std, std, rtol=1e-5)


def test_equal_observations_are_averaged() -> None:
    rows = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    probabilities = np.array([[0.2, 0.8], [0.6, 0.4], [1.0, 0.0]])
    log = make_column_log(np.array([0, 1, 0]), {"probabilities": probabilities}, observations=rows)
    policy = read_policy("columns", log=log, clone=QUICK)
    said = expect(Categorical, policy(jnp.asarray(log.observations))).probabilities
    np.testing.assert_allclose(said, [[0.4, 0.6], [0.4, 0.6], [1.0, 0.0]], atol=1e-6)


def test_discrete_observations_are_a_table() -> None:
    log = Log.from_arrays(
        [0, 1, 0],
        [0, 1, 1],
        np.zeros(3),
        np.ones(3, bool),
        next_observations=[0, 0, 0],
        observation_space=Discrete(3),
        columns={"probabilities": [[0.5, 0.5], [0.2, 0.8], [0.7, 0.3]]},
    )
    policy = read_policy("columns", log=log)
    assert isinstance(policy, TabularPolicy)
    # State 0 is the mean of two rows, state 2 was never met and gets that of all three.
    np.testing.assert_allclose(policy.table, [[0.6, 0.4], [0.2, 0.8], [7 / 15, 8 / 15]], atol=1e-6)


def test_discrete_observations_with_means() -> None:
    log = Log.from_arrays(
        [0, 1],
        [[0.5], [0.25]],
        np.zeros(2),
        np.ones(2, bool),
        next_observations=[0, 0],
        columns={"mean": [0.5, 0.25], "std": [1.0, 2.0]},
    )
    said = read_policy("columns", log=log)(jnp.arange(2))
    np.testing.assert_allclose(expect(Gaussian, said).location, [[0.5], [0.25]])
    np.testing.assert_allclose(expect(Gaussian, said).std, [[1.0], [2.0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({}, "(it has none)"),
        ({"propensity": [0.5, 0.5]}, "not the taken one alone"),
        ({"mean": [0.5, 0.5], "std": [1.0, 1.0]}, "does not fit the action space"),
        ({"probabilities": [[0.5, 0.4], [0.5, 0.5]]}, "column probabilities at observation 0"),
        ({"probability": [0.5, 0.5]}, "expected (2, 2)"),
        ({"probability_0": [0.5, 0.5], "probability_2": [0.5, 0.5]}, "without gaps"),
    ],
)
def test_columns_that_say_nothing(columns: dict[str, np.ndarray], expected: str) -> None:
    with pytest.raises(InputError) as caught:
        read_policy("columns", log=make_column_log(np.array([0, 1]), columns))
    assert str(caught.value).startswith("log: ")
    assert expected in str(caught.value)


@pytest.mark.parametrize("word", ["columns", "clone"])
def test_the_log_is_needed(word: str) -> None:
    with pytest.raises(InputError, match="give log="):
        read_policy(word)
