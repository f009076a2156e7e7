"""Drafts of column maps: what they take for an observation, and that they can be followed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from nacre.logs import read_log
from nacre.logs.drafting.column_map import draft_map

PLACES = "state,age,offer,spent\n" + "CA,30,mail,1\nNY,41,none,2\nCA,55,none,0\nTX,39,mail,3\n"
NUMBERED = "state,age,action,reward\n" + "0,30,1,1\n1,41,0,2\n2,55,0,0\n0,39,1,3\n"


def draft(folder: Path, text: str, *assignments: str) -> dict[str, Any]:
    path = folder / "log.csv"
    path.write_text(text, encoding="utf-8")
    drafted = draft_map(path, assignments)
    assert not drafted.open
    columns = tomllib.loads(drafted.text)
    read_log(path, columns=columns)
    return columns


@pytest.mark.parametrize(
    ("text", "assignments", "observation"),
    [
        (PLACES, (), ["state", "age"]),
        (PLACES.replace("state", "context"), (), ["context", "age"]),
        (PLACES, ("observation=state", "encode.state=one_hot"), "state"),
        (NUMBERED, (), "state"),
        (NUMBERED.replace("state", "observation").replace("2,55", "2.5,55"), (), None),
    ],
)
def test_a_column_with_a_known_name_is_not_all_that_was_observed(
    tmp_path: Path, text: str, assignments: tuple[str, ...], observation: Any
) -> None:
    drafted = draft(tmp_path, text, *assignments)
    assert drafted["observation"] == (observation or ["observation", "age"])


def test_the_names_of_states_and_of_successors_stay_together(tmp_path: Path) -> None:
    text = "x,next_state,state,action,reward,episode,terminated\n"
    text += "1,0.5,0.1,1,1,a,false\n2,0.7,0.5,0,1,a,true\n"
    drafted = draft(tmp_path, text)
    assert (drafted["observation"], drafted["next_observation"]) == ("state", "next_state")


@pytest.mark.parametrize("chances", [True, False])
def test_who_logs_probabilities_decides_row_by_row(tmp_path: Path, chances: bool) -> None:
    rows = [
        f"2026-01-{1 + i // 24:02} {i % 24:02}:00,{30 + i % 7},m{i % 2},{i % 3},0.5"
        for i in range(72)
    ]
    text = "when,age,offer,spent,pscore\n" + "\n".join(rows) + "\n"
    if not chances:
        text = text.replace(",0.5\n", "\n").replace(",pscore", "")
    drafted = draft(tmp_path, text)
    if chances:
        assert (drafted["episode"], drafted["terminated"], drafted["order"]) == (
            False,
            True,
            "when",
        )
        assert drafted["observation"] == ["age"]
    else:
        assert (drafted["episode"], drafted["period"]) == ("when", "day")


def test_a_draft_finds_the_code_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    text = PLACES.replace("CA", "Köln").replace(",1\n", ",1 €\n")
    for code in ("cp1252", "latin-1"):
        path.write_bytes(text.replace("€" if code == "latin-1" else "\0", "").encode(code))
        columns = tomllib.loads(draft_map(path, ()).text)
        assert columns["text_encoding"] == code
