"""The table [value]: what it may say, and what a cost is for one of many episodes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nacre.costs import GlobalCost, TransportCost, ValueTerms, describe_cost, groups, parse_cost
from nacre.errors import InputError
from nacre.policies import TabularPolicy

COST = """
kind = "transport"
learning_weight = 500.0
transaction_weight = 20.0
[groups]
kind = "halves"
names = ["call back", "answer at once"]
[states]
measure = "finite"
[value]
unit = "€"
episodes_per_day = 40
horizon_days = 365
"""
OLD = TabularPolicy.from_probabilities(np.array([[0.5, 0.5], [0.2, 0.8]]))
NEW = TabularPolicy.from_probabilities(np.array([[0.1, 0.9], [0.2, 0.8]]))


def test_the_table_is_read_and_written_again() -> None:
    cost = parse_cost(COST)
    assert cost.terms == ValueTerms("€", 40, 365)
    assert cost.terms.episodes == 14_600
    described = describe_cost(cost)
    assert described["value"] == {"unit": "€", "episodes_per_day": 40, "horizon_days": 365}
    assert described["groups"]["names"] == ["call back", "answer at once"]
    assert "value" not in describe_cost(TransportCost(1.0, 0.0, groups.halves()))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (("horizon_days = 365", ""), "value: horizon_days is missing: episodes a day and horizon"),
        (("= 365", "= -1"), "value: horizon_days = -1"),
        (("= 365", "= 0.001"), "value: episodes_per_day · horizon_days = 0.04: must be one"),
        (('unit = "€"', f'unit = "{"x" * 30}"'), "at most 24 printable letters"),
        (("horizon_days", "horizon"), "value.horizon is unknown (did you mean horizon_days?)"),
        (("= 40", '= "many"'), "value.episodes_per_day = 'many': expected a number"),
    ],
)
def test_wrong_terms_are_told(changed: tuple[str, str], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_cost(COST.replace(*changed), "cost.toml")
    assert any(problem in one for one in caught.value.problems), caught.value.problems


def test_names_have_to_fit_the_groups() -> None:
    cost = parse_cost(COST.replace('"answer at once"', '"answer at once", "third"'))
    with pytest.raises(InputError, match=r"groups\.names has 3 names for 2 groups"):
        cost.evaluate(OLD, NEW)


def test_groups_are_called_by_their_names() -> None:
    breakdown = parse_cost(COST).evaluate(OLD, NEW)
    assert breakdown.group_names == ("call back", "answer at once")
    shown = breakdown._repr_html_()
    assert "<th>call back</th>" in shown
    assert "Switching cost" in shown


@pytest.mark.parametrize("kind", ["transport", "global", "scaled"])
def test_one_episode_bears_its_share(kind: str) -> None:
    terms = ValueTerms("€", 10, 2)
    if kind == "transport":
        cost = parse_cost(COST.replace("= 40", "= 10").replace("365", "2"))
    else:
        cost = dataclasses.replace(GlobalCost(1.0 if kind == "global" else 3.0), terms=terms)
    whole, shared = cost.evaluate(OLD, NEW), cost.per_episode().evaluate(OLD, NEW)
    assert shared.total == pytest.approx(whole.total / 20)
    assert cost.per_episode().terms.episodes == 1
    plain = TransportCost(1.0, 0.0, groups.halves())
    assert plain.per_episode() is plain
