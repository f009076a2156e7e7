"""Guardrails: bounds by hand, the answers they lead to, and the joint level by simulation."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.costs.guardrail_terms import GuardrailTerms
from nacre.estimators.base import Estimate, abstain
from nacre.inference import RULES
from nacre.inference.break_even import draw_line, find_break_even
from nacre.inference.evidence import Circumstances, Evidence
from nacre.inference.guardrails import OLD_SHARE, GuardrailEvidence
from nacre.inference.intervals import find_quantile
from nacre.inference.rule import BoundsRule, apply_rule, find_probability
from tests.support.estimates import make_estimate, make_evidence, make_price

LEVEL = 0.95
USUAL = Circumstances(confidence=LEVEL, n_episodes=100)
Z = find_quantile(LEVEL)


def guard(gain: float, error: float = 1.0, worst: float = 2.0) -> GuardrailEvidence:
    """An absolute guardrail; a gain of less than -worst breaks it."""
    return GuardrailEvidence(GuardrailTerms("complaints", worst), (make_estimate(gain, error),))


def make_finalist(gain: float, *guardrails: GuardrailEvidence) -> Evidence:
    return dataclasses.replace(make_evidence(make_estimate(gain)), guardrails=guardrails)


def test_an_absolute_guardrail_leaves_its_gain_and_what_is_allowed() -> None:
    low, high = guard(-1.0, 0.5).bounds(LEVEL)
    assert (low, high) == pytest.approx((1.0 - 0.5 * Z, 1.0 + 0.5 * Z))


def test_a_relative_one_takes_a_share_of_the_old_outcomes_bound() -> None:
    terms = GuardrailTerms("complaints", 0.5, relative=True)
    known = GuardrailEvidence(terms, (make_estimate(-1.0, 0.5),), 4.0, 0.1)
    gain, old = (find_quantile(1 - share * 0.05) for share in (1 - OLD_SHARE, OLD_SHARE))
    low, high = known.bounds(LEVEL)
    assert low == pytest.approx(-1.0 - 0.5 * gain + 0.5 * (4.0 - 0.1 * old))
    assert high == pytest.approx(-1.0 + 0.5 * gain + 0.5 * (4.0 + 0.1 * old))
    # Where the old outcome is not known, or not above zero, nothing is allowed.
    unknown = GuardrailEvidence(terms, known.estimates)
    assert unknown.allowed(LEVEL) == (0.0, math.inf)
    negative = dataclasses.replace(known, old_mean=-4.0)
    assert negative.allowed(LEVEL) == (0.0, 0.0)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.floats(-5, 5), st.floats(0.01, 3), st.floats(0, 3), st.booleans())
def test_it_is_proven_exactly_up_to_its_probability(
    gain: float, error: float, worst: float, relative: bool
) -> None:
    terms = GuardrailTerms("complaints", worst, relative)
    one = GuardrailEvidence(terms, (make_estimate(gain, error),), 1.0, 0.1)
    probability = one.find_probability(1.0)
    if 0.5 < probability < 1 - 1e-8:
        assert one.bounds(probability)[0] == pytest.approx(0.0, abs=1e-6)
        assert one.bounds(probability - 1e-3)[0] > 0
    assert (probability > LEVEL) == (one.bounds(LEVEL)[0] > 0)


@pytest.mark.parametrize("name", RULES.names)
@pytest.mark.parametrize(
    ("outcome", "verdict"), [(3.0, "switch"), (-1.0, "undecided"), (-9.0, "keep")]
)
def test_a_switch_needs_its_guardrails_under_every_rule(
    name: str, outcome: float, verdict: str
) -> None:
    rule = RULES.find(name)()
    free = apply_rule(rule, [make_finalist(10.0)], USUAL)
    assert free.verdict == "switch"
    decision = apply_rule(rule, [make_finalist(10.0, guard(5.0), guard(outcome))], USUAL)
    assert (decision.verdict, decision.net_gain) == (verdict, free.net_gain)
    if verdict == "undecided":
        assert decision.reason == (
            "the guardrail complaints is not proven to hold: it may rise by up to 2.645 an "
            "episode, where 2 is allowed"
        )
        assert decision.more_episodes == math.ceil((Z**2 - 1) * 100)
        assert f"about {decision.more_episodes} further episodes" in decision.remedy
    if verdict == "keep":
        # Three bounds could rule it out: they share the level.
        most = -9.0 + find_quantile(1 - 0.05 / 3)
        assert decision.reason.endswith(
            f"it would rise by at least {-most:.4g} an episode, where 2 is allowed"
        )
        assert (decision.remedy, decision.more_episodes) == ("", None)


def test_the_other_direction_and_the_unit_are_said() -> None:
    terms = GuardrailTerms("stars", 0.25, better="higher", unit="*")
    one = GuardrailEvidence(terms, (make_estimate(0.0, 1.0),))
    reason = apply_rule(BoundsRule(), [make_finalist(10.0, one)], USUAL).reason
    assert "it may fall by up to 1.645 * an episode, where 0.25 * is allowed" in reason


def test_a_log_that_says_nothing_of_an_outcome_proves_nothing() -> None:
    silent = GuardrailEvidence(GuardrailTerms("rare", 5.0), (abstain("a", "data", "never seen"),))
    decision = apply_rule(BoundsRule(), [make_finalist(10.0, silent)], USUAL)
    assert decision.verdict == "undecided"
    assert "no estimator is informative (a: never seen)" in decision.reason
    assert decision.more_episodes is None


def test_the_best_of_those_that_keep_to_the_guardrails_is_chosen() -> None:
    broken, held = make_finalist(20.0, guard(-9.0)), make_finalist(8.0, guard(3.0))
    unproven, worse = make_finalist(15.0, guard(-1.0)), make_finalist(-9.0, guard(3.0))
    for finalists, verdict, chosen in (
        ([broken, held], "switch", 1),
        ([unproven, held], "switch", 1),
        ([broken, unproven], "undecided", 1),
        ([broken, worse], "keep", 1),
        ([worse, unproven], "undecided", 1),
    ):
        decision = apply_rule(BoundsRule(), finalists, USUAL)
        assert (decision.verdict, decision.chosen) == (verdict, chosen)
        # Those that a rule is not shown keep their share of the level.
        assert decision.level == pytest.approx(1 - 0.05 / 2)
    assert (
        "break a guardrail are ruled out" in apply_rule(BoundsRule(), [broken, worse], USUAL).reason
    )
    # Nobody is said to be ruled out where nobody is, or where another is left to be found better.
    for finalists in ([worse], [worse, held], [broken, unproven]):
        assert "ruled out" not in apply_rule(BoundsRule(), finalists, USUAL).reason


def test_an_open_gain_names_the_guardrail_too() -> None:
    decision = apply_rule(BoundsRule(), [make_finalist(1.0, guard(-1.0))], USUAL)
    assert decision.verdict == "undecided"
    assert decision.reason.startswith("a net gain of 1 is expected but not proven; the guardrail")
    assert (decision.remedy, decision.more_episodes) == ("", None)


def test_what_the_log_forbids_counts_more() -> None:
    forbidden = dataclasses.replace(USUAL, forbidden="the rewards drift")
    for outcome in (3.0, -1.0):
        decision = apply_rule(BoundsRule(), [make_finalist(10.0, guard(outcome))], forbidden)
        assert (decision.verdict, decision.reason) == ("undecided", "the rewards drift")
    decision = apply_rule(BoundsRule(), [make_finalist(10.0, guard(-9.0))], forbidden)
    assert decision.verdict == "keep"


def test_the_confidence_is_that_of_the_weakest_part() -> None:
    finalist = make_finalist(10.0, guard(0.0), guard(9.0))
    assert find_probability(finalist, LEVEL, LEVEL) == pytest.approx(
        guard(0.0).find_probability(1.0)
    )
    assert find_probability(make_finalist(2.0, guard(9.0)), LEVEL, LEVEL) == pytest.approx(
        find_probability(make_finalist(2.0), LEVEL, LEVEL)
    )


def test_no_cost_is_low_enough_without_the_guardrails() -> None:
    held, unproven, broken = (make_finalist(10.0, guard(one)) for one in (3.0, -1.0, -9.0))
    limits = [draw_line(one, LEVEL).limits for one in (held, unproven, broken)]
    assert limits[0].proven == pytest.approx(10.0 - Z)
    assert (limits[1].proven, limits[1].expected) == (0.0, 10.0)
    assert (limits[2].proven, limits[2].expected, limits[2].possible) == (0.0, 0.0, 0.0)
    assert find_break_even(unproven, LEVEL).learning_weight == 0.0
    # An upper bound that could rule out alone shares the level with the guardrail's.
    assert held.bounds(LEVEL)[1] == pytest.approx(10.0 + find_quantile(1 - 0.05 / 2))


def make_case(
    rng: np.random.Generator, harm: float, n: int = 400
) -> tuple[list[Estimate], list[tuple[float, float]]]:
    """Gains of a reward and of three outcomes by weighting one-step episodes, and old outcomes.

    The old policy takes each of two actions half of the time, the new one the second in nine of
    ten. Outcomes are rates of 0.2, whatever is done, but the last: the new policy adds `harm`.
    """
    actions = rng.integers(0, 2, n)
    weights = np.where(actions == 1, 1.8, 0.2) - 1.0
    rates = np.stack([np.full(n, 0.2), np.full(n, 0.2), 0.2 + harm / 0.8 * (2 * actions - 1)])
    outcomes = (rng.random((3, n)) < rates).astype(float)
    rewards = actions + rng.normal(0.0, 1.0, n)
    estimates = []
    for values in (rewards, *(-outcomes)):
        scores = weights * (values - values.mean())
        error = float(scores.std(ddof=1)) / math.sqrt(n)
        estimates.append(make_estimate(float(scores.mean()), error, degrees=n - 1))
    old = [(float(one.mean()), float(one.std(ddof=1)) / math.sqrt(n)) for one in outcomes]
    return estimates, old


def decide_case(rng: np.random.Generator, harm: float) -> str:
    """With a limit of 0.1, and of half of the old outcome for the last."""
    (reward, *outcomes), old = make_case(rng, harm)
    terms = [GuardrailTerms("a", 0.1), GuardrailTerms("b", 0.1), GuardrailTerms("c", 0.5, True)]
    guardrails = tuple(
        GuardrailEvidence(term, (one,), *value)
        for term, one, value in zip(terms, outcomes, old, strict=True)
    )
    evidence = Evidence((reward,), make_price(0.05), guardrails)
    return apply_rule(BoundsRule(), [evidence], USUAL).verdict


def test_the_joint_level_holds_in_1000_cases_with_three_guardrails() -> None:
    """One guardrail lies at its boundary: a switch is wrong in at most 5 % (+ 2 errors) of them."""
    rng = np.random.default_rng(100)
    at_boundary = [decide_case(rng, 0.1) for _ in range(1000)]
    assert at_boundary.count("switch") <= 1000 * 0.05 + 2 * math.sqrt(1000 * 0.05 * 0.95)
    # It is no rule that never switches, nor one that never rules out.
    assert [decide_case(rng, 0.0) for _ in range(50)].count("switch") >= 30
    assert [decide_case(rng, 0.2) for _ in range(50)].count("keep") >= 25


def test_keep_holds_its_level_too() -> None:
    """Three guardrails, each with its boundary just kept: none is proven broken too often."""
    rng = np.random.default_rng(101)
    wrong = 0
    for _ in range(1000):
        outcomes = tuple(guard(-2.0 + float(rng.normal())) for _ in range(3))
        finalist = make_finalist(float(rng.normal()), *outcomes)
        wrong += finalist.bounds(LEVEL)[1] < 0 or bool(finalist.find_broken(LEVEL))
    assert wrong <= 1000 * 0.05 + 2 * math.sqrt(1000 * 0.05 * 0.95)
