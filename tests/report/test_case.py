"""The recorded evidence gives the recorded verdict, and other ones at other prices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.report.case import build_case
from nacre.report.document import check_decision
from nacre.report.sentences import state_turns


def _case(document: dict[str, Any]) -> Any:
    return build_case(check_decision(document))


def test_at_the_recorded_prices_it_is_the_recorded_decision(document: dict[str, Any]) -> None:
    case = _case(document)
    found = case.judge_at(*case.weights)
    assert found.verdict == document["verdict"]
    assert found.reason == document["reason"]
    assert document["candidates"][found.chosen]["name"] == document["chosen"]
    assert found.confidence == pytest.approx(document["confidence"], abs=1e-12)
    low, high = case.reprice(found.chosen, *case.weights).interval(case.confidence_level)
    assert (low, high) == pytest.approx(
        (document["net_gain"]["low"], document["net_gain"]["high"]), abs=1e-9
    )


def test_a_free_switch_costs_what_the_linear_part_leaves(document: dict[str, Any]) -> None:
    case = _case(document)
    for index in range(len(case.gains)):
        # The recorded total and the masses agree to single precision.
        assert case.reprice(index, 0.0, 0.0).cost == pytest.approx(0.0, abs=1e-5)


def test_prices_lead_from_switch_over_undecided_to_keep(document: dict[str, Any]) -> None:
    case = _case(document)
    order = ["switch", "undecided", "keep"]
    places = [
        order.index(case.judge_at(weight, 2.0).verdict) for weight in np.linspace(2.0, 200.0, 400)
    ]
    assert places == sorted(places)
    assert set(places) == {0, 1, 2}


def test_limits_are_where_the_verdict_turns(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry["cost"]["standard_error"] = 0.3
    case = _case(document)
    limits = case.find_limits()
    for name, before, after in (
        ("proven", {"switch"}, {"undecided", "keep"}),
        ("expected", {"switch", "undecided"}, {"keep"}),
    ):
        turns = [
            getattr(limit, name) / price.learning_mass
            for limit, price in zip(limits, case.prices, strict=True)
        ]
        turn = max(turns)
        assert case.judge_at(turn * (1 - 1e-6), 0.0).verdict in before
        assert case.judge_at(turn * (1 + 1e-6), 0.0).verdict in after


def test_turns_are_told_for_each_price_alone(document: dict[str, Any]) -> None:
    case = _case(document)
    learning, transaction = case.weights
    turns = case.find_turns()
    for share, expected in ((1 - 1e-6, "switch"), (1 + 1e-6, "undecided")):
        assert case.judge_at(turns["learning"].proven * share, transaction).verdict == expected
        assert case.judge_at(learning, turns["transaction"].proven * share).verdict == expected
    for share, expected in ((1 - 1e-6, "undecided"), (1 + 1e-6, "keep")):
        assert case.judge_at(turns["learning"].expected * share, transaction).verdict == expected
        assert case.judge_at(learning, turns["transaction"].expected * share).verdict == expected


def test_turns_in_words(document: dict[str, Any]) -> None:
    sentences = state_turns(_case(document))
    assert sentences[0].startswith("Price of learning, now 20, the other price kept: switch up to ")
    assert sentences[0].endswith(", keep beyond that.")
    document["behaviour"]["on_policy"] = False
    assert ": undecided up to " in state_turns(_case(document))[0]
    for entry in document["candidates"]:
        entry["trusted"] = False
    assert state_turns(_case(document))[1].endswith("kept: keep at any price.")


def test_a_price_that_moves_nothing_turns_nothing(document: dict[str, Any]) -> None:
    document["candidates"][1]["cost"] |= {"learning_mass": 0.0, "transaction_mass": 1.0}
    assert "switch at any price" in state_turns(_case(document))[0]
    for entry in document["candidates"]:
        entry["cost"]["learning_mass"] = 0.0
    assert [text.split(",")[0] for text in state_turns(_case(document))] == ["Price of transaction"]


def test_a_log_of_something_else_never_leads_to_a_switch(document: dict[str, Any]) -> None:
    document["behaviour"] |= {"on_policy": False, "text": "the log is not its own"}
    case = _case(document)
    found = case.judge_at(0.0, 0.0)
    assert found.verdict == "undecided"
    assert found.reason == "a gain is expected, but the log is not its own"
    assert all(limit.proven == -math.inf for limit in case.find_limits())


def test_the_rule_of_the_paper_compares_points(document: dict[str, Any]) -> None:
    document["config"]["rule"] = "paper"
    case = _case(document)
    edge = max(
        limit.expected / price.learning_mass
        for limit, price in zip(case.find_limits(), case.prices, strict=True)
    )
    assert case.judge_at(edge * 0.999, 0.0).verdict == "switch"
    assert case.judge_at(edge * 1.001, 0.0).verdict == "keep"
    assert case.judge_at(0.0, 0.0).reason.startswith("point estimates")


@pytest.mark.parametrize(
    "spoil",
    [
        {"trusted": False},
        {"differences": [1.0, None, 2.0]},
        {"differences": [30.0]},
        {"doubt": None},
        {"support": {"excess": 1.0, "limit": 0.02, "supported": False}, "pessimistic": None},
    ],
)
def test_what_is_not_known_proves_nothing(document: dict[str, Any], spoil: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry |= spoil
    case = _case(document)
    found = case.judge_at(0.0, 0.0)
    assert (found.verdict, found.reason) == ("keep", "no candidate could be evaluated")
    assert all(limit.expected == -math.inf for limit in case.find_limits())


def test_an_unknown_error_of_the_cost_proves_nothing(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry["cost"]["standard_error"] = None
    assert _case(document).judge_at(1.0, 0.5).verdict == "keep"


def test_costs_of_distances_are_priced_by_their_parts(document: dict[str, Any]) -> None:
    document["cost_model"] |= {"kind": "general", "learning_weight": 4.0, "transaction_weight": 0.0}
    cost = document["candidates"][0]["cost"]
    cost |= {"learning": 6.0, "transaction": 0.0, "total": 6.0, "learning_mass": 0.2}
    price = _case(document).prices[0]
    assert (price.learning_mass, price.transaction_mass) == (1.5, 0.0)


def test_a_local_cost_counts_states(document: dict[str, Any]) -> None:
    document["cost_model"] = {"kind": "local", "weight": 2.0}
    document["candidates"][0]["cost"] |= {"learning": 0.5, "transaction": 0.0, "total": 6.0}
    case = _case(document)
    assert case.linear
    assert case.weights == (2.0, 0.0)
    assert case.prices[0].learning_mass == pytest.approx(3.0)


@pytest.mark.parametrize("model", [{"kind": "global", "weight": 1.0}, {"link": "positive"}])
def test_other_links_cannot_be_repriced(document: dict[str, Any], model: dict[str, Any]) -> None:
    document["cost_model"] |= model
    assert not _case(document).linear


def test_further_episodes_are_counted_from_the_whole_log(document: dict[str, Any]) -> None:
    """As advice does: of what is collected, a part will again be learned from."""
    document["log"]["episodes"] = 25
    assert _case(document).n_episodes == 25


@pytest.mark.parametrize(
    ("part", "key"), [("config", "spread_scale"), ("cost_model", "learning_weight")]
)
def test_words_where_numbers_belong_are_refused(
    document: dict[str, Any], part: str, key: str
) -> None:
    document[part][key] = "much"
    with pytest.raises(InputError, match=f"{key} = 'much'"):
        _case(document)
