"""Published `.pt` files: real pickles of modules, read without running them."""

from __future__ import annotations

import io
import itertools
import pickle
import sys
import types
import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from scipy.special import softmax

from nacre.errors import InputError
from nacre.experiments.old_policies import read_critics
from nacre.experiments.published_files import convert_published, main
from nacre.policies import read_policy
from nacre.policies.distributions import Categorical, SquashedGaussian
from nacre.policies.policy import ask
from tests.support.policies import expect

rng = np.random.default_rng(0)
SIZES = {"inputs": 3, "hidden": 4, "actions": 2}


class Tensor:
    """Pickles as PyTorch writes a parameter."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values.astype(np.float32)

    def __reduce__(self) -> Any:
        rebuild = MODULES["torch._utils"]
        strides = tuple(step // 4 for step in self.values.strides)
        tensor: Any = (self.values, 0, self.values.shape, strides, False, {})
        return rebuild._rebuild_parameter, (Made(rebuild._rebuild_tensor_v2, tensor), True, {})


class Made:
    def __init__(self, function: Any, arguments: tuple[Any, ...]) -> None:
        self.reduced = function, arguments

    def __reduce__(self) -> Any:
        return self.reduced


NAMES = {
    "torch": ("FloatStorage",),
    "torch._utils": ("_rebuild_tensor_v2", "_rebuild_parameter"),
    "torch.nn": (),
    "torch.nn.modules": (),
    "torch.nn.modules.linear": ("Linear", "Identity"),
    "torch.nn.modules.container": ("Sequential",),
    "torch.nn.modules.activation": ("ReLU",),
    "algs": (),
    "algs.core": ("MLPActorCritic", "SquashedGaussianMLPActor", "MLPQFunction"),
    "algs.core_discrete": ("DiscreteMLPActorCritic", "DiscreteMLPActor", "DiscreteMLPQFunction"),
    "elsewhere": ("Stranger",),
}
"""Names that pickling asks for; nothing of PyTorch is installed."""


def _make_modules() -> dict[str, Any]:
    modules = {}
    for name, inside in NAMES.items():
        modules[name] = types.ModuleType(name)
        for part in inside:
            made: Any = type(part, (), {"__module__": name})
            setattr(modules[name], part, _name_function(part, name) if part[0] == "_" else made)
    return modules


def _name_function(name: str, module: str) -> Any:
    def function() -> None: ...

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    return function


MODULES = _make_modules()


def make(module: str, name: str, **state: Any) -> Any:
    made = getattr(MODULES[module], name)()
    made.__dict__.update(
        {"training": True, "_parameters": {}, "_non_persistent_buffers_set": set()}
    )
    made.__dict__.update(state)
    return made


def linear(outputs: int, inputs: int) -> Any:
    weight, bias = rng.normal(size=(outputs, inputs)), rng.normal(size=outputs)
    parameters = {"weight": Tensor(weight), "bias": Tensor(bias)}
    return make("torch.nn.modules.linear", "Linear", _parameters=parameters)


def stack(*sizes: int) -> Any:
    layers: dict[str, Any] = {}
    for inputs, outputs in itertools.pairwise(sizes):
        layers[str(len(layers))] = linear(outputs, inputs)
        layers[str(len(layers))] = make("torch.nn.modules.activation", "ReLU")
    return make("torch.nn.modules.container", "Sequential", _modules=layers)


def make_published(kind: str, **pi_state: Any) -> Any:
    inputs, hidden, actions = SIZES.values()
    discrete = kind == "discrete"
    module, prefix = ("algs.core_discrete", "Discrete") if discrete else ("algs.core", "")
    net = stack(inputs, hidden, hidden)
    if discrete:
        parts, actor = {"net": net, "logits": linear(actions, hidden)}, "DiscreteMLPActor"
        sizes = inputs, hidden, hidden, actions
    else:
        heads = {"mu_layer": linear(actions, hidden), "log_std_layer": linear(actions, hidden)}
        parts, actor = {"net": net, **heads}, "SquashedGaussianMLPActor"
        sizes = inputs + actions, hidden, hidden, 1
        pi_state = {"act_limit": np.float32(2.0), **pi_state}
    modules = {"pi": make(module, actor, _modules=parts, **pi_state)}
    for critic in ("q1", "q2"):
        inner = {"q": stack(*sizes)}
        modules[critic] = make(module, f"{prefix}MLPQFunction", _modules=inner)
    return make(module, f"{prefix}MLPActorCritic", _modules=modules)


def save(whole: Any, path: Path) -> Path:
    """As `torch.save`: a zip archive with a pickle of protocol 2 and raw storages."""
    storages: list[np.ndarray] = []

    class Pickler(pickle.Pickler):
        def persistent_id(self, thing: Any) -> Any:
            if not isinstance(thing, np.ndarray):
                return None
            storages.append(thing)
            kind = MODULES["torch"].FloatStorage
            return "storage", kind, str(len(storages) - 1), "cpu", thing.size

    stream = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        for name, module in MODULES.items():
            patch.setitem(sys.modules, name, module)
        Pickler(stream, protocol=2).dump(whole)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", stream.getvalue())
        archive.writestr("model/version", "3\n")
        for key, values in enumerate(storages):
            archive.writestr(f"model/data/{key}", values.tobytes())
    return path


def run_layers(layers: Any, rows: np.ndarray, *, relu_last: bool = False) -> np.ndarray:
    """A stack in NumPy, with ReLU between the layers."""
    linears = [layer for layer in layers._modules.values() if layer._parameters]
    for place, layer in enumerate(linears):
        weight, bias = (layer._parameters[name].values for name in ("weight", "bias"))
        rows = rows @ weight.T + bias
        if relu_last or place < len(linears) - 1:
            rows = np.maximum(rows, 0.0)
    return rows


def head(module: Any, rows: np.ndarray) -> np.ndarray:
    weight, bias = (module._parameters[name].values for name in ("weight", "bias"))
    result: np.ndarray = rows @ weight.T + bias
    return result


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
def test_policy_and_critics_are_what_numpy_makes_of_them(kind: str, tmp_path: Path) -> None:
    whole = make_published(kind)
    files = convert_published(save(whole, tmp_path / "model.pt"), tmp_path / "out" / "weak")
    assert [path.name for path in files] == ["weak.safetensors", "weak_critics.safetensors"]
    policy = read_policy(files[0])
    critics = read_critics(files[1], policy.signature)
    rows = rng.normal(size=(5, SIZES["inputs"])).astype(np.float32)
    parts = whole._modules["pi"]._modules
    distribution = ask(policy, jax.numpy.asarray(rows))
    if kind == "discrete":
        logits = head(parts["logits"], run_layers(parts["net"], rows))
        found = expect(Categorical, distribution).probabilities
        np.testing.assert_allclose(found, softmax(logits, axis=-1), atol=1e-5)
        actions, inputs = np.zeros(5, int), rows
    else:
        gaussian = expect(SquashedGaussian, distribution)
        mean = head(parts["mu_layer"], run_layers(parts["net"], rows, relu_last=True))
        np.testing.assert_allclose(gaussian.location, mean, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(policy.signature.action_limits[1], [2.0, 2.0])
        actions = rng.normal(size=(5, SIZES["actions"])).astype(np.float32)
        inputs = np.concatenate([rows, actions], axis=1)
    expected = [run_layers(whole._modules[q]._modules["q"], inputs)[:, 0] for q in ("q1", "q2")]
    values = critics.values_at(jax.numpy.asarray(rows), jax.numpy.asarray(actions))
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-5)


def refusal(whole: Any, folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        convert_published(save(whole, folder / "model.pt"), folder / "out")
    (problem,) = caught.value.problems
    assert not (folder / "out.safetensors").exists()
    return problem


def test_other_names_are_not_run(tmp_path: Path) -> None:
    stranger = make("elsewhere", "Stranger")
    assert "wants to call 'elsewhere.Stranger'" in refusal(stranger, tmp_path)
    assert "posix.system" in refusal(Made(__import__("os").system, ("true",)), tmp_path)


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    assert "holds no module" in refusal({"pi": 1}, tmp_path)
    whole = make_published("continuous")
    del whole._modules["q2"]
    assert "has no layer q1 or q2" in refusal(whole, tmp_path)
    whole = make_published("discrete")
    del whole._modules["pi"]._modules["net"]._modules["2"]
    assert "has no layer net.2" in refusal(whole, tmp_path)
    whole = make_published("continuous", act_limit="much")
    assert "act_limit is no number" in refusal(whole, tmp_path)
    nested = make("torch.nn.modules.container", "Sequential", _modules={})
    for _ in range(10):
        nested = make("torch.nn.modules.container", "Sequential", _modules={"0": nested})
    assert "more than 6 deep" in refusal(nested, tmp_path)


def test_one_line_and_exit_code_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "none.pt"), str(tmp_path / "out")])
    assert ended.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "none.pt: could not be read" in line
    main([str(save(make_published("discrete"), tmp_path / "a.pt")), str(tmp_path / "out")])
    assert capsys.readouterr().out.count("written: ") == 2
