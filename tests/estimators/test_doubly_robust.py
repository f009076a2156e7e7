"""Weighted episodes: equal to a plain loop, exact where critics are, right where they are wrong."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.estimators import exact
from nacre.estimators.doubly_robust import LEAST_EFFECTIVE, SecondOpinion, weigh_episodes
from nacre.logs import Log
from nacre.policies import TabularPolicy
from nacre.simulators import FiniteWorld, random_policy, random_world
from nacre.training.critics import Critics

DISCOUNT = 0.8
WORLD = random_world(5, 4, 3, discount=DISCOUNT, terminating=True).starting_at(0)
OLD = 0.5 * random_policy(1, WORLD) + 0.5 / 3
NEW = 0.5 * OLD + 0.5 * random_policy(2, WORLD)


def policy(table: np.ndarray) -> TabularPolicy:
    return TabularPolicy.from_probabilities(table)


def critics_of(table: np.ndarray, shift: float = 0.0) -> Critics:
    """Two members that know the values of a policy exactly, but for a shift."""
    signature = policy(table).signature
    made = Critics.init(jax.random.key(0), signature, n_critics=2, hidden=())
    q = jnp.asarray(exact.state_action_values(WORLD, table), float) + shift
    weight = jnp.broadcast_to(q, made.weights[0].shape)
    return Critics(
        (weight,), (jnp.zeros_like(made.biases[0]),), (), None, made.shift, made.spread, signature
    )


def opinion(log: Log, shift: float = 0.0, new: np.ndarray = NEW) -> SecondOpinion:
    return weigh_episodes(
        log,
        policy(OLD),
        policy(new),
        critics_of(OLD, shift),
        critics_of(new, shift),
        discount=DISCOUNT,
    )


def sample(n: int = 4000, world: FiniteWorld = WORLD) -> Log:
    return world.sample_log(OLD, n, seed=3, horizon=12)


def loop(log: Log, table: np.ndarray, q: np.ndarray) -> float:
    """The formula, an episode and a step at a time."""
    v = (table * q).sum(axis=1)
    episodes = list(log.episodes())
    longest = max(len(one) for one in episodes)
    weights = np.ones((len(episodes), longest + 1))
    for i, one in enumerate(episodes):
        for t in range(longest):
            factor = 1.0
            if t < len(one):
                s, a = int(one.observations[t]), int(one.actions[t])
                factor = table[s, a] / OLD[s, a]
            weights[i, t + 1] = weights[i, t] * factor
    weights /= weights.sum(axis=0)
    total = 0.0
    for i, one in enumerate(episodes):
        for t in range(len(one)):
            s, a = int(one.observations[t]), int(one.actions[t])
            total += DISCOUNT**t * weights[i, t + 1] * (float(one.rewards[t]) - q[s, a])
            total += DISCOUNT**t * weights[i, t] * v[s]
        if not one.terminated[-1]:
            ahead = v[int(one.next_observations[-1])]
            total += DISCOUNT ** len(one) * weights[i, len(one)] * ahead
    return total


def test_it_is_the_formula() -> None:
    log = sample(600)
    wrong = 0.7
    expected = loop(log, NEW, exact.state_action_values(WORLD, NEW) + wrong) - loop(
        log, OLD, exact.state_action_values(WORLD, OLD) + wrong
    )
    assert opinion(log, wrong).gain == pytest.approx(expected, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_it_finds_the_exact_gain_even_by_wrong_critics(shift: float) -> None:
    found = opinion(sample(), shift)
    truth = float(exact.start_value(WORLD, NEW) - exact.start_value(WORLD, OLD))
    assert found.usable
    assert abs(found.gain - truth) < 4 * found.standard_error
    assert found.standard_error < 0.2 * abs(truth)


def test_the_old_policy_itself_gains_nothing_and_every_episode_counts() -> None:
    log = sample(500)
    found = opinion(log, new=OLD)
    assert abs(found.gain) < 1e-5
    assert found.effective_episodes == pytest.approx(log.n_episodes, rel=1e-6)


def test_few_episodes_behind_it_are_no_opinion() -> None:
    far = np.eye(3)[np.argmin(OLD, axis=1)]
    lonely = WORLD.sample_log(OLD, 60, seed=1, horizon=12)
    found = opinion(lonely, new=0.999 * far + 0.001 / 3)
    assert found.effective_episodes < LEAST_EFFECTIVE
    assert not found.usable
    # The critics were not asked.
    assert math.isnan(found.gain)
    assert found.contradicts(100.0, 0.0) == 0.0


def test_the_bound_by_hand() -> None:
    # Student's t for 61 episodes at 95 %: 1.6706.
    known = SecondOpinion(gain=2.0, standard_error=0.5, effective_episodes=61.0)
    assert known.bound(0.95) == pytest.approx(2.0 - 1.6706 * 0.5, abs=1e-4)
    assert known.bound(0.5) == pytest.approx(2.0)
    for unknown in (SecondOpinion(2.0, 0.5, 49.0), SecondOpinion(math.nan, math.nan, 500.0)):
        assert unknown.bound(0.95) == -math.inf


def test_contradiction_is_what_errors_do_not_explain() -> None:
    found = SecondOpinion(5.0, 0.3, 100.0)
    assert found.contradicts(5.5, 0.4) == 0.0
    assert found.contradicts(8.0, 0.4) == pytest.approx(3.0 - 2 * 0.5)
    assert SecondOpinion(math.nan, 0.3, 100.0).contradicts(8.0, 0.4) == 0.0
    assert SecondOpinion(math.nan, 0.3, 100.0).as_json()["gain"] is None


def test_many_rows_are_read_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    log = sample(800)
    whole = opinion(log)
    monkeypatch.setattr("nacre.estimators.doubly_robust.CHUNK", 64)
    assert math.isfinite(whole.gain)
    assert opinion(log).gain == pytest.approx(whole.gain, rel=1e-5)
    monkeypatch.setattr("nacre.estimators.doubly_robust.MOST_EPISODES", 30)
    assert opinion(log).effective_episodes <= 30
