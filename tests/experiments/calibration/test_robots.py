"""The robots suite: its cases stand for rows of the paper's tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.costs import TransportCost, groups
from nacre.experiments.calibration import robots
from nacre.experiments.calibration.run import Plan


def test_every_case_has_a_row_of_its_kind(tmp_path: Path) -> None:
    cases = Plan("robots", (100, 101), tmp_path).list_cases()
    assert len(cases) == 2 * len(robots.WORLDS) * len(robots.KINDS)
    for case in cases:
        row = robots.find_case_row(case)
        assert row.name.endswith(robots.KINDS[case.kind])
        assert (row.world == "traffic") == (case.world == "traffic")


@pytest.mark.parametrize("factor", robots.PRICE_FACTORS)
def test_prices_are_scaled_together(factor: float) -> None:
    cost = robots.scale_cost(TransportCost(5.0, 0.1, groups.halves()), factor)
    assert cost.prices == pytest.approx((5.0 * factor, 0.1 * factor))
