"""A log on the device: the same rows, and fair samples of them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nacre.policies.policy as policy_module
from nacre.logs import Log
from nacre.policies.distributions import Categorical
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature
from nacre.training.transitions import Transitions
from tests.support.policies import expect


def make_log() -> Log:
    """Two episodes: three steps that terminate, two that are truncated."""
    return Log.from_arrays(
        observations=np.arange(10.0).reshape(5, 2),
        actions=[0, 1, 2, 1, 0],
        rewards=[1.0, 2.0, 3.0, 4.0, 5.0],
        terminated=[False, False, True, False, False],
        truncated=[False, False, False, False, True],
        next_observations=np.arange(10.0).reshape(5, 2) + 2,
    )


def test_rows_are_the_log_s() -> None:
    log = make_log()
    transitions = Transitions.from_log(log)
    rows = transitions.rows
    assert len(transitions) == 5
    for name in ("observations", "actions", "rewards", "next_observations"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(log, name))
    np.testing.assert_array_equal(transitions.starts, [[0, 1], [6, 7]])
    assert rows.rewards.dtype == jnp.float32
    assert rows.actions.dtype == jnp.int32


def test_truncation_is_bootstrapped_termination_is_not() -> None:
    np.testing.assert_array_equal(Transitions.from_log(make_log()).rows.terminated, [0, 0, 1, 0, 0])


def test_states_weigh_alike_unless_discounted() -> None:
    np.testing.assert_array_equal(Transitions.from_log(make_log()).rows.weights, np.ones(5))


def test_discounted_states_by_hand() -> None:
    """γ = 1/2: 1, 1/2, 1/4 and 1, 1/2 over their mean 13/20; 13/8 steps to each start."""
    transitions = Transitions.from_log(make_log(), discount=0.5, discounted_states=True)
    expected = np.array([1, 0.5, 0.25, 1, 0.5]) / 0.65
    np.testing.assert_allclose(transitions.rows.weights, expected, rtol=1e-6)
    np.testing.assert_allclose(transitions.discounted_length, 13 / 8, rtol=1e-6)


@pytest.mark.parametrize(("discount", "length"), [(0.0, 1.0), (1.0, 2.5)])
def test_discounted_length_at_the_ends(discount: float, length: float) -> None:
    """Only first steps count without a future, all five of two episodes with all of it."""
    transitions = Transitions.from_log(make_log(), discount=discount)
    np.testing.assert_allclose(transitions.discounted_length, length, rtol=1e-6)


def test_taken_rows_stay_together() -> None:
    batch = Transitions.from_log(make_log()).take(jnp.array([4, 0, 2, 2]))
    np.testing.assert_array_equal(batch.rewards, [5, 1, 3, 3])
    np.testing.assert_array_equal(batch.actions, [0, 0, 2, 2])
    np.testing.assert_array_equal(batch.terminated, [0, 0, 1, 1])
    np.testing.assert_array_equal(batch.observations[:, 0], [8, 0, 4, 4])
    np.testing.assert_array_equal(batch.next_observations, batch.observations + 2)


def test_what_a_policy_does_next_stays_with_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    log = make_log()
    signature = Signature(log.observation_space, log.action_space)
    policy = MLPPolicy.init(jax.random.key(0), signature, head="categorical", hidden=(4,))
    monkeypatch.setattr(policy_module, "ASKED_ROWS", 2)
    transitions = Transitions.from_log(log)
    told, asked = transitions.ask_next(policy)
    assert asked is None
    batch = told.take(jnp.array([4, 0, 2, 2]))
    found, expected = (
        expect(Categorical, said).logits
        for said in (batch.next_actions, policy(batch.next_observations))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert batch.old_actions is transitions.take(jnp.array([0])).next_actions is None
    batch = transitions.ask_old(policy).take(jnp.array([4, 0, 2, 2]))
    found, expected = (
        expect(Categorical, said).logits for said in (batch.old_actions, policy(batch.observations))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert batch.next_actions is None


def test_samples_are_fair_and_repeatable() -> None:
    """Each of 5 rows in 5000 draws: 1000 ± 4 standard deviations (28 each)."""
    transitions = Transitions.from_log(make_log())
    batch = transitions.sample(jax.random.key(0), 5000)
    counts = np.bincount(np.asarray(batch.rewards).astype(int), minlength=6)[1:]
    assert counts.sum() == 5000
    assert np.all(np.abs(counts - 1000) < 4 * np.sqrt(5000 * 0.2 * 0.8))
    again = transitions.sample(jax.random.key(0), 5000)
    np.testing.assert_array_equal(batch.rewards, again.rewards)


def test_starts_are_sampled_from_the_starts() -> None:
    starts = np.asarray(Transitions.from_log(make_log()).sample_starts(jax.random.key(1), 400))
    assert starts.shape == (400, 2)
    np.testing.assert_array_equal(starts[:, 1], starts[:, 0] + 1)
    share = np.mean(starts[:, 0] == 6)
    assert set(np.unique(starts[:, 0])) == {0, 6}
    assert abs(share - 0.5) < 4 * 0.025


def test_resampled_rows_say_how_often_each_member_sees_them() -> None:
    """Three members: once, twice and not at all the first episode, the second not by one."""
    resampling = np.array([[1.0, 2.0, 0.0], [1.0, 0.0, 2.0]])
    transitions = Transitions.from_log(make_log(), resampling=resampling)
    batch = transitions.take(jnp.array([0, 4, 2, 3]))
    np.testing.assert_array_equal(batch.resampling, [[1, 1, 1, 1], [2, 0, 2, 0], [0, 2, 0, 2]])
    np.testing.assert_array_equal(batch.rewards, [1, 5, 3, 4])
    assert Transitions.from_log(make_log()).take(jnp.array([0])).resampling is None
