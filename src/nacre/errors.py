"""The errors that nacre raises for things its user can mend, and arguments of a wrong kind.

An annotation of the public interface says what is wanted: to people, to type checkers, and to
`check_arguments`. Kinds are compared, not values: what a number or a text may be is for whoever
reads it.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar, Union

Checked = TypeVar("Checked", bound=Callable[..., Any])
PLAIN = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, type(None))
NOT_LISTS = (str, bytes, Mapping)
NOT_ARRAYS = (str, bytes, Mapping, set, frozenset, os.PathLike, type(None), types.FunctionType)
MADE_BY = {
    "Log": "a nacre.Log (nacre.read_log gives one)",
    "Policy": "a policy (nacre.read_policy gives one)",
    "SwitchingCost": "a nacre.SwitchingCost (nacre.read_cost gives one)",
    "Candidate": "a nacre.Candidate(name, policy, origin)",
}
"""How to come by an object of a class."""
NUMBERS = ("bool", "int", "float", "complex")
TEXTS = ("str", "bytes", "Buffer")
LONGEST = 40


class InputError(ValueError):
    """Something handed to nacre from outside is wrong.

    Every problem is one line that names the place, the value and the remedy. The command line
    prints them one by one and exits with 2.
    """

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (
            (problems,) if isinstance(problems, str) else tuple(problems)
        )
        super().__init__("\n".join(self.problems))


def suggest_name(name: str, known: Iterable[str]) -> str:
    """The remedy for a name that nobody knows: the nearest one, else all there are."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(names) or 'none'}"


@dataclass(frozen=True)
class Kind:
    """What an annotation cannot say: `Annotated[…, Kind(words, accepts)]`.

    Attributes:
        words: What is wanted, as after "give".
        accepts: Whether a value is of this kind.
    """

    words: str
    accepts: Callable[[Any], bool]


def check_arguments(function: Checked) -> Checked:
    """Decorates a function, a method, or a class for its constructor.

    Raises:
        InputError: When it is called: one line for each argument of a wrong kind.
    """
    if isinstance(function, type):
        function.__init__ = check_arguments(function.__init__)  # type: ignore[misc]
        return function
    signature = inspect.signature(function)

    @functools.cache
    def find_hints() -> dict[str, Any]:
        return typing.get_type_hints(function, include_extras=True)

    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        try:
            given = signature.bind(*arguments, **named).arguments
        except TypeError:
            # Python says itself which names are missing or too many.
            return function(*arguments, **named)
        hints, problems = find_hints(), []
        for name, value in given.items():
            variadic = signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
            hint = hints.get(name, Any)
            found = _find_problem(name, value, Sequence[hint] if variadic else hint)  # type: ignore[valid-type]
            problems += [found] if found else []
        if problems:
            raise InputError(problems)
        return function(*arguments, **named)

    return typing.cast(Checked, checked)


def _find_problem(name: str, value: Any, hint: Any) -> str:
    """What to say of a value that is of none of the kinds of a hint; nothing if it is of one."""
    kinds = list(_list_kinds(hint))
    if any(_is_of(value, kind) for kind in kinds):
        inner = [_find_inner_problem(name, value, kind) for kind in kinds if _is_of(value, kind)]
        return "" if "" in inner else inner[0]
    return f"{name} {_show(value)}: give {_list_wanted(kinds)}"


def _find_inner_problem(name: str, value: Any, kind: Any) -> str:
    """The same of what a list or a dictionary holds."""
    inner = typing.get_args(kind)
    origin = typing.get_origin(kind)
    if not inner or not isinstance(origin, type):
        return ""
    if issubclass(origin, Mapping):
        parts = ((f"{name}[{key!r:.40}]", part, inner[1]) for key, part in value.items())
    elif issubclass(origin, Sequence):
        each = inner if origin is tuple and inner[-1] is not ... else [inner[0]] * len(value)
        # How many there have to be is for whoever reads them.
        pairs = zip(value, each, strict=False)
        parts = ((f"{name}[{n}]", part, wanted) for n, (part, wanted) in enumerate(pairs))
    else:
        return ""
    problems = (_find_problem(*part) for part in parts)
    return next((problem for problem in problems if problem), "")


def _list_kinds(hint: Any) -> Iterator[Any]:
    """The alternatives of a hint."""
    if typing.get_origin(hint) not in (Union, types.UnionType):
        yield hint
        return
    inner = [kind for one in typing.get_args(hint) for kind in _list_kinds(one)]
    if any(_is_array_kind(kind) for kind in inner):
        # NumPy's and JAX's words for what becomes an array are long unions.
        is_alias = any(
            getattr(kind, "__module__", "").startswith("numpy._typing") for kind in inner
        )
        dropped = (*NUMBERS, *(TEXTS if is_alias else ()))
        inner = [kind for kind in inner if getattr(kind, "__name__", "") not in dropped]
    yield from inner


def _is_array_kind(kind: Any) -> bool:
    origin = typing.get_origin(kind) or kind
    module = getattr(origin, "__module__", "") or ""
    return module.partition(".")[0] in ("numpy", "jax", "jaxlib", "jaxtyping")


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; what it holds is not looked at."""
    origin = typing.get_origin(kind)
    if origin is Annotated:
        return all(one.accepts(value) for one in kind.__metadata__ if isinstance(one, Kind))
    if origin is Literal:
        return any(_is_word(value, word) for word in typing.get_args(kind))
    kind = origin or kind
    if kind in (Any, object) or isinstance(kind, (TypeVar, str, typing.ForwardRef)):
        return True
    if kind in (None, type(None)):
        return value is None
    if kind in _PLAIN_KINDS:
        return _PLAIN_KINDS[kind](value)
    if _is_array_kind(kind):
        return not isinstance(value, NOT_ARRAYS) and (
            _is_list(value)
            or (hasattr(value, "dtype") and hasattr(value, "shape"))
            or hasattr(value, "__array__")
            or _is_number(value)
        )
    if kind is tuple or kind is Sequence:
        return _is_list(value)
    if kind is Callable:
        return callable(value)
    if getattr(kind, "_is_protocol", False):
        return all(hasattr(value, name) for name in _list_members(kind))
    return isinstance(value, kind)


def _is_list(value: Any) -> bool:
    """Whether there are parts in an order; arrays with rows are lists too."""
    listed = hasattr(value, "__getitem__") and getattr(value, "shape", (1,)) != ()
    return listed and hasattr(value, "__len__") and not isinstance(value, NOT_LISTS)


def _is_word(value: Any, word: Any) -> bool:
    """Whether a value is of a word's kind; which words there are is told where they are read."""
    return isinstance(value, str) if isinstance(word, str) else value is word


def _is_truth(value: Any) -> bool:
    return type(value).__name__ in ("bool", "bool_")


def _is_number(value: Any) -> bool:
    """A number of Python, NumPy or JAX, one that is still being traced too."""
    numeric = hasattr(value, "__float__") or hasattr(value, "__index__")
    return numeric and getattr(value, "shape", ()) == () and not _is_truth(value)


def _is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return not _is_truth(value)


_PLAIN_KINDS: Mapping[Any, Callable[[Any], bool]] = {
    bool: _is_truth,
    int: _is_whole,
    float: _is_number,
}


def _list_members(protocol: type) -> list[str]:
    return [name for name in vars(protocol) if name == "__call__" or not name.startswith("_")]


def _list_wanted(kinds: Sequence[Any]) -> str:
    """What may be given, in words."""
    words = [_describe(kind) for kind in kinds if kind not in (None, type(None))]
    if _WORDS[os.PathLike] in words:
        words = [word for word in words if word != _WORDS[str]]
    *most, last = dict.fromkeys(words)
    return f"{', '.join(most)} or {last}" if most else last


def _describe(kind: Any) -> str:
    origin = typing.get_origin(kind)
    if origin is Annotated:
        return next(one.words for one in kind.__metadata__ if isinstance(one, Kind))
    if origin is Literal:
        return " or ".join(repr(word) for word in typing.get_args(kind))
    kind = origin or kind
    if kind in _WORDS:
        return _WORDS[kind]
    if _is_array_kind(kind):
        return "an array of numbers"
    if getattr(kind, "_is_protocol", False) and _list_members(kind) == ["__call__"]:
        return _WORDS[Callable]
    name = kind.__name__
    is_public = name in sys.modules["nacre"].__all__
    place = f"a nacre.{name}" if is_public else f"an object of {kind.__module__}.{name}"
    return MADE_BY.get(name, place)


_WORDS: Mapping[Any, str] = {
    str: "a text",
    os.PathLike: "a path",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    Mapping: "a dictionary",
    dict: "a dictionary",
    Sequence: "a list",
    tuple: "a list",
    list: "a list",
    Callable: "a function",
}


def _show(value: Any) -> str:
    """What was given: its value where that is short, else its type."""
    if isinstance(value, PLAIN) and len(repr(value)) <= LONGEST:
        return f"= {value!r}"
    return f"is a {type(value).__name__}"
