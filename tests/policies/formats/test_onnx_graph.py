"""Our policies as ONNX graphs, run by the ONNX runtime."""

import json
from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import pytest
from gymnasium.spaces import Discrete

from nacre.policies import (
    BlackBox,
    Categorical,
    TabularPolicy,
    read_policy,
    write_policy,
)
from nacre.policies.heads import Head
from tests.support.policies import HEADS, ROWS, VECTOR, expect, make_policy, parameters

TOLERANCE = 1e-5


TABLE = TabularPolicy.from_probabilities([[0.7, 0.3, 0.0], [0.1, 0.6, 0.3]])


def run_onnx(path: Path, rows: np.ndarray) -> dict[str, np.ndarray]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"observation": rows}), strict=True))


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("observations", [VECTOR, Discrete(5)])
def test_onnx_says_the_same(tmp_path: Path, head: Head, observations: gymnasium.Space[Any]) -> None:
    policy = make_policy(head, observations)
    write_policy(policy, tmp_path / "p.onnx", {"trained": "by hand"})
    rows = ROWS if observations is VECTOR else np.arange(1000) % 5
    said = run_onnx(tmp_path / "p.onnx", rows)
    for name, expected in parameters(policy, rows).items():
        if head == "greedy" and name == "probabilities":
            continue
        np.testing.assert_allclose(said[name], expected, atol=TOLERANCE, rtol=1e-5)


def test_onnx_of_a_table(tmp_path: Path) -> None:
    write_policy(TABLE, tmp_path / "p.onnx")
    said = run_onnx(tmp_path / "p.onnx", np.array([1, 0, 1]))
    np.testing.assert_allclose(said["probabilities"], TABLE.table[np.array([1, 0, 1])], atol=1e-6)


@pytest.mark.parametrize("head", HEADS)
def test_onnx_read_back_is_the_same_policy(tmp_path: Path, head: Head) -> None:
    policy = make_policy(head)
    write_policy(policy, tmp_path / "p.onnx")
    again = read_policy(tmp_path / "p.onnx")
    assert again.signature == policy.signature
    said, expected = again(jnp.asarray(ROWS)), policy(jnp.asarray(ROWS))
    if head == "gaussian":
        # Bounds clip whatever has them: the file does not say that this one is never clipped.
        assert expect(BlackBox, again).head == "clipped_gaussian"
    else:
        assert type(said) is type(expected)
    if head == "categorical":
        np.testing.assert_allclose(
            expect(Categorical, said).probabilities,
            expect(Categorical, expected).probabilities,
            atol=TOLERANCE,
        )
        return
    for mine, other in zip(jax.tree.leaves(said), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(mine, other, atol=TOLERANCE, rtol=1e-5)


def test_the_file_says_its_opset_and_where_it_comes_from(tmp_path: Path) -> None:
    write_policy(make_policy("categorical"), tmp_path / "p.onnx", {"seed": 3})
    model = onnx.load(tmp_path / "p.onnx")
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 13)]
    entry, _ = model.metadata_props
    assert json.loads(entry.value)["provenance"] == {"seed": 3}
    assert json.loads(entry.value)["head"] == "categorical"
