"""The bundled example: what it holds, that it is true, and that its script makes it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre import examples
from nacre.errors import InputError
from nacre.logs import read_log, validate_log
from nacre.policies import (
    MLPPolicy,
    Policy,
    Scaling,
    Signature,
    TabularPolicy,
    fingerprint,
    read_policy,
)

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_example.py"


@pytest.fixture(scope="module")
def example() -> examples.Example:
    return examples.load()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two directories, each filled by a run of the script."""
    places = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")
    for place in places:
        runpy.run_path(str(SCRIPT))["main"](place)
    return places


def test_bundled_files_are_small_and_valid(example: examples.Example) -> None:
    directory = examples.find_directory()
    assert sorted(path.name for path in directory.iterdir()) == sorted(examples.FILES)
    assert sum((directory / name).stat().st_size for name in examples.FILES) < 500_000
    assert validate_log(directory / "log.parquet") == []
    assert example.log.n_transitions == 10_000
    assert example.log.n_episodes == 100


def test_script_makes_the_same_bytes_twice(made: tuple[Path, Path]) -> None:
    first, second = made
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(set(examples.FILES) - {"cost.toml"})
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_script_makes_what_is_bundled(made: tuple[Path, Path], example: examples.Example) -> None:
    log = read_log(made[0] / "log.parquet")
    # Another processor may round the last digit otherwise, and that is carried along the episode.
    for name in ("observations", "actions", "rewards", "next_observations"):
        np.testing.assert_allclose(getattr(log, name), getattr(example.log, name), atol=1e-4)
    np.testing.assert_array_equal(log.offsets, example.log.offsets)
    for name in ("old", "new"):
        policy = read_policy(made[0] / f"{name}.safetensors")
        assert fingerprint(policy) == fingerprint(getattr(example, f"{name}_policy"))


def test_log_is_the_old_policy_s(example: examples.Example) -> None:
    said: Any = example.old_policy(jnp.asarray(example.log.observations))
    errors = (example.log.actions - np.asarray(said.location)) / np.asarray(said.std)
    # 10,000 standard normal draws: mean within 5/√n, variance within 5·√(2/n).
    assert abs(errors.mean()) < 5 / np.sqrt(errors.size)
    assert abs(errors.var() - 1.0) < 5 * np.sqrt(2 / errors.size)


def test_log_returns_agree_with_the_exact_value(example: examples.Example) -> None:
    discount = example.world.discount
    returns = example.log.returns(discount)
    # What lies beyond the end of the episodes is missing from the returns.
    steady = example.log.rewards[example.log.offsets[1:] - 1].mean()
    tail = discount**100 * steady / (1 - discount)
    error = returns.std(ddof=1) / np.sqrt(len(returns))
    assert abs(returns.mean() + tail - example.value(example.old_policy)) < 5 * error


def test_new_policy_is_better_and_still_not_the_best(example: examples.Example) -> None:
    best = example.world.start_value(example.world.optimal_policy())
    old, new = example.value(example.old_policy), example.value(example.new_policy)
    assert old < new < best


def test_switch_pays_after_its_cost(example: examples.Example) -> None:
    old, new = example.old_policy, example.new_policy
    price = example.cost.evaluate(old, new, example.log)
    assert price.transaction < price.learning
    assert 0 < price.total < example.value(new) - example.value(old)


def make_policy(**changes: object) -> Policy:
    world = examples.make_world()
    signature = Signature(world.observation_space, world.action_space)
    options = {"head": "gaussian", "hidden": ()} | changes
    return MLPPolicy.init(jax.random.key(0), signature, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "policy",
    [
        TabularPolicy.from_probabilities(np.eye(2)),
        make_policy(hidden=(4,)),
        make_policy(head="squashed_gaussian"),
        make_policy(scaling=Scaling.identity(2)),
        make_policy(),
    ],
    ids=["table", "layers", "squashed", "scaled", "noise that depends on the state"],
)
def test_values_are_claimed_for_linear_policies_only(
    example: examples.Example, policy: Policy
) -> None:
    with pytest.raises(InputError, match="known in closed form for"):
        example.value(policy)
