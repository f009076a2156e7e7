from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacre.errors import InputError
from nacre.logs import ColumnMap, read_columns

TOML = """
episode = false
observation = ["queue_north", "queue_south"]
action = "phase"
ignore = ["comment"]

[labels]
action = ["red", "green"]
"""
MAP = ColumnMap(
    episode=False,
    observation=("queue_north", "queue_south"),
    action="phase",
    ignore=("comment",),
    labels={"action": ("red", "green")},
)


def test_file_dictionary_and_object_say_the_same(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text(TOML)
    assert read_columns(path) == read_columns(str(path)) == MAP
    assert read_columns(MAP.as_json()) == MAP
    assert read_columns(MAP) is MAP
    assert read_columns() == ColumnMap()
    assert ColumnMap().as_json() == {}


def test_assignments_of_a_command_line() -> None:
    texts = [
        "episode=false",
        "observation=queue_north, queue_south",
        "action=phase",
        "ignore=comment",
        "labels.action=red,green",
    ]
    assert read_columns(None, texts) == MAP
    assert read_columns({"action": "light", "reward": "r"}, texts).action == "phase"
    assert read_columns({"action": "light", "reward": "r"}, texts).reward == "r"
    assert read_columns(None, ["observation=alone,"]).observation == ("alone",)
    with pytest.raises(InputError, match="cannot use 'phase'; write it as action=phase"):
        read_columns(None, ["phase"])


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"rewards": "r"}, "has the key 'rewards', which is not known; write reward"),
        ({"reward": 3}, "has for reward the value 3; write the name of a column"),
        ({"reward": ["a", "b"]}, "write the name of a column"),
        ({"reward": False}, "write the name of a column"),
        ({"terminated": 1}, "has for terminated the value 1; write .* or false or true"),
        ({"observation": []}, "or a list of different names"),
        ({"observation": ["a", "a"]}, "or a list of different names"),
        ({"action": ["a", 1]}, "or a list of different names"),
        ({"action": ""}, "or a list of different names"),
        (
            {"labels": ["a"]},
            "has for labels the value .*; write labels.COLUMN = …, for each column",
        ),
        ({"encode": {"age": "hash"}}, "has for age the encode entry 'hash'; write one of number, "),
        ({"missing": {"age": "guess"}}, "has for age the missing entry 'guess'; write one of ref"),
        ({"rare": {"region": 0}}, "has for region the rare entry 0; write the least number of"),
        ({"unit": {"price": 3}}, "has for price the unit entry 3; write a text"),
        ({"period": "year"}, "has for period the value 'year'; use one of hour, day, week, month"),
        ({"decimal": ";"}, "has for decimal the value ';'; write '.' or ','"),
        ({"separator": ",,"}, "has for separator the value ',,'; write one character"),
        ({"separator": ",", "decimal": ","}, "has the same sign for two of separator, decimal"),
        ({"text_encoding": "klingon"}, "has for text_encoding the value 'klingon'; write one such"),
        ({"missing_values": [3]}, "write a text or a list of different texts"),
        ({"labels": {"action": "ab"}}, "has for action the labels 'ab'; write a list of different"),
        ({"labels": {"action": ["a", "a"]}}, "has for action the labels"),
        ({"labels": {"action": ["a", 1]}}, "has for action the labels"),
        ({"labels": {"action": [None]}}, "has for action the labels"),
        ({"done": "d", "terminated": "t"}, "names both done and terminated; keep the one"),
    ],
)
def test_what_cannot_be_a_map(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"^columns: .*{message}"):
        read_columns(document)


def test_nothing_may_be_ignored() -> None:
    assert read_columns({"ignore": [], "missing_values": []}) == ColumnMap()


def test_all_problems_of_a_map_are_named(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text("reward = 1\nact = 'a'\n")
    with pytest.raises(InputError) as caught:
        read_columns(path)
    assert len(caught.value.problems) == 2
    assert all(text.startswith(f"{path}: has ") for text in caught.value.problems)


def test_files_that_are_no_maps(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read as a column map \(No such file"):
        read_columns(tmp_path / "nowhere.toml")
    (tmp_path / "bad.toml").write_text("reward = ")
    with pytest.raises(InputError, match=r"cannot be read as a column map \(Invalid value"):
        read_columns(tmp_path / "bad.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read as a column map"):
        read_columns(tmp_path / "bytes.toml")
