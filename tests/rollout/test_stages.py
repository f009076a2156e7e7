"""The cost of a part of a switch: closed form, family of costs and optimal transport agree."""

from __future__ import annotations

import numpy as np
import ot
import pytest

from nacre.costs import TransportCost, groups
from nacre.costs.measures import FiniteStates
from nacre.policies.mixture import mix_policies
from nacre.policies.tabular import TabularPolicy
from nacre.rollout.stages import CostCurve

OLD = np.array([[0.6, 0.3, 0.1, 0.0], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]])
NEW = np.array([[0.1, 0.1, 0.1, 0.7], [0.1, 0.2, 0.3, 0.4], [0.9, 0.0, 0.0, 0.1]])
SETS = [[0, 1], [2], [3]]
LEARNING, TRANSACTION = 5.0, 2.0


def make_curve() -> CostCurve:
    cost = TransportCost(LEARNING, TRANSACTION, groups.indices(SETS), state_measure=FiniteStates())
    old, new = (TabularPolicy.from_probabilities(table) for table in (OLD, NEW))
    whole = cost.evaluate(old, new)
    return CostCurve(
        LEARNING, TRANSACTION, whole.learning_mass, whole.transaction_mass, whole.total, True
    )


def transport_plainly(share: float) -> float:
    """Mean over the states of the optimal transport cost, c_l between groups, c_t within."""
    group = np.repeat(np.arange(3), [2, 1, 1])
    ground = np.where(group[:, None] == group, TRANSACTION, LEARNING)
    mixture = (1 - share) * OLD + share * NEW
    return float(np.mean([ot.emd2(a, b, ground) for a, b in zip(OLD, mixture, strict=True)]))


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5, 0.9, 1.0])
def test_three_ways_to_the_cost_of_a_mixture_agree(share: float) -> None:
    cost = TransportCost(LEARNING, TRANSACTION, groups.indices(SETS), state_measure=FiniteStates())
    old, new = (TabularPolicy.from_probabilities(table) for table in (OLD, NEW))
    evaluated = cost.evaluate(old, mix_policies(old, new, share)).total
    curve = make_curve()
    assert curve.at(share) == pytest.approx(evaluated, abs=1e-5)
    assert curve.at(share) == pytest.approx(transport_plainly(share), abs=1e-5)


def test_what_is_paid_is_paid() -> None:
    curve = make_curve()
    assert curve.at(0.0) == 0.0
    steps = curve.between(0.0, 0.1) + curve.between(0.1, 0.5) + curve.between(0.5, 1.0)
    assert steps == pytest.approx(curve.whole)
    # Beyond the first step every part of the way costs the same.
    slope = (LEARNING - TRANSACTION) * curve.learning_mass
    assert curve.break_even(0.1) == pytest.approx(slope)
    assert curve.break_even(0.7) == pytest.approx(slope)
    assert curve.break_even(1.0) == 0.0


def test_a_cost_of_another_form_is_charged_at_once() -> None:
    curve = CostCurve(1.0, 0.0, 0.5, 0.5, 4.0, False)
    assert curve.at(0.01) == 4.0
    assert curve.between(0.01, 1.0) == 0.0
