"""Statistics of VecNormalize, from pickles that stand-ins of its classes wrote."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.policies.formats.normalization import read_normalization
from nacre.policies.formats.vecnormalize import read_vecnormalize

NORMALIZE = "stable_baselines3.common.vec_env.vec_normalize"
STATISTICS = "stable_baselines3.common.running_mean_std"


class Canary:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("canary-was-here"),)


@pytest.fixture
def classes(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Classes of the names that the library has, for as long as a pickle is written."""
    made: dict[str, Any] = {}
    parts = NORMALIZE.split(".")
    for depth in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:depth]), ModuleType("stand_in"))
    for module_name, name in ((NORMALIZE, "VecNormalize"), (STATISTICS, "RunningMeanStd")):
        module = ModuleType(module_name)
        made[name] = type(name, (), {"__module__": module_name})
        setattr(module, name, made[name])
        monkeypatch.setitem(sys.modules, module_name, module)
    return made


def write(path: Path, classes: dict[str, Any], protocol: int = 4, **changes: Any) -> Path:
    statistics = classes["RunningMeanStd"]()
    vars(statistics).update(mean=np.array([1.0, 2.0]), var=np.array([4.0, 9.0]), count=3.0)
    normalize = classes["VecNormalize"]()
    state = {"obs_rms": statistics, "clip_obs": 5.0, "epsilon": np.float64(0.5), "norm_obs": True}
    vars(normalize).update(state | changes)
    path.write_bytes(pickle.dumps(normalize, protocol))
    return path


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_mean_variance_limit_and_epsilon(
    tmp_path: Path, classes: dict[str, Any], protocol: int
) -> None:
    path = write(tmp_path / "vecnormalize.pkl", classes, protocol)
    if protocol == 2:
        # Bytes are written as a call then, which is none of those that are known.
        with pytest.raises(InputError, match="it was not run"):
            read_vecnormalize(path)
        return
    scaling = read_normalization(path)
    np.testing.assert_allclose(scaling.shift, [1.0, 2.0])
    np.testing.assert_allclose(scaling.scale, np.sqrt([4.5, 9.5]), rtol=1e-6)
    assert scaling.limit == 5.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"norm_obs": False}, "normalises no observations"),
        ({"obs_rms": {"a": 1}}, "statistics of a Dict of observations; flatten it"),
        ({"clip_obs": "much"}, "has a limit that is no number"),
        ({"spare": Canary()}, "it was not run"),
    ],
)
def test_others_are_refused_and_nothing_is_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    classes: dict[str, Any],
    changes: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "vecnormalize.pkl", classes, **changes)
    with pytest.raises(InputError, match=message):
        read_vecnormalize(path)
    assert not Path("canary-was-here").exists()


def test_other_pickles_are_no_statistics(tmp_path: Path) -> None:
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(InputError, match="is no VecNormalize of Stable-Baselines3"):
        read_vecnormalize(path)
