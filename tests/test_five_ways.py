"""The same log and policy, given in five ways, lead to the same advice.

With a few updates only; `scripts/check_five_ways.py` does the same with the demonstration's
configuration, and `results/five_ways.json` holds its figures.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre import examples
from nacre.advice.pipeline import advise
from nacre.policies import CloneConfig
from tests.support.advice import suggest_quick

ROOT = Path(__file__).parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "check_five_ways.py"))
QUICK = CloneConfig(hidden=(16, 16), n_steps=600)


@functools.cache
def learn_and_judge(way: str, folder: Path) -> dict[str, Any]:
    example = examples.load_traffic()
    short = example.log.select(np.arange(40))
    log, old = SCRIPT["give"](way, short, example.old_policy, folder, clone=QUICK, seed=0)
    plain = suggest_quick(log)
    config = dataclasses.replace(plain, kl_weights=(0.1,), calm_factors=())
    return advise(log, old, example.cost, config=config, seed=0).as_json()


@pytest.mark.slow
@pytest.mark.parametrize("way", ["columns", "clone"])
def test_ways_agree(way: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    first, found = learn_and_judge("safetensors", folder), learn_and_judge(way, folder)
    assert found["verdict"] == first["verdict"]
    low, high = first["net_gain"]["low"], first["net_gain"]["high"]
    assert low <= found["net_gain"]["mean"] <= high
    if way == "columns":
        # A hundredth of the gain before the cost.
        gains = [one["net_gain"]["mean"] + one["cost"]["total"] for one in (first, found)]
        assert abs(gains[0] - gains[1]) < 0.01 * max(map(abs, gains)) + 1e-3


def test_the_record_of_the_whole_size() -> None:
    record = json.loads((ROOT / "results" / "five_ways.json").read_text())
    assert set(record["ways"]) == set(SCRIPT["WAYS"])
    assert record["agreement"] == SCRIPT["compare"](record["ways"])
    assert record["agreement"]["same_verdict"]
    assert record["agreement"]["first_four_within_tolerance"]
    assert record["agreement"]["clone_within_intervals"]
    page = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    assert SCRIPT["write_table"](record) in page
