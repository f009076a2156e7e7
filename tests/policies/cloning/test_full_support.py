"""Policies that rule nothing out, and where learning starts from each kind."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.policies import (
    MLP,
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
from tests.support.policies import CHOICES, QUICK, VECTORS, make_log, say_action, say_logits

ROWS = make_log(CHOICES).observations
KEY = jax.random.key(0)


def choose(rows):
    return {"action": (rows[:, 0] > 0).astype(int)}


def record(answer, signature, **options):
    return read_policy(answer, log=make_log(signature), clone=QUICK, **options)


def test_choices_that_are_never_made_share_a_little():
    old = record(choose, CHOICES)
    opened = give_full_support(old, ROWS)
    assert isinstance(opened, RecordedPolicy)
    said = np.asarray(opened(jnp.asarray(ROWS)).probabilities)
    best = np.argmax(np.asarray(old(jnp.asarray(ROWS)).probabilities), axis=-1)
    # 1 : 0.025 : 0.025 before they add up to one.
    expected = np.where(np.arange(3) == best[:, None], 1.0, EXPLORATION / 2) / (1.0 + EXPLORATION)
    np.testing.assert_allclose(said, expected, atol=1e-6)
    # Elsewhere the clone answers, as much in doubt.
    elsewhere = opened(jnp.asarray(ROWS) + 0.01).probabilities
    assert np.mean(np.max(elsewhere, axis=-1)) == pytest.approx(1.0 - EXPLORATION, abs=0.01)
    start = find_start(old, ROWS, KEY, QUICK)
    assert isinstance(start, MLPPolicy)
    there = start(jnp.asarray(ROWS))
    assert np.mean(np.abs(there.probabilities - said)) < 0.15
    assert np.all(np.isfinite(there.kl(opened(jnp.asarray(ROWS)))))


def test_policies_with_doubts_stay_as_they_are():
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


def test_learning_starts_alike_in_whichever_way_a_policy_is_given():
    network = MLPPolicy.init(KEY, CHOICES, hidden=(4,))
    asked = record(lambda rows: np.asarray(network(jnp.asarray(rows)).probabilities), CHOICES)
    # No clone of so few updates is good enough to stand for known weights.
    assert find_start(network, ROWS, KEY, QUICK) is network
    starts = [find_start(policy, ROWS, KEY, QUICK, np.inf) for policy in (network, asked)]
    said = [np.asarray(start(jnp.asarray(ROWS)).probabilities) for start in starts]
    # Rounded otherwise, and that is carried along 300 updates.
    np.testing.assert_allclose(*said, atol=1e-3)
    assert np.mean(np.abs(said[0] - network(jnp.asarray(ROWS)).probabilities)) < 0.05


def test_certain_vectors_get_noise_in_units_of_their_range():
    old = record(say_action, VECTORS)
    opened = give_full_support(old, ROWS)
    assert (old.head, opened.head) == ("deterministic", "clipped_gaussian")
    said = opened(jnp.asarray(ROWS))
    np.testing.assert_array_equal(said.location, old(jnp.asarray(ROWS)).action)
    # Half of the range from -1 to 1.
    np.testing.assert_allclose(said.std, EXPLORATION, rtol=1e-5)
    clone = opened.clone(jnp.asarray(ROWS))
    np.testing.assert_allclose(clone.std, said.std, rtol=1e-5)
    np.testing.assert_allclose(
        np.clip(clone.location, -1.0, 1.0), old.clone(jnp.asarray(ROWS)).action, atol=1e-6
    )


@pytest.mark.parametrize(
    ("low", "high", "slope", "expected"),
    [
        (-1.0, 3.0, 1.0, 2.0),
        (-np.inf, np.inf, 1.0, np.std(ROWS[:, 0])),
        (-np.inf, np.inf, 0.0, 1.0),
    ],
)
def test_noise_of_networks_of_certain_vectors(low, high, slope, expected):
    signature = Signature(Box(-np.inf, np.inf, (2,)), Box(low, high, (1,)))
    network = MLP((jnp.asarray([[slope], [0.0]]),), (jnp.zeros(1),), ("identity",))
    opened = give_full_support(MLPPolicy(network, None, signature, "deterministic"), ROWS)
    assert opened.head == ("clipped_gaussian" if np.isfinite(low) else "gaussian")
    said = opened(jnp.asarray(ROWS))
    np.testing.assert_allclose(said.std, EXPLORATION * expected, rtol=1e-5)
    np.testing.assert_allclose(said.location, slope * ROWS[:, :1], atol=1e-6)


def test_greedy_networks_are_softened():
    network = MLPPolicy.init(KEY, CHOICES, head="greedy", hidden=(4,))
    opened = give_full_support(network, ROWS)
    assert opened.head == "categorical"
    said = opened(jnp.asarray(ROWS)).probabilities
    np.testing.assert_array_equal(
        np.argmax(said, axis=-1), np.argmax(network(jnp.asarray(ROWS)).probabilities, axis=-1)
    )
    assert np.mean(np.max(said, axis=-1)) == pytest.approx(1.0 - EXPLORATION, abs=1e-3)


RULE = {"rule": [{"when": {"queue": {"above": 0.0}}, "action": 1}], "otherwise": {"action": 0}}
PUSH = {"rule": [{"when": {"queue": {"above": 0.0}}, "action": 0.5}], "otherwise": {"action": -0.5}}


def test_rules_are_opened_and_cloned():
    rule = build_rule(RULE, Signature(CHOICES.observation_space, Discrete(2)), ("queue", "speed"))
    opened = give_full_support(rule, ROWS)
    assert isinstance(opened, RulePolicy)
    said = np.asarray(opened(jnp.asarray(ROWS)).probabilities)
    expected = np.where(np.arange(2) == (ROWS[:, :1] > 0), 1.0, EXPLORATION) / (1.0 + EXPLORATION)
    np.testing.assert_allclose(said, expected, atol=1e-6)
    start = find_start(rule, ROWS, KEY, QUICK)
    assert isinstance(start, MLPPolicy)
    assert np.mean(np.abs(np.asarray(start(jnp.asarray(ROWS)).probabilities) - said)) < 0.15


def test_rules_of_vectors_are_opened():
    rule = build_rule(PUSH, VECTORS, ("queue", "speed"))
    opened = give_full_support(rule, ROWS)
    assert opened.head == "clipped_gaussian"
    said = opened(jnp.asarray(ROWS))
    np.testing.assert_allclose(said.location, np.where(ROWS[:, :1] > 0, 0.5, -0.5))
    np.testing.assert_allclose(said.std, EXPLORATION, rtol=1e-5)


def test_further_states_are_asked_for():
    start = np.array([[7.0, -7.0]], np.float32)
    here = record(say_logits, CHOICES, states=start)
    elsewhere = record(say_logits, CHOICES)
    assert bool(here.look_up(jnp.asarray(start))[1].all())
    assert not bool(elsewhere.look_up(jnp.asarray(start))[1].any())
    expected = jax.nn.softmax(say_logits(start)["logits"])
    np.testing.assert_allclose(here(jnp.asarray(start)).probabilities, expected, rtol=1e-5)
