"""Model cards."""

from pathlib import Path

import pytest

from nacre.policies import (
    Card,
    TabularPolicy,
    write_card,
)
from nacre.policies.card import escape, format_card
from tests.support.policies import make_policy

TABLE = TabularPolicy.from_probabilities([[0.7, 0.3, 0.0], [0.1, 0.6, 0.3]])


def test_a_card_says_what_it_was_told(tmp_path: Path) -> None:
    card = Card(
        make_policy("squashed_gaussian"),
        title="Gait 7",
        files={"policy.onnx": "ONNX, opset 13"},
        trained_on={"transitions": 1_000_000, "episodes": 400},
        cost={"learning_weight": 5.0, "groups": {"kind": "sign", "coordinate": 0}},
        verdict={"verdict": "switch", "net_gain": {"low": 1.25, "high": 2.5}},
        limits=["Not for slopes."],
    )
    write_card(tmp_path / "card.md", card)
    text = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert text.startswith("# Gait 7\n")
    for line in (
        "| transitions | 1,000,000 |",
        "| learning\\_weight | 5 |",
        "| groups, kind | sign |",
        "| net\\_gain, low | 1.25 |",
        "| layers | 3 → 16 → 16 → 4 |",
        "- Not for slopes.",
    ):
        assert line in text.splitlines()
    assert "opset 13" in text
    assert "How it was trained" not in text


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "[click](javascript:alert(1))",
        "![x](http://example.invalid/x.png)",
        "a | b | c",
        "line\n# heading",
        "`code` *bold* _it_ ~~x~~ $x$",
        "<!-- hidden -->",
        "\u202eetirw\x1b[31m",
        "https://example.invalid",
    ],
)
def test_texts_from_outside_have_no_meaning(hostile: str) -> None:
    card = Card(
        TABLE,
        title=hostile,
        files={hostile: hostile},
        trained_on={hostile: [hostile]},
        verdict={"note": {hostile: hostile}},
        limits=[hostile],
    )
    text = format_card(card)
    assert hostile not in text
    assert "<" not in text
    assert "](" not in text
    assert "\u202e" not in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert len(headings) == 6
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.replace("\\|", "").count("|") == 3


def test_long_texts_are_cut() -> None:
    assert len(escape("a" * 10_000)) == 500
    assert escape("plain words, 3 of them") == "plain words, 3 of them"
