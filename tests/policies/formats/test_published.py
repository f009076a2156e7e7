"""Policy tensors of the published experiments."""

from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
import safetensors
import safetensors.numpy
from gymnasium.spaces import Discrete

from nacre.policies import (
    Categorical,
    Gaussian,
    Signature,
    fingerprint,
    read_policy,
    read_policy_with_provenance,
    write_policy,
)
from tests.support.policies import box, expect, problems_of


def published(kind: str, seed: int = 0) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Small tensors in the layout of the published files, observations of 5, hidden width 7."""
    rng = np.random.default_rng(seed)
    heads = {"logits": 4} if kind == "categorical_mlp" else {"mu_layer": 3, "log_std_layer": 3}
    shapes = {"net.0": (7, 5), "net.2": (7, 7)} | {name: (n, 7) for name, n in heads.items()}
    tensors = {}
    for name, shape in shapes.items():
        tensors[f"{name}.weight"] = rng.normal(size=shape).astype(np.float32)
        tensors[f"{name}.bias"] = rng.normal(size=shape[:1]).astype(np.float32)
    metadata = {"kind": kind, "env": "Small-v0", "note": "made for a test"}
    if kind == "squashed_gaussian_mlp":
        metadata["action_limit"] = "0.4"
    return tensors, metadata


def save(path: Path, tensors: dict[str, np.ndarray], metadata: dict[str, str] | None) -> Path:
    path.write_bytes(safetensors.numpy.save(tensors, metadata=metadata))
    return path


def test_published_squashed_gaussians_agree_with_numpy(tmp_path: Path) -> None:
    tensors, metadata = published("squashed_gaussian_mlp")
    tensors["log_std_layer.bias"][:2] = [40.0, -60.0]
    policy, provenance = read_policy_with_provenance(
        save(tmp_path / "p.safetensors", tensors, metadata)
    )
    x = np.random.default_rng(1).normal(size=(6, 5)).astype(np.float32)
    hidden = np.maximum(x @ tensors["net.0.weight"].T + tensors["net.0.bias"], 0)
    hidden = np.maximum(hidden @ tensors["net.2.weight"].T + tensors["net.2.bias"], 0)
    mean = hidden @ tensors["mu_layer.weight"].T + tensors["mu_layer.bias"]
    log_std = hidden @ tensors["log_std_layer.weight"].T + tensors["log_std_layer.bias"]
    assert log_std.max() > 2
    assert log_std.min() < -20
    distribution = policy(jnp.asarray(x))
    np.testing.assert_allclose(expect(Gaussian, distribution).location, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        expect(Gaussian, distribution).log_std, np.clip(log_std, -20, 2), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(distribution.mode(), 0.4 * np.tanh(mean), rtol=1e-4, atol=1e-5)
    assert policy.signature == Signature(box(5), box(3, -0.4, 0.4))
    assert provenance == {"published": metadata}


def test_published_categoricals_agree_with_numpy_and_have_one_relu(tmp_path: Path) -> None:
    tensors, metadata = published("categorical_mlp")
    policy = read_policy(save(tmp_path / "p.safetensors", tensors, metadata))
    x = np.random.default_rng(1).normal(size=(6, 5)).astype(np.float32)
    hidden = np.maximum(x @ tensors["net.0.weight"].T + tensors["net.0.bias"], 0)
    hidden = hidden @ tensors["net.2.weight"].T + tensors["net.2.bias"]
    logits = hidden @ tensors["logits.weight"].T + tensors["logits.bias"]
    np.testing.assert_allclose(
        expect(Categorical, policy(jnp.asarray(x))).logits, logits, rtol=1e-4, atol=1e-4
    )
    assert policy.signature == Signature(box(5), Discrete(4))


def test_published_policies_can_be_written_as_ours(tmp_path: Path) -> None:
    policy = read_policy(save(tmp_path / "p.safetensors", *published("squashed_gaussian_mlp")))
    write_policy(policy, tmp_path / "ours.safetensors")
    assert fingerprint(read_policy(tmp_path / "ours.safetensors")) == fingerprint(policy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, m: t.pop("net.2.weight"), "tensor 'net.2.weight' is missing"),
        (lambda t, m: t.pop("log_std_layer.bias"), "tensor 'log_std_layer.bias' is missing"),
        (
            lambda t, m: t.update({"net.0.weight": np.zeros(7, np.float32)}),
            "net.0: weight of shape (7,)",
        ),
        (
            lambda t, m: t.update({"mu_layer.bias": np.array(1, np.float32)}),
            "mu_layer: weight of shape (3, 7) and bias of shape ()",
        ),
        (
            lambda t, m: t.update(
                {
                    "log_std_layer.weight": np.zeros((5, 7), np.float32),
                    "log_std_layer.bias": np.zeros(5, np.float32),
                }
            ),
            "have to be of the same shape",
        ),
        (
            lambda t, m: t.update({"net.2.weight": np.zeros((7, 6), np.float32)}),
            "layer 1 reads 6 numbers, the one before has 7 outputs",
        ),
        (lambda t, m: t["mu_layer.weight"].fill(np.nan), "tensor 'mu_layer.weight' holds NaN"),
        (lambda t, m: m.pop("action_limit"), "action_limit '' in its metadata"),
        (lambda t, m: m.update(action_limit="wide"), "action_limit 'wide'"),
        (lambda t, m: m.update(action_limit="-1"), "expected a positive number"),
        (lambda t, m: m.update(action_limit="inf"), "expected a positive number"),
        (lambda t, m: m.update(kind="linear"), "neither a nacre policy nor a published one"),
        (lambda t, m: m.pop("kind"), "metadata kind is None"),
    ],
)
def test_published_files_that_do_not_fit(
    tmp_path: Path,
    change: Callable[[dict[str, np.ndarray], dict[str, str]], object],
    message: str,
) -> None:
    tensors, metadata = published("squashed_gaussian_mlp")
    change(tensors, metadata)
    (problem,) = problems_of(save(tmp_path / "p.safetensors", tensors, metadata))
    assert message in problem


def test_a_file_without_metadata_is_no_policy(tmp_path: Path) -> None:
    (problem,) = problems_of(save(tmp_path / "p.safetensors", {"x": np.ones(1)}, None))
    assert "neither a nacre policy nor a published one" in problem
