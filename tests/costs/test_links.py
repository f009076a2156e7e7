"""Links as expressions: what they compute, against Python, and what they refuse."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import nacre
from nacre.costs import FiniteStates, describe_cost, format_cost, parse_cost
from nacre.costs.links import LONGEST, ExpressionLink, read_link
from nacre.errors import InputError
from nacre.policies import TabularPolicy

POINTS = (0.0, 0.25, 1.0, 3.5, 20.0)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "2 * x + 1",
        "min(x, 10)",
        "max(x - 1, 0, x / 2)",
        "-x ** 2 / 3 - +4",
        "exp(-x) + expm1(x / 9) + tanh(x)",
        "sqrt(x) + log1p(x) + log(x + 1) + abs(x - 2)",
        "floor(x) + ceil(x)",
        "(x > 1) * 5",
        "10 if x >= 3 else x",
        " 1e3*x ",
    ],
)
def test_an_expression_is_what_python_makes_of_it(text: str) -> None:
    names = {name: getattr(math, name) for name in dir(math) if not name.startswith("_")}
    link = ExpressionLink(text)
    with jax.enable_x64(True):
        for x in POINTS:
            expected = float(eval(text.strip(), names, {"x": x}))  # noqa: S307 - texts of this file
            assert float(link(jnp.asarray(x))) == pytest.approx(expected, rel=1e-12, abs=1e-12)
            assert float(jax.jit(link)(x)) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("identiti", r"link = 'identiti' is unknown \(did you mean identity\?\); give identity, "),
        ("min(x, y)", "y is unknown; known are x and abs, "),
        ("x + y", "y is unknown; known are x and abs, "),
        ("(x > y) * 1", "y is unknown"),
        ("(y > x) * 1", "y is unknown"),
        ("y if x > 1 else x", "y is unknown"),
        ("x if y else x", "y is unknown"),
        ("x if x > 1 else y", "y is unknown"),
        ("open('x')", "open is unknown; known are x and"),
        ("min(x)", "min takes two values or more, this has 1"),
        ("exp(x, x)", "exp takes one value, this has 2"),
        ("x.real", "x.real is not allowed in a link"),
        ("x[0]", "is not allowed in a link"),
        ("__import__('os').system('true')", "is not allowed in a link"),
        ("(lambda: x)()", "is not allowed in a link"),
        ("[x for x in x]", "is not allowed in a link"),
        ("0 < x < 1", "is not allowed in a link"),
        ("x and 1", "is not allowed in a link"),
        ("x % 2", "is not allowed in a link"),
        ("min(x, *x)", "is not allowed in a link"),
        ("min(x, key=x)", "is not allowed in a link"),
        ("'text'", "is not allowed in a link"),
        ("True * x", "True is no number"),
        ("2j * x", "2j is no number"),
        ("2 x", "could not be read; give identity, times_states, positive, or an expression"),
        ("", "could not be read"),
        ("x\0", "could not be read"),
        ("x := 2", "could not be read"),
        ("-" * LONGEST + "x", f"has {LONGEST} characters at most, this has {LONGEST + 1}"),
    ],
)
def test_what_is_no_formula_of_x_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_link(text)


def test_large_powers_are_infinite_and_take_no_time() -> None:
    with np.errstate(all="ignore"):
        assert not math.isfinite(float(ExpressionLink("9**9**9**9")(jnp.ones(()))))


OLD, NEW = (
    TabularPolicy.from_probabilities(table)
    for table in ([[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]])
)


def test_a_cost_file_may_hold_an_expression() -> None:
    text = """
kind = "transport"
learning_weight = 10.0
link = "min(x, 3) + 1"
groups = { kind = "halves" }
states = { measure = "finite" }
"""
    cost = parse_cost(text)
    assert cost.evaluate(OLD, NEW).total == pytest.approx(4.0)
    assert float(cost.at(OLD, NEW, jnp.arange(2), jax.random.key(0))) == pytest.approx(4.0)
    assert describe_cost(cost)["link"] == "min(x, 3) + 1"
    again = parse_cost(format_cost(cost))
    assert again == cost
    assert again.link == ExpressionLink("min(x, 3) + 1")
    with pytest.raises(InputError, match=r"^cost.toml: link = 'min\(z, 3\)': z is unknown"):
        parse_cost(text.replace("min(x, 3) + 1", "min(z, 3)"))


def test_the_error_of_a_cost_goes_through_the_expression() -> None:
    """A slope of 3 makes the standard error three times as large."""
    states = FiniteStates()
    plain = nacre.TransportCost(10.0, 0.0, nacre.groups.halves(), state_measure=states)
    steep = nacre.TransportCost(
        10.0, 0.0, nacre.groups.halves(), state_measure=states, link="3 * x"
    )
    for cost, factor in ((plain, 1.0), (steep, 3.0)):
        assert cost.evaluate(OLD, NEW).total == pytest.approx(5.0 * factor)
    bad = nacre.TransportCost(
        10.0, 0.0, nacre.groups.halves(), state_measure=states, link="log(x - 99)"
    )
    with pytest.raises(InputError, match="the link gives nan for the average cost 5"):
        bad.evaluate(OLD, NEW)
