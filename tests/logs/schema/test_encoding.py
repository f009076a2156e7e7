"""Encodings against what can be worked by hand, and the predictor's copy against ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs import Log, observation_names, read_log
from nacre.policies.formats import numpy_predictor

TABLE = (
    "age,region,size,when,day,price,offer,spent\n"
    "20,north,S,2024-01-01 06:00,05.02.2024,$1.5,mail,1\n"
    "40,south,L,2024-01-04 12:00,06.02.2024,$2.5,none,2\n"
    ",,M,2024-01-08 06:00,07.02.2024,$4.0,mail,3\n"
    "60,north,L,2024-01-02 00:00,12.02.2024,$8.0,none,4\n"
)
MAP: dict[str, Any] = {
    "episode": False,
    "terminated": True,
    "observation": ["age", "region", "size", "when", "day", "price"],
    "action": "offer",
    "reward": "spent",
    "labels": {"action": ["none", "mail"], "size": ["S", "M", "L"]},
    "encode": {"region": "one_hot", "when": "time", "day": "date"},
    "missing": {"age": "median", "region": "category"},
    "unit": {"price": "$"},
    "time_format": {"day": "%d.%m.%Y"},
}


def read(folder: Path, text: str = TABLE, **changes: Any) -> Log:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return read_log(path, columns={**MAP, **changes})


def texts_of(folder: Path, text: str = TABLE, **changes: Any) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(folder, text, **changes)
    return list(caught.value.problems)


def test_every_kind_of_column_becomes_the_numbers_that_its_name_says(tmp_path: Path) -> None:
    log = read(tmp_path)
    names = observation_names(log)
    columns = dict(zip(names, log.observations.T, strict=True))
    np.testing.assert_array_equal(columns["age"], [20, 40, 40, 60])
    np.testing.assert_array_equal(columns["age is missing"], [0, 0, 1, 0])
    np.testing.assert_array_equal(columns["region=north"], [1, 0, 0, 1])
    np.testing.assert_array_equal(columns["region=south"], [0, 1, 0, 0])
    np.testing.assert_array_equal(columns["region=missing"], [0, 0, 1, 0])
    np.testing.assert_array_equal(columns["size"], [0, 2, 1, 2])
    np.testing.assert_array_equal(columns["price"], [1.5, 2.5, 4, 8])
    # A quarter of a day, half, a quarter, none; a week later it is the same place in the week.
    np.testing.assert_allclose(columns["when in the day (sin)"], [1, 0, 1, 0], atol=1e-6)
    np.testing.assert_allclose(columns["when in the day (cos)"], [0, -1, 0, 1], atol=1e-6)
    week = columns["when in the week (sin)"]
    assert week[0] == pytest.approx(week[2], abs=1e-6)
    assert columns["day in the week (cos)"][0] == pytest.approx(columns["day in the week (cos)"][3])
    assert not any("day in the day" in name for name in names)
    assert log.provenance["missing"] == {"age": 1, "region": 1}
    assert log.n_episodes == 4
    assert log.terminated.all()


def test_the_predictor_encodes_raw_rows_as_the_log_was_read(tmp_path: Path) -> None:
    log = read(tmp_path)
    predictor = numpy_predictor.Predictor.__new__(numpy_predictor.Predictor)
    predictor.inputs = {key: log.provenance[key] for key in ("columns", "encoding", "labels")}
    head, *lines = TABLE.splitlines()
    for line, expected in zip(lines, log.observations, strict=True):
        row: dict[str, Any] = dict(zip(head.split(","), line.split(","), strict=True))
        np.testing.assert_allclose(predictor.encode(row), expected, atol=1e-6)
    with pytest.raises(ValueError, match="column 'region': 'west' is none of"):
        predictor.encode({**row, "region": "west"})
    with pytest.raises(ValueError, match="column 'size' is not in the row"):
        predictor.encode({key: value for key, value in row.items() if key != "size"})
    with pytest.raises(ValueError, match="column 'price' is missing"):
        predictor.encode({**row, "price": None})


def test_episodes_that_miss_values_are_dropped_and_counted(tmp_path: Path) -> None:
    log = read(tmp_path, missing={"age": "drop", "region": "drop"})
    np.testing.assert_array_equal(log.rewards, [1, 2, 4])
    assert "1 of 4 episodes were dropped" in str(log.provenance["notes"])
    text = TABLE.replace("none,2", "none,")
    dropped = read(tmp_path, text, missing={**MAP["missing"], "reward": "drop"})
    np.testing.assert_array_equal(dropped.rewards, [1, 3, 4])
    labels = TABLE.replace("mail,3", ",3")
    assert len(read(tmp_path, labels, missing={**MAP["missing"], "offer": "drop"})) == 3


def test_whole_episodes_are_dropped_where_they_have_several_rows(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("run,x,action,reward\na,1,0,1\na,,1,1\nb,2,0,1\nb,3,1,1\n")
    columns = {
        "episode": "run",
        "observation": ["x"],
        "terminated": True,
        "missing": {"x": "drop"},
    }
    log = read_log(tmp_path / "log.csv", columns=columns)
    np.testing.assert_array_equal(log.observations[:, 0], [2, 3])
    np.testing.assert_array_equal(log.terminated, [False, True])


def test_rare_categories_become_one(tmp_path: Path) -> None:
    log = read(tmp_path, rare={"region": 2})
    columns = dict(zip(observation_names(log), log.observations.T, strict=True))
    np.testing.assert_array_equal(columns["region=other"], [0, 1, 0, 0])
    assert "region=south" not in columns


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"missing": {"region": "category"}}, 'missing.age = "median"'),
        ({"missing": {"age": 0}}, 'write missing.region = "drop" or "category" in the column map'),
        ({"missing": {"age": 0, "region": "mean"}}, 'write missing.region = "drop" or "category"'),
        ({"labels": {"action": ["none", "mail"]}}, 'encode.size = "one_hot"'),
        (
            {
                "encode": {**MAP["encode"], "region": "ordinal"},
                "missing": {"age": "median", "region": "drop"},
            },
            'write labels.region = ["north", "south"] in the column map, in their order',
        ),
        ({"unit": {}}, 'write unit.price = "$" in the column map'),
        ({"time_format": {}}, 'write time_format.day = "'),
        ({"encode": {"when": "time", "day": "date"}}, 'write encode.region = "one_hot"'),
        ({"encode": {**MAP["encode"], "age": "time"}}, "not dates or times"),
        ({"missing": {**MAP["missing"], "reward": "mean"}}, 'write missing.spent = "drop"'),
    ],
)
def test_what_cannot_be_encoded_says_what_to_write(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    assert any(message in text for text in texts_of(tmp_path, **changes))


def test_many_categories_point_to_rare(tmp_path: Path) -> None:
    rows = [f"{i % 7},town {i // 2},0,1" for i in range(300)] + ["1,town 0,1,1"] * 20
    (tmp_path / "log.csv").write_text("\n".join(["x,town,action,reward", *rows]))
    columns: dict[str, Any] = {
        "episode": False,
        "terminated": True,
        "observation": ["x", "town"],
        "encode": {"town": "one_hot"},
    }
    with pytest.raises(InputError, match=r"150 categories, more than 100; write rare\.town = 3 "):
        read_log(tmp_path / "log.csv", columns=columns)
    log = read_log(tmp_path / "log.csv", columns={**columns, "rare": {"town": 3}})
    assert observation_names(log) == ("x", "town=town 0", "town=other")


def test_successors_are_encoded_like_their_observations(tmp_path: Path) -> None:
    text = "run,where,next_where,action,reward\na,x,y,0,1\na,y,y,1,1\n"
    (tmp_path / "log.csv").write_text(text)
    columns: dict[str, Any] = {
        "episode": "run",
        "terminated": False,
        "observation": ["where"],
        "next_observation": ["next_where"],
        "encode": {"where": "one_hot"},
    }
    log = read_log(tmp_path / "log.csv", columns=columns)
    np.testing.assert_array_equal(log.observations, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(log.next_observations, [[0, 1], [0, 1]])


def test_actions_over_several_columns(tmp_path: Path) -> None:
    text = "x,a,b,price,channel,reward\n1,1,0,5,mail,1\n2,0,1,9,call,1\n3,1,0,9,mail,1\n"
    (tmp_path / "log.csv").write_text(text)
    base: dict[str, Any] = {"episode": False, "terminated": True, "observation": ["x"]}
    marks = {**base, "action": ["a", "b"], "encode": {"action": "from_one_hot"}}
    log = read_log(tmp_path / "log.csv", columns=marks)
    np.testing.assert_array_equal(log.actions, [0, 1, 0])
    assert log.provenance["labels"] == {"action": ["a", "b"]}
    both = {**base, "action": ["price", "channel"], "labels": {"channel": ["call", "mail"]}}
    log = read_log(tmp_path / "log.csv", columns=both)
    np.testing.assert_array_equal(log.actions, [1, 2, 3])
    assert log.provenance["labels"] == {"action": ["5, call", "5, mail", "9, call", "9, mail"]}
    (tmp_path / "log.csv").write_text(text.replace("2,0,1", "2,1,1"))
    with pytest.raises(InputError, match=r"row 1 \(line 3\): has 2 ones in 'a', 'b'"):
        read_log(tmp_path / "log.csv", columns=marks)
