"""The study of net curves against simulation: its table adds up, its policies are as it says."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np

from nacre.experiments import simulated_study
from nacre.experiments.records import read_lines, write_record
from nacre.policies.network_policy import MLPPolicy
from nacre.simulators.registry import find_world

ROOT = Path(__file__).resolve().parents[2]
RECORDS = read_lines(ROOT / "results" / "studies" / "simulated.jsonl")


def test_no_part_is_wrongly_proven_and_truths_lie_within() -> None:
    points = [point for record in RECORDS for point in record["points"]]
    bounded = [one for one in points if one["low"] is not None and one["high"] is not None]
    covered = [one["low"] <= one["truth"] <= one["high"] for one in bounded]
    assert len(points) >= 18
    assert np.mean(covered) >= 0.85
    assert not [one for one in points if one["proven"] and one["truth"] <= 0]
    table = simulated_study.write_table(RECORDS).splitlines()
    assert len(table) == 2 + 2 * len(simulated_study.SHARES)
    assert all(row.endswith("| 0 |") for row in table[2:])
    assert len(simulated_study.list_runs([1, 2])) == 4


def test_the_old_policy_has_more_noise() -> None:
    old, new = simulated_study.make_policies(simulated_study.CASES["hopper"])
    assert isinstance(old, MLPPolicy)
    assert isinstance(new, MLPPolicy)
    states = jnp.zeros((3, old.signature.observation_size))
    said = old(states), new(states)
    np.testing.assert_allclose(said[0].mode(), said[1].mode(), atol=1e-6)


def test_kept_truths_are_read_again(tmp_path: Path) -> None:
    kept = tmp_path / "hopper.json"
    write_record(kept, {"gains": [[1.0, 0.5]]})
    case = simulated_study.CASES["hopper"]
    world = find_world(case.name)
    assert simulated_study.find_truths(case, world, [], kept) == [(1.0, 0.5)]
    assert simulated_study.make_cost(case, world).prices[0] == case.weight
