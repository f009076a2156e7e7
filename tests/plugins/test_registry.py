"""Parts by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from nacre.errors import InputError
from nacre.plugins import registry
from nacre.plugins.registry import Registry

OURS = {"join": "posixpath:join", "split": "posixpath:split"}


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Registry[Any]:
    theirs = [
        EntryPoint("join", "ntpath:join", "nacre.things"),
        EntryPoint("basename", "ntpath:basename", "nacre.things"),
        EntryPoint("broken", "ntpath:nothing", "nacre.things"),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: theirs)
    return Registry("nacre.things", "thing", OURS)


def test_ours_come_first_and_cannot_be_replaced(parts: Registry[Any]) -> None:
    import ntpath
    import posixpath

    assert parts.names == ("join", "split", "basename", "broken")
    assert parts.find("join") is posixpath.join
    assert parts.find("basename") is ntpath.basename


def test_what_is_not_there_is_said_with_the_nearest_name(parts: Registry[Any]) -> None:
    with pytest.raises(InputError, match=r"no thing is called 'jion'; did you mean join\?"):
        parts.find("jion")
    with pytest.raises(InputError, match="known are join, split, basename, broken"):
        parts.find("xyz")


def test_a_part_that_cannot_be_imported_names_its_package(parts: Registry[Any]) -> None:
    with pytest.raises(InputError, match="thing 'broken' of ntpath:nothing: cannot be imported"):
        parts.find("broken")


def test_a_part_is_known_by_its_name(parts: Registry[Any]) -> None:
    import ntpath
    import posixpath

    assert parts.find_name(posixpath.split) == "split"
    assert parts.find_name(ntpath.basename) == "basename"
    # Names of ours cannot be taken, and one that cannot be imported is nobody's.
    assert parts.find_name(ntpath.join) is None
    assert parts.find_name(object()) is None


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    parts = Registry[Any]("nacre.nothing", "thing", {"absent": "nacre.no_such_module:thing"})
    assert parts.names == ("absent",)
