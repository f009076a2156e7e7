from __future__ import annotations

import json

import pytest

from nacre.logs.checks.problems import Problems
from nacre.logs.schema.metadata import ColumnForm, Metadata, decode_metadata, encode_metadata
from tests.support.logs import make_log


def test_metadata_comes_back_as_it_was() -> None:
    log, problems = make_log(further=True, discrete_actions=True), Problems()
    metadata = decode_metadata(encode_metadata(log, log.columns), problems)
    assert not problems
    assert metadata.spaces == {
        "observation": log.observation_space,
        "action": log.action_space,
    }
    assert metadata.provenance == log.provenance
    assert metadata.forms is not None
    assert metadata.forms["mean"] == ColumnForm("float32", 3)
    assert metadata.forms["count"] == ColumnForm("int16", None)


def test_no_metadata_is_not_the_same_as_none_about_columns() -> None:
    assert decode_metadata(None, Problems()) == Metadata()
    assert decode_metadata("{}", Problems()) == Metadata(forms={})


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "is [], not an object"),
        ({"action_space": {"type": "text"}}, "has the action space"),
        ({"provenance": 3}, "has the provenance 3, not an object"),
        ({"columns": 3}, "has for 'columns' the form 3"),
        ({"columns": {"x": {"dtype": "object"}}}, "has for 'x' the form"),
        ({"columns": {"x": {"dtype": "int8", "width": 0}}}, "has for 'x' the form"),
    ],
)
def test_what_is_wrong_is_reported(document: object, message: str) -> None:
    problems = Problems()
    decode_metadata(json.dumps(document), problems)
    (problem,) = problems.found
    assert message in str(problem)
    assert "mend it, or remove it from the file" in str(problem)
    decode_metadata("{", problems)
    assert "is no JSON" in str(problems.found[1])
