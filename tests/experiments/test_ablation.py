"""The paper's ablation: pairs by seed, and a paired test that SciPy agrees with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from nacre.experiments.ablation import (
    HEADER,
    Paired,
    compare_costs,
    conclude,
    find_baseline,
    tabulate_comparisons,
)
from nacre.experiments.records import Place, add_record
from nacre.experiments.tables import TABLES, find_row
from tests.support.experiments import make_record

HOPPER, COSTLY = find_row("hopper-suboptimal"), find_row("hopper-suboptimal-ct0.1")


def add(out: Path, row: Any, seed: int, gain: float, policy: str = "a", **changed: Any) -> None:
    record = make_record(seed, gain, **changed) | {"old_policy": {"sha256": policy}}
    add_record(Place.of(out, row, "paper", seed), record)


def test_baselines_differ_in_the_cost_alone() -> None:
    for row in TABLES["gymnasium"]:
        assert find_baseline(row) is None
    for row in TABLES["gymnasium-ct"]:
        baseline = find_baseline(row)
        assert baseline is not None
        assert baseline.name == row.name.rpartition("-ct")[0]
        assert baseline.transaction_weight == 0
        assert baseline.learning_weight == row.learning_weight
    named = {row.name: find_baseline(row) for row in TABLES["sumo"]}
    cheapest = TABLES["sumo"][0]
    assert named["sumo-cl10-ct1-suboptimal"] == named["sumo-cl5-ct0.1-suboptimal"] == cheapest
    assert named[cheapest.name] is None


def test_the_paired_test_is_scipys() -> None:
    lower, higher = [1.0, 4.0, 2.5, 7.0], [1.5, 3.0, 2.0, 5.0]
    paired = Paired(tuple(h - low for low, h in zip(lower, higher, strict=True)))
    reference = stats.ttest_rel(higher, lower)
    assert paired.p_value == pytest.approx(reference.pvalue, rel=1e-12)
    interval = reference.confidence_interval(0.95)
    assert paired.interval == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert paired.mean == -0.75


def test_too_few_pairs_or_equal_ones_have_no_test() -> None:
    for differences in ((), (1.0,), (2.0, 2.0)):
        paired = Paired(differences)
        assert paired.interval is None
        assert paired.p_value is None
    assert Paired(()).mean is None
    assert Paired((2.0, 2.0)).mean == 2.0


def test_pairs_share_seed_and_old_policy(tmp_path: Path) -> None:
    """Seeds 4 and 5 are pairs; 6 has one record only, 7 another old policy."""
    for seed, lower, higher in ((4, 60.0, 58.0), (5, 80.0, 79.0), (7, 10.0, 90.0)):
        add(tmp_path, HOPPER, seed, lower)
        add(tmp_path, COSTLY, seed, higher, "b" if seed == 7 else "a", decision="keep")
    add(tmp_path, COSTLY, 6, 1.0)
    (found,) = compare_costs("gymnasium-ct", tmp_path)
    assert (found.row, found.baseline, found.config) == (COSTLY, HOPPER, "paper")
    assert found.seeds == (4, 5)
    assert found.improvement.differences == (-2.0, -1.0)
    assert found.value.differences == (-2.0, -1.0)
    assert found.published_style.differences == (-2.0, -1.0)
    assert found.same_decisions == 0
    (line,) = tabulate_comparisons([found])
    assert len(line) == len(HEADER)
    assert line[:4] == [COSTLY.name, "paper", HOPPER.name, "2"]
    assert line[4] == "-1.5 [-7.9, +4.9], p = 0.205"
    assert line[7] == "0 of 2"
    plain = found.as_json()
    assert (plain["against"], plain["seeds"]) == (HOPPER.name, [4, 5])
    assert plain["improvement"]["mean"] == -1.5


def test_without_pairs_there_is_nothing_to_compare(tmp_path: Path) -> None:
    add(tmp_path, HOPPER, 4, 60.0)
    assert compare_costs("gymnasium-ct", tmp_path) == []
    assert compare_costs("gymnasium", tmp_path) == []


@pytest.mark.parametrize(
    ("gain", "value", "words"),
    [
        (0.0, 0.0, "do not contradict the sentence."),
        (-1.0, 0.0, "what is lost is the higher cost itself."),
        (-1.0, -1.0, "They contradict the sentence."),
        (1.0, 1.0, "do not contradict the sentence."),
    ],
)
def test_the_conclusion_follows_from_the_tests(
    tmp_path: Path, gain: float, value: float, words: str
) -> None:
    noise = (0.01, -0.01, 0.02, -0.02)
    for seed, shift in enumerate(noise):
        add(tmp_path, HOPPER, seed, 5.0)
        new = {"true": {"mean": 28.0 + value - shift}}
        add(tmp_path, COSTLY, seed, 5.0 + gain + shift, new_value=new)
    text = conclude(compare_costs("gymnasium-ct", tmp_path))
    assert text.endswith(words)
    assert "1 rows have two shared seeds" in text


def test_one_shared_seed_supports_nothing(tmp_path: Path) -> None:
    for row in (HOPPER, COSTLY):
        add(tmp_path, row, 4, 60.0)
    found = compare_costs("gymnasium-ct", tmp_path)
    assert "neither support the sentence nor contradict it" in conclude(found)
    assert tabulate_comparisons(found)[0][4] == "+0.0"
