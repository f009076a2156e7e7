"""The same policy, given in five ways, is the same policy to advice.

As safetensors, as ONNX, as a function, as columns of the log, and as a clone made from the log.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from nacre import examples
from nacre.advice.config import AdviceConfig
from nacre.advice.pipeline import advise
from nacre.learners.net_actor_critic.learner import NetActorCritic, default_settings
from nacre.logs import Log
from nacre.policies import Categorical, CloneConfig, Policy, read_policy, write_policy
from tests.support.experiments import Stated

EXACT = ("safetensors", "onnx", "callable", "columns")
QUICK = CloneConfig(hidden=(16, 16), n_steps=600)


def ask(policy: Policy) -> Callable[[np.ndarray], np.ndarray]:
    """The policy as a function of a batch of observations."""

    def probabilities(observations: np.ndarray) -> np.ndarray:
        distribution = policy(jnp.asarray(observations, jnp.float32))
        assert isinstance(distribution, Categorical)
        return np.asarray(distribution.probabilities)

    return probabilities


def give(way: str, log: Log, policy: Policy, folder: Path) -> tuple[Log, Policy]:
    """A log and the policy that made it, as someone would have them who has it in this way."""
    if way in ("safetensors", "onnx"):
        path = folder / f"old.{way}"
        write_policy(policy, path)
        return log, read_policy(path, log=log)
    if way == "callable":
        return log, read_policy(ask(policy), log=log, outputs="probabilities")
    if way == "columns":
        answers = ask(policy)(log.observations)
        columns = {f"probability_{i}": answers[:, i] for i in range(answers.shape[1])}
        fields = ("observations", "actions", "rewards", "terminated", "truncated")
        spaces = ("next_observations", "observation_space", "action_space")
        parts: dict[str, Any] = {name: getattr(log, name) for name in (*fields, *spaces)}
        log = Log.from_arrays(**parts, columns=columns)
    return log, read_policy(way, log=log, clone=QUICK, seed=0)


@functools.cache
def load() -> tuple[Log, Policy]:
    example = examples.load_traffic()
    return example.log.select(np.arange(40)), example.old_policy


@pytest.mark.parametrize("way", [*EXACT, "clone"])
def test_ways_agree_at_the_states_of_the_log(way: str, tmp_path: Path) -> None:
    log, policy = load()
    there, given = give(way, log, policy, tmp_path)
    wanted, found = (ask(one)(there.observations) for one in (policy, given))
    distance = 0.5 * np.abs(wanted - found).sum(axis=1)
    if way == "clone":
        # Forty episodes show the policy roughly.
        assert distance.mean() < 0.2
    else:
        assert distance.max() < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("way", EXACT[1:])
def test_learning_comes_to_the_same_policy(way: str, tmp_path: Path) -> None:
    """Whatever the form, learning starts from the same network, fitted to the same answers."""
    settings = default_settings()
    small = dataclasses.replace(
        settings,
        critics=dataclasses.replace(settings.critics, hidden=(8,), n_critics=2, batch_size=16),
        epochs=1,
        steps_per_epoch=20,
        prefit_steps=20,
        n_cost_states=8,
    )
    config = AdviceConfig(learners=(NetActorCritic(0.1, settings=small),), estimators=(Stated(),))
    example = examples.load_traffic()
    log, policy = load()
    learned = []
    for form in ("safetensors", way):
        there, given = give(form, log, policy, tmp_path)
        advice = advise(there, given, example.cost, config=config, seed=0)
        learned.append(ask(advice.new_policy)(log.observations))
    np.testing.assert_allclose(learned[0], learned[1], atol=1e-3)
