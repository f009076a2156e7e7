"""Switches by region in files: JAX, NumPy and ONNX act alike."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from safetensors.numpy import load_file, save_file

from nacre.errors import InputError
from nacre.learners.scale_noise import scale_noise
from nacre.policies import MLPPolicy, Signature, deliver_policy, fingerprint, read_policy
from nacre.policies.formats.numpy_predictor import Predictor
from nacre.policies.formats.onnx_model import read_onnx
from nacre.policies.policy import Policy
from nacre.policies.region import Cells, Region, RegionPolicy, region_from_json, switch_region
from nacre.policies.tabular import TabularPolicy

SPACE = Box(-5.0, 5.0, (2,), np.float32)
CELLS = Cells(((-1.0, 0.0), (1.0, 1.0), (0.0, -2.0)), (1e30, -1.0, 0.5), (1.0, 2.0))
REGIONS = {
    "above": Region("1 >= 0.25", 1, True, 0.25),
    "below": Region("0 <= 0", 0, False, 0.0),
    "cells": Region("near", cells=CELLS),
}
STATES = np.random.default_rng(100).normal(size=(60, 2)).astype(np.float32)


def make(actions: Any, head: Any, region: Region) -> RegionPolicy:
    signature = Signature(SPACE, actions)
    old, new = (
        MLPPolicy.init(jax.random.key(seed), signature, head=head, hidden=(4,)) for seed in (1, 2)
    )
    # Other bounds of the noise, as with less of it.
    quiet = new if head == "categorical" else scale_noise(new, 0.3)
    assert quiet is not None
    found = switch_region(old, quiet, region)
    assert isinstance(found, RegionPolicy)
    return found


@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS)
@pytest.mark.parametrize(
    ("actions", "head"),
    [
        (Discrete(3), "categorical"),
        (Box(-2.0, 2.0, (1,), np.float32), "squashed_gaussian"),
    ],
    ids=["choice", "vector"],
)
def test_files_act_alike(actions: Any, head: Any, region: Region, tmp_path: Path) -> None:
    policy = make(actions, head, region)
    delivered = deliver_policy(policy, tmp_path, "part", {"origin": "a test"})
    assert set(delivered.files) == {"part.safetensors", "part.onnx", "predict.py"}
    again = read_policy(tmp_path / "part.safetensors")
    assert fingerprint(again) == fingerprint(policy)
    within = np.asarray(region.holds(jnp.asarray(STATES)))
    assert 0 < within.sum() < len(within)
    parts = [np.asarray(part(jnp.asarray(STATES)).mode()) for part in (policy.first, policy.second)]
    expected = np.where(within if parts[0].ndim == 1 else within[:, None], parts[1], parts[0])
    predictor = Predictor(str(tmp_path / "part.safetensors"))
    np.testing.assert_allclose(
        predictor.predict(STATES, deterministic=True)[0], expected, atol=1e-5
    )
    drawn, _ = Predictor(str(tmp_path / "part.safetensors"), seed=1).predict(STATES)
    assert np.shape(drawn) == np.shape(expected)
    asked = read_onnx(tmp_path / "part.onnx", policy.signature)
    said = asked.outputs_at(STATES)
    own = [
        np.asarray(part.network(part.encode(jnp.asarray(STATES))))
        for part in (policy.first, policy.second)
        if isinstance(part, MLPPolicy)
    ]
    if head == "categorical":
        shown = np.where(within[:, None], own[1], own[0])
        np.testing.assert_allclose(_softmax(said), _softmax(shown), atol=1e-5)
        np.testing.assert_allclose(
            predictor.parameters(STATES)["probabilities"], _softmax(shown), atol=1e-5
        )
    else:
        bounds = [part.log_std_bounds for part in (policy.first, policy.second)]  # type: ignore[attr-defined]
        clipped = [
            np.concatenate([one[:, :1], np.clip(one[:, 1:], *bound)], axis=1)
            for one, bound in zip(own, bounds, strict=True)
        ]
        np.testing.assert_allclose(
            said, np.where(within[:, None], clipped[1], clipped[0]), atol=1e-4
        )


def _softmax(rows: Any) -> np.ndarray:
    weights = np.exp(rows - np.max(rows, axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def test_the_delivered_file_acts_without_jax(tmp_path: Path) -> None:
    policy = make(Discrete(3), "categorical", REGIONS["cells"])
    deliver_policy(policy, tmp_path, "part", {})
    done = subprocess.run(
        [sys.executable, "predict.py", "part.safetensors"],
        cwd=tmp_path,
        input="[0.1, -0.3]\n",
        capture_output=True,
        text=True,
        check=True,
    )
    said: Any = policy(jnp.asarray([[0.1, -0.3]]))
    assert json.loads(done.stdout) == int(said.mode()[0])


def test_regions_of_numbered_states_are_tables(tmp_path: Path) -> None:
    old, new = (TabularPolicy.from_probabilities(np.eye(2)[[i, 0]]) for i in (0, 1))
    found = switch_region(old, new, Region("states 0", states=(0,)))
    deliver_policy(found, tmp_path, "part", {})
    assert Predictor(str(tmp_path / "part.safetensors")).predict(0)[0] == 1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (None, "is none"),
        ({"name": "x"}, "is none"),
        ({"coordinate": 1, "states": [], "above": True, "limit": "much"}, "is none"),
        ({"cells": {"centres": [[0.0]], "reach": [], "scale": [1.0]}}, "do not fit together"),
    ],
)
def test_what_is_no_region_is_refused(wrong: Any, words: str) -> None:
    whole: dict[str, Any] = {
        "name": "x",
        "coordinate": None,
        "states": [],
        "above": True,
        "limit": 0.0,
    }
    full = (
        wrong if not isinstance(wrong, dict) or "name" in wrong else whole | {"cells": None} | wrong
    )
    with pytest.raises(InputError, match=words):
        region_from_json(full)


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    policy: Policy = make(Discrete(3), "categorical", REGIONS["above"])
    deliver_policy(policy, tmp_path, "part", {})
    path = tmp_path / "part.safetensors"
    save_file(load_file(path), path)
    with pytest.raises(InputError, match="neither a nacre policy"):
        read_policy(path)
