"""Clones of what a policy did."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box
from scipy import stats

from nacre.logs import Log
from nacre.policies import (
    Categorical,
    CloneConfig,
    Gaussian,
    MLPPolicy,
    clone_log,
    find_uncertainty,
)
from nacre.policies.heads import Head
from tests.support.policies import choose_actions, expect, make_column_log

QUICK = CloneConfig(hidden=(16,), n_steps=500, batch_size=128)


def test_a_classifier_of_the_actions() -> None:
    rows, probabilities, actions = choose_actions(3000)
    log = make_column_log(actions, {}, observations=rows)
    policy, report = clone_log(log, jax.random.key(0), QUICK)
    assert isinstance(policy, MLPPolicy)
    assert report.n_rows + report.n_held_out == 3000
    assert report.head == "categorical"
    said = np.asarray(expect(Categorical, policy(jnp.asarray(rows))).probabilities)
    assert np.mean(np.abs(said - probabilities)) < 0.04
    # The best possible likelihood is minus the entropy; the baseline is that of a fair coin.
    entropy = -np.mean(np.sum(probabilities * np.log(probabilities), axis=-1))
    assert report.log_likelihood == pytest.approx(-entropy, abs=0.08)
    assert report.baseline == pytest.approx(-np.log(2), abs=0.01)
    assert report.calibration_error < 0.06


@pytest.mark.parametrize(
    ("space", "head"),
    [
        (Box(-np.inf, np.inf, (1,)), "gaussian"),
        (Box(-0.5, 0.5, (1,)), "clipped_gaussian"),
    ],
)
def test_gaussians_of_the_actions(space: Box, head: Head) -> None:
    draw = np.random.default_rng(3)
    rows = draw.normal(size=(4000, 2)).astype(np.float32)
    mean, std = np.tanh(rows[:, :1]), 0.3
    actions = np.clip(mean + std * draw.normal(size=(4000, 1)), space.low, space.high)
    log = make_column_log(actions, {}, observations=rows, space=space)
    policy, report = clone_log(log, jax.random.key(0), QUICK)
    assert (policy.head, report.head) == (head, head)
    said = policy(jnp.asarray(rows))
    assert isinstance(said, Gaussian)
    assert np.mean(np.abs(said.location - mean)) < 0.08
    assert np.mean(np.abs(said.std - std)) < 0.06
    assert report.log_likelihood > report.baseline
    assert report.calibration_error < 0.05


def test_squashed_actions_get_a_squashed_gaussian() -> None:
    draw = np.random.default_rng(3)
    rows = draw.normal(size=(4000, 2)).astype(np.float32)
    actions = np.tanh(rows[:, :1] + draw.normal(size=(4000, 1)))
    log = make_column_log(actions, {}, observations=rows, space=Box(-1.0, 1.0, (1,)))
    policy, report = clone_log(log, jax.random.key(0), QUICK)
    assert policy.head == "squashed_gaussian"
    noise = stats.norm.entropy()
    slope = np.mean(np.log(1 - np.clip(actions, -0.9999, 0.9999) ** 2))
    assert report.log_likelihood == pytest.approx(-noise - slope, abs=0.1)


def test_more_episodes_leave_less_uncertainty() -> None:
    found = []
    for n in (200, 3200):
        rows, probabilities, actions = choose_actions(n)
        log = make_column_log(actions, {}, observations=rows)
        policy, report = clone_log(log, jax.random.key(0), QUICK)
        said = np.asarray(expect(Categorical, policy(jnp.asarray(rows))).probabilities)
        away = np.mean(0.5 * np.abs(said - probabilities).sum(axis=-1))
        found.append((report.uncertainty, away))
    # Errors of sixteen times as many rows are a quarter; both numbers are of the size of the error.
    assert 0 < found[1][0] < 0.6 * found[0][0] < 0.5
    for told, true in found:
        assert 0.2 * true < told < 5 * true
    assert find_uncertainty({"source": "onnx"}) == 0.0
    assert find_uncertainty({"source": "clone", "report": report.as_json()}) == report.uncertainty


def test_one_episode_is_split_by_rows() -> None:
    rows, _, actions = choose_actions(200)
    log = Log.from_arrays(
        rows, actions, np.zeros(200), np.arange(200) == 199, next_observations=None
    )
    _, report = clone_log(log, jax.random.key(0), QUICK)
    assert (report.n_rows, report.n_held_out) == (180, 20)
    assert report.uncertainty == 0.0
