"""All checks together: what they forbid, and what they tell people to do."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from nacre.diagnostics.log_checks import LogCheckConfig, check_log
from nacre.errors import InputError
from nacre.logs import Log
from nacre.policies.tabular import TabularPolicy
from nacre.simulators.finite import FiniteWorld, Table, random_policy, random_world

WORLD = random_world(100, 6, 3)
TABLE = random_policy(100, WORLD)


def sample(
    table: Table = TABLE, rows: int = 1200, seed: int = 100, world: FiniteWorld = WORLD
) -> Log:
    return world.sample_log(table, rows, seed=seed, horizon=20)


def join(*logs: Log) -> Log:
    names = ("observations", "actions", "rewards", "terminated", "truncated", "next_observations")
    lengths = np.concatenate([log.episode_lengths for log in logs])
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(log, name) for log in logs]) for name in names
    }
    return Log.from_arrays(
        **arrays,
        offsets=np.append(0, np.cumsum(lengths)),
        observation_space=logs[0].observation_space,
        action_space=logs[0].action_space,
    )


POLICY = TabularPolicy.from_probabilities(TABLE)


def test_a_sound_log() -> None:
    checks = check_log(sample(), POLICY)
    assert checks.problems == ()
    assert not checks.forbids_switch
    assert checks.old_policy is POLICY
    assert json.loads(json.dumps(checks.as_json(), allow_nan=False))["forbids_switch"] is False


def test_too_few_episodes_forbid() -> None:
    checks = check_log(sample(rows=80), POLICY)
    assert checks.n_different == 4
    assert checks.forbids_switch
    assert "4 different" in checks.reason
    assert "Collect more" in checks.problems[0]


def test_a_log_too_small_to_test_for_drift_forbids() -> None:
    """Sixteen short episodes could hide a change; as many long ones are tested by their rows."""
    log = sample()
    assert not check_log(log.select(range(20)), POLICY).forbids_switch
    checks = check_log(log.select(range(16)), POLICY)
    assert not checks.drift.tested
    assert checks.forbids_switch
    assert "16 short episodes are too few to test for drift" in checks.reason
    assert len(checks.problems) == 1
    assert "Collect more" in checks.problems[0]
    endless = dataclasses.replace(WORLD, termination=np.zeros((6, 3)))
    long = endless.sample_log(TABLE, 1600, seed=100, horizon=100)
    assert long.n_episodes == 16
    assert not check_log(long, POLICY).forbids_switch


def test_drift_forbids_and_names_the_remedy() -> None:
    late = sample(seed=101)
    worse = Log.from_arrays(
        late.observations,
        late.actions,
        late.rewards - 1.0,
        late.terminated,
        late.truncated,
        late.next_observations,
        offsets=late.offsets,
        observation_space=late.observation_space,
        action_space=late.action_space,
    )
    checks = check_log(join(sample(), worse), POLICY)
    assert checks.drift.found == ("rewards",)
    assert checks.forbids_switch
    assert "drifts (rewards)" in checks.reason
    assert f"--since {checks.drift.since}" in checks.problems[0]
    assert abs(checks.drift.since - 60) <= 3


def test_a_log_that_begins_with_random_actions_is_used_from_where_it_is_the_policy_s() -> None:
    """They are foreign, not drift: the policy is known, and what it made stands by itself."""
    uniform = np.full_like(TABLE, 1.0 / TABLE.shape[1])
    mixed = join(sample(uniform, 800), sample(rows=4000, seed=101))
    n_uniform = sample(uniform, 800).n_episodes
    checks = check_log(mixed, POLICY)
    assert checks.drift.found == ()
    assert not checks.forbids_switch
    assert checks.problems[0].startswith("Foreign episodes: ")
    assert np.sum(checks.behaviour.own == (np.arange(mixed.n_episodes) >= n_uniform)) >= (
        mixed.n_episodes - 4
    )


def test_repeats_are_told_and_do_not_count() -> None:
    """A log with its first third again: drift is asked of the different episodes only."""
    checks = check_log(sample().select([*range(60), *range(20)]), POLICY)
    assert checks.n_different == 60
    assert not checks.forbids_switch
    assert checks.problems[0].startswith("Repeated episodes: 20 of 80")


def test_exploration_becomes_part_of_the_old_policy() -> None:
    greedy = np.eye(3)[TABLE.argmax(axis=1)]
    log = sample(0.9 * greedy + 0.1 / 3)
    policy = TabularPolicy.from_probabilities(greedy)
    checks = check_log(log, policy)
    assert checks.exploration.found
    assert checks.behaviour.on_policy
    assert not checks.forbids_switch
    assert isinstance(checks.old_policy, TabularPolicy)
    assert checks.old_policy.table.min() == pytest.approx(0.1 / 3, abs=0.01)
    assert "part of the old policy" in checks.problems[0]
    given = check_log(log, policy, LogCheckConfig(epsilon=0.1))
    assert given.problems == ()
    wrong = check_log(log, policy, LogCheckConfig(epsilon=0.3))
    assert wrong.forbids_switch
    assert "exploration is not the given one" in wrong.reason
    assert any("Leave --epsilon out" in problem for problem in wrong.problems)


def test_another_policy_forbids() -> None:
    checks = check_log(sample(), TabularPolicy.from_probabilities(random_policy(101, WORLD)))
    assert not checks.behaviour.on_policy
    assert checks.forbids_switch
    assert "not made by the given old policy" in checks.reason
    json.dumps(checks.as_json(), allow_nan=False)


def test_configuration_is_checked() -> None:
    wrongs: tuple[dict[str, Any], ...] = ({"level": 0.0}, {"least_episodes": 1}, {"epsilon": 1.5})
    for wrong in wrongs:
        with pytest.raises(InputError):
            LogCheckConfig(**wrong)
