"""The tables [[guardrail]]: what they may say, and what is said where they are wrong."""

from __future__ import annotations

import pytest

from nacre.costs import GuardrailTerms, ValueTerms, describe_cost, format_cost, parse_cost
from nacre.errors import InputError

COST = """
kind = "local"
[value]
unit = "€"
[[guardrail]]
column = "complaints"
worst = 0.005
relative = true
[[guardrail]]
column = "stars"
better = "higher"
unit = "*"
"""


def test_the_tables_are_read_and_written_again() -> None:
    cost = parse_cost(COST)
    assert cost.terms.guardrails == (
        GuardrailTerms("complaints", 0.005, relative=True),
        GuardrailTerms("stars", 0.0, better="higher", unit="*"),
    )
    assert [one.sign for one in cost.terms.guardrails] == [-1.0, 1.0]
    assert parse_cost(format_cost(cost)) == cost
    assert describe_cost(cost)["value"] == {"unit": "€"}
    # Guardrails alone are no terms of value.
    assert ValueTerms(guardrails=cost.terms.guardrails).as_json() == {}
    assert "guardrail" not in describe_cost(parse_cost('kind = "local"'))


def test_learners_do_not_see_guardrails() -> None:
    year = "episodes_per_day = 2\nhorizon_days = 9\n"
    cost = parse_cost(COST.replace('unit = "€"\n', f'unit = "€"\n{year}'))
    assert cost.terms.guardrails
    assert cost.per_episode().terms.guardrails == ()


WRONG = {
    '[[guardrail]]\ncolumn = "x"\nworst = -1': "guardrail[0].worst = -1: expected at least 0",
    "[[guardrail]]\nworst = 1": "guardrail[0].column is missing; add it",
    '[[guardrail]]\ncolumn = "x"\nwurst = 1': "guardrail[0].wurst is unknown (did you mean worst?)",
    '[[guardrail]]\ncolumn = "x"\nbetter = "low"': "guardrail[0].better = 'low' is unknown",
    '[guardrail]\ncolumn = "x"': "write [[guardrail]], in two brackets",
    '[[guardrail]]\ncolumn = ""': 'guardrail[0]: column = "": name a column of the log',
    '[[guardrail]]\ncolumn = "x"\n[[guardrail]]\ncolumn = "x"': "the column 'x' is there twice",
}


@pytest.mark.parametrize("text", WRONG)
def test_each_problem_is_one_line(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_cost(f'kind = "local"\n{text}', "f.toml")
    (problem,) = caught.value.problems
    assert problem.startswith("f.toml: ")
    assert WRONG[text] in problem


def test_python_is_told_the_same() -> None:
    with pytest.raises(InputError) as caught:
        GuardrailTerms("a\nb", float("nan"), better="up")  # type: ignore[arg-type]
    assert [problem.split(" = ")[0] for problem in caught.value.problems] == [
        "worst",
        "better",
        "column",
    ]
