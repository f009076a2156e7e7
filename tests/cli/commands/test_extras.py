"""Commands that need an extra name it, with the command that installs it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import pytest

from nacre import examples
from nacre.policies import MLPPolicy, write_policy
from nacre.simulators.registry import find_world

CART = examples.find_directory()
OLD = f"--policy={CART / 'old.safetensors'}"
ADVISE = ("advise", f"--log={CART / 'log.parquet'}", OLD, f"--cost={CART / 'cost.toml'}")
SIMULATE = ("simulate", "--policy=hopper.safetensors")


@pytest.mark.parametrize(
    ("modules", "extra", "arguments"),
    [
        (("h5py",), "hdf5", ("validate", "log.hdf5")),
        (("onnx", "onnxruntime"), "onnx", (*ADVISE[:2], "--policy=a.onnx", ADVISE[3])),
        (("mujoco",), "mujoco", (*SIMULATE, "Hopper-v4")),
        (("sumo_rl", "libsumo"), "sumo", (*SIMULATE, "traffic")),
        (("PIL",), "mujoco", ("show", "Hopper-v4", *SIMULATE[1:], "--render=a.gif")),
        (("tensorboardX",), "track", (*ADVISE, "--tensorboard=runs")),
        (("mlflow",), "track", (*ADVISE, "--mlflow=runs")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_missing_extra_is_named_with_its_remedy(
    invoke: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    modules: tuple[str, ...],
    extra: str,
    arguments: tuple[str, ...],
) -> None:
    # The package is missing in this process only.
    monkeypatch.setenv("NACRE_ISOLATION", "off")
    for name in ("log.hdf5", "a.onnx"):
        Path(name).write_bytes(b"something")
    policy = MLPPolicy.init(jax.random.key(0), find_world("Hopper-v4").signature, hidden=(8,))
    write_policy(policy, "hopper.safetensors")
    for module in modules:
        # Of a package that was imported before, its parts are still there.
        for loaded in [name for name in sys.modules if name.startswith(f"{module}.")]:
            monkeypatch.delitem(sys.modules, loaded)
        monkeypatch.setitem(sys.modules, module, None)
    code, out, err = invoke(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert f"pip install 'nacre[{extra}]'" in err
