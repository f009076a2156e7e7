"""Compares how nacre reads what d3rlpy and RLlib export with what these libraries answer.

    python scripts/compare_exports.py FOLDER

Under FOLDER/env it sets up an environment with both libraries, unless it is there, and lets it
train for a few steps on CartPole and Pendulum, export what they export, and keep their answers.
This environment then reads the same files with nacre; what came out goes to
results/policies/exports.jsonl, from which `scripts/write_tables.py` writes the table of the docs.

RLlib's SAC draws its actions from a squashed normal distribution. Its answer without exploring is
the mean of that distribution before it is squashed, which no drawn action is like: it is compared
with the middle of what is drawn.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import subprocess
import sys
import venv
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_records import ROOT, find_commit

RECORDS = ROOT / "results" / "policies" / "exports.jsonl"
ROWS = 64
TOLERANCE = 1e-4
PACKAGES = (
    ("torch==2.13.0",),
    ("--no-deps", "d3rlpy==2.8.1"),
    ("ray[rllib]", "gym==0.26.2", "scikit-learn", "h5py", "structlog", "dataclasses-json"),
    ("tqdm", "colorama", "onnx", "onnxruntime", "onnxscript"),
    ("--no-deps", "gymnasium==1.0.0"),
)
VERSIONS = "versions.json"
WORLDS = ("CartPole-v1", "Pendulum-v1")
D3RLPY = {
    "CartPole-v1": ("DQN", "DoubleDQN", "DiscreteSAC", "DiscreteCQL", "DiscreteBC"),
    "Pendulum-v1": ("SAC", "TD3", "TD3PlusBC", "CQL", "IQL", "BC"),
}
RLLIB = {"CartPole-v1": ("PPO",), "Pendulum-v1": ("PPO", "SAC")}


def prepare(folder: Path) -> Path:
    """The interpreter of an environment with both libraries."""
    python = folder / "env" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "env", with_pip=True)
        for packages in PACKAGES:
            command = [str(python), "-m", "pip", "install", "--quiet", *packages]
            subprocess.run(command, check=True)  # noqa: S603 - our own commands
    return python


def export(folder: Path) -> None:
    """In that environment: train, export, and keep what the libraries answer."""
    import importlib.metadata

    import torch

    names = {"d3rlpy": "d3rlpy", "rllib": "ray", "torch": "torch", "onnxruntime": "onnxruntime"}
    versions = {name: importlib.metadata.version(package) for name, package in names.items()}
    (folder / VERSIONS).write_text(json.dumps(versions))
    # What both libraries export, PyTorch's newer exporter cannot.
    torch.onnx.export = functools.partial(torch.onnx.export, dynamo=False)
    for name, actions in itertools.chain(_export_d3rlpy(folder), _export_rllib(folder)):
        np.savez(folder / f"{name}.npz", rows=_draw_rows(name), actions=actions)
        print(name, "exported", flush=True)


def _draw_rows(name: str) -> np.ndarray:
    width = 4 if WORLDS[0] in name else 3
    rows: np.ndarray = np.random.default_rng(0).uniform(-1, 1, (ROWS, width)).astype(np.float32)
    return rows


def _export_d3rlpy(folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    import d3rlpy

    for world, names in D3RLPY.items():
        data = _collect(world)
        for name in names:
            stem = f"d3rlpy-{name}-{world}"
            kept = folder / f"{stem}.d3"
            if kept.exists():
                # An interrupted run goes on where it was.
                learner = d3rlpy.load_learnable(str(kept), device="cpu:0")
            else:
                learner = _train_d3rlpy(name, world, data)
                for ending in (".onnx", ".pt"):
                    learner.save_policy(str(folder / f"{stem}{ending}"))
                learner.save(str(kept))
            yield stem, np.asarray(learner.predict(_draw_rows(stem)))


def _train_d3rlpy(name: str, world: str, data: Any) -> Any:
    import d3rlpy

    scalers: dict[str, Any] = {}
    if name in ("DQN", "SAC"):
        scalers["observation_scaler"] = d3rlpy.preprocessing.StandardObservationScaler()
    if world == WORLDS[1]:
        scalers["action_scaler"] = d3rlpy.preprocessing.MinMaxActionScaler()
    config = getattr(d3rlpy.algos, f"{name}Config")(batch_size=32, **scalers)
    learner = config.create(device="cpu:0")
    learner.fit(
        data,
        n_steps=20,
        n_steps_per_epoch=20,
        show_progress=False,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
    )
    return learner


def _collect(world: str) -> Any:
    import d3rlpy
    import gymnasium

    env = gymnasium.make(world)
    env.action_space.seed(0)
    observation, _ = env.reset(seed=0)
    rows: list[tuple[Any, ...]] = []
    for _ in range(600):
        action = env.action_space.sample()
        after, reward, terminated, truncated, _ = env.step(action)
        rows.append((observation, action, reward, terminated, truncated))
        observation = env.reset()[0] if terminated or truncated else after
    observations, actions, rewards, terminals, timeouts = map(np.array, zip(*rows, strict=True))
    timeouts[-1] = not terminals[-1]
    discrete = actions.ndim == 1
    return d3rlpy.dataset.MDPDataset(
        observations.astype(np.float32),
        actions[:, None] if discrete else actions.astype(np.float32),
        rewards.astype(np.float32),
        terminals.astype(np.float32),
        timeouts.astype(np.float32),
        action_space=getattr(d3rlpy.ActionSpace, "DISCRETE" if discrete else "CONTINUOUS"),
    )


def _export_rllib(folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    import importlib

    import ray
    import torch

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    for world, names in RLLIB.items():
        for name in names:
            package = importlib.import_module(f"ray.rllib.algorithms.{name.lower()}")
            config = getattr(package, f"{name}Config")().environment(world)
            config = config.env_runners(num_env_runners=0).learners(num_learners=0)
            if name == "PPO":
                config = config.training(train_batch_size_per_learner=200, num_epochs=1)
            algorithm = config.build_algo()
            if name == "PPO":
                algorithm.train()
            stem = f"rllib-{name}-{world}"
            algorithm.save_to_path(str((folder / stem).resolve()))
            rows = _draw_rows(stem)
            module = algorithm.get_module()
            with torch.no_grad():
                said = module.forward_inference({"obs": torch.as_tensor(rows)})
                kind = module.get_inference_action_dist_cls()
                likely = kind.from_logits(said["action_dist_inputs"]).to_deterministic()
                actions = likely.sample().numpy()
                if name == "SAC":
                    actions = np.tanh(actions)
            _export_module(module, name, world, folder / f"{stem}.onnx")
            if world == WORLDS[1]:
                # RLlib's own step between module and world: from -1, 1 to the bounds.
                low, high = (getattr(module.action_space, side) for side in ("low", "high"))
                actions = low + (np.clip(actions, -1, 1) + 1) * (high - low) / 2
            yield stem, actions
            algorithm.stop()
    ray.shutdown()


def _export_module(module: Any, name: str, world: str, path: Path) -> None:
    """An RLlib module as ONNX, its outputs named as nacre knows them."""
    import torch

    class Answers(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        """What the module says of observations, without a dictionary around it."""

        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, observation: Any) -> Any:
            """Logits, or a mean and the logarithm of a standard deviation."""
            said = self.module.forward_inference({"obs": observation})["action_dist_inputs"]
            if world == WORLDS[0]:
                return said
            centre, log_std = said.chunk(2, dim=-1)
            if name == "SAC":
                return centre, log_std
            half = torch.as_tensor((module.action_space.high - module.action_space.low) / 2)
            middle = torch.as_tensor((module.action_space.high + module.action_space.low) / 2)
            return middle + half * centre, log_std + half.log()

    outputs = {"SAC": ["location", "log_std"], "PPO": ["mean", "log_std"]}[name]
    torch.onnx.export(
        Answers(),
        torch.zeros(1, 4 if world == WORLDS[0] else 3),
        str(path),
        input_names=["observation"],
        output_names=["logits"] if world == WORLDS[0] else outputs,
        dynamic_axes={"observation": {0: "rows"}},
    )


def check(folder: Path) -> list[dict[str, Any]]:
    """Read every file with nacre: a record for each."""
    versions = json.loads((folder / VERSIONS).read_text())
    records = []
    for kept in sorted(folder.glob("*.npz")):
        known = np.load(kept)
        for ending in (".onnx", ".pt", ".d3", ""):
            path = kept.with_name(kept.stem + ending)
            if path.exists():
                library, name = kept.stem.split("-", 1)
                world = next(world for world in WORLDS if name.endswith(world))
                about = {
                    "library": f"{library} {versions[library]}",
                    "learner": name.removesuffix(f"-{world}"),
                    "world": world,
                    "form": ending or "checkpoint",
                }
                found = _compare(path, known["rows"], known["actions"])
                records.append({**about, **found, "commit": find_commit(), "versions": versions})
    return records


def _compare(path: Path, rows: np.ndarray, actions: np.ndarray) -> dict[str, Any]:
    import gymnasium
    import jax.numpy as jnp

    from nacre.errors import InputError
    from nacre.policies import Signature, read_policy

    discrete = WORLDS[0] in path.name
    spaces = (
        gymnasium.spaces.Box(-np.inf, np.inf, rows.shape[1:], np.float32),
        gymnasium.spaces.Discrete(2) if discrete else gymnasium.spaces.Box(-2.0, 2.0, (1,)),
    )
    try:
        policy = read_policy(path, signature=Signature(*spaces))
    except InputError as error:
        return {"outcome": "refused", "told": error.problems[0].partition(": ")[2]}
    said = np.asarray(policy(jnp.asarray(rows)).mode()).reshape(actions.shape)
    off = float(np.max(np.abs(said - actions)))
    return {"outcome": "read" if off <= TOLERANCE else "wrong", "difference": off}


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:] == ["--export"]:
        export(folder)
        return
    run: Callable[..., Any] = subprocess.run
    run(
        [str(prepare(folder)), __file__, str(folder), "--export"],
        check=True,
        env=os.environ | {"PYTHONPATH": ""},
    )
    lines = [json.dumps(record) for record in check(folder)]
    RECORDS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
