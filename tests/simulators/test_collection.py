"""Collected logs: the published scheme, the same however they are made, and restartable."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs import Log
from nacre.parallel.engine import Engine
from nacre.policies.files import fingerprint
from nacre.simulators import collection
from nacre.simulators.collection import Part, collect_log, discard_parts, plan_parts
from nacre.simulators.registry import World, find_world
from nacre.simulators.rollouts import run_steps
from tests.support.simulators import small_policy


@pytest.fixture(scope="module")
def hopper() -> World:
    """Cut after four steps, so that parts have two hundred rows."""
    return dataclasses.replace(find_world("Hopper-v4"), episode_length=4)


def collect(world: World, folder: Path, n_steps: int = 700, **options: Any) -> Log:
    arguments: dict[str, Any] = {"seed": 3, "uniform_steps": 150, "parts_folder": folder} | options
    return collect_log(world, small_policy(world), n_steps, **arguments)


def test_parts_are_the_published_scheme() -> None:
    hopper = find_world("Hopper-v4")
    assert plan_parts(hopper, 120_000, hopper.uniform_steps) == [
        Part(0, "uniform", 10_000),
        Part(1, "policy", 50_000),
        Part(2, "policy", 50_000),
        Part(3, "policy", 10_000),
    ]
    assert plan_parts(hopper, 300, 1000) == [Part(0, "uniform", 300)]
    assert plan_parts(hopper, 300, 0) == [Part(0, "policy", 300)]


def test_a_log_says_where_it_comes_from(hopper: World, tmp_path: Path) -> None:
    heard: list[int] = []
    log = collect(hopper, tmp_path, on_rows=heard.append)
    assert len(log) == 700
    assert heard == [0, 150, 200, 200, 150]
    assert log.observation_space == hopper.signature.observation_space
    assert log.action_space == hopper.signature.action_space
    assert log.provenance["collection"] == {
        "world": "Hopper-v4",
        "policy": fingerprint(small_policy(hopper)),
        "steps": 700,
        "uniform_steps": 150,
        "seed": 3,
    }
    # The first rows are uniform: their mean is within 5 standard errors of 0 in each coordinate.
    assert (np.abs(log.actions[:150].mean(0)) < 5 / np.sqrt(3 * 150)).all()


def test_episodes_are_whole_within_their_part(hopper: World, tmp_path: Path) -> None:
    log = collect(hopper, tmp_path)
    ends = np.flatnonzero(log.terminated | log.truncated)
    # A part ends its last episode, however long it would have gone on.
    assert {149, 349, 549, 699} <= set(ends.tolist())
    assert not (log.terminated & log.truncated).any()
    # Within an episode the next observation is the following row's.
    inside = np.setdiff1d(np.arange(699), ends)
    np.testing.assert_array_equal(log.next_observations[inside], log.observations[inside + 1])


def test_a_log_is_the_same_twice_and_another_with_another_seed(
    hopper: World, tmp_path: Path
) -> None:
    first, again = collect(hopper, tmp_path / "1"), collect(hopper, tmp_path / "2")
    other = collect(hopper, tmp_path / "3", seed=4)
    assert first.fingerprint() == again.fingerprint()
    assert first.fingerprint() != other.fingerprint()


def test_a_stopped_collection_goes_on(
    hopper: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = collect(hopper, tmp_path / "whole")
    calls: list[int] = []

    def stop_at_third(*arguments: Any, **options: Any) -> dict[str, Any]:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run_steps(*arguments, **options)

    monkeypatch.setattr(collection, "run_steps", stop_at_third)
    with pytest.raises(KeyboardInterrupt):
        collect(hopper, tmp_path / "stopped")
    heard: list[int] = []
    log = collect(hopper, tmp_path / "stopped", on_rows=heard.append)
    # Two parts were there, the other two were made now.
    assert heard == [350, 200, 150]
    assert len(calls) == 5
    assert log.fingerprint() == whole.fingerprint()
    discard_parts(tmp_path / "stopped")
    assert not (tmp_path / "stopped").exists()


def test_processes_make_the_same_log(hopper: World, tmp_path: Path) -> None:
    alone = collect(hopper, tmp_path / "1", 300)
    together = collect(hopper, tmp_path / "2", 300, engine=Engine("local", workers=2))
    assert alone.fingerprint() == together.fingerprint()


def test_traffic_is_collected_too(tmp_path: Path) -> None:
    world = find_world("traffic")
    log = collect(world, tmp_path, 50, uniform_steps=20)
    assert set(np.unique(log.actions)) == {0, 1}
    np.testing.assert_array_equal(log.starts, [world.start] * log.n_episodes)


def test_parts_of_another_collection_are_refused(hopper: World, tmp_path: Path) -> None:
    collect(hopper, tmp_path, 30, uniform_steps=10)
    with pytest.raises(InputError, match="holds parts of another collection; delete it"):
        collect(hopper, tmp_path, 30, uniform_steps=10, seed=4)


def test_damaged_parts_are_named(hopper: World, tmp_path: Path) -> None:
    collect(hopper, tmp_path, 30, uniform_steps=10)
    first, second = sorted(tmp_path.glob("part-*.npz"))
    whole = first.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"no archive", second.read_bytes()):
        first.write_bytes(damaged)
        with pytest.raises(InputError, match=f"{first.name}: .*; delete it and collect again"):
            collect(hopper, tmp_path, 30, uniform_steps=10)


def test_wrong_wishes_are_refused(hopper: World, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="0 steps: give at least 1"):
        collect(hopper, tmp_path, 0)
    with pytest.raises(InputError, match="-1 uniform steps: give 0 or more"):
        collect(hopper, tmp_path, 10, uniform_steps=-1)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written .*; choose another"):
        collect(hopper, tmp_path / "file" / "folder")


def test_policies_of_other_worlds_are_refused(hopper: World, tmp_path: Path) -> None:
    other = small_policy(find_world("CartPole-v1"))
    with pytest.raises(InputError) as caught:
        collect_log(hopper, other, 100, seed=0, parts_folder=tmp_path)
    assert len(caught.value.problems) == 2
    assert "that of Hopper-v4 is Box" in caught.value.problems[1]
    lake, taxi = find_world("FrozenLake-v1"), find_world("CliffWalking-v1")
    with pytest.raises(InputError, match=r"Discrete\(16\).*Discrete\(48\)"):
        collect_log(taxi, small_policy(lake), 100, seed=0, parts_folder=tmp_path)


def test_a_manifest_is_written_whole(hopper: World, tmp_path: Path) -> None:
    collect(hopper, tmp_path, 30, uniform_steps=10)
    assert json.loads((tmp_path / "collection.json").read_text())["steps"] == 30
    assert not list(tmp_path.glob(".*"))
