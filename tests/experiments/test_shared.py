"""What records share is made once, is the same when made again, and never trusted if damaged."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.estimators.simulation import simulate_value
from nacre.experiments import shared as module
from nacre.experiments.shared import TRUTH_SEED, Shared, make_old_policy, share_row
from nacre.policies.files import fingerprint
from nacre.simulators.registry import World, find_world
from nacre.training.progress import NoProgress
from nacre.training.returns import value_from_returns
from tests.support.experiments import CHEAP, LEARNER, TRUTH


@pytest.fixture(scope="module")
def world() -> World:
    return find_world("CartPole-v1")


@pytest.fixture
def shared(world: World, tmp_path: Path) -> Shared:
    policy = make_old_policy(CHEAP, world, tmp_path, 4)
    return Shared(tmp_path / "cache", world, policy, 4)


class Counted:
    """Calls a function and counts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.calls, self.function = 0, getattr(module, name)
        monkeypatch.setattr(module, name, self)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls += 1
        return self.function(*arguments, **options)


def test_logs_are_collected_once(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    collect = Counted(monkeypatch, "collect_log")
    log = shared.log(1000)
    assert shared.log(1000).fingerprint() == log.fingerprint()
    assert collect.calls == 1
    # Nothing but the log is left, and what is damaged is collected again, the same.
    (file,) = shared.folder.iterdir()
    file.write_bytes(file.read_bytes()[:500])
    assert shared.log(1000).fingerprint() == log.fingerprint()
    assert collect.calls == 2


def test_parts_that_a_kill_left_beside_the_log_go(shared: Shared) -> None:
    shared.log(1000)
    parts = shared.folder / "log-1000.parts"
    parts.mkdir()
    shared.log(1000)
    assert not parts.exists()


def test_evaluations_are_kept_with_their_critics(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluate = Counted(monkeypatch, "evaluate_old")
    log = shared.log(1000)
    first = shared.evaluation(log, LEARNER, NoProgress())
    again = shared.evaluation(log, LEARNER, NoProgress())
    assert evaluate.calls == 1
    for name in ("per_critic", "curve", "member_curves", "losses"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert (first.value, first.settled, first.healthy, first.reason) == (
        again.value,
        again.settled,
        again.healthy,
        again.reason,
    )
    leaves = zip(jax.tree.leaves(first.critics), jax.tree.leaves(again.critics), strict=True)
    assert all(np.array_equal(one, other) for one, other in leaves)
    # Another way of learning does not evaluate again, another seed does; so does damage.
    shared.evaluation(log, dataclasses.replace(LEARNER, epochs=9), NoProgress())
    assert evaluate.calls == 1
    other = dataclasses.replace(shared, seed=5).evaluation(log, LEARNER, NoProgress())
    assert other.value != first.value
    assert evaluate.calls == 2
    for file in shared.folder.glob("evaluation-*"):
        file.write_bytes(b"damaged")
    assert shared.evaluation(log, LEARNER, NoProgress()).value == first.value
    assert evaluate.calls == 3


def test_truths_are_simulated_once(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    simulate = Counted(monkeypatch, "simulate_value")
    truth = shared.truth(shared.old_policy, TRUTH, 0.9)
    assert shared.truth(shared.old_policy, TRUTH, 0.9) == truth
    assert simulate.calls == 1
    direct = simulate_value(
        shared.world,
        shared.old_policy,
        discount=0.9,
        n_episodes=TRUTH.episodes,
        n_steps=TRUTH.steps,
        seed=TRUTH_SEED + 4,
    )
    assert truth == direct.as_json()
    shared.truth(shared.old_policy, dataclasses.replace(TRUTH, episodes=5), 0.9)
    assert simulate.calls == 2
    for file in shared.folder.glob("truth-*"):
        file.write_text("{")
    assert shared.truth(shared.old_policy, TRUTH, 0.9) == truth
    assert simulate.calls == 3


def test_the_logs_value_leaves_out_uniform_episodes(shared: Shared) -> None:
    log = shared.log(1000)
    # All of it is uniform: then it is all there is.
    whole = shared.log_value(log, 0.9)
    assert whole["mean"] == value_from_returns(log, 0.9).mean
    assert whole["low"] <= whole["mean"] <= whole["high"]
    world = dataclasses.replace(shared.world, uniform_steps=500)
    own = dataclasses.replace(shared, world=world).log_value(log, 0.9)
    kept = log.select(np.flatnonzero(log.offsets[:-1] >= 500))
    assert own["mean"] == value_from_returns(kept, 0.9).mean != whole["mean"]


def test_the_start_is_nominal_where_there_is_one(shared: Shared) -> None:
    log = shared.log(1000)
    np.testing.assert_array_equal(shared.start(log), log.starts)
    start = np.zeros(4, np.float32)
    nominal = dataclasses.replace(shared, world=dataclasses.replace(shared.world, start=start))
    assert nominal.start(log) is start


def test_a_row_and_a_seed_have_a_folder_of_their_own(tmp_path: Path) -> None:
    found = share_row("hopper-suboptimal", 4, tmp_path, tmp_path)
    hopper = find_world("Hopper-v4")
    row = dataclasses.replace(CHEAP, world="Hopper-v4")
    assert found.folder == tmp_path / "hopper-suboptimal-4"
    assert (found.world.name, found.seed) == (hopper.name, 4)
    same = make_old_policy(row, hopper, tmp_path, 4)
    assert fingerprint(found.old_policy) == fingerprint(same)
    with pytest.raises(
        InputError, match="give the folder of the published files with --old-policies"
    ):
        share_row("hopper-optimal", 4, tmp_path, tmp_path)
