"""Break-even in words, and what the script is given."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nacre.advice.record import check_decision
from nacre.report.prices import build_prices
from nacre.report.sections.base import Context, build_context
from nacre.report.sections.prices import (
    REASONS,
    OtherPrices,
    agrees,
    describe_for_script,
    state_break_even,
)
from nacre.report.text import format_number
from tests.report.conftest import FIRST_DOCUMENT


def test_break_even_is_said_for_each_weight(context: Context) -> None:
    learning, transaction = state_break_even(context.prices)
    ends = context.prices.find_ends(0, 2.0)
    assert learning == (
        "Break-even of the learning weight, now 20, the other weight kept: switch up to "
        f"{format_number(ends.proven)}, undecided up to {format_number(ends.possible)}, keep "
        f"beyond that; the expected net gain is zero at {format_number(ends.expected)}."
    )
    assert transaction.startswith("Break-even of the transaction weight, now 2")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"forbidden": "because"}, "kept: undecided up to"),
        ({"forbidden": "because", "rule": "paper"}, "kept: undecided up to"),
        ({"rule": "paper"}, "kept: switch up to"),
    ],
)
def test_break_even_follows_the_rule(
    document: dict[str, Any], changed: dict[str, Any], words: str
) -> None:
    sentence = state_break_even(build_prices(check_decision(document | changed)))[0]
    assert words in sentence
    assert sentence.count("up to") == 1


def test_a_weight_that_moves_nothing_changes_nothing(document: dict[str, Any]) -> None:
    price = document["candidates"][2]["price"]
    price |= {"learning_mass": 0.0, "transaction_mass": 1.0}
    assert "switch at any weight" in state_break_even(build_prices(check_decision(document)))[0]
    for entry in document["candidates"]:
        entry["price"]["learning_mass"] = 0.0
    sentences = state_break_even(build_prices(check_decision(document)))
    assert [one.split(",")[0] for one in sentences] == ["Break-even of the transaction weight"]


def test_where_nothing_is_gained_it_is_keep_at_any_weight(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        for estimate in entry["estimates"]:
            estimate["gain"] = -50.0
    sentences = state_break_even(build_prices(check_decision(document)))
    assert all(one.endswith("kept: keep at any weight.") for one in sentences)


def test_where_no_estimator_counts_it_is_undecided_at_any_weight(
    document: dict[str, Any],
) -> None:
    for entry in document["candidates"]:
        entry["estimates"] = []
    sentences = state_break_even(build_prices(check_decision(document)))
    assert all(one.endswith("kept: undecided at any weight.") for one in sentences)


def test_the_script_gets_plain_numbers_and_words(document: dict[str, Any]) -> None:
    document["forbidden"] = "because"
    data = describe_for_script(build_prices(check_decision(document)))
    assert data["reasons"] == REASONS
    assert build_prices(check_decision(document)).decide_at(0.0, 0.0).why == "forbidden"
    assert set(data["lines"][0]) == {
        "name",
        "gain",
        "gain_low",
        "gain_high",
        "learning_mass",
        "transaction_mass",
        "fixed",
        "error_share",
        "error_fixed",
        "held",
        "broken",
    }
    json.dumps(data, allow_nan=False)


def test_a_cost_that_is_not_linear_has_no_sliders(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry["price"] |= {"learning_mass": 0.0, "transaction_mass": 0.0, "fixed": 3.0}
    context = build_context(check_decision(document))
    page = str(OtherPrices().render(context))
    assert "<input" not in page
    assert "cannot be tried on this page" in page
    assert "reach" not in describe_for_script(context.prices)


def test_a_cost_with_one_weight_has_one_slider(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry["price"]["transaction_mass"] = 0.0
    page = str(OtherPrices().render(build_context(check_decision(document))))
    assert page.count('type="range"') == 1


def test_records_of_another_rule_are_said_to_be(context: Context) -> None:
    assert agrees(context)
    assert "another version" not in str(OtherPrices().render(context))
    first = build_context(check_decision(FIRST_DOCUMENT))
    assert not agrees(first)
    assert "another version" in str(OtherPrices().render(first))
