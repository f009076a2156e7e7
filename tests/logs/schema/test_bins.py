"""Mixed actions: several columns that are chosen together, numbers as intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs import read_log
from nacre.logs.schema.mapping import read_columns
from nacre.logs.schema.naming import action_labels

TABLE = "age,drug,dose,well\n" + "".join(
    f"{30 + i},{'ab'[i % 2]},{i * 2.5},{i % 3}\n" for i in range(8)
)
MAP: dict[str, Any] = {
    "episode": False,
    "terminated": True,
    "observation": ("age",),
    "reward": "well",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "log.csv"
    file.write_text(TABLE)
    return file


def test_a_drug_and_its_dose_are_one_choice(path: Path) -> None:
    columns = MAP | {
        "action": ("drug", "dose"),
        "labels": {"drug": ("a", "b")},
        "bins": {"dose": (5.0, 10.0)},
    }
    log = read_log(path, columns=columns)
    doses = np.arange(8) * 2.5
    interval = (doses >= 5).astype(int) + (doses >= 10)
    np.testing.assert_array_equal(log.actions, np.arange(8) % 2 * 3 + interval)
    labels = action_labels(log)
    assert labels is not None
    assert labels[1] == "a, dose 5 to 10"
    assert labels[5] == "b, dose from 10"


def test_intervals_of_about_as_many_rows(path: Path) -> None:
    log = read_log(path, columns=MAP | {"action": "dose", "bins": {"dose": 4}})
    assert np.bincount(log.actions).tolist() == [2, 2, 2, 2]


def test_bins_on_a_command_line() -> None:
    columns = read_columns(None, ["bins.dose=5,10.5", "bins.price=4"])
    assert columns.bins == {"dose": (5, 10.5), "price": 4}
    for wrong in ("bins.dose=10,5", "bins.dose=1", "bins.dose=few"):
        with pytest.raises(InputError, match="write a list of rising numbers, or a whole number"):
            read_columns(None, [wrong])


def test_too_many_combinations_lead_to_bins(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = (f"1,{i % 3},{i / 7},{i % 3}\n" for i in range(900))
    path.write_text("age,drug,dose,well\n" + "".join(rows))
    columns = MAP | {"action": ("drug", "dose"), "labels": {"drug": (0, 1, 2)}}
    with pytest.raises(InputError, match=r"write bins.dose = 5 in the column map"):
        read_log(path, columns=columns)
    log = read_log(path, columns=columns | {"bins": {"dose": 5}})
    assert log.actions.max() == 14


def test_bins_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("age,dose,well\n1,2,3\n2,2,1\n")
    with pytest.raises(InputError, match="is the same in every row"):
        read_log(path, columns=MAP | {"action": "dose", "bins": {"dose": 4}})
    path.write_text("age,dose,well\n1,2,3\n2,,1\n")
    with pytest.raises(InputError, match="is missing"):
        read_log(path, columns=MAP | {"action": "dose", "bins": {"dose": (1.0,)}})
