"""The bundled bandit log: its world, its file and its known answer agree."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre import examples
from nacre.estimators.base import Problem
from nacre.estimators.one_step import OneStep
from nacre.logs import Log, action_labels, observation_names, read_log
from nacre.policies import MLP, MLPPolicy, Signature

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_calls_example.py"


@pytest.fixture(scope="module")
def world() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def log() -> Log:
    sources = examples.find_sources("calls")
    return read_log(sources.log, columns=sources.columns)


def as_policy(world: dict[str, Any], log: Log, rule: Any) -> MLPPolicy:
    """A rule as a table over the one-hot features: a linear network where no two kinds mix."""
    names = observation_names(log)
    kinds = [f"region={r}" for r in world["REGIONS"]], [f"tenure={t}" for t in world["TENURES"]]
    n = len(world["OFFERS"])
    first, second = np.zeros((len(names), 9)), np.zeros((9, n))
    cells = [(r, t) for r in world["REGIONS"] for t in world["TENURES"]]
    for cell, (region, tenure) in enumerate(cells):
        first[names.index(f"region={region}"), cell] = 1.0
        first[names.index(f"tenure={tenure}"), cell] = 1.0
        second[cell] = np.log(np.maximum(rule(region, tenure), 1e-9))
    assert all(name in names for kind in kinds for name in kind)
    network = MLP(
        (jnp.asarray(first, jnp.float32), jnp.asarray(second, jnp.float32)),
        (jnp.full(9, -1.0), jnp.zeros(n)),
        ("relu", "identity"),
    )
    signature = Signature(log.observation_space, log.action_space)
    return MLPPolicy(network, None, signature, "categorical")


def test_the_script_makes_the_file(world: dict[str, Any], tmp_path: Path) -> None:
    world["main"](tmp_path)
    bundled = examples.find_directory("calls") / "log.csv"
    assert (tmp_path / "log.csv").read_bytes() == bundled.read_bytes()
    assert bundled.stat().st_size < 300_000


def test_the_readme_has_the_figures_of_the_world(world: dict[str, Any], log: Log) -> None:
    text = (examples.find_directory("calls") / "README.md").read_text()
    old, best = world["value"](world["act_as_today"]), world["value"](world["act_best"])
    assert f"earns {old:.2f} under" in text
    assert f"{best:.2f} under the best rule" in text
    # Within four standard errors of the mean of 4,000 rows.
    assert abs(log.rewards.mean() - old) < 4 * log.rewards.std() / np.sqrt(len(log))


def test_it_is_a_log_of_single_steps_with_propensities(log: Log) -> None:
    assert log.n_episodes == len(log) == 4000
    assert log.terminated.all()
    assert action_labels(log) == ("none", "voucher", "upgrade")
    assert set(np.unique(log.columns["propensity"])) == {0.2, 0.3, 0.5, 0.6}


@pytest.mark.parametrize("propensities", ["known", "logged"])
def test_the_estimate_contains_the_known_gain(
    world: dict[str, Any], log: Log, propensities: Any
) -> None:
    old = as_policy(world, log, world["act_as_today"])
    best = as_policy(world, log, world["act_best"])
    gain = world["value"](world["act_best"]) - world["value"](world["act_as_today"])
    problem, key = Problem(log, old, log.starts, 0.99), jax.random.key(0)
    estimator = OneStep(propensities=propensities)
    assert estimator.applies(problem) == ""
    prepared = estimator.prepare(key, problem, lambda share: None)
    estimate = estimator.estimate(key, problem, prepared, best, lambda share: None)
    assert estimate.informative
    # 3 standard errors and what may lie outside of the log; the gain itself is clearly seen.
    reach = 3 * estimate.standard_error + estimate.overlap_penalty
    assert abs(estimate.gain - gain) < reach < gain
