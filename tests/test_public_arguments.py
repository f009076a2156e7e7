"""Everything public says in one line which argument is of a wrong kind, and never breaks inside."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nacre
from nacre.errors import InputError
from nacre.plugins.registry import Registry
from tests.support.rooms import BEST, find_rooms_advice, make_cost, make_policy, make_rooms_log

WRONG: tuple[Any, ...] = (
    None,
    3,
    -1.5,
    True,
    "text",
    b"bytes",
    [],
    [None],
    {},
    {"a": None},
    object(),
    np.ones(3),
)
RESULTS = {
    *("Advice", "Valuation", "Log", "InputError", "__version__"),
    *("learners.EpochRecord", "learners.Learned", "learners.PaperSettings"),
    *("learners.NoProgress", "learners.ProgressEvent"),
    *("estimators.Estimate", "estimators.Problem", "groups.Atoms"),
    *("examples.Example", "examples.TrafficExample", "examples.Sources"),
}
"""What nacre makes, or a part of somebody else's, and users only read: methods count."""
UNSEEN = {
    *("from_content", "link_function", "statewise_cost", "untraceable", "find_labels"),
    *("atoms", "mass_of", "membership", "names", "episode_blocks"),
}
"""Methods that only nacre itself calls."""


def list_public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Functions, constructors and methods that users call, by the name they have for them."""
    for name in nacre.__all__:
        thing = getattr(nacre, name)
        if not inspect.ismodule(thing):
            yield from list_calls(name, thing)
            continue
        for inner, part in vars(thing).items():
            own = getattr(part, "__module__", "") == thing.__name__
            if inner in getattr(thing, "__all__", ()) or (own and not inner.startswith("_")):
                yield from list_calls(f"{name}.{inner}", part)


def list_calls(name: str, thing: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    if isinstance(thing, (str, Registry, types.GenericAlias)) or getattr(
        thing, "_is_protocol", False
    ):
        return
    if not inspect.isclass(thing):
        if inspect.isfunction(thing) and inspect.signature(thing).parameters:
            yield name, thing
        return
    if name in RESULTS - {"Advice", "Log", "examples.Example"}:
        return
    if name not in RESULTS and not inspect.isabstract(thing):
        yield name, thing
    for method in vars(thing):
        found = inspect.getattr_static(thing, method)
        public = not method.startswith("_") and method not in UNSEEN
        if not (public and isinstance(found, (types.FunctionType, classmethod))):
            continue
        if (
            len(
                inspect.signature(
                    found.__func__ if isinstance(found, classmethod) else found
                ).parameters
            )
            > 1
        ):
            yield f"{name}.{method}", getattr(thing, method)


PUBLIC = dict(list_public())


def make_object(name: str) -> object:
    """What a method is called on."""
    make: dict[str, Callable[[], object]] = {
        "Advice": find_rooms_advice,
        "Log": make_rooms_log,
        "SwitchingCost": lambda: make_cost(1.0),
        "Controller": lambda: nacre.Controller(make_policy(BEST)),
        "groups.ActionGroups": nacre.groups.halves,
        "examples.Example": nacre.examples.load,
    }
    return make[name]()


def call_with(name: str, value: object) -> None:
    """Give one value for every argument."""
    call = PUBLIC[name]
    own, keywords = [], {}
    for parameter in inspect.signature(call).parameters.values():
        if parameter.name == "self":
            own.append(make_object(name.rpartition(".")[0]))
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            keywords[parameter.name] = value
        else:
            own.append(value)
    call(*own, **keywords)


def test_the_public_surface_is_walked() -> None:
    assert {"advise", "evaluate", "read_log", "Log.from_arrays", "learners.learn"} <= set(PUBLIC)
    assert {"SwitchingCost.evaluate", "groups.sign", "Controller.predict"} <= set(PUBLIC)


@pytest.mark.parametrize("name", PUBLIC)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: f"{value!r:.12}")
def test_a_wrong_kind_is_told_or_accepted(
    name: str, wrong: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        call_with(name, wrong)
    except InputError as error:
        lines = error.problems
    else:
        lines = ()
    assert all(line and "\n" not in line for line in lines)
