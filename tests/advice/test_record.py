"""The one schema: what it keeps, what it refuses, and in which words."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest

from nacre.advice import record as module
from nacre.advice.record import (
    DEEPEST,
    CandidateEntry,
    DecisionRecord,
    EstimateEntry,
    PriceEntry,
    check_decision,
    finite,
    read_decision,
)
from nacre.errors import InputError
from nacre.inference.evidence import Evidence
from tests.support.estimates import make_estimate, make_price
from tests.support.rooms import find_rooms_advice


def make_document() -> dict[str, Any]:
    """A record as the file holds it."""
    document: dict[str, Any] = json.loads(json.dumps(find_rooms_advice().as_json()))
    return document


def test_a_record_reads_itself() -> None:
    document = make_document()
    found = check_decision(document)
    assert found.as_json() == document
    assert check_decision(found) is found
    assert found.format == document["format"] == 2


def test_what_a_later_version_adds_is_kept() -> None:
    document = make_document() | {"weather": {"rain": 0.5}}
    document["candidates"][0]["colour"] = "blue"
    found = check_decision(document).as_json()
    assert found["weather"] == {"rain": 0.5}
    assert found["candidates"][0]["colour"] == "blue"


BROKEN: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("verdict",), "perhaps", "verdict = 'perhaps'"),
    (("probability",), "high", "probability = 'high'"),
    (("net_gain", "low"), float("nan"), "net_gain.low = nan"),
    (("candidates",), [], "candidates = []"),
    (("candidates", 0, "price", "learning_weight"), None, "candidates.0.price.learning_weight"),
    (("candidates", 0, "estimates", 0, "basis"), "hope", "candidates.0.estimates.0.basis = 'hope'"),
    (("confidence_level",), 0.5, "confidence_level = 0.5"),
    (("candidates", 0, "cost", "flows"), [[1.0]], "expected a square of that size"),
    (("candidates", 0, "cost", "flows"), [[-1.0, 0.0], [0.0, 2.0]], "candidates.0.cost.flows.0.0"),
]


@pytest.mark.parametrize(("place", "value", "message"), BROKEN)
def test_what_does_not_hold_is_named_by_its_place(
    place: tuple[str | int, ...], value: Any, message: str
) -> None:
    document = make_document()
    part: Any = document
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    with pytest.raises(InputError) as caught:
        check_decision(document, "that file")
    assert all(problem.startswith("that file: ") for problem in caught.value.problems)
    assert message in str(caught.value)


def test_every_problem_is_named_at_once() -> None:
    document = make_document() | {"verdict": None, "reason": None}
    with pytest.raises(InputError) as caught:
        check_decision(document)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize("other", [None, 0, 3, "2", [1]])
def test_other_formats_are_refused(other: Any) -> None:
    with pytest.raises(InputError, match="this version reads formats 1 and 2"):
        check_decision(make_document() | {"format": other})


@pytest.mark.parametrize("document", [None, [], "text", 3])
def test_what_is_no_document_is_refused(document: object) -> None:
    with pytest.raises(InputError, match="expected a decision"):
        check_decision(document)


def test_deep_nests_and_half_characters_are_settled() -> None:
    deep: Any = "end"
    for _ in range(DEEPEST + 1):
        deep = [deep]
    with pytest.raises(InputError, match="nested more than"):
        check_decision(make_document() | {"config": {"deep": deep}})
    found = check_decision(make_document() | {"reason": "half a \ud83d face"})
    assert found.reason == "half a \ufffd face"
    found.reason.encode()


def test_files_that_are_no_decisions_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "decision.json"
    with pytest.raises(InputError, match="give the folder that `nacre advise --out` wrote"):
        read_decision(tmp_path)
    for content in (b"{", b"\xff\xfe", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(InputError, match="is not JSON"):
            read_decision(tmp_path)
    path.write_text(json.dumps(make_document()))
    assert read_decision(tmp_path) == read_decision(path)
    assert read_decision(path).as_json() == make_document()
    monkeypatch.setattr(module, "LARGEST_FILE", 100)
    with pytest.raises(InputError, match="larger than 100 bytes"):
        read_decision(tmp_path)


def test_estimates_go_through_the_record_exactly() -> None:
    for estimate in (
        make_estimate(1.5, 0.2, 0.1, degrees=7.0, reason="why", diagnostics={"a": 1.0}),
        make_estimate(1 / 3, 1e-300),
        make_estimate(0.0, math.inf, informative=False),
        make_estimate(1.0, 0.5, math.inf),
    ):
        entry = EstimateEntry.from_estimate(estimate, 0.975)
        again = EstimateEntry.model_validate_json(entry.model_dump_json())
        assert again.as_estimate() == estimate
    entry = EstimateEntry.from_estimate(make_estimate(2.0, 1.0, 0.5), 0.975)
    assert entry.low == pytest.approx(2.0 - 0.5 - 1.959964)
    assert entry.high == pytest.approx(2.0 + 0.5 + 1.959964)
    silent = EstimateEntry.from_estimate(make_estimate(math.nan), 0.975)
    assert silent.gain is silent.low is silent.high is None


def test_prices_go_through_the_record_exactly() -> None:
    for price in (make_price(3.0, 0.1), make_price(0.0, math.inf)):
        entry = PriceEntry.from_price(price)
        again = PriceEntry.model_validate_json(entry.model_dump_json())
        assert again.as_price() == price


def test_the_rule_can_be_asked_again_from_the_record() -> None:
    for entry in find_rooms_advice().record.candidates:
        read = CandidateEntry.model_validate_json(entry.model_dump_json())
        evidence = read.as_evidence()
        assert isinstance(evidence, Evidence)
        assert evidence.net_gain == entry.net_gain.mean


def test_of_candidates_with_one_name_the_gain_tells_which() -> None:
    document = make_document()
    twin = copy.deepcopy(document["candidates"][0])
    twin["net_gain"]["mean"] -= 1.0
    document["candidates"] = [twin, *document["candidates"]]
    found = check_decision(document)
    assert found.chosen_entry is found.candidates[1]
    lost = check_decision(document | {"chosen": "nobody"})
    assert lost.chosen_entry is lost.candidates[0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None])
def test_what_is_not_known_is_null(bad: float | None) -> None:
    assert finite(bad) is None
    assert finite(2) == 2.0


def test_records_cannot_be_changed() -> None:
    found: DecisionRecord = check_decision(make_document())
    with pytest.raises(ValueError, match="frozen"):
        found.verdict = "keep"
