"""The rule: by hand, by relations, and its error by simulation."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.inference import RULES
from nacre.inference.evidence import Circumstances, Evidence
from nacre.inference.paper_rule import PaperRule, decide
from nacre.inference.rule import BoundsRule, Rule, apply_rule, find_probability
from tests.support.estimates import make_estimate, make_evidence

RULE = BoundsRule()
USUAL = Circumstances(confidence=0.95, n_episodes=100)
numbers = st.floats(-10, 10)


def test_rules_are_registered_by_name() -> None:
    assert [RULES.find(name)().name for name in RULES.names[:2]] == ["bounds", "paper"]
    assert all(isinstance(RULES.find(name)(), Rule) for name in RULES.names)


def test_a_proven_gain_is_a_switch() -> None:
    decision = RULE([make_evidence(make_estimate(10.0), cost=5.0)], USUAL)
    assert decision.verdict == "switch"
    assert decision.net_gain == 5.0
    assert (decision.low, decision.high) == pytest.approx((5 - 1.6449, 5 + 1.6449), abs=1e-3)
    assert decision.reason == "the net gain is at least 3.355 with 95 % confidence"
    assert decision.basis == ("fitted_q (model)",)


def test_every_informative_estimator_has_to_prove_it() -> None:
    yes, no = make_estimate(10.0), make_estimate(0.0, estimator="model")
    assert RULE([make_evidence(yes, yes, cost=2.0)], USUAL).verdict == "switch"
    assert RULE([make_evidence(yes, no, cost=2.0)], USUAL).verdict == "undecided"
    silent = make_estimate(0.0, estimator="model", informative=False)
    assert RULE([make_evidence(yes, silent, cost=2.0)], USUAL).verdict == "switch"


def test_of_proven_finalists_the_one_that_gains_most_is_chosen() -> None:
    sure = make_evidence(make_estimate(10.0, error=0.1))
    bold = make_evidence(make_estimate(20.0, error=5.0))
    unproven = make_evidence(make_estimate(30.0, error=30.0))
    assert RULE([sure, bold, unproven], USUAL).chosen == 1
    assert RULE([unproven, sure], USUAL).chosen == 1


def test_keep_only_where_no_finalist_can_gain() -> None:
    worse, unknown = make_evidence(make_estimate(-9.0)), make_evidence(make_estimate(0.0))
    decision = RULE([worse, worse], USUAL)
    assert decision.verdict == "keep"
    assert decision.reason.startswith("no tested candidate gains: the best gains at most -7.04")
    assert RULE([worse, unknown], USUAL).verdict == "undecided"


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (10.0, "the net gain is at least 8.355 € with 95 % confidence"),
        (-9.0, "no tested candidate gains: the best gains at most -7.355 € with 95 % confidence"),
        (0.5, "a net gain of 0.5 € is expected but not proven"),
        (-0.5, "no gain is proven and none is expected: -0.5 € after the cost"),
    ],
)
def test_figures_of_a_reason_have_their_unit(gain: float, words: str) -> None:
    counted = dataclasses.replace(USUAL, unit="€")
    assert RULE([make_evidence(make_estimate(gain))], counted).reason == words


def test_a_loss_that_may_be_none_is_not_kept() -> None:
    _, high = make_evidence(make_estimate(0.0)).bounds(0.95)
    just = make_evidence(make_estimate(-high))
    assert just.bounds(0.95)[1] == 0.0
    assert RULE([just], USUAL).verdict == "undecided"


def test_the_usual_confidence_is_95_percent() -> None:
    assert Circumstances().confidence == 0.95


@pytest.mark.parametrize("name", RULES.names)
def test_a_log_that_forbids_a_switch_forbids_it_under_every_rule(name: str) -> None:
    rule, clear = RULES.find(name)(), [make_evidence(make_estimate(10.0))]
    forbidden = dataclasses.replace(USUAL, forbidden="the rewards drift", remedy="use --since 50")
    free = apply_rule(rule, clear, USUAL)
    assert free == rule(clear, USUAL)
    assert free.verdict == "switch"
    decision = apply_rule(rule, clear, forbidden)
    assert (decision.verdict, decision.reason) == ("undecided", "the rewards drift")
    assert (decision.remedy, decision.more_episodes) == ("use --since 50", None)
    # Numbers stay what they are.
    same = dataclasses.replace(
        decision, verdict=free.verdict, reason=free.reason, remedy=free.remedy
    )
    assert same == free
    # To keep is never forbidden.
    worse = [make_evidence(make_estimate(-10.0))]
    assert apply_rule(rule, worse, forbidden) == rule(worse, USUAL)


def test_an_open_answer_names_what_the_log_forbids() -> None:
    forbidden = dataclasses.replace(USUAL, forbidden="the rewards drift", remedy="use --since 50")
    decision = apply_rule(RULE, [make_evidence(make_estimate(1.0))], forbidden)
    assert (decision.verdict, decision.reason) == ("undecided", "the rewards drift")
    assert decision.remedy == "use --since 50"


def test_where_the_penalty_alone_decides_the_log_cannot_tell() -> None:
    decision = RULE([make_evidence(make_estimate(10.0, penalty=12.0))], USUAL)
    assert decision.verdict == "undecided"
    assert decision.reason.startswith("this log cannot tell: too much of what the candidate does")
    nothing = RULE([make_evidence(make_estimate(1.0, informative=False, reason="why"))], USUAL)
    assert nothing.reason == ("this log cannot tell: no estimator is informative (fitted_q: why)")
    assert math.isnan(nothing.net_gain)


def test_more_finalists_have_to_prove_more() -> None:
    one = make_evidence(make_estimate(1.8))
    assert RULE([one], USUAL).verdict == "switch"
    assert RULE([one] * 3, USUAL).verdict == "undecided"
    assert RULE([one], Circumstances(0.95, 100, looks=2)).verdict == "undecided"


def test_further_episodes_shrink_the_standard_error() -> None:
    decision = RULE([make_evidence(make_estimate(1.0))], USUAL)
    # The error has to shrink to 1 / 1.645 of what it is: 2.7 times the episodes.
    assert decision.more_episodes == 171
    assert decision.remedy == "about 171 further episodes could settle it"
    for gain in (0.01, 1e-200):
        assert RULE([make_evidence(make_estimate(gain))], USUAL).more_episodes is None


@given(st.lists(st.tuples(numbers, st.floats(0.01, 5), st.floats(0, 3)), min_size=1, max_size=4))
def test_probability_and_verdict_agree(estimates: list[tuple[float, float, float]]) -> None:
    evidence = make_evidence(*(make_estimate(*one) for one in estimates), cost=0.5)
    decision = RULE([evidence], USUAL)
    assert 0.0 < decision.probability < 1.0
    assert (decision.probability > 0.95) == (decision.verdict == "switch")
    assert (decision.probability < 0.05) == (decision.verdict == "keep")
    assert decision.low <= decision.net_gain <= decision.high


@given(numbers, st.floats(0.1, 3))
def test_probability_moves_with_the_gain(gain: float, error: float) -> None:
    low, high = (
        find_probability(make_evidence(make_estimate(shifted, error)), 0.95, 0.95)
        for shifted in (gain, gain + 0.01)
    )
    assert low <= high
    assert high - low < 0.1


def test_the_error_of_a_single_look_is_at_most_the_level() -> None:
    # 4,000 finalists of no gain, judged by two estimators that err on their own.
    rng = np.random.default_rng(100)
    wrong = 0
    for first, second in rng.normal(size=(4000, 2)):
        evidence = make_evidence(make_estimate(first), make_estimate(second, estimator="model"))
        wrong += RULE([evidence], USUAL).verdict == "switch"
    assert wrong / 4000 <= 0.05
    alone = [
        RULE([make_evidence(make_estimate(gain))], USUAL).verdict == "switch"
        for gain in rng.normal(size=4000)
    ]
    # Binomial standard error 0.0034.
    assert np.mean(alone) == pytest.approx(0.05, abs=0.012)


@pytest.mark.parametrize("n_finalists", [1, 5, 20])
def test_the_level_holds_for_any_number_of_finalists(n_finalists: int) -> None:
    rng = np.random.default_rng(101)
    wrong = 0
    for gains in rng.normal(size=(2000, n_finalists)):
        finalists = [make_evidence(make_estimate(gain)) for gain in gains]
        wrong += RULE(finalists, USUAL).verdict == "switch"
    assert wrong / 2000 <= 0.065


def test_the_level_holds_over_five_looks_at_a_growing_log() -> None:
    rng = np.random.default_rng(102)
    wrong = 0
    for draws in rng.normal(size=(2000, 5)):
        means = np.cumsum(draws) / np.arange(1, 6)
        wrong += any(
            RULE(
                [make_evidence(make_estimate(mean, 1.0 / math.sqrt(look)))],
                Circumstances(0.95, 100, look=look, looks=5),
            ).verdict
            == "switch"
            for look, mean in enumerate(means, start=1)
        )
    assert wrong / 2000 <= 0.05


def test_the_paper_compares_points() -> None:
    rule = PaperRule()
    evidence = [make_evidence(make_estimate(1.0), cost=0.5), make_evidence(make_estimate(0.2))]
    decision = rule(evidence, USUAL)
    assert (decision.verdict, decision.chosen) == ("switch", 0)
    assert rule([make_evidence(make_estimate(1.0), cost=2.0)], USUAL).verdict == "keep"
    unknown: list[Evidence] = [make_evidence()]
    assert rule(unknown, USUAL).verdict == "keep"


def test_decide_is_step_four_of_the_paper() -> None:
    assert decide(1.0, 1.5) == "switch"
    assert decide(1.0, 1.0) == "keep"
    assert decide(1.0, 2.0, trusted=False) == "keep"
    assert decide(math.nan, 2.0) == "keep"
