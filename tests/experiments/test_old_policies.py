"""Old policies: drawn anew, shipped, or published; missing files are named, all at once."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import save_file

from nacre.errors import InputError
from nacre.experiments.old_policies import (
    OURS,
    SHIPPED,
    Source,
    digest,
    make_old_policy,
    read_critics,
)
from nacre.experiments.tables import RANDOM, TABLES, find_row
from nacre.policies import read_policy
from nacre.policies.files import fingerprint, write_policy
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Signature
from nacre.policies.tabular import TabularPolicy
from nacre.simulators.registry import World, find_world
from nacre.training.critics import Critics
from tests.support.experiments import CHEAP, write_critics
from tests.support.policies import box

ROWS = [row for rows in TABLES.values() for row in rows]
STORED = [row for row in ROWS if row.old_policy != RANDOM]


@pytest.fixture(scope="module")
def world() -> World:
    return find_world("CartPole-v1")


def test_random_old_policies_are_drawn_for_each_seed(world: World, tmp_path: Path) -> None:
    first, again, other = (make_old_policy(CHEAP, world, tmp_path, seed) for seed in (4, 4, 5))
    assert fingerprint(first) == fingerprint(again) != fingerprint(other)
    assert isinstance(first, MLPPolicy)
    # As in the published code, whose discrete networks leave the second layer as it is.
    assert first.network.activations == ("relu", "identity", "identity")
    robot = make_old_policy(
        dataclasses.replace(CHEAP, world="Hopper-v4"), find_world("Hopper-v4"), tmp_path, 4
    )
    assert isinstance(robot, MLPPolicy)
    assert robot.network.activations[1] == "relu"


def test_old_policies_from_files(world: World, tmp_path: Path) -> None:
    row = dataclasses.replace(CHEAP, old_policy="pole_weak")
    with pytest.raises(
        InputError, match=r"pole_weak.safetensors: the old policy of row pole-cheap"
    ):
        make_old_policy(row, world, tmp_path, 4)
    policy = MLPPolicy.init(jax.random.key(1), world.signature, hidden=(4,))
    write_policy(policy, tmp_path / "pole_weak.safetensors")
    found = make_old_policy(row, world, tmp_path, 4)
    assert fingerprint(found) == fingerprint(policy)
    assert found.signature == world.signature
    lake = find_world("FrozenLake-v1")
    write_policy(
        TabularPolicy.from_probabilities(np.full((16, 4), 0.25)), tmp_path / "lake.safetensors"
    )
    table = make_old_policy(dataclasses.replace(row, old_policy="lake"), lake, tmp_path, 4)
    assert isinstance(table, TabularPolicy)
    with pytest.raises(InputError, match="give a policy of this world"):
        make_old_policy(row, lake, tmp_path, 4)


def test_every_row_has_a_policy_of_ours() -> None:
    Source().check(ROWS)
    assert Source().name(find_row("hopper-suboptimal")) == RANDOM
    assert {row.old_policy for row in STORED} == set(OURS)
    assert Source().name(find_row("hopper-optimal")) == "nacre:hopper_good"
    assert Source(Path("published")).name(find_row("hopper-optimal")) == "hopper_optimal"


@pytest.mark.parametrize("name", sorted(set(OURS.values())))
def test_shipped_policies_are_what_their_descriptions_say(name: str) -> None:
    described = json.loads((SHIPPED / f"{name}.json").read_text(encoding="utf-8"))
    policy = read_policy(SHIPPED / described["policy"])
    assert fingerprint(policy) == described["fingerprint"]
    assert described["values"][0]["episodes"] >= 200
    assert described["training"]["method"] == "soft actor-critic"
    (row, *_) = [row for row in STORED if OURS[row.old_policy] == name]
    assert described["training"]["world"] == row.world
    # As a row uses it: of the row's world.
    world = find_world(row.world)
    assert Source().make_policy(row, world, 4).signature == world.signature


def test_all_missing_files_are_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        Source(tmp_path).check(ROWS, with_critics=True)
    # Two files for each published policy and row; random rows need none.
    assert len(caught.value.problems) == 2 * len(STORED)
    assert "ant_weak_critics.safetensors: the critics stored with the old policy of row" in str(
        caught.value
    )
    with pytest.raises(InputError, match=r"hopper_optimal_critics.*--old-policies"):
        Source().check([find_row("hopper-optimal")], with_critics=True)


@pytest.mark.parametrize("discrete", [True, False])
def test_stored_critics_are_read_as_they_are(discrete: bool, world: World, tmp_path: Path) -> None:
    vectors = Signature(box(3), box(2, -1.0, 1.0))
    signature = world.signature if discrete else vectors
    critics = Critics.init(jax.random.key(0), signature, n_critics=2, hidden=(5, 6))
    path = tmp_path / "a_critics.safetensors"
    write_critics(critics, path)
    found = read_critics(path, signature)
    for mine, other in zip(jax.tree.leaves(found), jax.tree.leaves(critics), strict=True):
        np.testing.assert_array_equal(mine, other)
    assert len(digest(path)) == 64
    other_space = vectors if discrete else world.signature
    with pytest.raises(InputError, match=r"critics of .* inputs and .* outputs, this world needs"):
        read_critics(path, other_space)


def test_damaged_critics_are_refused(tmp_path: Path, world: World) -> None:
    path = tmp_path / "a_critics.safetensors"
    path.write_bytes(b"damaged")
    with pytest.raises(InputError, match="could not be read as safetensors"):
        read_critics(path, world.signature)
    save_file({"q1.q.0.weight": np.zeros((2, 4), np.float32)}, path)
    with pytest.raises(InputError, match=r"has no layer q1\.q\.0"):
        read_critics(path, world.signature)


def test_random_rows_have_no_stored_critics(world: World, tmp_path: Path) -> None:
    assert Source(tmp_path).read_critics(CHEAP, world.signature) is None
