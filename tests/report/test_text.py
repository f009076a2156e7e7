"""Numbers with sensible digits; text that hides nothing."""

from __future__ import annotations

import math

import pytest

from nacre.report.text import (
    clean,
    clean_lines,
    format_bound,
    format_confidence,
    format_level,
    format_number,
    format_percent,
    format_share,
    half_width,
    spell_numbers,
)


@pytest.mark.parametrize(
    ("value", "spread", "shown"),
    [
        (13.481, 1.08, "13.5"),
        (8.8662, 0.4765, "8.87"),
        (-0.004, 1.0, "0.0"),
        (-2.5, 0.5, "−2.50"),
        (1234567.0, 1000.0, "1,234,567"),
        (0.5, None, "0.5"),
        (3.0, None, "3"),
        (1.48775, None, "1.488"),
        (0.0, None, "0"),
        (100.0, None, "100"),
        (12345.6, None, "12,346"),
        (1e-9, 1e-12, "0.000000"),
        (2.0, 0.0, "2.000"),
        (None, None, "unknown"),
        (math.inf, None, "unknown"),
        (math.nan, 1.0, "unknown"),
    ],
)
def test_numbers_have_the_digits_that_their_spread_supports(
    value: float | None, spread: float | None, shown: str
) -> None:
    assert format_number(value, spread) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (1.0, "more than 99.9 %"),
        (0.9951, "99.5 %"),
        (0.953, "95 %"),
        (0.005, "0.5 %"),
        (0.0, "less than 0.1 %"),
        (None, "unknown"),
        (math.nan, "unknown"),
    ],
)
def test_no_probability_is_certain(share: float | None, shown: str) -> None:
    assert format_percent(share).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.0, "0 %"), (0.0001, "under 0.1 %"), (0.02, "2 %"), (0.0617, "6.2 %"), (0.5, "50 %")],
)
def test_shares(share: float, shown: str) -> None:
    assert format_share(share).replace("\u00a0", " ") == shown


def test_levels_are_not_rounded() -> None:
    assert [format_level(x) for x in (0.95, 0.975, 0.999)] == [
        "95\u00a0%",
        "97.5\u00a0%",
        "99.9\u00a0%",
    ]


def test_half_of_an_interval() -> None:
    assert half_width(1.0, 4.0) == 1.5
    assert half_width(None, 4.0) is None


def test_what_cannot_be_seen_is_made_visible() -> None:
    assert clean("a\x00b") == "a⟨U+0000⟩b"
    assert clean("safe\u202egnp") == "safe⟨U+202E⟩gnp"
    assert clean("\ud800") == "\ufffd"
    assert clean("a\tb\nc") == "a b c"
    assert clean("نمی\u200cخواهم") == "نمی\u200cخواهم"


def test_long_text_is_cut_unless_asked_for_whole() -> None:
    assert clean("x" * 400) == "x" * 299 + "…"
    assert clean("x" * 400, None) == "x" * 400
    assert clean("abc", 2) == "a…"
    assert clean_lines("a\x00\nb") == "a⟨U+0000⟩\nb"


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("at least 1.14e+04 with 95 %", "at least 11,400 with 95 %"),
        ("-2e-03 and 3e5", "\u22120.002 and 300,000"),
        ("candidate 3e5x", "candidate 3e5x"),
        ("no number", "no number"),
    ],
)
def test_powers_of_ten_are_written_out(text: str, spelled: str) -> None:
    assert spell_numbers(text) == spelled


@pytest.mark.parametrize(
    ("confidence", "shown"),
    [
        (0.4, "under 50 %"),
        (0.87, "87 %"),
        (0.9501, "just above 95 %"),
        (0.9499, "just below 95 %"),
        (0.95, "95 %"),
        (0.9712, "97.1 %"),
        (0.9999, "99.9 % or more"),
    ],
)
def test_a_confidence_is_never_rounded_beyond_the_one_asked_for(
    confidence: float, shown: str
) -> None:
    assert format_confidence(confidence, 0.95).replace("\u00a0", " ") == shown


@pytest.mark.parametrize(
    ("bound", "shown"),
    [(0.01, "just above 0"), (-0.01, "just below 0"), (0.0, "0.0"), (2.0, "2.0")],
)
def test_a_bound_says_on_which_side_of_zero_it_lies(bound: float, shown: str) -> None:
    assert format_bound(bound, 1.5) == shown
    assert format_bound(None, 1.5) == "unknown"
