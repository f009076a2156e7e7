"""Sections are registered by name, and each has the shape that the page asks for."""

from __future__ import annotations

import pytest

from nacre.report.sections import LAST, SECTIONS
from nacre.report.sections.base import Context, Section


@pytest.mark.parametrize("name", SECTIONS.names)
def test_every_section_is_one(name: str, context: Context) -> None:
    section = SECTIONS.find(name)()
    assert isinstance(section, Section)
    assert section.name == name
    rendered = section.render(context)
    assert rendered is None or rendered.startswith("<section")


def test_the_last_ones_are_registered() -> None:
    assert set(LAST) <= set(SECTIONS.names)


def test_the_chosen_candidate_is_one_of_the_record(context: Context) -> None:
    assert context.chosen.name == context.record.chosen
    assert len(context.prices.lines) == len(context.record.candidates)
