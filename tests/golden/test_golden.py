"""The same advice but for rounding: a change that is not meant to change numbers changes none.

`NACRE_GOLDEN=write pytest tests/golden` writes the files again, after a change that is meant to
change numbers. Compiled arithmetic differs between kinds of processor; on another kind than the one
that wrote the files, only what is not a fitted number is compared.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from nacre import examples
from nacre.advice.config import suggest_config
from nacre.advice.pipeline import advise
from nacre.costs import SwitchingCost, TransportCost, groups
from nacre.learners.scale_noise import ScaleNoise
from nacre.logs import Log
from nacre.policies import Policy, TabularPolicy
from nacre.policies.network_policy import MLPPolicy
from nacre.simulators import FiniteWorld, random_policy, random_world
from nacre.simulators.collection import collect_log
from nacre.simulators.registry import find_world
from tests.support.advice import advise_quickly, make_quick_learner, suggest_quick

FOLDER = Path(__file__).parent
LONG = ("calls", "offers", "treatment", "trolley")
"""Policies that are cloned or asked: more of the same way, and slower."""
VOLATILE = ("config", "new_policy", "versions", "wall_seconds", "execution")
FLAGS = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_tile")
ROUNDING = 1e-2
"""Relative: processors of one kind round differently too, arrays at other addresses in one process
as well, and equations and networks that are fitted carry it on."""
TIES = 0.02
"""Of p-values: permutations that tie are counted as rounding has it."""
TWO_ROOMS = FiniteWorld(
    transition=np.stack([np.eye(2), np.eye(2)[::-1]], axis=1),
    reward=np.array([[0.0, 0.0], [1.0, 0.0]]),
    discount=0.8,
    start=np.array([1.0, 0.0]),
)


def describe_processor() -> str:
    """What compiled arithmetic depends on."""
    info = Path("/proc/cpuinfo")
    words = set(info.read_text().split()) if info.exists() else set()
    return " ".join(flag for flag in FLAGS if flag in words) or "unknown"


def outline(document: Any) -> Any:
    """The same without fitted numbers: names, sentences' places and what is exact."""
    if isinstance(document, dict):
        return {name: outline(value) for name, value in document.items()}
    return type(document).__name__ if isinstance(document, int | float | str) else None


def list_differences(found: Any, golden: Any, place: str = "") -> list[str]:
    """Places that differ by more than rounding; figures within sentences are left out."""
    if isinstance(found, dict) and isinstance(golden, dict) and found.keys() == golden.keys():
        pairs = [(f"{place}.{name}", found[name], golden[name]) for name in found]
    elif isinstance(found, list) and isinstance(golden, list) and len(found) == len(golden):
        pairs = [(f"{place}[{i}]", *both) for i, both in enumerate(zip(found, golden, strict=True))]
    elif isinstance(found, float) and isinstance(golden, float):
        slack = TIES if place.endswith("p_value") else 1e-3
        close = math.isclose(found, golden, rel_tol=ROUNDING, abs_tol=slack)
        return [] if close else [f"{place}: {found} instead of {golden}"]
    elif isinstance(found, str) and isinstance(golden, str):
        same = re.sub(r"[\d.,-]+", "", found) == re.sub(r"[\d.,-]+", "", golden)
        return [] if same or place.endswith("sha256") else [f"{place}: {found!r}"]
    else:
        return [] if found == golden else [f"{place}: {found!r:.80} instead of {golden!r:.80}"]
    return [one for pair in pairs for one in list_differences(pair[1], pair[2], pair[0])]


def compare(name: str, document: dict[str, Any]) -> None:
    """Against the file of this name, or write it."""
    found = {key: value for key, value in document.items() if key not in VOLATILE}
    found = json.loads(json.dumps(found))
    path = FOLDER / f"{name}.json"
    if os.environ.get("NACRE_GOLDEN") == "write":
        golden = {"processor": describe_processor(), "document": found}
        path.write_text(json.dumps(golden, indent=1, sort_keys=True) + "\n")
    golden = json.loads(path.read_text())
    if golden["processor"] == describe_processor():
        assert list_differences(found, golden["document"]) == []
    else:
        assert sorted(found) == sorted(golden["document"])
        assert outline(found["log"]) == outline(golden["document"]["log"])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in examples.NAMES
    ],
)
def test_bundled_examples(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = examples.find_sources(name).arguments()
    learners = (make_quick_learner(0.03), ScaleNoise())
    compare(name, advise_quickly(monkeypatch, capsys, *arguments, learners=learners))


def advise_on_table(world: FiniteWorld, table: np.ndarray, start: Any = None) -> dict[str, Any]:
    log = world.sample_log(table, 1500, seed=100, horizon=30)
    old = TabularPolicy.from_probabilities(table)
    cost = TransportCost(0.3, 0.1, groups.indices([[0], list(range(1, world.n_actions))]))
    config = suggest_config(log, world.discount)
    return advise(log, old, cost, start, config=config, seed=1).as_json()


def test_two_rooms() -> None:
    compare("two_rooms", advise_on_table(TWO_ROOMS, np.full((2, 2), 0.5), np.array([0, 1])))


def test_a_random_world() -> None:
    world = random_world(100, n_states=6, n_actions=3)
    compare("random_world", advise_on_table(world, random_policy(101, world)))


def test_a_hopper(tmp_path: Path) -> None:
    world = find_world("Hopper-v4")
    old = MLPPolicy.init(jax.random.key(100), world.signature, hidden=(8,))
    log: Log = collect_log(world, old, 600, seed=100, parts_folder=tmp_path, uniform_steps=0)
    policy: Policy = old
    cost: SwitchingCost = TransportCost(0.5, 0.1, groups.sign(0))
    config = dataclasses.replace(suggest_quick(log), learners=(make_quick_learner(0.1),))
    compare("hopper", advise(log, policy, cost, config=config, seed=1).as_json())
