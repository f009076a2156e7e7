"""Links σ: what becomes of the average over states. Names, expressions of x, or functions."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array

from nacre.errors import InputError

Link: TypeAlias = str | Callable[[Array], Array]

LINKS = ("identity", "times_states", "positive")
LONGEST = 200
"""Characters of an expression; more of them could be nested too deeply to read."""
REMEDY = f"give {', '.join(LINKS)}, or an expression of x such as 'min(x, 10)'"

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: jnp.power(a, b),
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: lambda a: -a,
    ast.UAdd: lambda a: a,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "abs": jnp.abs,
    "ceil": jnp.ceil,
    "exp": jnp.exp,
    "expm1": jnp.expm1,
    "floor": jnp.floor,
    "log": jnp.log,
    "log1p": jnp.log1p,
    "sqrt": jnp.sqrt,
    "tanh": jnp.tanh,
}
_OF_SEVERAL: dict[str, Callable[[Any, Any], Any]] = {"max": jnp.maximum, "min": jnp.minimum}
FUNCTIONS = tuple(sorted({*_FUNCTIONS, *_OF_SEVERAL}))


def is_positive(x: Array) -> Array:
    """The link "positive"."""
    return jnp.where(x > 0, 1.0, 0.0)


@dataclass(frozen=True)
class SharedLink:
    """A link whose cost is shared by many episodes."""

    link: Callable[[Array], Array]
    episodes: float

    def __call__(self, x: Array) -> Array:
        """The share of one episode."""
        return self.link(x) / self.episodes


@dataclass(frozen=True)
class ExpressionLink:
    """A formula of x, the average over states.

    It may hold x, numbers, + - * / **, one comparison at a time (1 where it holds, else 0), "a if
    condition else b", and the functions of `FUNCTIONS`. It is read, never run as Python.

    Args:
        text: The formula, such as "min(2 * x, 10)".
    """

    text: str

    def __post_init__(self) -> None:
        if len(self.text) > LONGEST:
            raise InputError(
                f"link = {self.text[:40]!r}…: an expression has {LONGEST} characters at most, this "
                f"has {len(self.text)}"
            )
        try:
            tree = ast.parse(self.text.strip(), mode="eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise InputError(f"link = {self.text!r}: could not be read; {REMEDY}") from None
        problem = _find_problem(tree.body)
        if problem:
            raise InputError(f"link = {self.text!r}: {problem}")

    def __call__(self, x: Array) -> Array:
        """The formula at x."""
        body = ast.parse(self.text.strip(), mode="eval").body
        return jnp.asarray(_evaluate(body, x), jnp.result_type(x, float))


def read_link(link: Link) -> Link:
    """A name or a function as it is, any other text as an expression.

    Raises:
        InputError: If it is none of these.
    """
    if callable(link) or link in LINKS:
        return link
    if not isinstance(link, str):
        raise InputError(f"link = {link!r:.60} is unknown; {REMEDY}")
    if link.isidentifier() and link != "x":
        near = difflib.get_close_matches(link, LINKS, n=1)
        guess = f" (did you mean {near[0]}?)" if near else ""
        raise InputError(f"link = {link!r} is unknown{guess}; {REMEDY}")
    return ExpressionLink(link)


def _find_problem(node: ast.expr) -> str:
    """What an expression may not hold, or nothing."""
    match node:
        case ast.Name(id="x"):
            return ""
        case ast.Constant(value=bool() | complex()):
            return f"{node.value!r} is no number"
        case ast.Constant(value=int() | float()):
            return ""
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _find_problem(left) or _find_problem(right)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _find_problem(operand)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            return _find_problem(left) or _find_problem(right)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _find_problem(test) or _find_problem(body) or _find_problem(orelse)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            if name not in FUNCTIONS:
                return f"{name} is unknown; known are x and {', '.join(FUNCTIONS)}"
            if (len(args) < 2) if name in _OF_SEVERAL else (len(args) != 1):
                wanted = "two values or more" if name in _OF_SEVERAL else "one value"
                return f"{name} takes {wanted}, this has {len(args)}"
            return next(filter(None, map(_find_problem, args)), "")
        case ast.Name(id=name):
            return f"{name} is unknown; known are x and {', '.join(FUNCTIONS)}"
    part = ast.unparse(node)
    return f"{part:.40} is not allowed in a link; {REMEDY}"


def _evaluate(node: ast.expr, x: Array) -> Any:
    """The value of an expression that was checked before."""
    match node:
        case ast.Name():
            return x
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)](_evaluate(left, x), _evaluate(right, x))
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](_evaluate(operand, x))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            holds = _COMPARISONS[type(op)](_evaluate(left, x), _evaluate(right, x))
            return jnp.where(holds, 1.0, 0.0)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return jnp.where(
                jnp.asarray(_evaluate(test, x)) != 0, _evaluate(body, x), _evaluate(orelse, x)
            )
        case ast.Call(func=ast.Name(id=name), args=args):
            values = [_evaluate(part, x) for part in args]
            return (
                reduce(_OF_SEVERAL[name], values)
                if name in _OF_SEVERAL
                else _FUNCTIONS[name](*values)
            )
    raise AssertionError(ast.dump(node))
