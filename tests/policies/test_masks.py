"""Masked actions: no policy of any kind takes them, in whatever form it is asked."""

from __future__ import annotations

import dataclasses
import itertools
import tomllib
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.costs import LogStates, TransportCost, groups
from nacre.errors import InputError
from nacre.learners.one_step import ScoreObjective, follow_mask
from nacre.learners.policy_tree import grow_tree
from nacre.logs import Log, read_log
from nacre.logs.drafting.column_map import draft_map
from nacre.logs.schema.spaces import add_mask
from nacre.policies import (
    BlackBox,
    Categorical,
    CloneConfig,
    MLPPolicy,
    Policy,
    RulePolicy,
    Signature,
    read_policy,
    write_policy,
)
from nacre.policies.exploring import add_exploration
from nacre.policies.formats.numpy_predictor import Predictor
from nacre.policies.masks import respect_mask
from nacre.policies.mixture import mix_policies
from nacre.policies.networks import Scaling
from tests.support.policies import expect

PLAIN = Signature(Box(-np.inf, np.inf, (2,), np.float32), Discrete(3))
MASKED = Signature(add_mask(PLAIN.observation_space, 3), Discrete(3))
QUICK = CloneConfig(hidden=(16,), n_steps=200)


def draw_rows(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    allowed = rng.random((n, 3)) < 0.6
    allowed[np.arange(n), rng.integers(3, size=n)] = True
    return np.concatenate([rng.normal(size=(n, 2)), allowed], axis=1).astype(np.float32)


ROWS = draw_rows(64)
ALLOWED = ROWS[:, 2:] > 0.5


def make_network(signature: Signature = MASKED, head: Any = "categorical") -> MLPPolicy:
    scaling = Scaling.identity(signature.observation_size)
    return MLPPolicy.init(
        jax.random.key(1),
        signature,
        head=head,
        hidden=(8,),
        scaling=scaling,
    )


def ask_probabilities(policy: Policy, rows: np.ndarray = ROWS) -> np.ndarray:
    return np.asarray(expect(Categorical, policy(jnp.asarray(rows))).probabilities)


def renormalise(probabilities: np.ndarray) -> np.ndarray:
    kept = np.where(ALLOWED, probabilities, 0.0)
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))


def make_rule() -> RulePolicy:
    outputs = jnp.asarray(np.eye(3)[[1, 2]], jnp.float32)
    box = jnp.full((1, 5), jnp.inf)
    return RulePolicy(-box, box.at[0, 0].set(0.0), outputs, MASKED, "greedy")


def answer(rows: np.ndarray) -> dict[str, np.ndarray]:
    return {"probabilities": np.tile([0.2, 0.3, 0.5], (len(rows), 1))}


KINDS: dict[str, Policy] = {
    "network": make_network(),
    "greedy": make_network(head="greedy"),
    "rule": make_rule(),
    "black box": BlackBox(answer, MASKED, "probabilities", "test"),
    "explored": add_exploration(make_network(), 0.3),
    "mixed": mix_policies(make_network(), make_rule(), 0.4),
}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_that_is_not_allowed_has_a_probability(kind: str) -> None:
    probabilities = ask_probabilities(KINDS[kind])
    assert (probabilities[~ALLOWED] == 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)


def test_what_is_allowed_keeps_its_proportions() -> None:
    network = make_network()
    softmax = np.asarray(jax.nn.softmax(network.network(network.encode(jnp.asarray(ROWS)))))
    np.testing.assert_allclose(ask_probabilities(network), renormalise(softmax), atol=1e-6)
    box = ask_probabilities(KINDS["black box"])
    np.testing.assert_allclose(box, renormalise(np.tile([0.2, 0.3, 0.5], (64, 1))), atol=1e-6)


def test_an_observation_that_allows_nothing_is_not_masked() -> None:
    blank = np.concatenate([ROWS[:, :2], np.zeros((64, 3), np.float32)], axis=1)
    network = make_network()
    softmax = np.asarray(jax.nn.softmax(network.network(network.encode(jnp.asarray(blank)))))
    np.testing.assert_allclose(ask_probabilities(network, blank), softmax, atol=1e-6)


@pytest.mark.parametrize("head", ["categorical", "greedy"])
def test_files_keep_the_mask(tmp_path: Path, head: str) -> None:
    network = make_network(head=head)
    expected = ask_probabilities(network)
    write_policy(network, tmp_path / "policy.safetensors")
    again = read_policy(tmp_path / "policy.safetensors")
    np.testing.assert_array_equal(ask_probabilities(again), expected)
    said = Predictor(str(tmp_path / "policy.safetensors")).parameters(ROWS)["probabilities"]
    np.testing.assert_allclose(said, expected, atol=1e-6)
    pytest.importorskip("onnxruntime")
    write_policy(network, tmp_path / "policy.onnx")
    model = read_policy(tmp_path / "policy.onnx")
    assert model.signature == MASKED
    np.testing.assert_allclose(ask_probabilities(model), expected, atol=1e-6)


def test_policies_that_know_no_mask_are_masked_when_read(tmp_path: Path) -> None:
    plain = make_network(PLAIN)
    softmax = np.asarray(expect(Categorical, plain(jnp.asarray(ROWS[:, :2]))).probabilities)
    wide = respect_mask(plain, MASKED)
    np.testing.assert_allclose(ask_probabilities(wide), renormalise(softmax), atol=1e-6)
    write_policy(plain, tmp_path / "policy.safetensors")
    read = read_policy(tmp_path / "policy.safetensors", signature=MASKED)
    np.testing.assert_array_equal(ask_probabilities(read), ask_probabilities(wide))
    pytest.importorskip("onnxruntime")
    write_policy(plain, tmp_path / "policy.onnx")
    log = Log.from_arrays(
        ROWS[:, :2],
        ALLOWED.argmax(axis=1),
        np.zeros(64),
        np.ones(64, bool),
        columns={"allowed": ALLOWED},
    )
    recorded = read_policy(tmp_path / "policy.onnx", log=log, clone=QUICK)
    np.testing.assert_allclose(ask_probabilities(recorded), renormalise(softmax), atol=1e-5)


def test_clones_respect_the_mask() -> None:
    rng = np.random.default_rng(3)
    noise = np.where(ALLOWED, rng.gumbel(size=(64, 3)), -np.inf)
    log = Log.from_arrays(
        ROWS[:, :2],
        noise.argmax(axis=1),
        rng.normal(size=64),
        np.ones(64, bool),
        columns={"allowed": ALLOWED},
    )
    clone = read_policy("clone", log=log, clone=QUICK)
    assert (ask_probabilities(clone)[~ALLOWED] == 0).all()


def test_a_tree_is_scored_by_what_it_may_do() -> None:
    """The sum of the scores that the tree climbed is what its masked policy earns."""
    scores = np.random.default_rng(2).normal(size=(64, 3))
    worth = follow_mask(scores, ROWS, MASKED)
    tree = grow_tree(ROWS, worth, MASKED)
    unmasked = dataclasses.replace(tree, signature=Signature(Box(-9, 9, (5,)), Discrete(3)))
    climbed = float(np.sum(ask_probabilities(unmasked) * worth))
    earned = float(np.sum(ask_probabilities(tree) * scores))
    assert climbed == pytest.approx(earned, abs=1e-4)


def test_costs_and_gradients_are_finite_with_masks() -> None:
    old, new = make_network(), make_network()
    cost = TransportCost(
        learning_weight=1.0,
        transaction_weight=0.5,
        groups=groups.indices([[0], [1, 2]]),
        state_measure=LogStates(),
    )
    objective = ScoreObjective(cost, old, old, jnp.asarray(0.1))
    states, scores = jnp.asarray(ROWS), jnp.asarray(np.random.default_rng(1).normal(size=(64, 3)))
    gradient = eqx.filter_grad(lambda p: objective(p, states, scores, jax.random.key(0)))(new)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    assert float(jnp.max(jnp.abs(gradient.network.weights[-1]))) > 0


def test_numbered_states_with_masks_cost_what_enumeration_says(tmp_path: Path) -> None:
    """Followed: a line says how such states are read. Then every state and mask is counted."""
    rng = np.random.default_rng(100)
    lines = ["state,act,gain,allowed_0,allowed_1,allowed_2"]
    for _ in range(200):
        mask = [1, *map(int, rng.random(2) < 0.5)]
        lines.append(f"{rng.integers(4)},{rng.choice(np.flatnonzero(mask))},1,{str(mask)[1:-1]}")
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    columns = {"episode": False, "terminated": True, "observation": "state", "reward": "gain"}
    with pytest.raises(InputError, match=r'encode.state = "one_hot"'):
        read_log(path, columns=columns)
    drafted = tomllib.loads(draft_map(path, ["reward=gain"]).text)
    assert drafted["encode"] == {"state": "one_hot"}
    log = read_log(path, columns=drafted)
    signature = Signature(log.observation_space, log.action_space)
    old, new = (MLPPolicy.init(jax.random.key(i), signature, hidden=(8,)) for i in range(2))
    cost = TransportCost(5.0, 1.0, groups.indices([[0], [1, 2]]), state_measure=LogStates())
    expected = 0.0
    for state, *mask in itertools.product(range(4), (1,), (0, 1), (0, 1)):
        row = np.array([*np.eye(4)[state], *mask], np.float32)
        share = float((log.observations == row).all(axis=1).mean())
        weights = [np.exp(p.network(jnp.asarray(row))) * np.array(mask) for p in (old, new)]
        first, second = (np.asarray(weight / weight.sum()) for weight in weights)
        moved = abs(first[0] - second[0])
        expected += share * (5.0 * moved + 1.0 * (1.0 - moved))
    assert cost.evaluate(old, new, log).total == pytest.approx(expected, rel=1e-4)
