"""Records of format 1: the same decision in today's form."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.advice.record import DecisionRecord, check_decision
from nacre.errors import InputError

EXAMPLE = Path(__file__).parents[1] / "report" / "example" / "decision.json"


def make_document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(EXAMPLE.read_text())
    assert document["format"] == 1
    return document


def upgrade(**changes: Any) -> DecisionRecord:
    return check_decision(make_document() | changes)


def test_an_old_record_keeps_its_verdict_gain_and_cost() -> None:
    old, found = make_document(), upgrade()
    assert found.format == 2
    assert (found.verdict, found.reason) == (old["verdict"], old["reason"])
    assert found.probability == old["confidence"]
    assert found.net_gain.model_dump() == old["net_gain"]
    assert found.old_value.model_dump() == old["old_value"]
    for name, value in old["cost"].items():
        assert found.cost.model_dump(mode="json")[name] == value
    assert found.break_even.learning_weight == old["break_even"]["learning_weight"]
    assert found.chosen == old["chosen"]
    assert [one.name for one in found.candidates] == [one["name"] for one in old["candidates"]]
    assert found.log == old["log"]
    assert found.seed == old["seed"]


def test_every_candidate_keeps_its_figures() -> None:
    for entry, old in zip(upgrade().candidates, make_document()["candidates"], strict=True):
        assert entry.net_gain.model_dump() == old["net_gain"]
        assert entry.value.mean == old["value"]["mean"]
        assert entry.probability == old["confidence"]
        (estimate,) = entry.estimates
        assert estimate.gain == pytest.approx(float(np.mean(old["differences"])), rel=1e-12)
        assert estimate.basis == "model"
        assert estimate.degrees == len(old["differences"]) - 1
        # The cost is a line in its weights that goes through what was paid.
        assert entry.price.as_price().total == pytest.approx(old["cost"]["total"], rel=1e-4)
        assert entry.as_evidence().net_gain == pytest.approx(old["net_gain"]["mean"], rel=1e-4)


def test_an_upgraded_record_stays_what_it_is() -> None:
    found = upgrade()
    again = check_decision(json.loads(json.dumps(found.as_json(), allow_nan=False)))
    assert again == found


def test_a_foreign_log_is_still_forbidden() -> None:
    behaviour = make_document()["behaviour"] | {"on_policy": False, "text": "somebody else's"}
    found = upgrade(behaviour=behaviour)
    assert found.forbidden == "somebody else's"
    assert found.log_checks["on_policy"]["on_policy"] is False
    assert upgrade().forbidden == ""


def change_candidate(**changes: Any) -> DecisionRecord:
    document = make_document()
    document["candidates"] = [one | changes for one in document["candidates"]]
    return check_decision(document)


def test_doubt_and_pessimism_become_the_penalty() -> None:
    plain = change_candidate(doubt=0.0, pessimistic=None).candidates[0].estimates[0]
    assert plain.gain is not None
    assert plain.overlap_penalty == 0.0
    widened = change_candidate(doubt=0.5, pessimistic=None).candidates[0].estimates[0]
    assert widened.overlap_penalty == 0.5
    document = make_document()
    document["candidates"][0] |= {"doubt": 0.5, "pessimistic": plain.gain - 2.0}
    worst = check_decision(document).candidates[0].estimates[0]
    assert worst.overlap_penalty == pytest.approx(2.0)


@pytest.mark.parametrize("differences", [[], [1.0], None, "text", [math.nan, 1.0]])
def test_without_members_nobody_says_anything(differences: Any) -> None:
    entry = change_candidate(differences=differences).candidates[0]
    assert entry.estimates == ()
    assert entry.as_evidence().bounds(0.95) == (-math.inf, math.inf)


def test_a_member_that_broke_makes_it_say_nothing() -> None:
    (estimate,) = change_candidate(differences=[1.0, 2.0, None]).candidates[0].estimates
    assert not estimate.informative
    (estimate,) = change_candidate(trusted=False).candidates[0].estimates
    assert not estimate.informative


def test_costs_that_are_not_linear_are_fixed() -> None:
    model = make_document()["cost_model"] | {"link": "square_root"}
    for entry in upgrade(cost_model=model).candidates:
        price = entry.price
        assert (price.learning_mass, price.transaction_mass) == (0.0, 0.0)
        assert price.fixed == pytest.approx(entry.cost.total)


BROKEN: list[dict[str, Any]] = [
    {"verdict": "perhaps"},
    {"confidence": None},
    {"candidates": []},
    {"candidates": ["best"]},
    {"candidates": None},
    {"net_gain": 3.0},
    {"cost": None},
    {"starts": "everywhere"},
]


@pytest.mark.parametrize("changes", BROKEN)
def test_what_does_not_hold_is_named(changes: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        upgrade(**changes)
    assert all(problem.startswith("decision.json: ") for problem in caught.value.problems)


@pytest.mark.parametrize("changes", [{"cost_model": None}, {"behaviour": "x"}])
def test_what_is_not_needed_may_be_anything(changes: dict[str, Any]) -> None:
    assert upgrade(**changes).verdict == "switch"
