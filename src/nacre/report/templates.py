"""Jinja templates of the page and its sections: everything that they are given is escaped."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from nacre.report.sentences import capitalise, state_interval
from nacre.report.terms import add_unit
from nacre.report.text import clean, format_level, format_number, format_percent, format_share

ASSETS = Path(__file__).parent / "assets"


def render(template: str, **values: object) -> Markup:
    """A template of ours with these values; names that it does not know are an error."""
    text = _open_environment().get_template(template).render(**values)
    return Markup(text)  # noqa: S704 - the environment escapes


@cache
def read_asset(name: str) -> str:
    """The text of a style sheet or a script of ours."""
    return (ASSETS / name).read_text(encoding="utf-8")


@cache
def _open_environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ASSETS),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "clean": clean,
        "number": format_number,
        "percent": format_percent,
        "share": format_share,
        "level": format_level,
        "interval": state_interval,
        "unit": add_unit,
        "sentence": capitalise,
    }
    return environment
