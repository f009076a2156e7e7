"""What each part of the rule is good for: the same records, decided by other rules.

A record holds what every estimator said of every finalist, how far the finalist leaves the log, and
the truth. So each estimator alone, each form of the overlap penalty and each way to combine them
can be compared on the same decisions, without running anything again. Checks of the log are left
out for all of them alike: every variant decides by estimates only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from nacre.advice.record import EstimateEntry
from nacre.diagnostics.overlap import Overlap
from nacre.estimators.base import Estimate
from nacre.experiments.calibration.summary import ROUNDING, Line, is_clear, range_of, show_share
from nacre.inference.evidence import Circumstances, Evidence
from nacre.inference.intervals import bound_below, list_informative
from nacre.inference.price import Price
from nacre.inference.rule import BoundsRule

Estimates = tuple[Estimate, ...]
Change = Callable[[Estimates, Line], Estimates]
"""Other estimates of a finalist instead of those that the record holds."""
PENALISED = ("fitted_q", "model")
"""Estimators that are charged for what lies outside of the log; the others bound it themselves."""
FORMS = ("since_leaving", "one_step")
NINETY = 0.95
"""One-sided level of each end of a 90 % interval."""


def list_variants(lines: Sequence[Line]) -> dict[str, Change]:
    """By name: the rule, each estimator alone, and other penalties, as far as records know them."""
    names = dict.fromkeys(
        one["estimator"]
        for line in lines
        for each in line["finalists"]
        for one in each["estimates"]
    )
    variants: dict[str, Change] = {"the rule": keep}
    if len(names) > 1:
        variants |= {f"{name} alone": _only(name) for name in names}
        variants["any one of them"] = choose_strongest
    if any(name in PENALISED for name in names):
        variants |= {f"penalty {form.replace('_', ' ')}": _charge(form) for form in FORMS}
    variants["no penalty"] = charge_nothing
    return variants


def keep(estimates: Estimates, finalist: Line) -> Estimates:
    """As it is."""
    return estimates


def choose_strongest(estimates: Estimates, finalist: Line) -> Estimates:
    """Only the estimate with the largest lower bound: one proof is enough."""
    usable = list_informative(estimates)
    if not usable:
        return estimates
    return (max(usable, key=lambda one: bound_below(one, NINETY)),)


def charge_nothing(estimates: Estimates, finalist: Line) -> Estimates:
    """No penalty for what lies outside of the log."""
    return tuple(
        dataclasses.replace(one, overlap_penalty=0.0, overlap_allowance=0.0) for one in estimates
    )


def _only(name: str) -> Change:
    def change(estimates: Estimates, finalist: Line) -> Estimates:
        return tuple(one for one in estimates if one.estimator == name)

    return change


def _charge(form: str) -> Change:
    """The penalty by another measure of the share that lies outside."""

    def change(estimates: Estimates, finalist: Line) -> Estimates:
        overlap = finalist["overlap"]
        known = Overlap(
            outside=0.0,
            outside_old=0.0,
            standard_error=0.0,
            excess=overlap["forms"][form],
            least=overlap["least"],
            most=overlap["most"],
            old_value=overlap["old_value"],
            saw_ends=False,
        )

        def charge(estimate: Estimate) -> Estimate:
            penalty, allowance = known.charge(estimate.gain)
            return dataclasses.replace(
                estimate, overlap_penalty=penalty, overlap_allowance=allowance
            )

        return tuple(charge(one) if one.estimator in PENALISED else one for one in estimates)

    return change


def read_evidence(finalist: Line, change: Change) -> Evidence:
    """What a rule sees of a recorded finalist, with changed estimates."""
    estimates = tuple(
        EstimateEntry.model_validate(one).as_estimate() for one in finalist["estimates"]
    )
    price = Price(0.0, 0.0, 0.0, 0.0, fixed=finalist["cost"])
    return Evidence(change(estimates, finalist), price)


def compare_variants(lines: Sequence[Line]) -> dict[str, Line]:
    """By variant: switches, wrong switches, coverage of 90 % intervals, clear gains taken."""
    usable = [line for line in lines if line["finalists"]]
    return {name: _count(usable, change) for name, change in list_variants(usable).items()}


def _count(lines: Sequence[Line], change: Change) -> Line:
    switches = wrong = clear = taken = 0
    covered: list[bool] = []
    net = 0.0
    for line in lines:
        finalists, size = line["finalists"], range_of(line)
        evidence = [read_evidence(one, change) for one in finalists]
        decision = BoundsRule()(evidence, Circumstances())
        truth = finalists[decision.chosen]["true_net_gain"]
        gains = truth > ROUNDING * size
        if decision.verdict == "switch":
            switches, wrong, net = switches + 1, wrong + (not gains), net + truth / size
        if is_clear(line):
            clear, taken = clear + 1, taken + (decision.verdict == "switch" and gains)
        covered.append(_contains(evidence[decision.chosen], len(finalists), truth, ROUNDING * size))
    return {
        "decisions": len(lines),
        "switches": switches,
        "wrong_switches": wrong,
        "coverage": float(np.mean(covered)) if covered else None,
        "clear": clear,
        "clear_taken": taken,
        "net_value": net,
    }


def _contains(evidence: Evidence, n_finalists: int, truth: float, room: float) -> bool:
    level = Circumstances(NINETY).find_level(n_finalists)
    low, high = evidence.bounds(level)
    return low - room <= truth <= high + room


def tabulate_variants(variants: dict[str, Line]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table."""
    header = ["rule", "switches", "wrong switches", "90 % covers", "clear gains taken", "net value"]
    rows = [
        [
            name,
            str(part["switches"]),
            str(part["wrong_switches"]),
            show_share(part["coverage"]),
            f"{part['clear_taken']} of {part['clear']}",
            f"{part['net_value']:.2f}",
        ]
        for name, part in variants.items()
    ]
    return header, rows
