"""Models exported by torch and by scikit-learn, and models made by hand."""

import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from gymnasium.spaces import Box, Discrete
from onnx import TensorProto, helper

from nacre.errors import InputError
from nacre.policies import (
    ActionDistribution,
    BlackBox,
    Categorical,
    Deterministic,
    Gaussian,
    Signature,
    fingerprint,
    read_policy,
)
from nacre.policies.formats.onnx_model import read_onnx
from tests.support.policies import expect

FIXTURES = Path(__file__).parents[1] / "fixtures"
TOLERANCE = 1e-5
Shape = Sequence[str | int]
Input = tuple[str, int, Shape]
Output = tuple[str, str, tuple[str, ...], int, Shape]
"""Name, operator, further inputs, type and shape."""
FREE = Box(-np.inf, np.inf, (4,))


def load(
    name: str, reference: str | None = None, **options: Any
) -> tuple[BlackBox, ActionDistribution, Any]:
    policy = read_onnx(FIXTURES / f"{name}.onnx", **options)
    known = np.load(FIXTURES / f"{reference or name}.npz")
    assert len(known["observations"]) == 1000
    return policy, policy.distribution_at(known["observations"]), known


def make_model(
    path: Path,
    outputs: Sequence[Output],
    *,
    inputs: Sequence[Input] = (("x", TensorProto.FLOAT, ["n", 2]),),
    constants: Sequence[onnx.TensorProto] = (),
) -> Path:
    """A model whose outputs (name, operator, further inputs, type, shape) read its input."""
    nodes = [
        helper.make_node(kind, [inputs[0][0], *further], [name])
        for name, kind, further, _, _ in outputs
    ]
    declared = [helper.make_tensor_value_info(name, t, s) for name, _, _, t, s in outputs]
    given = [helper.make_tensor_value_info(*entry) for entry in inputs]
    graph = helper.make_graph(nodes, "made", given, declared, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    return path


def copy(name: str, kind: str = "Identity", shape: Shape = ("n", 2)) -> Output:
    return (name, kind, (), TensorProto.FLOAT, list(shape))


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        read_onnx(path, **options)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{path}: ")
    return problem


# ---- exported by torch and scikit-learn


def test_mean_and_std_of_torch() -> None:
    policy, distribution, known = load("torch_gaussian")
    assert (policy.form, policy.head) == ("mean_std", "gaussian")
    np.testing.assert_allclose(
        expect(Gaussian, distribution).location, known["mean"], atol=TOLERANCE
    )
    np.testing.assert_allclose(expect(Gaussian, distribution).std, known["std"], atol=TOLERANCE)


def test_bounded_actions_clip_the_gaussian() -> None:
    signature = Signature(FREE, Box(-0.5, 0.5, (2,)))
    policy, distribution, known = load("torch_gaussian", signature=signature)
    assert policy.head == "clipped_gaussian"
    np.testing.assert_allclose(
        distribution.mode(), np.clip(known["mean"], -0.5, 0.5), atol=TOLERANCE
    )


@pytest.mark.parametrize("outputs", ["logits", {"logits": "output_0"}])
def test_declared_logits_of_torch(outputs: str | dict[str, str]) -> None:
    policy, distribution, known = load("torch_logits", outputs=outputs)
    assert policy.signature.action_size == 3
    np.testing.assert_allclose(
        expect(Categorical, distribution).logits, known["output_0"], atol=TOLERANCE
    )


def test_declared_q_values_are_greedy() -> None:
    _, distribution, known = load("torch_logits", outputs="q")
    np.testing.assert_array_equal(distribution.mode(), known["output_0"].argmax(axis=-1))
    assert set(np.unique(expect(Categorical, distribution).probabilities)) == {0.0, 1.0}


def test_single_row_model_of_torch() -> None:
    policy, distribution, known = load("torch_single")
    assert policy.head == "deterministic"
    np.testing.assert_allclose(
        expect(Deterministic, distribution).action, known["action"], atol=TOLERANCE
    )


@pytest.mark.parametrize("name", ["sklearn", "sklearn_zipmap"])
def test_probabilities_of_scikit_learn(name: str) -> None:
    policy, distribution, known = load(name, "sklearn")
    assert policy.form == "probabilities"
    np.testing.assert_allclose(
        expect(Categorical, distribution).probabilities, known["probabilities"], atol=TOLERANCE
    )


def test_two_files_have_two_fingerprints() -> None:
    logits = read_policy(FIXTURES / "torch_logits.onnx", outputs="logits")
    assert fingerprint(logits) == fingerprint(
        read_policy(FIXTURES / "torch_logits.onnx", outputs="logits")
    )
    assert fingerprint(logits) != fingerprint(
        read_policy(FIXTURES / "torch_logits.onnx", outputs="q")
    )


# ---- recognised outputs


def test_the_output_that_says_most_is_taken(tmp_path: Path) -> None:
    path = make_model(tmp_path / "m.onnx", [copy("action"), copy("mu"), copy("log_std")])
    policy = read_onnx(path)
    assert policy.form == "mean_std"
    rows = np.array([[0.5, -1.0]], np.float32)
    np.testing.assert_allclose(expect(Gaussian, policy.distribution_at(rows)).log_std, rows)


def test_location_is_squashed(tmp_path: Path) -> None:
    path = make_model(tmp_path / "m.onnx", [copy("location"), copy("std", "Exp")])
    signature = Signature(Box(-np.inf, np.inf, (2,)), Box(-2.0, 2.0, (2,)))
    distribution = read_onnx(path, signature).distribution_at(np.array([[1.0, 0.0]], np.float32))
    np.testing.assert_allclose(distribution.mode(), [[2 * np.tanh(1.0), 0.0]], rtol=1e-6)
    np.testing.assert_allclose(expect(Gaussian, distribution).std, [[np.e, 1.0]], rtol=1e-6)


def test_probabilities_are_recognised_by_their_sum(tmp_path: Path) -> None:
    path = make_model(tmp_path / "m.onnx", [copy("out", "Softmax")])
    signature = Signature(Box(-np.inf, np.inf, (2,)), Discrete(2))
    assert read_onnx(path, signature).form == "probabilities"
    assert "not recognised" in refusal(make_model(tmp_path / "n.onnx", [copy("out")]))


def test_a_single_output_is_the_action_vector(tmp_path: Path) -> None:
    path = make_model(tmp_path / "m.onnx", [copy("out", "Tanh")])
    signature = Signature(Box(-np.inf, np.inf, (2,)), Box(-1.0, 1.0, (2,)))
    assert read_onnx(path, signature).form == "action"


def test_fixed_batch_sizes_are_filled_up(tmp_path: Path) -> None:
    path = make_model(
        tmp_path / "m.onnx",
        [copy("action", shape=(3, 2))],
        inputs=[("x", TensorProto.FLOAT, [3, 2])],
    )
    rows = np.arange(14, dtype=np.float32).reshape(7, 2)
    np.testing.assert_array_equal(
        expect(Deterministic, read_onnx(path).distribution_at(rows)).action, rows
    )


def test_discrete_observations(tmp_path: Path) -> None:
    table = onnx.numpy_helper.from_array(np.array([[0.25, 0.75], [1.0, 0.0]], np.float32), "t")
    shapes: dict[str, list[str | int]] = {"flat.onnx": ["n"], "column.onnx": ["n", 1]}
    for name, shape in shapes.items():
        nodes = [helper.make_node("Gather", ["t", "x"], ["g"])]
        nodes.append(helper.make_node("Reshape", ["g", "two"], ["probabilities"]))
        two = onnx.numpy_helper.from_array(np.array([-1, 2]), "two")
        graph = helper.make_graph(
            nodes,
            "made",
            [helper.make_tensor_value_info("x", TensorProto.INT64, shape)],
            [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 2])],
            [table, two],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        onnx.save(model, tmp_path / name)
        policy = read_onnx(tmp_path / name, Signature(Discrete(2), Discrete(2)))
        said = expect(Categorical, policy.distribution_at(np.array([1, 0]))).probabilities
        np.testing.assert_allclose(said, [[1.0, 0.0], [0.25, 0.75]])


# ---- refusals


def test_a_single_number_without_axes_is_a_state(tmp_path: Path) -> None:
    path = make_model(
        tmp_path / "m.onnx",
        [("logits", "Mul", ("row",), TensorProto.FLOAT, [3])],
        inputs=[("x", TensorProto.FLOAT, [])],
        constants=[onnx.numpy_helper.from_array(np.arange(3, dtype=np.float32), "row")],
    )
    policy = read_onnx(path, signature=Signature(Discrete(4), Discrete(3)))
    np.testing.assert_allclose(policy.outputs_at(np.array([0, 2])), [[0, 0, 0], [0, 2, 4]])
    assert "its input has no fixed width" in refusal(path)


def test_names_that_are_no_texts(tmp_path: Path) -> None:
    path = make_model(tmp_path / "m.onnx", [copy("logits_here")])
    path.write_bytes(path.read_bytes().replace(b"logits_here", b"logits\xffhere"))
    assert "m.onnx: " in refusal(path, outputs="logits")


def test_numbers_of_actions_need_the_spaces(tmp_path: Path) -> None:
    integer: Output = ("action", "ArgMax", (), TensorProto.INT64, ["n", 2])
    path = make_model(tmp_path / "m.onnx", [integer])
    assert "give signature=" in refusal(path)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"outputs": "odds"}, "'odds' are unknown"),
        ({"outputs": "mean_std"}, "has 1 output"),
        ({"outputs": {"mean": "nowhere"}}, "has no output 'nowhere'"),
        ({"outputs": {"std": "output_0"}}, "make no policy"),
        ({"outputs": "logits", "signature": Signature(FREE, FREE)}, "does not fit the action"),
        (
            {"outputs": "logits", "signature": Signature(Box(-1, 1, (5,)), Discrete(3))},
            "reads 4 numbers, an observation has 5",
        ),
        (
            {"outputs": "logits", "signature": Signature(FREE, Discrete(4))},
            "expected (2, 4)",
        ),
    ],
)
def test_declarations_that_do_not_fit(options: dict[str, Any], expected: str) -> None:
    assert expected in refusal(FIXTURES / "torch_logits.onnx", **options)


def test_unnamed_outputs_have_to_be_declared() -> None:
    problem = refusal(FIXTURES / "torch_logits.onnx")
    assert "'output_0' ['batch', 3] are not recognised" in problem
    assert "outputs='logits'" in problem


def test_several_inputs(tmp_path: Path) -> None:
    two: list[Input] = [("x", TensorProto.FLOAT, ["n", 2]), ("memory", TensorProto.FLOAT, ["n", 2])]
    path = make_model(tmp_path / "m.onnx", [copy("action")], inputs=two)
    assert "a policy has one" in refusal(path)


def test_files_that_are_no_models(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"\x80\x04garbage")
    assert "is not an ONNX file" in refusal(tmp_path / "m.onnx")
    (tmp_path / "n.onnx").write_bytes(b"")
    assert "cannot be loaded by onnxruntime" in refusal(tmp_path / "n.onnx")
    assert "cannot be read" in refusal(tmp_path / "none.onnx")


def test_weights_in_other_files_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(8))
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="secret")
    path = make_model(
        tmp_path / "m.onnx",
        [("action", "Add", ("w",), TensorProto.FLOAT, ["n", 2])],
        constants=[tensor],
    )
    assert "tensor 'w' lies in another file" in refusal(path)


def test_answers_that_are_no_numbers(tmp_path: Path) -> None:
    path = make_model(tmp_path / "m.onnx", [copy("action", "Reciprocal")])
    assert "NaN and infinity are no answer" in refusal(path)


def test_what_to_install_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"pip install 'nacre\[onnx\]'"):
        read_onnx(FIXTURES / "sklearn.onnx")


def test_a_model_goes_to_another_process() -> None:
    policy = read_onnx(FIXTURES / "torch_logits.onnx", outputs="logits")
    rows = np.load(FIXTURES / "torch_logits.npz")["observations"]
    again = pickle.loads(pickle.dumps(policy))  # noqa: S301 - our own
    np.testing.assert_array_equal(again.outputs_at(rows), policy.outputs_at(rows))
    assert again.digest == policy.digest
