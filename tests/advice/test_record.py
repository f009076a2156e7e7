"""Decisions are read and checked before anything is done with them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from nacre.advice.record import FORMAT, check_decision, read_decision
from nacre.errors import InputError

EXAMPLES = Path(__file__).parents[1] / "report"
FIRST, SECOND = EXAMPLES / "example", EXAMPLES / "example_2"
DOCUMENT: dict[str, Any] = json.loads((SECOND / "decision.json").read_bytes())


@pytest.fixture
def document() -> dict[str, Any]:
    return copy.deepcopy(DOCUMENT)


def test_a_folder_and_its_file_give_the_same() -> None:
    assert read_decision(SECOND) == read_decision(SECOND / "decision.json")
    assert read_decision(SECOND).as_json() == DOCUMENT


def test_the_first_format_is_brought_into_todays_form() -> None:
    record = read_decision(FIRST)
    first = json.loads((FIRST / "decision.json").read_bytes())
    assert record.format == FORMAT
    assert (record.verdict, record.probability) == (first["verdict"], first["confidence"])
    assert [one.name for one in record.candidates] == [one["name"] for one in first["candidates"]]
    assert check_decision(record.as_json()) == record


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not JSON"),
        (b"[1, 2]", "holds a list"),
        (b'{"format": 3}', "format = 3"),
        (b"{}", "format = None"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"format": 1, "x": ' + b"[" * 200 + b"]" * 200 + b"}", "nested more than"),
    ],
)
def test_what_is_no_decision_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "decision.json").write_bytes(content)
    with pytest.raises(InputError, match=r"decision\.json") as caught:
        read_decision(tmp_path)
    assert said in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"decision.json: cannot be read .*nacre advise"):
        read_decision(tmp_path)


def test_an_enormous_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "decision.json").write_text(json.dumps(DOCUMENT), encoding="utf-8")
    monkeypatch.setattr("nacre.advice.record.LARGEST_FILE", 100)
    with pytest.raises(InputError, match="larger than 100 bytes"):
        read_decision(tmp_path)


def test_every_bad_place_is_named(document: dict[str, Any]) -> None:
    document["verdict"] = "perhaps"
    document["candidates"][1]["cost"]["total"] = "much"
    document["net_gain"]["mean"] = float("nan")
    with pytest.raises(InputError) as caught:
        check_decision(document)
    text = "\n".join(caught.value.problems)
    for place in ("verdict = 'perhaps'", "candidates.1.cost.total = 'much'", "net_gain.mean"):
        assert place in text


def test_flows_have_to_fit_the_groups(document: dict[str, Any]) -> None:
    document["candidates"][0]["cost"]["flows"] = [[1.0]]
    with pytest.raises(InputError, match=r"candidates.0.cost.flows: has 1 rows for 2 groups"):
        check_decision(document)


def test_there_has_to_be_a_candidate(document: dict[str, Any]) -> None:
    document["candidates"] = []
    with pytest.raises(InputError, match="candidates"):
        check_decision(document)


def test_of_two_of_the_same_name_the_one_with_the_recorded_gain_is_chosen(
    document: dict[str, Any],
) -> None:
    for entry in document["candidates"]:
        entry["name"] = document["chosen"]
    decision = check_decision(document)
    assert decision.chosen_entry.net_gain == decision.net_gain
