"""What benchmarks share: a made-up log of Ant's shape, and where figures go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from nacre.logs import Log


def make_log(rows: int, seed: int) -> Log:
    """Rows in episodes of 1000: 27 observations, 8 actions; their content does not matter."""
    rng = np.random.default_rng(seed)
    truncated = np.zeros(rows, bool)
    truncated[999::1000] = True
    truncated[-1] = True
    observations = rng.standard_normal((rows, 27), dtype=np.float32)
    return Log.from_arrays(
        observations,
        np.tanh(rng.standard_normal((rows, 8), dtype=np.float32)),
        rng.standard_normal(rows, dtype=np.float32),
        np.zeros(rows, bool),
        truncated,
        np.concatenate([observations[1:], observations[:1]]),
        observation_space=gymnasium.spaces.Box(-np.inf, np.inf, (27,), np.float32),
        action_space=gymnasium.spaces.Box(-1.0, 1.0, (8,), np.float32),
    )


def write_figures(figures: Mapping[str, Any], out: Path | None = None) -> None:
    """Print figures as JSON, and write them to a file if one is given."""
    text = json.dumps(figures, indent=2)
    print(text)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(f"{text}\n", encoding="utf-8")
