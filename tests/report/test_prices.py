"""What the page computes at other weights is what the rule says."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nacre.advice.record import DecisionRecord, check_decision
from nacre.inference.break_even import draw_line, find_break_even
from nacre.inference.evidence import Circumstances, Evidence
from nacre.inference.paper_rule import PaperRule
from nacre.inference.price import LEAST_MASS, Price
from nacre.inference.rule import BoundsRule, Decision, Rule, apply_rule
from nacre.report.prices import Prices, Tried, build_prices, find_line
from nacre.report.templates import read_asset
from tests.report.conftest import DOCUMENT, FIRST_DOCUMENT
from tests.support.estimates import add_guardrails, make_estimate, make_guardrail

TOLERANCE = 1e-9
NODE = shutil.which("node")


def decide_by_rule(record: DecisionRecord, learning: float, transaction: float) -> Decision:
    """The rule itself, on evidence whose cost has other weights."""
    evidence = [_charge(one.as_evidence(), learning, transaction) for one in record.candidates]
    rule: Rule = PaperRule() if record.rule == "paper" else BoundsRule()
    circumstances = Circumstances(record.confidence_level, forbidden=record.forbidden)
    return apply_rule(rule, evidence, circumstances)


def _charge(evidence: Evidence, learning: float, transaction: float) -> Evidence:
    """As a cost whose error is the same share of it; of a cost of nothing it stays."""
    price = evidence.price
    share = price.at(learning, transaction) / price.total if price.total >= LEAST_MASS else 1.0
    moved = dataclasses.replace(
        price,
        learning_weight=learning,
        transaction_weight=transaction,
        error=price.error * share,
    )
    return dataclasses.replace(evidence, price=moved)


GUARDED = {
    "guardrail of the first not proven": (0.0, 9.0),
    "guardrail of the first broken": (-9.0, 9.0),
    "guardrails of all broken": (-9.0, -9.0),
    "guardrail of the second not proven, paper": (9.0, 0.0),
}
"""How much is left of what the outcome may lose, of the first finalist and of the others."""


def vary(change: str) -> dict[str, Any]:
    """The kept decision with something in it that leads the rule another way."""
    document = copy.deepcopy(FIRST_DOCUMENT if change == "first format" else DOCUMENT)
    if change == "paper":
        document["rule"] = "paper"
    elif change.startswith("forbidden"):
        document["forbidden"] = "most of the log was not made by the given old policy"
        document["rule"] = "paper" if change.endswith("paper") else "bounds"
    elif change == "uncertain":
        for entry in document["candidates"]:
            entry["price"]["error"] = 0.6
    elif change == "unknown":
        for estimate in document["candidates"][0]["estimates"]:
            estimate["informative"] = False
    elif change.startswith("guardrail"):
        document["rule"] = "paper" if change.endswith("paper") else "bounds"
        add_guardrails(document, *GUARDED[change])
    elif change == "fixed":
        for entry in document["candidates"]:
            entry["price"]["fixed"] = 1.25
    return document


CHANGES = [
    "none",
    "paper",
    "forbidden",
    "forbidden paper",
    "uncertain",
    "unknown",
    "fixed",
    "first format",
    *GUARDED,
]


def draw_weights(seed: int = 100) -> list[tuple[float, float]]:
    """100 random weights; from 0 to beyond where the answer changes."""
    pairs = np.random.default_rng(seed).uniform((0.0, 0.0), (200.0, 20.0), (100, 2))
    return [(float(learning), float(transaction)) for learning, transaction in pairs]


@pytest.mark.parametrize("change", CHANGES)
def test_the_page_decides_as_the_rule_does_at_100_random_prices(change: str) -> None:
    record = check_decision(vary(change))
    # The first format does not split its level over candidates.
    if change == "first format":
        level = Circumstances(record.confidence_level).find_level(len(record.candidates))
        record = record.model_copy(update={"interval_level": level})
    prices = build_prices(record)
    verdicts = set()
    for weights in draw_weights():
        tried, expected = prices.decide_at(*weights), decide_by_rule(record, *weights)
        assert (tried.verdict, tried.chosen) == (expected.verdict, expected.chosen)
        assert (tried.mean, tried.low, tried.high) == pytest.approx(
            (expected.net_gain, expected.low, expected.high), rel=TOLERANCE, abs=TOLERANCE
        )
        verdicts.add(tried.verdict)
    assert len(verdicts) >= 2 or change in ("unknown", "guardrails of all broken")


estimates = st.builds(
    make_estimate,
    st.floats(-10, 10),
    st.floats(0.01, 5),
    st.floats(0, 3),
    informative=st.booleans(),
    degrees=st.sampled_from([3.0, 9.0, math.inf]),
)
masses = st.floats(0, 1)
finalists = st.lists(
    st.builds(
        Evidence,
        st.lists(estimates, max_size=3).map(tuple),
        st.builds(Price, st.just(3.0), st.just(1.0), masses, masses, st.floats(0, 2), masses),
        st.lists(estimates.map(make_guardrail), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(finalists, st.floats(0, 10), st.floats(0, 10), st.booleans())
def test_any_evidence_leads_to_the_answer_of_the_rule(
    evidence: list[Evidence], learning: float, transaction: float, forbidden: bool
) -> None:
    circumstances = Circumstances(0.95, forbidden="because" if forbidden else "")
    level = circumstances.find_level(len(evidence))
    lines = tuple(find_line("one", one, level) for one in evidence)
    tried = Prices(lines, (3.0, 1.0), "bounds", forbidden).decide_at(learning, transaction)
    charged = [_charge(one, learning, transaction) for one in evidence]
    expected = apply_rule(BoundsRule(), charged, circumstances)
    # Where a bound is zero up to rounding, either answer is right.
    bounds = [bound for one in charged for bound in one.bounds(level)]
    bounds += [one.bounds(level)[0] for some in charged for one in some.guardrails]
    assume(all(abs(bound) > TOLERANCE for bound in bounds))
    assert tried.verdict == expected.verdict
    # Of equals, either may come first.
    assert tried.low == pytest.approx(expected.low, abs=1e-6) or tried.mean == pytest.approx(
        expected.net_gain, abs=1e-6
    )


def test_at_the_recorded_weights_it_is_the_recorded_decision(record: DecisionRecord) -> None:
    prices = build_prices(record)
    tried = prices.decide_at(*prices.weights)
    assert tried.verdict == record.verdict
    assert record.candidates[tried.chosen].name == record.chosen
    gain = record.net_gain
    assert (tried.mean, tried.low, tried.high) == pytest.approx(
        (gain.mean, gain.low, gain.high), abs=TOLERANCE
    )


@pytest.mark.skipif(NODE is None, reason="no node: the browser's test says the same")
@pytest.mark.parametrize("change", CHANGES)
def test_the_script_gives_the_same_numbers_to_the_last_digit(change: str) -> None:
    prices = build_prices(check_decision(vary(change)))
    weights = draw_weights()
    program = (
        f"{read_asset('prices.js')}\nconst record = {json.dumps(prices.as_json())};\n"
        f"const found = {json.dumps(weights)}.map(([a, b]) => decideAt(record, a, b));\n"
        "const plain = (_, v) => (Number.isFinite(v) || typeof v !== 'number' ? v : String(v));\n"
        "console.log(JSON.stringify(found, plain));"
    )
    ran = subprocess.run(  # noqa: S603 - our own script
        [str(NODE), "-e", program], capture_output=True, text=True, check=True, timeout=60
    )
    for found, pair in zip(json.loads(ran.stdout), weights, strict=True):
        numbers = {
            name: value
            if name in ("verdict", "why") or value is None
            else float(str(value).replace("Infinity", "inf"))
            for name, value in found.items()
        }
        expected = prices.decide_at(*pair)
        assert _show(Tried(**(numbers | {"chosen": found["chosen"]}))) == _show(expected)


def _show(tried: Tried) -> str:
    """NaN is like NaN."""
    return repr(tried)


def test_limits_are_those_of_the_library(record: DecisionRecord) -> None:
    for entry in record.candidates:
        evidence = entry.as_evidence()
        limits = find_line(entry.name, evidence, record.interval_level).limits
        expected = draw_line(evidence, record.interval_level).limits
        assert dataclasses.astuple(limits) == pytest.approx(dataclasses.astuple(expected))


def test_break_even_weights_are_those_of_the_library(record: DecisionRecord) -> None:
    alone = record.model_copy(update={"candidates": (record.chosen_entry,)})
    prices = build_prices(alone)
    expected = find_break_even(record.chosen_entry.as_evidence(), record.interval_level)
    ends = prices.find_ends(0, prices.weights[1])
    assert (ends.proven, ends.expected) == pytest.approx(
        (expected.learning_weight, expected.expected_learning_weight)
    )
    ends = prices.find_ends(1, prices.weights[0])
    assert (ends.proven, ends.expected) == pytest.approx(
        (expected.transaction_weight, expected.expected_transaction_weight)
    )


@pytest.mark.parametrize("change", ["none", "uncertain", "fixed"])
def test_the_answer_changes_at_the_ends(change: str) -> None:
    prices = build_prices(check_decision(vary(change)))
    for index in range(2):
        other = prices.weights[1 - index]
        ends = prices.find_ends(index, other)

        def decide(weight: float, index: int = index, other: float = other) -> str:
            pair = (weight, other) if index == 0 else (other, weight)
            return prices.decide_at(*pair).verdict

        assert decide(ends.proven * (1 - 1e-6)) == "switch"
        assert decide(ends.proven * (1 + 1e-6)) == "undecided"
        assert decide(ends.possible * (1 - 1e-6)) == "undecided"
        assert decide(ends.possible * (1 + 1e-6)) == "keep"


def test_an_unknown_error_of_the_cost_proves_nothing_and_rules_nothing_out() -> None:
    evidence = Evidence((make_estimate(10.0),), Price(1.0, 0.0, 1.0, 0.0, error=math.inf))
    line = find_line("one", evidence, 0.95)
    assert line.bounds_at(1.0) == (9.0, -math.inf, math.inf)
    assert line.limits.proven == -math.inf


def test_an_error_of_a_cost_of_nothing_stays() -> None:
    evidence = Evidence((make_estimate(10.0),), Price(0.0, 0.0, 1.0, 0.0, error=2.0))
    line = find_line("one", evidence, 0.95)
    assert line.bounds_at(0.0)[1:] == pytest.approx(evidence.bounds(0.95))
    assert line.bounds_at(line.limits.proven)[1] == pytest.approx(0.0, abs=1e-12)
    ends = Prices((line,), (0.0, 0.0), "bounds", False).find_ends(0, 0.0)
    assert ends.proven == find_break_even(evidence, 0.95).learning_weight


@pytest.mark.parametrize("change", ["none", "uncertain", "fixed"])
def test_the_confidence_is_the_rules_own_at_random_prices(change: str) -> None:
    record = check_decision(vary(change))
    prices = build_prices(record)
    for weights in draw_weights():
        tried = prices.decide_at(*weights)
        exact = decide_by_rule(record, *weights).probability
        assert tried.confidence == pytest.approx(min(max(exact, 0.5), 0.999), abs=2e-3)
        assert tried.confidence is not None
        assert (tried.confidence > record.confidence_level) == (tried.low > 0)


def test_where_another_candidate_may_gain_the_reason_says_so(document: dict[str, Any]) -> None:
    for entry, gain, error in zip(
        document["candidates"], (-1.0, -9.0, -9.0), (0.1, 9.0, 0.1), strict=True
    ):
        for estimate in entry["estimates"]:
            estimate |= {"gain": gain, "standard_error": error, "overlap_penalty": 0.0}
    tried = build_prices(check_decision(document)).decide_at(0.0, 0.0)
    assert (tried.verdict, tried.chosen, tried.why) == ("undecided", 0, "other")
    assert tried.high < 0


def test_a_cost_that_nothing_moves_cannot_be_tried(document: dict[str, Any]) -> None:
    for entry in document["candidates"]:
        entry["price"] |= {"learning_mass": 0.0, "transaction_mass": 0.0, "fixed": 3.0}
    assert not build_prices(check_decision(document)).can_be_tried


def test_a_rule_of_another_package_cannot_be_tried(document: dict[str, Any]) -> None:
    document["rule"] = "</script>"
    prices = build_prices(check_decision(document))
    assert not prices.can_be_tried
    assert prices.as_json()["rule"] == ""


def test_what_is_not_known_is_null_for_the_script() -> None:
    prices = build_prices(check_decision(vary("unknown")))
    first = prices.as_json()["lines"][0]
    assert [first[name] for name in ("gain", "gain_low", "gain_high")] == [None] * 3
    json.dumps(prices.as_json(), allow_nan=False)
