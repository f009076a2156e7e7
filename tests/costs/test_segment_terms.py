"""The table [segments] of a cost.toml."""

from __future__ import annotations

import pytest

from nacre.costs import SegmentTerms, format_cost, parse_cost
from nacre.errors import InputError

COST = 'kind = "local"\n'


def test_the_table_is_read_and_written() -> None:
    text = COST + '[segments]\ncolumn = "region"\nstart_states = true\n'
    cost = parse_cost(text)
    assert cost.terms.segments == SegmentTerms("region", True)
    assert parse_cost(format_cost(cost)) == cost
    assert parse_cost(COST).terms.segments == SegmentTerms()
    assert "segments" not in format_cost(parse_cost(COST))


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ('colum = "region"', "segments.colum is unknown .did you mean column"),
        ("column = 3", "segments.column = 3: expected"),
        ('column = "a\\tb"', "printable"),
    ],
)
def test_wrong_tables_are_told(table: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        parse_cost(f"{COST}[segments]\n{table}\n")
