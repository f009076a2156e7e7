"""Weights that are ranges or distributions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nacre import InputError
from nacre.costs import TransportCost, format_cost, groups, parse_cost
from nacre.costs.weights import Weight, read_weight


def test_a_range_has_the_moments_of_the_uniform_distribution() -> None:
    weight = read_weight("learning_weight", [3.0, 8.0])
    draws = np.random.default_rng(0).uniform(3.0, 8.0, 200_000)
    assert weight.mean == pytest.approx(draws.mean(), rel=0.01)
    assert weight.error == pytest.approx(draws.std(), rel=0.01)


def test_numbers_distributions_and_weights_are_read_as_they_are() -> None:
    assert read_weight("w", 5) == Weight(5.0)
    assert read_weight("w", {"mean": 5, "sd": 0.5}) == Weight(5.0, 0.5)
    assert read_weight("w", Weight(5.0, 0.5)) == Weight(5.0, 0.5)
    assert read_weight("w", [4.0, 4.0]) == Weight(4.0)


@pytest.mark.parametrize(
    "value", [[8, 3], [1, 2, 3], {"mean": 1}, {"mean": 1, "sd": -1}, "5", None, math.inf, -1]
)
def test_anything_else_is_refused_by_name(value: object) -> None:
    with pytest.raises(InputError, match="learning_weight"):
        read_weight("learning_weight", value)


def test_the_cost_has_the_mean_as_its_price_and_keeps_the_error() -> None:
    cost = TransportCost([3.0, 8.0], {"mean": 0.5, "sd": 0.1}, groups.sign(0))
    assert cost.prices == (5.5, 0.5)
    assert cost.weight_errors[0] == pytest.approx(5 / math.sqrt(12))
    assert cost.weight_errors[1] == 0.1


def test_both_weights_may_be_the_same_but_not_the_wrong_way_round() -> None:
    assert TransportCost(1.0, 1.0, groups.sign(0)).prices == (1.0, 1.0)
    with pytest.raises(InputError, match="is below transaction_weight = 1"):
        TransportCost(0.999, 1.0, groups.sign(0))


def test_problems_of_both_weights_are_named_together() -> None:
    with pytest.raises(InputError) as caught:
        TransportCost([8.0, 3.0], -1.0, groups.sign(0))
    assert [problem.split()[0] for problem in caught.value.problems] == [
        "learning_weight",
        "transaction_weight",
    ]


@pytest.mark.parametrize(
    "weights",
    [
        "learning_weight = [3, 8]",
        "learning_weight = { mean = 5, sd = 1 }\ntransaction_weight = [0, 1]",
        "learning_weight = 5\nweight_errors = [1.0, 0.0]",
    ],
)
def test_files_hold_them_and_give_them_back(weights: str) -> None:
    cost = parse_cost(f'kind = "transport"\n{weights}\n[groups]\nkind = "sign"')
    assert cost.weight_errors[0] > 0
    assert parse_cost(format_cost(cost)) == cost


def test_errors_that_are_no_errors_are_refused() -> None:
    with pytest.raises(InputError, match="weight_errors"):
        parse_cost(
            'kind = "transport"\nlearning_weight = 5\nweight_errors = [1.0]\n'
            '[groups]\nkind = "sign"'
        )
    with pytest.raises(InputError, match="weight_errors"):
        type(TransportCost(1.0, 0.0, groups.sign(0)))(
            TransportCost(1.0, 0.0, groups.sign(0)).statewise, 1.0, weight_errors=(-1.0, 0.0)
        )
