"""Parts as tables: those that are no dataclasses, and fields that may hold one of several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from nacre.advice.parts import build_part, change_part, describe_part, list_fields
from nacre.errors import InputError
from nacre.plugins.registry import Registry


class Plain:
    """No dataclass: it has a name and nothing to set."""

    name = "plain"


@dataclass(frozen=True)
class Slow:
    pace: int = 1


@dataclass(frozen=True)
class VeryFast:
    pace: int = 9
    risk: float = 0.5

    def __post_init__(self) -> None:
        if self.risk > 1:
            raise InputError([f"risk = {self.risk}: at most 1", "too fast for anyone"])


@dataclass(frozen=True)
class Exact:
    place: int


@dataclass(frozen=True)
class Mover:
    """A part whose way may be one of two, or none."""

    way: Slow | VeryFast | None = None
    sure: Slow = field(default_factory=lambda: Slow(3))
    goal: Exact | None = None
    made: str = field(default="here", init=False)

    @property
    def name(self) -> str:
        return "mover" if self.way is None else f"mover-{self.way.pace}"


PARTS: Registry[Any] = Registry(
    "nacre.no_such_group", "part", {"plain": f"{__name__}:Plain", "mover": f"{__name__}:Mover"}
)


def build(entry: Any) -> tuple[Any, list[str]]:
    problems: list[str] = []
    return build_part(PARTS, entry, "parts[0]", problems), problems


def test_a_part_without_fields_has_none_to_set() -> None:
    part, problems = build("plain")
    assert isinstance(part, Plain)
    assert problems == []
    assert describe_part(PARTS, part) == {"kind": "plain", "name": "plain"}
    assert build({"kind": "plain", "name": "plain"})[1] == []
    assert build({"kind": "plain", "pace": 1}) == (
        None,
        ["parts[0].pace = 1: plain has no such field; known are none"],
    )


@pytest.mark.parametrize("part", [Mover(), Mover(Slow(4)), Mover(VeryFast(7, 0.25), Slow(2))])
def test_what_is_described_is_built_again(part: Mover) -> None:
    assert list_fields(part) == ["way", "sure", "goal"]
    assert build(describe_part(PARTS, part)) == (part, [])


def test_a_field_of_several_classes_says_which() -> None:
    assert describe_part(PARTS, Mover(VeryFast()))["way"] == {
        "kind": "very_fast",
        "pace": 9,
        "risk": 0.5,
    }
    assert build({"kind": "mover", "way": {"kind": "slow", "pace": 2}}) == (Mover(Slow(2)), [])
    # There is nothing yet that a table without a kind could change.
    problem = "parts[0].way: has no kind; known are slow, very_fast"
    assert build({"kind": "mover", "way": {"pace": 2}}) == (None, [problem])
    problem = "parts[0].way.kind = [1]: known are slow, very_fast"
    assert build({"kind": "mover", "way": {"kind": [1]}}) == (None, [problem])
    problem = "parts[0].goal: exact has no defaults; give it in Python"
    assert build({"kind": "mover", "goal": {"place": 1}}) == (None, [problem])
    problems: list[str] = []
    changed = change_part(Mover(VeryFast()), {"way": {"risk": 0.1}}, "", problems, "mover")
    assert (changed, problems) == (Mover(VeryFast(9, 0.1)), [])


def test_complaints_of_a_part_have_the_whole_way_to_the_field() -> None:
    assert build({"kind": "mover", "way": {"kind": "very_fast", "risk": 2}}) == (
        None,
        ["parts[0].way.risk = 2.0: at most 1", "parts[0].way: too fast for anyone"],
    )
    assert build({"kind": "mover", "sure": 3, "made": "there"}) == (
        None,
        [
            "parts[0].sure = 3: must be a table",
            "parts[0].made = 'there': mover has no such field; known are way, sure, goal",
        ],
    )
