"""Make the bundled traffic log: `python scripts/make_traffic_example.py [DIRECTORY]`.

A policy of middling quality runs the lights of one intersection for 200 episodes of 100 decisions.
It needs the extra `sumo`. The same log comes out whenever it is run with the same versions.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from nacre import examples
from nacre.logs import Log, write_log
from nacre.policies import read_policy
from nacre.simulators.collection import collect_log
from nacre.simulators.registry import find_world

POLICY = Path("results/policies/traffic_middling.safetensors")
N_TRANSITIONS = 20_000
SEED = 0
LANES = ("north_1", "north_2", "west_1", "west_2")
NAMES: dict[str, Any] = {
    "columns": {
        "observation": ["green_north_south", "green_west_east", "may_change"]
        + [f"{what}_{lane}" for what in ("density", "queue") for lane in LANES],
        "action": "green",
    },
    "labels": {"action": ["north-south", "west-east"]},
}
"""What the world's numbers mean, for the page."""


def add_names(log: Log) -> Log:
    """The same log with what its columns and actions are called."""
    return dataclasses.replace(log, provenance={**log.provenance, **NAMES})


def main(directory: Path) -> None:
    shutil.copy(POLICY, directory / "old.safetensors")
    with tempfile.TemporaryDirectory() as parts:
        log = collect_log(
            find_world("traffic"),
            read_policy(POLICY),
            N_TRANSITIONS,
            seed=SEED,
            parts_folder=Path(parts) / "parts",
            uniform_steps=0,
        )
    write_log(add_names(log), directory / "log.parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else examples.find_directory("traffic"))
