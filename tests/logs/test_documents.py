"""TOML documents: what is written is read again, whatever it holds."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.errors import InputError
from nacre.logs.documents import format_document, parse_document, read_document

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLAIN = st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, width=64) | TEXTS
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_what_is_written_is_read_again(document: dict[str, Any]) -> None:
    assert parse_document(format_document(document), "here") == document


def test_tables_are_blocks_and_lists_of_tables_too() -> None:
    document = {
        "learners": [
            {"kind": "plain"},
            {"kind": "deep", "settings": {"epochs": 3, "critics": {"hidden": (8, 8)}}},
        ],
        "confidence": 0.9,
        "cuts": {"at": [{"coordinate": 0}], "sure": True},
    }
    assert format_document(document) == (
        "confidence = 0.9\n"
        "\n[cuts]\nat = [{ coordinate = 0 }]\nsure = true\n"
        '\n[[learners]]\nkind = "plain"\n'
        '\n[[learners]]\nkind = "deep"\n'
        "\n[learners.settings]\nepochs = 3\n"
        "\n[learners.settings.critics]\nhidden = [8, 8]\n"
    )


def test_nothing_is_an_empty_text() -> None:
    assert format_document({}) == ""
    assert tomllib.loads(format_document({"empty": {}, "none": []})) == {"empty": {}, "none": []}


@pytest.mark.parametrize("value", [None, 1j, b"bytes", {1, 2}])
def test_what_toml_has_no_form_for_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="has no form in TOML; keep it in Python"):
        format_document({"value": [value]})


def test_a_file_that_cannot_be_read_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_document(tmp_path / "absent.toml", "a cost.toml")
    assert caught.value.problems == (
        f"{tmp_path / 'absent.toml'}: does not exist; give the path of a cost.toml",
    )
