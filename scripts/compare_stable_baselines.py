"""Compares how nacre reads Stable-Baselines3 zips with what that library itself predicts.

    python scripts/compare_stable_baselines.py expect FOLDER OUT.npz   (needs stable-baselines3)
    python scripts/compare_stable_baselines.py check FOLDER OUT.npz    (needs nacre)

The first part runs in an environment of its own: it loads every zip under FOLDER, which runs the
pickles in it, and keeps observations and the actions that `predict(deterministic=True)` gives. The
second part reads the same zips without any of that, and prints a table in Markdown.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

ROWS = 64
TOLERANCE = 1e-4
ALGORITHMS = {
    "a2c": ("stable_baselines3", "A2C"),
    "ars": ("sb3_contrib", "ARS"),
    "ddpg": ("stable_baselines3", "DDPG"),
    "her": ("sb3_contrib", "TQC"),
    "dqn": ("stable_baselines3", "DQN"),
    "ppo": ("stable_baselines3", "PPO"),
    "qrdqn": ("sb3_contrib", "QRDQN"),
    "sac": ("stable_baselines3", "SAC"),
    "td3": ("stable_baselines3", "TD3"),
    "tqc": ("sb3_contrib", "TQC"),
    "trpo": ("sb3_contrib", "TRPO"),
}


def list_zips(folder: Path) -> list[Path]:
    """All zips, by name."""
    return sorted(folder.rglob("*.zip"))


def expect(folder: Path, out: Path) -> None:
    """Keep what the library predicts for each zip, or why it does not."""
    arrays: dict[str, Any] = {}
    for path in list_zips(folder):
        name = str(path.relative_to(folder))
        try:
            arrays |= {f"{name}:{key}": value for key, value in _ask(path).items()}
        except Exception as error:
            arrays[f"{name}:error"] = np.array(f"{type(error).__name__}: {error}"[:200])
        print(name, "error" if f"{name}:error" in arrays else "asked", flush=True)
    np.savez_compressed(out, **arrays)


def _ask(path: Path) -> dict[str, Any]:
    import importlib

    from stable_baselines3.common.save_util import load_from_zip_file

    family = path.parts[-3] if path.parts[-3] in ALGORITHMS else path.parts[-2]
    module, name = ALGORITHMS[family]
    kept: dict[str, Any] = {"lr_schedule": lambda _: 0.0, "clip_range": lambda _: 0.2}
    kept["buffer_size"] = 1
    data, _, _ = load_from_zip_file(path, device="cpu", custom_objects=kept)
    kept |= {name: _as_gymnasium(data[name]) for name in ("observation_space", "action_space")}
    model = getattr(importlib.import_module(module), name).load(
        path, device="cpu", custom_objects=kept
    )
    space = model.observation_space
    rng = np.random.default_rng(0)
    low, high = np.maximum(space.low, -3.0), np.minimum(space.high, 3.0)
    rows = rng.uniform(low, high, (ROWS, *space.shape)).astype(np.float32)
    actions, _ = model.predict(rows, deterministic=True)
    bounds = getattr(model.action_space, "low", None), getattr(model.action_space, "high", None)
    said: dict[str, Any] = {"rows": rows, "actions": np.asarray(actions)}
    if bounds[0] is not None:
        said |= {"low": bounds[0], "high": bounds[1]}
    else:
        said["n"] = np.asarray(model.action_space.n)
    return said


def _as_gymnasium(space: Any) -> Any:
    """Spaces of zips from before 2022 are of gym, which the library no longer knows."""
    import gymnasium

    if type(space).__name__ == "Discrete":
        return gymnasium.spaces.Discrete(int(space.n))
    if type(space).__name__ != "Box":
        raise TypeError(f"a {type(space).__name__} observation")
    return gymnasium.spaces.Box(space.low, space.high, dtype=np.float32)


def check(folder: Path, expected: Path) -> None:
    """Print the table, and how many are read with the right actions."""
    import gymnasium

    from nacre.errors import InputError
    from nacre.policies import Signature, read_policy
    from nacre.policies.policy import ask

    known = np.load(expected)
    right, lines = 0, ["| zip | read | largest difference of an action |", "| --- | --- | --- |"]
    for path in list_zips(folder):
        name = str(path.relative_to(folder))
        if f"{name}:rows" not in known.files:
            why = known[f"{name}:error"] if f"{name}:error" in known.files else "not asked"
            lines.append(f"| {name} | the library: {str(why)[:80]} | |")
            continue
        rows, actions = known[f"{name}:rows"], known[f"{name}:actions"]
        observations = gymnasium.spaces.Box(-np.inf, np.inf, rows.shape[1:], np.float32)
        spaces: Any = (
            gymnasium.spaces.Discrete(int(known[f"{name}:n"]))
            if f"{name}:n" in known.files
            else gymnasium.spaces.Box(known[f"{name}:low"], known[f"{name}:high"])
        )
        try:
            policy = read_policy(path)
        except InputError as error:
            try:
                # What a user does who follows the line: the log gives the spaces.
                policy = read_policy(path, signature=Signature(observations, spaces))
            except InputError:
                lines.append(f"| {name} | refused: {error.problems[0].partition(': ')[2]} | |")
                continue
        said = np.asarray(ask(policy, rows).mode())
        off = float(np.max(np.abs(said.reshape(actions.shape) - actions)))
        right += off <= TOLERANCE
        lines.append(f"| {name} | yes | {off:.1e} |")
    print("\n".join(lines))
    print(f"\n{right} of {len(list_zips(folder))} zips are read with the right actions.")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    verb, place, file = sys.argv[1:]
    {"expect": expect, "check": check}[verb](Path(place), Path(file))
