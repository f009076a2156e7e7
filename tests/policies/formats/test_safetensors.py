"""Files of ours: layout, fingerprints, and damaged ones."""

import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors
import safetensors.numpy
from gymnasium.spaces import Box, Discrete
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nacre.errors import InputError
from nacre.policies import (
    MLPPolicy,
    Policy,
    Scaling,
    Signature,
    TabularPolicy,
    fingerprint,
    read_policy,
    read_policy_with_provenance,
    write_policy,
)
from nacre.policies.formats.tensors import digest_tensors
from nacre.policies.heads import Head
from nacre.policies.networks import Activation
from tests.support.policies import box, problems_of, small_policy

Change = Callable[[dict[str, np.ndarray]], object]


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    seed = draw(st.integers(0, 2**31))
    if draw(st.booleans()):
        shape = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
        rng = np.random.default_rng(seed)
        table = rng.random(shape) * rng.integers(0, 2, shape)
        table[:, 0] += 0.1
        return TabularPolicy.from_probabilities(table / table.sum(axis=1, keepdims=True))
    spaces: list[Box | Discrete] = [box(1), box(3, -2.0, 5.0), Discrete(4)]
    observation = draw(st.sampled_from(spaces))
    kinds: list[tuple[Box | Discrete, Head]] = [
        (box(2, -0.4, 0.7), "squashed_gaussian"),
        (box(1), "gaussian"),
        (box(2, -1.0), "deterministic"),
        (Discrete(3), "categorical"),
    ]
    action, head = draw(st.sampled_from(kinds))
    signature = Signature(observation, action)
    hidden = draw(st.lists(st.integers(1, 5), max_size=2))
    inner: list[Activation] = ["tanh"] * len(hidden)
    scaling = None
    if isinstance(observation, Box) and draw(st.booleans()):
        scaling = Scaling.fit(np.random.default_rng(seed).normal(size=(9, len(observation.low))))
    return MLPPolicy.init(
        jax.random.key(seed),
        signature,
        head=head,
        hidden=tuple(hidden),
        activations=(*inner, "identity"),
        scaling=scaling,
    )


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(policy=policies())
def test_what_is_written_is_read_again(tmp_path: Path, policy: Policy) -> None:
    path = tmp_path / "policy.safetensors"
    provenance = {"made by": "hypothesis", "seeds": [1, 2]}
    write_policy(policy, path, provenance)
    again, source = read_policy_with_provenance(path)
    assert type(again) is type(policy)
    assert source == provenance
    assert fingerprint(again) == fingerprint(policy)
    assert str(jax.tree.structure(again)) == str(jax.tree.structure(policy))
    for mine, theirs in zip(jax.tree.leaves(policy), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_files_are_plain_safetensors_in_the_documented_layout(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "p.safetensors"
    write_policy(small_policy(), path)
    with safetensors.safe_open(path, framework="np") as file:
        assert sorted(file.keys()) == [
            "layers.0.bias",
            "layers.0.weight",
            "layers.1.bias",
            "layers.1.weight",
            "scaling.scale",
            "scaling.shift",
        ]
        assert file.get_tensor("layers.0.weight").shape == (4, 3)
        description = json.loads(file.metadata()["nacre"])
    assert description["format"] == 2
    assert description["kind"] == "mlp"
    assert description["head"] == "squashed_gaussian"
    assert description["provenance"] == {}
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask


def test_fingerprints_are_stable_and_notice_every_change() -> None:
    policy = small_policy()
    changes = [
        small_policy(),
        small_policy(seed=1),
        small_policy(head="deterministic"),
        small_policy(scaled=False),
        small_policy(activations=("tanh", "identity")),
        MLPPolicy(policy.network, policy.scaling, policy.signature, policy.head, (-19.0, 2.0)),
        MLPPolicy(
            policy.network, policy.scaling, Signature(box(3), box(2, -1.0, 0.6)), policy.head
        ),
        eqx.tree_at(
            lambda p: p.network.biases[1],
            policy,
            policy.network.biases[1].at[0].multiply(1 + 2**-22),
        ),
        TabularPolicy.from_probabilities([[0.5, 0.5]]),
        TabularPolicy.from_probabilities([[1.0], [1.0]]),
    ]
    prints = [fingerprint(changed) for changed in changes]
    assert prints[0] == fingerprint(policy)
    assert len(set(prints)) == len(changes)
    assert all(len(text) == 64 for text in prints)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "p.safetensors"
    write_policy(small_policy(), path)
    return path


def rewrite(path: Path, change_tensors: Change | None = None, **changes: object) -> None:
    """Write the file again with other tensors or another description."""
    with safetensors.safe_open(path, framework="np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        description = json.loads(file.metadata()["nacre"])
    if change_tensors:
        change_tensors(tensors)
    for name, value in changes.items():
        description[name] = value
        if value is KeyError:
            del description[name]
    text = json.dumps(description)
    metadata = {"nacre": text, "sha256": digest_tensors(tensors, text)}
    path.write_bytes(safetensors.numpy.save(tensors, metadata=metadata))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda blob: blob[: len(blob) // 2], "cannot be read as safetensors"),
        (lambda blob: blob[:-1], "cannot be read as safetensors"),
        (lambda blob: blob[:5], "cannot be read as safetensors"),
        (lambda blob: b"", "cannot be read as safetensors"),
        (lambda blob: b"PK\x03\x04" + blob, "cannot be read as safetensors"),
        (lambda blob: struct.pack("<Q", 2**62) + blob[8:], "cannot be read as safetensors"),
        (lambda blob: blob.replace(b"[4,3]", b"[9,9]"), "cannot be read as safetensors"),
        (lambda blob: blob.replace(b'"F32"', b'"F99"'), "cannot be read as safetensors"),
    ],
)
def test_damaged_bytes(written: Path, damage: Callable[[bytes], bytes], message: str) -> None:
    blob = written.read_bytes()
    changed = damage(blob)
    assert changed != blob
    written.write_bytes(changed)
    (problem,) = problems_of(written)
    assert message in problem


def test_a_header_that_claims_huge_tensors(tmp_path: Path) -> None:
    header = json.dumps(
        {"logits": {"dtype": "F32", "shape": [2**40, 2**20], "data_offsets": [0, 2**62]}}
    ).encode()
    path = tmp_path / "huge.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    (problem,) = problems_of(path)
    assert "cannot be read as safetensors" in problem


def test_any_flipped_byte_is_refused_or_changes_nothing(written: Path) -> None:
    blob = written.read_bytes()
    expected = fingerprint(read_policy(written))
    rng = np.random.default_rng(0)
    problems = []
    for _ in range(300):
        changed = bytearray(blob)
        for place in rng.integers(0, len(blob), rng.integers(1, 4)):
            changed[place] = rng.integers(256)
        written.write_bytes(bytes(changed))
        try:
            assert fingerprint(read_policy(written)) == expected
        except InputError as error:
            problems.append(error.problems)
    assert len(problems) > 290
    assert not any("\n" in problem for problem in sum(problems, ()))


class Canary:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., object], tuple[Path]]:
        return Path.touch, (self.path,)


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    path = tmp_path / "evil.safetensors"
    path.write_bytes(pickle.dumps(Canary(canary)))
    (problem,) = problems_of(path)
    assert "cannot be read as safetensors" in problem
    assert not canary.exists()
    pickle.loads(path.read_bytes())  # noqa: S301 - shows that the canary would have sung
    assert canary.exists()


def test_other_suffixes_and_giants(
    tmp_path: Path, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (problem,) = problems_of(tmp_path / "p.yaml")
    assert "unknown kind of policy file; nacre reads .safetensors" in problem
    monkeypatch.setattr("nacre.policies.formats.safetensors.LARGEST_FILE", 100)
    (problem,) = problems_of(written)
    assert "larger than 2 GiB" in problem


def put(name: str, value: np.ndarray) -> Change:
    return lambda tensors: tensors.__setitem__(name, value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("layers.1.bias"), "tensor 'layers.1.bias' is missing"),
        (lambda t: t.pop("scaling.shift"), "tensor 'scaling.shift' is missing"),
        (
            put("layers.0.bias", np.array([1, np.nan, 0, 0], np.float32)),
            "tensor 'layers.0.bias' holds NaN",
        ),
        (put("layers.0.bias", np.array([1, -np.inf, 0, 0], np.float32)), "holds NaN or infinity"),
        (put("layers.0.bias", np.full(4, 1e300)), "holds NaN or infinity"),
        (put("layers.0.bias", np.zeros(4, np.int32)), "is of type int32, expected floats"),
        (put("layers.0.bias", np.zeros(5, np.float32)), "layer 0: weight of shape (3, 4)"),
        (put("layers.0.weight", np.zeros(4, np.float32)), "layer 0: weight of shape (4,)"),
        (put("layers.0.weight", np.zeros((4, 2), np.float32)), "first layer has 2 inputs"),
        (put("layers.1.weight", np.zeros((4, 5), np.float32)), "layer 1 reads 5 numbers"),
        (put("layers.2.weight", np.zeros((4, 4), np.float32)), "'layers.2.weight' belong to"),
        (put("scaling.scale", np.zeros(3, np.float32)), "as many positive scales"),
        (put("scaling.scale", np.ones(4, np.float32)), "needs 3 shifts"),
        (put("a\nb", np.ones(1, np.float32)), "tensors 'a\\nb' belong to nothing"),
    ],
)
def test_tensors_that_do_not_fit(written: Path, change: Change, message: str) -> None:
    rewrite(written, change)
    (problem,) = problems_of(written)
    assert message in problem


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 3}, "policy format 3, this nacre reads 1 and 2"),
        ({"format": KeyError}, "has no format"),
        ({"kind": "transformer"}, "unknown kind of policy 'transformer'; known: mixture, mlp"),
        ({"kind": KeyError}, "unknown kind of policy None"),
        ({"kind": "tabular"}, "tensor 'logits' is missing"),
        ({"head": "beta"}, "unknown head 'beta'; known: squashed_gaussian, gaussian"),
        ({"head": ["gaussian"]}, "unknown head ['gaussian']"),
        ({"head": "categorical"}, "head 'categorical' does not fit action space"),
        ({"activations": ["swish", "identity"]}, "unknown activation 'swish'; known: relu"),
        ({"activations": ["relu"]}, "'layers.1.bias', 'layers.1.weight' belong to nothing"),
        ({"activations": ["relu"] * 3}, "tensor 'layers.2.weight' is missing"),
        ({"activations": []}, "at least one layer"),
        ({"activations": "relu"}, "activations 'relu': expected a list"),
        ({"activations": [["relu"]]}, "expected a list with one name a layer"),
        ({"log_std_bounds": [2, -20]}, "log_std_bounds (2.0, -20.0)"),
        ({"log_std_bounds": [10**400, 1]}, "expected two numbers"),
        ({"log_std_bounds": [float("nan"), 1]}, "expected two numbers"),
        ({"log_std_bounds": "ab"}, "log_std_bounds 'ab': expected two numbers"),
        ({"observation_space": {"type": "sphere"}}, "observation_space: type 'sphere'"),
        ({"observation_space": None}, "observation_space: None"),
        ({"action_space": {"type": "box", "low": [0], "high": []}}, "action_space: a box"),
        ({"action_space": {"type": "box", "low": [1, 0], "high": [0, 1]}}, "action_space: "),
        ({"provenance": [1]}, "its provenance is [1], expected an object"),
    ],
)
def test_descriptions_that_do_not_fit(
    written: Path, changes: dict[str, object], message: str
) -> None:
    rewrite(written, None, **changes)
    assert message in "\n".join(problems_of(written))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "its description is not JSON"),
        ("[" * 100_000, "its description is not JSON"),
        ("[1]", "its description has no format"),
        ("7", "its description has no format"),
    ],
)
def test_descriptions_that_are_no_descriptions(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.safetensors"
    path.write_bytes(safetensors.numpy.save({"x": np.ones(1)}, metadata={"nacre": text}))
    (problem,) = problems_of(path)
    assert message in problem


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (np.zeros((3, 2), np.float32), "a table of shape (3, 2) does not fit its spaces"),
        (np.array(1.0, np.float32), "a table of shape () does not fit"),
        (np.array([[0.0, np.nan], [0.0, 0.0]], np.float32), "tensor 'logits' holds NaN"),
        (
            np.array([[0.0, np.inf], [0.0, 0.0]], np.float32),
            "tensor 'logits' holds NaN or infinity",
        ),
        (np.full((2, 2), -np.inf, np.float32), "has a row that allows no action"),
    ],
)
def test_tables_that_do_not_fit(tmp_path: Path, logits: np.ndarray, message: str) -> None:
    path = tmp_path / "p.safetensors"
    write_policy(TabularPolicy.from_probabilities([[1.0, 0.0], [0.5, 0.5]]), path)
    rewrite(path, put("logits", np.asarray(logits)))
    (problem,) = problems_of(path)
    assert message in problem


def test_a_table_needs_discrete_spaces(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    write_policy(TabularPolicy.from_probabilities([[1.0, 0.0], [0.5, 0.5]]), path)
    rewrite(path, observation_space={"type": "box", "low": [0, 0], "high": [1, 1]})
    (problem,) = problems_of(path)
    assert "it needs discrete ones" in problem


def test_several_problems_are_all_named(written: Path) -> None:
    def spoil(tensors: dict[str, np.ndarray]) -> None:
        tensors["layers.0.bias"][0] = np.nan
        tensors["layers.1.bias"][0] = np.inf

    rewrite(written, spoil)
    assert len(problems_of(written)) == 2


def test_half_precision_is_read_as_single(written: Path) -> None:
    def halve(tensors: dict[str, np.ndarray]) -> None:
        for name in tensors:
            tensors[name] = tensors[name].astype(np.float16)

    rewrite(written, halve)
    policy = read_policy(written)
    assert {leaf.dtype for leaf in jax.tree.leaves(policy)} == {jnp.dtype(jnp.float32)}
