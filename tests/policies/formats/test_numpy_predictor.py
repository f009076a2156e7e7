"""The file that acts without JAX."""

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors
from gymnasium.spaces import Box, Discrete

from nacre.logs.schema.spaces import MaskedDiscrete, add_mask, space_to_json
from nacre.policies import (
    Categorical,
    Gaussian,
    Policy,
    RulePolicy,
    Signature,
    TabularPolicy,
    deliver_policy,
    write_policy,
    write_predictor,
)
from nacre.policies.formats.numpy_predictor import Rule
from nacre.policies.heads import Head
from tests.support.policies import BOUNDED, HEADS, ROWS, expect, make_policy

TOLERANCE = 1e-5


TABLE = TabularPolicy.from_probabilities([[0.7, 0.3, 0.0], [0.1, 0.6, 0.3]])


ASK = """
import sys
class Forbidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("jax", "jaxlib", "equinox", "nacre", "gymnasium"):
            raise ImportError(f"{name} is forbidden here")
sys.meta_path.insert(0, Forbidden())
import numpy as np
from predict import Predictor
controller = Predictor(sys.argv[1], seed=1)
rows = np.load("rows.npy")
arrays = controller.parameters(rows)
arrays["mode"], _ = controller.predict(rows, deterministic=True)
arrays["drawn"], _ = controller.predict(np.repeat(rows[:1], 20_000, axis=0))
arrays["one"], _ = controller.predict(rows[0], deterministic=True)
np.savez("out.npz", **arrays)
"""


def ask_without_jax(tmp_path: Path, policy: Policy, rows: np.ndarray) -> dict[str, np.ndarray]:
    write_policy(policy, tmp_path / "policy.safetensors")
    write_predictor(tmp_path / "predict.py")
    np.save(tmp_path / "rows.npy", rows)
    subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", ASK, "policy.safetensors"],
        cwd=tmp_path,
        check=True,
        env={"PYTHONPATH": str(tmp_path)},
    )
    with np.load(tmp_path / "out.npz") as arrays:
        return dict(arrays)


@pytest.mark.parametrize("head", HEADS)
def test_the_predictor_says_the_same_without_jax(tmp_path: Path, head: Head) -> None:
    policy = make_policy(head)
    out = ask_without_jax(tmp_path, policy, ROWS)
    said = policy(jnp.asarray(ROWS))
    # Networks may leave the bounds where the head does not clip; what acts never does.
    mode = (
        said.mode()
        if policy.signature.discrete_actions
        else np.clip(said.mode(), BOUNDED.low, BOUNDED.high)
    )
    np.testing.assert_allclose(out["mode"], mode, atol=TOLERANCE)
    np.testing.assert_allclose(out["one"], out["mode"][0], atol=TOLERANCE)
    if policy.signature.discrete_actions:
        np.testing.assert_allclose(
            out["probabilities"], expect(Categorical, said).probabilities, atol=TOLERANCE
        )
        shares = np.bincount(out["drawn"], minlength=4) / 20_000
        np.testing.assert_allclose(shares, expect(Categorical, said).probabilities[0], atol=0.015)
    elif head != "deterministic":
        np.testing.assert_allclose(out["location"], expect(Gaussian, said).location, atol=TOLERANCE)
        np.testing.assert_allclose(out["std"], expect(Gaussian, said).std, rtol=1e-4)
        drawn = np.asarray(policy(jnp.asarray(ROWS[:1])).sample(jax.random.key(0), (20_000,)))
        drawn = np.clip(drawn[:, 0], BOUNDED.low, BOUNDED.high)
        np.testing.assert_allclose(out["drawn"].mean(axis=0), drawn.mean(axis=0), atol=0.03)
        np.testing.assert_allclose(out["drawn"].std(axis=0), drawn.std(axis=0), atol=0.03)


def test_the_predictor_reads_tables_and_states(tmp_path: Path) -> None:
    out = ask_without_jax(tmp_path, TABLE, np.array([1, 0]))
    np.testing.assert_allclose(out["probabilities"], TABLE.table[np.array([1, 0])], atol=1e-6)
    states = make_policy("clipped_gaussian", Discrete(5))
    out = ask_without_jax(tmp_path, states, np.arange(5))
    np.testing.assert_allclose(
        out["location"], expect(Gaussian, states(jnp.arange(5))).location, atol=TOLERANCE
    )


def test_the_predictor_is_a_command(tmp_path: Path) -> None:
    write_policy(TABLE, tmp_path / "policy.safetensors")
    write_predictor(tmp_path / "predict.py")
    done = subprocess.run(
        [sys.executable, "predict.py", "policy.safetensors"],
        cwd=tmp_path,
        input="0\n1\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "0\n1\n"


def test_the_predictor_refuses_other_files(tmp_path: Path) -> None:
    from nacre.policies.formats.numpy_predictor import Predictor

    safetensors.numpy.save_file({"x": np.zeros(1)}, tmp_path / "x.safetensors")
    with pytest.raises(ValueError, match="not a policy file"):
        Predictor(str(tmp_path / "x.safetensors"))
    write_policy(make_policy("gaussian"), tmp_path / "p.safetensors")
    for wrong in ([0.0], [0.0, np.nan, 0.0], [[[0.0] * 3]]):
        with pytest.raises(ValueError, match="give finite numbers"):
            Predictor(str(tmp_path / "p.safetensors")).predict(wrong)
    write_policy(TABLE, tmp_path / "t.safetensors")
    for other in (2, -1, 0.5, [[0]]):
        with pytest.raises(ValueError, match="give whole numbers"):
            Predictor(str(tmp_path / "t.safetensors")).predict(other)


INPUTS: dict[str, Any] = {
    "columns": {"observation": ["age", "region=n", "region=s", "can_wait", "can_call"]},
    "encoding": [
        {"column": "age", "kind": "number"},
        {"column": "region", "kind": "one_hot", "labels": ["n", "s"]},
        {"column": "can_wait", "kind": "number"},
        {"column": "can_call", "kind": "number"},
    ],
    "labels": {"action": ["wait", "it's a call"]},
    "mask": 2,
}


def test_rules_take_raw_rows_and_answer_with_labels(tmp_path: Path) -> None:
    """The file of a rule has the table's names, and the predictor acts as the policy does."""
    plain = Box(-np.inf, np.inf, (3,), np.float32)
    signature = Signature(add_mask(plain, 2), Discrete(2))
    lower, upper = np.full((1, 5), -np.inf), np.full((1, 5), np.inf)
    upper[0, :2] = 48.5, 0.5
    outputs = jnp.asarray(np.eye(2)[[1, 0]], jnp.float32)
    low, high = (jnp.asarray(bound, jnp.float32) for bound in (lower, upper))
    policy = RulePolicy(low, high, outputs, signature, "greedy")
    files = deliver_policy(policy, tmp_path, "new", {"inputs": INPUTS}).files
    assert set(files) == {"new.toml", "new.onnx", "new.raw.onnx", "predict.py"}
    text = (tmp_path / "new.toml").read_text()
    assert 'when = { age = { to = 48.5 }, "region=n" = { to = 0.5 } }' in text
    assert 'action = "it\'s a call"' in text
    rule = Rule(str(tmp_path / "new.toml"))
    for age, region, allowed in itertools.product((30, 60), "ns", ((1, 1), (0, 1), (1, 0))):
        row = {"age": age, "region": region, "can_wait": allowed[0], "can_call": allowed[1]}
        numbers = jnp.asarray([[age, region == "n", region == "s", *allowed]], jnp.float32)
        expected = INPUTS["labels"]["action"][int(policy(numbers).mode()[0])]
        assert rule.predict(row)[0] == expected
    again = subprocess.run(
        [sys.executable, "predict.py", "new.toml"],
        cwd=tmp_path,
        check=True,
        input='{"age": 30, "region": "s", "can_wait": true, "can_call": "true"}\n',
        capture_output=True,
        text=True,
    )
    assert again.stdout == '"it\'s a call"\n'


def test_rules_on_plain_numbers_keep_their_names_and_masks(tmp_path: Path) -> None:
    signature = Signature(add_mask(Box(-np.inf, np.inf, (1,), np.float32), 2), Discrete(2))
    high = jnp.full((1, 3), jnp.inf)
    outputs = jnp.asarray(np.eye(2)[[1, 0]], jnp.float32)
    policy = RulePolicy(-high, high.at[0, 0].set(5.0), outputs, signature, "greedy")
    names = ["stock", "allowed_0", "allowed_1"]
    inputs = {"columns": {"observation": names}, "mask": 2}
    deliver_policy(policy, tmp_path, "new", {"inputs": inputs})
    rule = Rule(str(tmp_path / "new.toml"))
    for row in itertools.product((3.0, 8.0), (0.0, 1.0), (0.0, 1.0)):
        expected = int(policy(jnp.asarray([row], jnp.float32)).mode()[0])
        assert rule.predict(list(row))[0] == expected
        named = dict(zip(names, row, strict=True))
        assert rule.predict(named)[0] == expected


def test_rules_on_numbered_states_keep_to_what_each_allows(tmp_path: Path) -> None:
    allowed = np.array([[True, True], [True, False], [False, True]])
    signature = Signature(MaskedDiscrete(allowed), Discrete(2))
    high = jnp.full((1, 1), jnp.inf)
    outputs = jnp.asarray(np.eye(2)[[1, 0]], jnp.float32)
    policy = RulePolicy(-high, high.at[0, 0].set(1.0), outputs, signature, "greedy")
    inputs = {"allowed": space_to_json(signature.observation_space)["allowed"]}
    deliver_policy(policy, tmp_path, "new", {"inputs": inputs})
    rule = Rule(str(tmp_path / "new.toml"))
    expected = np.asarray(policy(jnp.arange(3)).mode()).tolist()
    assert [rule.predict(state)[0] for state in range(3)] == expected == [1, 0, 1]
