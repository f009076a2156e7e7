"""Other rules on the same records, by lines made by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from nacre.advice.record import EstimateEntry
from nacre.estimators.base import Estimate, abstain
from nacre.experiments.calibration.ablation import (
    charge_nothing,
    choose_strongest,
    compare_variants,
    keep,
    list_variants,
    read_evidence,
    tabulate_variants,
)
from nacre.inference.evidence import Circumstances, Evidence
from nacre.inference.rule import BoundsRule
from tests.support.estimates import make_estimate, make_price

Line = dict[str, Any]
REACH = 1.644854 * 0.5
"""From a centre to its bound: all standard errors here are 0.5, normal, of one finalist."""


def make_overlap(excess: float, since: float, once: float) -> Line:
    """The old policy is worth 5, and all returns lie between 0 and 10."""
    forms = {"since_leaving": since, "one_step": once}
    return {"excess": excess, "least": 0.0, "most": 10.0, "old_value": 5.0, "forms": forms}


INSIDE = make_overlap(0.0, 0.0, 0.0)
OUTSIDE = make_overlap(0.3, 0.5, 0.1)


def make_finalist(
    *estimates: Estimate, true: float, overlap: Line = INSIDE, cost: float = 0.0
) -> Line:
    return {
        "name": "one",
        "estimates": [
            EstimateEntry.from_estimate(one, 0.95).model_dump(mode="json") for one in estimates
        ],
        "overlap": overlap,
        "cost": cost,
        "true_gain": true + cost,
        "standard_error": 0.0,
        "true_net_gain": true,
    }


def make_line(*finalists: Line) -> Line:
    return {"value_range": [0.0, 10.0], "finalists": list(finalists), "not_finalists": []}


def say(estimator: str, gain: float, overlap: Line = INSIDE) -> Estimate:
    """An estimate of standard error 0.5, charged as an overlap says."""
    value = overlap["old_value"] + gain
    return make_estimate(
        gain,
        0.5,
        overlap["excess"] * value,
        estimator=estimator,
        overlap_allowance=overlap["excess"] * (10.0 - value),
    )


def say_both(fitted: float, model: float, true: float, overlap: Line = INSIDE) -> Line:
    both = say("fitted_q", fitted, overlap), say("model", model, overlap)
    return make_line(make_finalist(*both, true=true, overlap=overlap))


# A clear gain: 4 - 0.3·9 is above the reach, 3 - 0.3·8 is not, so that one alone proves it.
CLEAR = say_both(4.0, 3.0, true=3.0, overlap=OUTSIDE)
# A loss: -4 + 0.3·9 is below minus the reach, and covers -0.5 by a little.
LOSS = say_both(-4.0, -4.0, true=-0.5, overlap=OUTSIDE)
# Both are wrong.
WRONG = say_both(2.0, 2.0, true=-1.0)
LINES = [CLEAR, LOSS, WRONG]


def decide(line: Line, variant: str) -> str:
    change = list_variants(LINES)[variant]
    evidence = [read_evidence(one, change) for one in line["finalists"]]
    return BoundsRule()(evidence, Circumstances()).verdict


def test_the_rule_is_that_of_the_advice() -> None:
    """From the record as from the estimates that went into it."""
    for fitted, model, overlap in (
        (4.0, 3.0, OUTSIDE),
        (-4.0, -4.0, OUTSIDE),
        (2.0, 2.0, INSIDE),
        (0.5, 0.1, INSIDE),
    ):
        line = say_both(fitted, model, 0.0, overlap)
        estimates = say("fitted_q", fitted, overlap), say("model", model, overlap)
        plain = BoundsRule()([Evidence(estimates, make_price(0.0))], Circumstances())
        found = BoundsRule()([read_evidence(line["finalists"][0], keep)], Circumstances())
        assert found.verdict == plain.verdict
        assert (found.low, found.high) == pytest.approx((plain.low, plain.high))


@pytest.mark.parametrize(
    ("variant", "verdicts"),
    [
        ("the rule", ("undecided", "keep", "switch")),
        ("fitted_q alone", ("switch", "keep", "switch")),
        ("model alone", ("undecided", "keep", "switch")),
        ("any one of them", ("switch", "keep", "switch")),
        ("penalty one step", ("switch", "keep", "switch")),
        ("penalty since leaving", ("undecided", "undecided", "switch")),
        ("no penalty", ("switch", "keep", "switch")),
    ],
)
def test_verdicts_by_hand(variant: str, verdicts: tuple[str, ...]) -> None:
    assert tuple(decide(line, variant) for line in LINES) == verdicts


def test_all_variants_are_those_above() -> None:
    names = list(list_variants(LINES))
    assert names == [
        "the rule",
        "fitted_q alone",
        "model alone",
        "any one of them",
        "penalty since leaving",
        "penalty one step",
        "no penalty",
    ]


def test_a_single_estimator_that_is_not_charged_has_no_other_forms() -> None:
    line = make_line(make_finalist(say("tabular", 2.0), true=1.0))
    assert list(list_variants([line])) == ["the rule", "no penalty"]


def read_bounds(line: Line, variant: str) -> tuple[float, float]:
    return read_evidence(line["finalists"][0], list_variants(LINES)[variant]).bounds(0.95)


@pytest.mark.parametrize(
    ("variant", "low", "high"),
    [
        ("the rule", 3.0 - 0.3 * 8.0, 4.0 + 0.3 * 1.0),
        ("fitted_q alone", 4.0 - 0.3 * 9.0, 4.0 + 0.3 * 1.0),
        ("model alone", 3.0 - 0.3 * 8.0, 3.0 + 0.3 * 2.0),
        ("any one of them", 4.0 - 0.3 * 9.0, 4.0 + 0.3 * 1.0),
        ("penalty one step", 3.0 - 0.1 * 8.0, 4.0 + 0.1 * 1.0),
        ("penalty since leaving", 3.0 - 0.5 * 8.0, 4.0 + 0.5 * 1.0),
        ("no penalty", 3.0, 4.0),
    ],
)
def test_bounds_by_hand(variant: str, low: float, high: float) -> None:
    assert read_bounds(CLEAR, variant) == pytest.approx((low - REACH, high + REACH), abs=1e-5)


def test_forms_change_only_estimators_that_are_charged() -> None:
    estimates = say("tabular", 1.0, OUTSIDE), say("fitted_q", 1.0, OUTSIDE)
    finalist = make_finalist(*estimates, true=0.0, overlap=OUTSIDE)
    variants = list_variants([make_line(finalist)])
    table, fitted = variants["penalty one step"](estimates, finalist)
    assert table == estimates[0]
    assert fitted.overlap_penalty == pytest.approx(0.1 * 6.0)
    assert fitted.allowance == pytest.approx(0.1 * 4.0)
    assert [one.overlap_penalty for one in charge_nothing(estimates, finalist)] == [0.0, 0.0]
    assert [one.allowance for one in charge_nothing(estimates, finalist)] == [0.0, 0.0]


def test_values_beyond_what_the_log_has_seen_are_not_charged_backwards() -> None:
    estimates = (say("fitted_q", -7.0), say("fitted_q", 7.0))
    finalist = make_finalist(*estimates, true=0.0, overlap=OUTSIDE)
    change = list_variants(LINES)["penalty since leaving"]
    low, high = change(estimates, finalist)
    assert (low.overlap_penalty, low.allowance) == pytest.approx((0.0, 6.0))
    assert (high.overlap_penalty, high.allowance) == pytest.approx((6.0, 0.0))


def test_the_strongest_is_the_one_with_the_largest_lower_bound() -> None:
    sure, vague = make_estimate(2.0, 0.1), make_estimate(3.0, 2.0)
    silent = abstain("model", "model", "nothing is known")
    assert choose_strongest((vague, silent, sure), {}) == (sure,)
    assert choose_strongest((silent,), {}) == (silent,)


def test_outcomes_that_are_all_alike_prove_nothing_under_any_form() -> None:
    """As the rule has it, which charges infinitely much there."""
    overlap = {**OUTSIDE, "least": 0.0, "most": 0.0, "old_value": 0.0}
    estimate = make_estimate(0.0, 0.5, math.inf)
    finalist = make_finalist(estimate, true=0.0, overlap=overlap)
    variants = list_variants([make_line(finalist)])
    assert read_evidence(finalist, keep).bounds(0.95) == (-math.inf, math.inf)
    changed = read_evidence(finalist, variants["penalty since leaving"])
    assert changed.bounds(0.95) == (-math.inf, math.inf)


def test_costs_are_subtracted() -> None:
    line = make_line(make_finalist(say("fitted_q", 2.0), true=0.5, cost=1.5))
    found = read_evidence(line["finalists"][0], keep)
    assert found.net_gain == pytest.approx(0.5)
    assert found.bounds(0.95)[0] == pytest.approx(0.5 - REACH, abs=1e-5)


def test_counts_by_hand() -> None:
    found = compare_variants(LINES)
    expected = {  # switches, wrong ones, covered of three, clear gains taken, net value
        "the rule": (1, 1, 2, 0, -0.1),
        "fitted_q alone": (2, 1, 2, 1, 0.2),
        "model alone": (1, 1, 2, 0, -0.1),
        "any one of them": (2, 1, 2, 1, 0.2),
        "penalty one step": (2, 1, 1, 1, 0.2),
        "penalty since leaving": (1, 1, 2, 0, -0.1),
        "no penalty": (2, 1, 1, 1, 0.2),
    }
    for name, (switches, wrong, covered, taken, net) in expected.items():
        part = found[name]
        assert (part["decisions"], part["clear"]) == (3, 1)
        assert (part["switches"], part["wrong_switches"]) == (switches, wrong), name
        assert part["coverage"] == pytest.approx(covered / 3), name
        assert part["clear_taken"] == taken, name
        assert part["net_value"] == pytest.approx(net), name


def test_lines_without_finalists_are_left_out() -> None:
    refused = make_line()
    assert compare_variants([*LINES, refused]) == compare_variants(LINES)
    (name, part), *rest = compare_variants([refused]).items()
    assert (name, part["decisions"], part["coverage"]) == ("the rule", 0, None)
    assert [one for one, _ in rest] == ["no penalty"]


def test_a_silent_estimator_decides_nothing_and_covers_everything() -> None:
    line = make_line(make_finalist(abstain("fitted_q", "model", "too wide"), true=5.0))
    part = compare_variants([line])["the rule"]
    assert (part["switches"], part["clear"], part["clear_taken"]) == (0, 1, 0)
    assert part["coverage"] == 1.0


def test_the_finalist_with_the_largest_bound_is_taken_at_a_shared_level() -> None:
    """Two finalists: each bound at 97.5 %, so that 0.9 is not enough with an error of 0.5."""
    bad, good = (
        make_finalist(say("fitted_q", gain), true=true) for gain, true in ((1.5, -1.0), (3.0, 2.0))
    )
    part = compare_variants([make_line(bad, good)])["the rule"]
    assert (part["switches"], part["wrong_switches"], part["clear_taken"]) == (1, 0, 1)
    near = make_finalist(say("fitted_q", 0.9), true=0.2)
    assert compare_variants([make_line(near)])["the rule"]["switches"] == 1
    assert compare_variants([make_line(near, near)])["the rule"]["switches"] == 0


def test_the_table_by_hand() -> None:
    header, rows = tabulate_variants(compare_variants(LINES))
    assert header[0] == "rule"
    assert rows[0] == ["the rule", "1", "1", "67 %", "0 of 1", "-0.10"]
    assert rows[-1] == ["no penalty", "2", "1", "33 %", "1 of 1", "0.20"]
    assert all(len(row) == len(header) for row in rows)
    assert tabulate_variants(compare_variants([]))[1][0] == [
        "the rule",
        "0",
        "0",
        "",
        "0 of 0",
        "0.00",
    ]
