"""Policies that rule nothing out, and where learning starts from each kind."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.policies import (
    MLP,
    Categorical,
    Deterministic,
    Gaussian,
    MLPPolicy,
    RecordedPolicy,
    RulePolicy,
    Signature,
    TabularPolicy,
    find_start,
    give_full_support,
    read_policy,
)
from nacre.policies.cloning.full_support import EXPLORATION
from nacre.policies.formats.rules import build_rule
from tests.support.policies import CHOICES, QUICK, VECTORS, expect, make_log, say_action, say_logits

ROWS = make_log(CHOICES).observations
KEY = jax.random.key(0)


def choose(rows: np.ndarray) -> dict[str, np.ndarray]:
    return {"action": (rows[:, 0] > 0).astype(int)}


def record(
    answer: Callable[[np.ndarray], object],
    signature: Signature,
    states: np.ndarray | None = None,
) -> RecordedPolicy:
    policy = read_policy(answer, log=make_log(signature), clone=QUICK, states=states)
    return expect(RecordedPolicy, policy)


def test_choices_that_are_never_made_share_a_little() -> None:
    old = record(choose, CHOICES)
    opened = give_full_support(old, ROWS)
    assert isinstance(opened, RecordedPolicy)
    said = np.asarray(expect(Categorical, opened(jnp.asarray(ROWS))).probabilities)
    best = np.argmax(np.asarray(expect(Categorical, old(jnp.asarray(ROWS))).probabilities), axis=-1)
    # 1 : 0.025 : 0.025 before they add up to one.
    expected = np.where(np.arange(3) == best[:, None], 1.0, EXPLORATION / 2) / (1.0 + EXPLORATION)
    np.testing.assert_allclose(said, expected, atol=1e-6)
    # Elsewhere the clone answers, with as much exploration.
    elsewhere = expect(Categorical, opened(jnp.asarray(ROWS) + 0.01)).probabilities
    assert np.mean(np.max(elsewhere, axis=-1)) == pytest.approx(1.0 - EXPLORATION, abs=0.01)
    start = find_start(old, ROWS, KEY, QUICK)
    assert isinstance(start, MLPPolicy)
    there = start(jnp.asarray(ROWS))
    assert np.mean(np.abs(expect(Categorical, there).probabilities - said)) < 0.15
    assert np.all(
        np.isfinite(expect(Categorical, there).kl(expect(Categorical, opened(jnp.asarray(ROWS)))))
    )


def test_policies_with_full_support_stay_as_they_are() -> None:
    old = record(say_logits, CHOICES)
    assert give_full_support(old, ROWS) is old
    for network in (
        MLPPolicy.init(KEY, CHOICES, hidden=(4,)),
        MLPPolicy.init(KEY, VECTORS, head="gaussian", hidden=(4,)),
    ):
        assert give_full_support(network, ROWS) is network
    table = TabularPolicy.from_probabilities([[1.0, 0.0]])
    assert give_full_support(table, np.zeros(3, int)) is table
    assert find_start(table, np.zeros(3, int), KEY) is None


def test_learning_starts_alike_in_whichever_way_a_policy_is_given() -> None:
    network = MLPPolicy.init(KEY, CHOICES, hidden=(4,))
    asked = record(
        lambda rows: np.asarray(expect(Categorical, network(jnp.asarray(rows))).probabilities),
        CHOICES,
    )
    # No clone of so few updates is good enough to stand for known weights.
    assert find_start(network, ROWS, KEY, QUICK) is network
    said = []
    for policy in (network, asked):
        start = expect(MLPPolicy, find_start(policy, ROWS, KEY, QUICK, np.inf))
        said.append(np.asarray(expect(Categorical, start(jnp.asarray(ROWS))).probabilities))
    # Rounded otherwise, and that is carried along 300 updates.
    np.testing.assert_allclose(said[0], said[1], atol=1e-3)
    assert (
        np.mean(np.abs(said[0] - expect(Categorical, network(jnp.asarray(ROWS))).probabilities))
        < 0.05
    )


def test_certain_vectors_get_noise_in_units_of_their_range() -> None:
    old = record(say_action, VECTORS)
    opened = give_full_support(old, ROWS)
    assert (old.head, expect(RecordedPolicy, opened).head) == ("deterministic", "clipped_gaussian")
    said = opened(jnp.asarray(ROWS))
    np.testing.assert_array_equal(
        expect(Gaussian, said).location, expect(Deterministic, old(jnp.asarray(ROWS))).action
    )
    # Half of the range from -1 to 1.
    np.testing.assert_allclose(expect(Gaussian, said).std, EXPLORATION, rtol=1e-5)
    clone = expect(RecordedPolicy, opened).clone(jnp.asarray(ROWS))
    np.testing.assert_allclose(expect(Gaussian, clone).std, expect(Gaussian, said).std, rtol=1e-5)
    np.testing.assert_allclose(
        np.clip(expect(Gaussian, clone).location, -1.0, 1.0),
        expect(Deterministic, old.clone(jnp.asarray(ROWS))).action,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("low", "high", "slope", "expected"),
    [
        (-1.0, 3.0, 1.0, 2.0),
        (-np.inf, np.inf, 1.0, np.std(ROWS[:, 0])),
        (-np.inf, np.inf, 0.0, 1.0),
    ],
)
def test_noise_of_networks_of_certain_vectors(
    low: float, high: float, slope: float, expected: float
) -> None:
    signature = Signature(Box(-np.inf, np.inf, (2,)), Box(low, high, (1,)))
    network = MLP((jnp.asarray([[slope], [0.0]]),), (jnp.zeros(1),), ("identity",))
    opened = give_full_support(MLPPolicy(network, None, signature, "deterministic"), ROWS)
    assert expect(MLPPolicy, opened).head == (
        "clipped_gaussian" if np.isfinite(low) else "gaussian"
    )
    said = opened(jnp.asarray(ROWS))
    np.testing.assert_allclose(expect(Gaussian, said).std, EXPLORATION * expected, rtol=1e-5)
    np.testing.assert_allclose(expect(Gaussian, said).location, slope * ROWS[:, :1], atol=1e-6)


def test_greedy_networks_are_softened() -> None:
    network = MLPPolicy.init(KEY, CHOICES, head="greedy", hidden=(4,))
    opened = give_full_support(network, ROWS)
    assert expect(MLPPolicy, opened).head == "categorical"
    said = expect(Categorical, opened(jnp.asarray(ROWS))).probabilities
    np.testing.assert_array_equal(
        np.argmax(said, axis=-1),
        np.argmax(expect(Categorical, network(jnp.asarray(ROWS))).probabilities, axis=-1),
    )
    assert np.mean(np.max(said, axis=-1)) == pytest.approx(1.0 - EXPLORATION, abs=1e-3)


RULE = {"rule": [{"when": {"queue": {"above": 0.0}}, "action": 1}], "otherwise": {"action": 0}}
PUSH = {"rule": [{"when": {"queue": {"above": 0.0}}, "action": 0.5}], "otherwise": {"action": -0.5}}


def test_rules_are_opened_and_cloned() -> None:
    rule = build_rule(RULE, Signature(CHOICES.observation_space, Discrete(2)), ("queue", "speed"))
    opened = give_full_support(rule, ROWS)
    assert isinstance(opened, RulePolicy)
    said = np.asarray(expect(Categorical, opened(jnp.asarray(ROWS))).probabilities)
    expected = np.where(np.arange(2) == (ROWS[:, :1] > 0), 1.0, EXPLORATION) / (1.0 + EXPLORATION)
    np.testing.assert_allclose(said, expected, atol=1e-6)
    start = find_start(rule, ROWS, KEY, QUICK)
    assert isinstance(start, MLPPolicy)
    assert (
        np.mean(
            np.abs(np.asarray(expect(Categorical, start(jnp.asarray(ROWS))).probabilities) - said)
        )
        < 0.15
    )


def test_rules_of_vectors_are_opened() -> None:
    rule = build_rule(PUSH, VECTORS, ("queue", "speed"))
    opened = give_full_support(rule, ROWS)
    assert expect(RulePolicy, opened).head == "clipped_gaussian"
    said = opened(jnp.asarray(ROWS))
    np.testing.assert_allclose(
        expect(Gaussian, said).location, np.where(ROWS[:, :1] > 0, 0.5, -0.5)
    )
    np.testing.assert_allclose(expect(Gaussian, said).std, EXPLORATION, rtol=1e-5)


def test_further_states_are_asked_for() -> None:
    start = np.array([[7.0, -7.0]], np.float32)
    here = record(say_logits, CHOICES, states=start)
    elsewhere = record(say_logits, CHOICES)
    assert bool(here.look_up(jnp.asarray(start))[1].all())
    assert not bool(elsewhere.look_up(jnp.asarray(start))[1].any())
    expected = jax.nn.softmax(say_logits(start)["logits"])
    np.testing.assert_allclose(
        expect(Categorical, here(jnp.asarray(start))).probabilities, expected, rtol=1e-5
    )
