"""What VecNormalize of Stable-Baselines3 saved, read without running the pickle.

The pickle is followed by `nacre.policies.formats.pickles`: every object that it wants to build is
kept as a name with what it was given. Of these, the mean and the variance are taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nacre.errors import InputError
from nacre.policies.formats.pickles import Inert, read_plain

_STATISTICS = "stable_baselines3.common.running_mean_std.RunningMeanStd"
_NAMES = (
    "stable_baselines3.common.vec_env.vec_normalize.VecNormalize",
    _STATISTICS,
    *(
        f"{gym}.spaces.{kind}"
        for gym in ("gym", "gymnasium")
        for kind in (
            "box.Box",
            "discrete.Discrete",
            "dict.Dict",
            "multi_discrete.MultiDiscrete",
            "multi_binary.MultiBinary",
        )
    ),
    "collections.OrderedDict",
    "builtins.set",
    "numpy.dtype",
    *(
        f"numpy.{core}.multiarray.{name}"
        for core in ("core", "_core")
        for name in ("_reconstruct", "scalar")
    ),
    *(
        f"numpy.random._pickle.{name}"
        for name in ("__randomstate_ctor", "__generator_ctor", "__bit_generator_ctor")
    ),
)
_INERT = frozenset({"numpy.ndarray", "numpy.random._pcg64.PCG64", "numpy.random._mt19937.MT19937"})
LARGEST = 2**24


@dataclass
class _Object(Inert):
    """An object that was never built: its name, its arguments and its state."""

    name: str
    arguments: tuple[Any, ...] = ()
    state: Any = field(default=None)

    def set_state(self, state: Any) -> None:
        self.state = state


def read_vecnormalize(path: Path) -> dict[str, np.ndarray]:
    """The arrays `mean`, `var`, `clip` and `epsilon` of a VecNormalize pickle.

    Raises:
        InputError: If it holds anything else, or normalises no observations.
    """
    content = path.read_bytes() if path.stat().st_size <= LARGEST else b""
    constructors = {name: partial(_build, name) for name in _NAMES}
    try:
        found = read_plain(content, constructors, _INERT, _refuse_identifier)
        state = _get_state(found)
        moments = _get_moments(state)
        arrays = {name: _read_array(moments.get(name)) for name in ("mean", "var")}
        arrays["clip"] = _read_number(state.get("clip_obs", 10.0))
        arrays["epsilon"] = _read_number(state.get("epsilon", 1e-8))
    except InputError as error:
        raise InputError([f"{path}: {problem}" for problem in error.problems]) from None
    return arrays


def _get_moments(state: dict[str, Any]) -> dict[str, Any]:
    if state.get("norm_obs") is False:
        raise InputError("normalises no observations (norm_obs=False); leave it out")
    statistics = state.get("obs_rms")
    if not isinstance(statistics, _Object) or statistics.name != _STATISTICS:
        raise InputError("has statistics of a Dict of observations; flatten it")
    return _get_state(statistics)


def _build(name: str, *arguments: Any) -> Any:
    return {} if name == "collections.OrderedDict" else _Object(name, arguments)


def _refuse_identifier(identifier: Any) -> Any:
    raise InputError("refers to other files, which no statistics need; save them again")


def _get_state(value: Any) -> dict[str, Any]:
    if isinstance(value, _Object) and isinstance(value.state, dict):
        return value.state
    raise InputError("is no VecNormalize of Stable-Baselines3; save it with venv.save(path)")


def _find_dtype(value: Any) -> np.dtype[Any]:
    text = value.arguments[0] if isinstance(value, _Object) and value.arguments else None
    if text not in ("f4", "f8"):
        raise InputError(f"has numbers of the type {text!r:.20}; save it again with float64")
    state = value.state if isinstance(value.state, tuple) and len(value.state) > 1 else (3, "<")
    return np.dtype(f"{'>' if state[1] == '>' else '<'}{text}")


def _read_array(value: Any) -> np.ndarray:
    state = value.state if isinstance(value, _Object) else None
    if not isinstance(state, tuple) or len(state) != 5 or not isinstance(state[4], bytes):
        raise InputError("has statistics that are no arrays; save it again with venv.save(path)")
    shape, dtype, content = state[1], _find_dtype(state[2]), state[4]
    if not isinstance(shape, tuple) or len(shape) != 1 or len(content) != shape[0] * dtype.itemsize:
        raise InputError(f"has statistics of shape {shape!r:.40}; flatten the observations")
    return np.frombuffer(content, dtype).astype(np.float64)


def _read_number(value: Any) -> np.ndarray:
    if isinstance(value, int | float):
        return np.array(float(value))
    if isinstance(value, _Object) and len(value.arguments) == 2:
        content = value.arguments[1]
        dtype = _find_dtype(value.arguments[0])
        if isinstance(content, bytes) and len(content) == dtype.itemsize:
            return np.array(float(np.frombuffer(content, dtype)[0]))
    raise InputError("has a limit that is no number; save it again with venv.save(path)")
