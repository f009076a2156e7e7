"""Policies out: ONNX, a file that acts without JAX, model cards."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import pytest
import safetensors
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.policies import (
    Card,
    MLPPolicy,
    RulePolicy,
    Scaling,
    Signature,
    TabularPolicy,
    read_policy,
    soften,
    write_card,
    write_policy,
    write_predictor,
)
from nacre.policies.card import escape, format_card

TOLERANCE = 1e-5
VECTOR = Box(-np.inf, np.inf, (3,))
BOUNDED = Box(np.array([-2.0, 0.0], np.float32), np.array([0.5, 1.0], np.float32))
ROWS = np.random.default_rng(0).normal(0, 2, (1000, 3)).astype(np.float32)


def make_policy(head, observations=VECTOR, *, scaled=True, seed=0):
    actions = Discrete(4) if head in ("categorical", "greedy") else BOUNDED
    scaling = None
    if scaled and observations is VECTOR:
        scaling = Scaling(jnp.arange(3.0), jnp.arange(1.0, 4.0), jnp.asarray(1.25))
    return MLPPolicy.init(
        jax.random.key(seed),
        Signature(observations, actions),
        head=head,
        hidden=(16, 16),
        activations=("relu", "tanh", "identity"),
        scaling=scaling,
    )


HEADS = [
    "squashed_gaussian",
    "gaussian",
    "clipped_gaussian",
    "deterministic",
    "categorical",
    "greedy",
]
TABLE = TabularPolicy.from_probabilities([[0.7, 0.3, 0.0], [0.1, 0.6, 0.3]])


def parameters(policy, rows):
    """What a policy says, by the names of ONNX outputs, with the action without noise."""
    said = policy(jnp.asarray(rows))
    named = {"action": said.mode()}
    if hasattr(said, "probabilities"):
        return named | {"probabilities": said.probabilities}
    if hasattr(said, "location"):
        squashed = policy.head == "squashed_gaussian"
        return named | {"location" if squashed else "mean": said.location, "std": said.std}
    return named


def run_onnx(path, rows):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"observation": rows}), strict=True))


# ---- ONNX


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("observations", [VECTOR, Discrete(5)])
def test_onnx_says_the_same(tmp_path, head, observations):
    policy = make_policy(head, observations)
    write_policy(policy, tmp_path / "p.onnx", {"trained": "by hand"})
    rows = ROWS if observations is VECTOR else np.arange(1000) % 5
    said = run_onnx(tmp_path / "p.onnx", rows)
    for name, expected in parameters(policy, rows).items():
        if head == "greedy" and name == "probabilities":
            continue
        np.testing.assert_allclose(said[name], expected, atol=TOLERANCE, rtol=1e-5)


def test_onnx_of_a_table(tmp_path):
    write_policy(TABLE, tmp_path / "p.onnx")
    said = run_onnx(tmp_path / "p.onnx", np.array([1, 0, 1]))
    np.testing.assert_allclose(said["probabilities"], TABLE.table[np.array([1, 0, 1])], atol=1e-6)


@pytest.mark.parametrize("head", HEADS)
def test_onnx_read_back_is_the_same_policy(tmp_path, head):
    policy = make_policy(head)
    write_policy(policy, tmp_path / "p.onnx")
    again = read_policy(tmp_path / "p.onnx")
    assert again.signature == policy.signature
    said, expected = again(ROWS), policy(jnp.asarray(ROWS))
    if head == "gaussian":
        # Bounds clip whatever has them: the file does not say that this one is never clipped.
        assert again.head == "clipped_gaussian"
    else:
        assert type(said) is type(expected)
    if head == "categorical":
        np.testing.assert_allclose(said.probabilities, expected.probabilities, atol=TOLERANCE)
        return
    for mine, other in zip(jax.tree.leaves(said), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(mine, other, atol=TOLERANCE, rtol=1e-5)


def test_the_file_says_its_opset_and_where_it_comes_from(tmp_path):
    write_policy(make_policy("categorical"), tmp_path / "p.onnx", {"seed": 3})
    model = onnx.load(tmp_path / "p.onnx")
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 13)]
    (entry,) = model.metadata_props
    assert json.loads(entry.value)["provenance"] == {"seed": 3}
    assert json.loads(entry.value)["head"] == "categorical"


def test_policies_without_a_file_form(tmp_path):
    signature = Signature(VECTOR, Discrete(2))
    empty = jnp.zeros((0, 3))
    rule = RulePolicy(empty, empty, jnp.zeros((1, 2)), signature, "categorical")
    for name in ("p.onnx", "p.safetensors"):
        with pytest.raises(InputError, match="clone it into a network"):
            write_policy(rule, tmp_path / name)
    with pytest.raises(InputError, match=r"ends in \.safetensors or \.onnx"):
        write_policy(TABLE, tmp_path / "p.pt")
    assert list(tmp_path.iterdir()) == []


# ---- without JAX


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


def ask_without_jax(tmp_path, policy, rows):
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
def test_the_predictor_says_the_same_without_jax(tmp_path, head):
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
        np.testing.assert_allclose(out["probabilities"], said.probabilities, atol=TOLERANCE)
        shares = np.bincount(out["drawn"], minlength=4) / 20_000
        np.testing.assert_allclose(shares, said.probabilities[0], atol=0.015)
    elif head != "deterministic":
        np.testing.assert_allclose(out["location"], said.location, atol=TOLERANCE)
        np.testing.assert_allclose(out["std"], said.std, rtol=1e-4)
        drawn = np.asarray(policy(jnp.asarray(ROWS[:1])).sample(jax.random.key(0), (20_000,)))
        drawn = np.clip(drawn[:, 0], BOUNDED.low, BOUNDED.high)
        np.testing.assert_allclose(out["drawn"].mean(axis=0), drawn.mean(axis=0), atol=0.03)
        np.testing.assert_allclose(out["drawn"].std(axis=0), drawn.std(axis=0), atol=0.03)


def test_the_predictor_reads_tables_and_states(tmp_path):
    out = ask_without_jax(tmp_path, TABLE, np.array([1, 0]))
    np.testing.assert_allclose(out["probabilities"], TABLE.table[np.array([1, 0])], atol=1e-6)
    states = make_policy("clipped_gaussian", Discrete(5))
    out = ask_without_jax(tmp_path, states, np.arange(5))
    np.testing.assert_allclose(out["location"], states(jnp.arange(5)).location, atol=TOLERANCE)


def test_the_predictor_is_a_command(tmp_path):
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


def test_the_predictor_refuses_other_files(tmp_path):
    from nacre.policies.formats.numpy_predictor import Predictor

    safetensors.numpy.save_file({"x": np.zeros(1)}, tmp_path / "x.safetensors")
    with pytest.raises(ValueError, match="not a policy file"):
        Predictor(tmp_path / "x.safetensors")
    write_policy(make_policy("gaussian"), tmp_path / "p.safetensors")
    for wrong in ([0.0], [0.0, np.nan, 0.0], [[[0.0] * 3]]):
        with pytest.raises(ValueError, match="give finite numbers"):
            Predictor(tmp_path / "p.safetensors").predict(wrong)
    write_policy(TABLE, tmp_path / "t.safetensors")
    for wrong in (2, -1, 0.5, [[0]]):
        with pytest.raises(ValueError, match="give whole numbers"):
            Predictor(tmp_path / "t.safetensors").predict(wrong)


# ---- cards


def test_a_card_says_what_it_was_told(tmp_path):
    card = Card(
        make_policy("squashed_gaussian"),
        title="Gait 7",
        files={"policy.onnx": "ONNX, opset 13"},
        trained_on={"transitions": 1_000_000, "episodes": 400},
        cost={"learning_weight": 5.0, "groups": {"kind": "sign", "coordinate": 0}},
        verdict={"verdict": "switch", "net_gain": {"low": 1.25, "high": 2.5}},
        limits=["Not for slopes."],
    )
    write_card(tmp_path / "card.md", card)
    text = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert text.startswith("# Gait 7\n")
    for line in (
        "| transitions | 1,000,000 |",
        "| learning\\_weight | 5 |",
        "| groups, kind | sign |",
        "| net\\_gain, low | 1.25 |",
        "| layers | 3 → 16 → 16 → 4 |",
        "- Not for slopes.",
    ):
        assert line in text.splitlines()
    assert "opset 13" in text
    assert "How it was trained" not in text


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "[click](javascript:alert(1))",
        "![x](http://example.invalid/x.png)",
        "a | b | c",
        "line\n# heading",
        "`code` *bold* _it_ ~~x~~ $x$",
        "<!-- hidden -->",
        "\u202eetirw\x1b[31m",
        "https://example.invalid",
    ],
)
def test_texts_from_outside_have_no_meaning(hostile):
    card = Card(
        TABLE,
        title=hostile,
        files={hostile: hostile},
        trained_on={hostile: [hostile]},
        verdict={"note": {hostile: hostile}},
        limits=[hostile],
    )
    text = format_card(card)
    assert hostile not in text
    assert "<" not in text
    assert "](" not in text
    assert "\u202e" not in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert len(headings) == 6
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.replace("\\|", "").count("|") == 3


def test_long_texts_are_cut():
    assert len(escape("a" * 10_000)) == 500
    assert escape("plain words, 3 of them") == "plain words, 3 of them"


# ---- greedy policies with a little doubt


def test_softened_policies_choose_alike():
    greedy = make_policy("greedy")
    soft = soften(greedy, ROWS, confidence=0.9)
    said = soft(jnp.asarray(ROWS))
    np.testing.assert_array_equal(said.mode(), greedy(jnp.asarray(ROWS)).mode())
    top = np.max(said.probabilities, axis=-1)
    assert np.mean(top) == pytest.approx(0.9, abs=1e-3)
    assert np.min(said.probabilities) > 0
    gradient = jax.grad(lambda rows: jnp.sum(soft(rows).probabilities[:, 0]))(jnp.asarray(ROWS))
    assert np.any(np.asarray(gradient) != 0)


def test_what_cannot_be_softened():
    with pytest.raises(InputError, match="'greedy'"):
        soften(make_policy("categorical"), ROWS)
    with pytest.raises(InputError, match="a confidence between"):
        soften(make_policy("greedy"), ROWS, confidence=0.2)
