"""Templates escape what they are given, and miss nothing in silence."""

from __future__ import annotations

import jinja2
import pytest

from nacre.report.templates import ASSETS, read_asset, render


def test_values_are_escaped() -> None:
    shown = render("sections/failed.html", name="<b>", reason="{{ 7 * 7 }}")
    assert "&lt;b&gt;" in shown
    assert "{{ 7 * 7 }}" in shown


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        render("sections/failed.html", name="one")


def test_assets_are_read_whole() -> None:
    assert read_asset("prices.js") == (ASSETS / "prices.js").read_text(encoding="utf-8")
