"""Masked actions: no policy of any kind takes them, in whatever form it is asked."""

from __future__ import annotations

import dataclasses
import itertools
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.costs import LogStates, TransportCost, groups
from nacre.costs.fit import check_log_fits
from nacre.errors import InputError
from nacre.learners.one_step import ScoreObjective, follow_mask
from nacre.learners.policy_tree import grow_tree
from nacre.logs import Log, read_log, write_log
from nacre.logs.description import describe_columns
from nacre.logs.drafting.column_map import draft_map
from nacre.logs.schema.spaces import MaskedDiscrete, add_mask
from nacre.policies import (
    BlackBox,
    Categorical,
    CloneConfig,
    MLPPolicy,
    Policy,
    RulePolicy,
    Signature,
    TabularPolicy,
    read_policy,
    write_policy,
)
from nacre.policies.exploring import ExploringPolicy, add_exploration
from nacre.policies.formats.numpy_predictor import Predictor
from nacre.policies.masks import respect_mask
from nacre.policies.mixture import MixturePolicy, mix_policies
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


def write_numbered(path: Path, mask_of: Callable[[int], list[int]]) -> Path:
    rng = np.random.default_rng(100)
    lines = ["state,act,gain,allowed_0,allowed_1,allowed_2"]
    for _ in range(200):
        state = int(rng.integers(4))
        mask = mask_of(state)
        lines.append(f"{state},{rng.choice(np.flatnonzero(mask))},1,{str(mask)[1:-1]}")
    path.write_text("\n".join(lines) + "\n")
    return path


NUMBERED = {"episode": False, "terminated": True, "observation": "state", "reward": "gain"}


def test_states_whose_masks_change_cost_what_enumeration_says(tmp_path: Path) -> None:
    """Followed: a line says how such states are read. Then every state and mask is counted."""
    rng = np.random.default_rng(100)
    path = write_numbered(tmp_path / "log.csv", lambda _: [1, *map(int, rng.random(2) < 0.5)])
    with pytest.raises(InputError, match=r'same state.*encode.state = "one_hot"'):
        read_log(path, columns=NUMBERED)
    drafted = tomllib.loads(draft_map(path, ["reward=gain"]).text)
    assert drafted["encode"] == {"state": "one_hot"}
    log = read_log(path, columns=drafted)
    signature = Signature(log.observation_space, log.action_space)
    old, new = (MLPPolicy.init(jax.random.key(i), signature, hidden=(8,)) for i in range(2))
    expected = 0.0
    for state, *mask in itertools.product(range(4), (1,), (0, 1), (0, 1)):
        row = np.array([*np.eye(4)[state], *mask], np.float32)
        share = float((log.observations == row).all(axis=1).mean())
        weights = [np.exp(p.network(jnp.asarray(row))) * np.array(mask) for p in (old, new)]
        first, second = (np.asarray(weight / weight.sum()) for weight in weights)
        moved = abs(first[0] - second[0])
        expected += share * (5.0 * moved + 1.0 * (1.0 - moved))
    assert COST.evaluate(old, new, log).total == pytest.approx(expected, rel=1e-4)


COST = TransportCost(5.0, 1.0, groups.indices([[0], [1, 2]]), state_measure=LogStates())
BY_STATE = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 0], [1, 1, 0]])


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Log:
    path = tmp_path_factory.mktemp("numbered") / "log.csv"
    return read_log(write_numbered(path, lambda s: BY_STATE[s].tolist()), columns=NUMBERED)


def test_states_with_masks_of_their_own_keep_their_numbers(numbered: Log, tmp_path: Path) -> None:
    assert isinstance(numbered.observation_space, MaskedDiscrete)
    assert numbered.observations.shape == (200,)
    np.testing.assert_array_equal(numbered.observation_space.allowed, BY_STATE == 1)
    write_log(numbered, tmp_path / "log.parquet")
    again = read_log(tmp_path / "log.parquet")
    assert again.fingerprint() == numbered.fingerprint()
    described = [row for row in describe_columns(numbered) if row["meaning"] == "allowed"]
    assert [row["column"] for row in described] == ["allowed_0", "allowed_1", "allowed_2"]
    assert described[0]["range"] == "in 3 of 4 states"


@pytest.mark.parametrize("kind", ["table", "network", "greedy", "rule", "explored", "mixed"])
def test_no_policy_of_numbered_states_takes_what_is_not_allowed(
    numbered: Log, kind: str, tmp_path: Path
) -> None:
    signature = Signature(numbered.observation_space, numbered.action_space)
    plain = Signature(Discrete(4), Discrete(3))
    table = respect_mask(
        TabularPolicy.from_probabilities(np.tile([0.5, 0.3, 0.2], (4, 1))), signature
    )
    network = respect_mask(MLPPolicy.init(jax.random.key(0), plain, hidden=(8,)), signature)
    bounds = jnp.full((1, 1), jnp.inf)
    outputs = jnp.asarray(np.eye(3)[[1, 2]], jnp.float32)
    policies: dict[str, Policy] = {
        "table": table,
        "network": network,
        "greedy": MLPPolicy.init(jax.random.key(1), signature, head="greedy", hidden=(8,)),
        "rule": RulePolicy(-bounds, bounds.at[0, 0].set(1.5), outputs, signature, "greedy"),
        "explored": add_exploration(table, 0.3),
        "mixed": mix_policies(network, table, 0.4),
    }
    policy, states = policies[kind], np.arange(4)
    said = ask_probabilities(policy, states)
    assert (said[BY_STATE == 0] == 0).all()
    np.testing.assert_allclose(said.sum(axis=1), 1.0, atol=1e-6)
    if kind == "table":
        kept = np.array([0.5, 0.3, 0.2]) * BY_STATE
        np.testing.assert_allclose(said, kept / kept.sum(axis=1, keepdims=True), atol=1e-6)
    if kind == "explored":
        even = BY_STATE / BY_STATE.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(
            said, 0.7 * ask_probabilities(table, states) + 0.3 * even, atol=1e-6
        )
    if kind in ("table", "network", "greedy"):
        write_policy(policy, tmp_path / "policy.safetensors")
        again = read_policy(tmp_path / "policy.safetensors")
        np.testing.assert_array_equal(ask_probabilities(again, states), said)
        alone = Predictor(str(tmp_path / "policy.safetensors")).parameters(states)
        np.testing.assert_allclose(alone["probabilities"], said, atol=1e-6)
    if kind != "explored":
        pytest.importorskip("onnxruntime")
        write_policy(policy, tmp_path / "policy.onnx")
        model = read_policy(tmp_path / "policy.onnx", signature=signature)
        np.testing.assert_allclose(ask_probabilities(model, states), said, atol=1e-6)


def test_numbered_states_with_masks_cost_what_enumeration_says(numbered: Log) -> None:
    signature = Signature(numbered.observation_space, numbered.action_space)
    rng = np.random.default_rng(101)
    logits = [jnp.asarray(rng.normal(size=(4, 3)), jnp.float32) for _ in range(2)]
    old, new = (TabularPolicy(one, signature) for one in logits)
    weights = [np.exp(np.asarray(one)) * BY_STATE for one in logits]
    first, second = (weight / weight.sum(axis=1, keepdims=True) for weight in weights)
    shares = np.bincount(np.asarray(numbered.observations), minlength=4) / len(numbered)
    moved = np.abs(first[:, 0] - second[:, 0])
    expected = float(shares @ (5.0 * moved + (1.0 - moved)))
    assert COST.evaluate(old, new, numbered).total == pytest.approx(expected, rel=1e-4)


def test_policies_that_were_not_read_with_the_log_are_masked_or_refused(numbered: Log) -> None:
    spaces = Signature(numbered.observation_space, numbered.action_space)
    plain = TabularPolicy.from_probabilities(np.tile([0.5, 0.3, 0.2], (6, 1)))
    mixed = MixturePolicy(plain, plain, jnp.asarray(0.5))
    explored = ExploringPolicy(mixed, jnp.asarray(0.1))
    for policy in (plain, mixed, explored):
        with pytest.raises(InputError, match="may take actions that the log does not allow"):
            check_log_fits(numbered, policy)
        masked = respect_mask(policy, spaces)
        check_log_fits(numbered, masked)
        said = ask_probabilities(masked, np.arange(6))
        assert (said[:4][BY_STATE == 0] == 0).all()
        assert (said[4:] > 0).all()
    fewer = TabularPolicy.from_probabilities(np.full((4, 2), 0.5))
    assert respect_mask(fewer, spaces) is fewer
