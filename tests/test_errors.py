"""Arguments against annotations: what is told, and what is let through."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float
from numpy.typing import ArrayLike

from nacre.errors import InputError, Kind, check_arguments


class Hears(Protocol):
    """Anything that is told."""

    def __call__(self, word: str) -> None: ...


class Named(Protocol):
    """Anything that has a name and acts."""

    @property
    def name(self) -> str: ...

    def act(self) -> None: ...


class Actor:
    name = "x"

    def act(self) -> None:
        """Do nothing."""


EVEN = Annotated[Any, Kind("an even number", lambda value: value in (0, 2, 4))]


@check_arguments
def ask(
    path: str | os.PathLike[str] = "x",
    share: float | None = None,
    count: int = 0,
    fast: bool = False,
    rows: ArrayLike | None = None,
    kind: Literal["a", "b"] | Literal[False] = "a",
    names: Sequence[str] = (),
    table: Mapping[str, float | Sequence[int]] | None = None,
    hears: Hears | None = None,
    actor: Named | None = None,
    even: EVEN = 0,
    function: Callable[[int], int] | None = None,
    pair: tuple[float, str] | None = None,
    *more: int,
    last: Any = None,
) -> str:
    """Takes one of each kind."""
    return "done"


@pytest.mark.parametrize(
    "given",
    [
        {"path": Path("x"), "share": 1, "count": np.int64(3), "fast": np.True_},
        {"share": np.float32(0.5), "count": jnp.int32(2), "rows": jnp.zeros(3)},
        {"share": jnp.float32(0.5), "rows": [[1, 2]], "kind": False, "names": ["a"]},
        {"kind": "any word: which ones there are is told elsewhere", "names": np.array(["a"])},
        {"table": {"a": 1.0, "b": [1, 2]}, "hears": print, "actor": Actor(), "even": 4},
        {"rows": range(3), "names": ("a", "b")},
        {"rows": 3.0, "function": len, "pair": [1, "a"], "last": object()},
    ],
)
def test_what_fits_passes(given: dict[str, Any]) -> None:
    assert ask(**given) == "done"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"path": 3}, "path = 3: give a path"),
        ({"path": None}, "path = None: give a path"),
        ({"share": "half"}, "share = 'half': give a number"),
        ({"share": True}, "share = True: give a number"),
        ({"count": 0.5}, "count = 0.5: give a whole number"),
        ({"fast": 1}, "fast = 1: give True or False"),
        ({"rows": "abc"}, "rows = 'abc': give an array of numbers"),
        ({"rows": {}}, "rows = {}: give an array of numbers"),
        ({"kind": 1}, "kind = 1: give 'a' or 'b' or False"),
        ({"names": "abc"}, "names = 'abc': give a list"),
        ({"names": ["a", 2]}, "names[1] = 2: give a text"),
        ({"table": [1]}, "table = [1]: give a dictionary"),
        ({"table": {"a": "b"}}, "table['a'] = 'b': give a number or a list"),
        ({"table": {"a": [1.5]}}, "table['a'][0] = 1.5: give a whole number"),
        ({"hears": 1}, "hears = 1: give a function"),
        (
            {"actor": print},
            f"actor is a {type(print).__name__}: give an object of {__name__}.Named",
        ),
        ({"even": 3}, "even = 3: give an even number"),
        ({"function": "len"}, "function = 'len': give a function"),
        ({"pair": [1, 2]}, "pair[1] = 2: give a text"),
        ({"names": "a" * 99}, "names is a str: give a list"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as caught:
        ask(**given)
    assert caught.value.problems == (line,)


def test_all_wrong_arguments_are_told_together() -> None:
    wrong: Any = (3, "x", "y")
    with pytest.raises(InputError) as caught:
        ask(*wrong)
    assert [line.split()[0] for line in caught.value.problems] == ["path", "share", "count"]
    more: Any = ("a",)
    with pytest.raises(InputError, match=r"more\[0\] = 'a': give a whole number"):
        ask("x", None, 0, False, None, "a", (), None, None, None, 0, None, None, *more)


def test_wrong_names_are_pythons_own_business() -> None:
    wrong: Any = {"color": 1}
    with pytest.raises(TypeError, match="unexpected keyword argument 'color'"):
        ask(**wrong)


@check_arguments
@dataclass(frozen=True)
class Setting:
    """A class is checked where it is made, and where it is made anew."""

    share: float = 0.5

    @check_arguments
    def scale(self, factor: float) -> float:
        """Once more."""
        return self.share * factor


def test_constructors_and_methods() -> None:
    assert Setting(1).scale(np.float64(2)) == 2.0
    wrong: Any = "x"
    for call in (
        lambda: Setting(wrong),
        lambda: replace(Setting(), share=wrong),
        lambda: Setting().scale(wrong),
    ):
        with pytest.raises(InputError, match=r"= 'x': give a number"):
            call()


@check_arguments
def double(x: Float[Array, " n"], by: float = 2.0) -> Array:
    """Is compiled."""
    return by * x


def test_what_is_compiled_is_checked_while_it_is_traced() -> None:
    np.testing.assert_allclose(jax.jit(double)(jnp.ones(2), 3.0), [3.0, 3.0])
    wrong: Any = "ones"
    with pytest.raises(InputError, match="x = 'ones': give an array of numbers"):
        double(wrong)
