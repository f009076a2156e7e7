"""Episodes over the files of a folder: one rule for CSV, Parquet and Arrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from nacre.logs import Log, read_log

Rows = list[dict[str, Any]]
FORMS = ("csv", "parquet", "arrow")


def make_row(episode: object, **further: object) -> dict[str, Any]:
    return {"episode": episode, "observation": 0.5, "action": 1, "reward": 1.0, **further}


def write_folder(folder: Path, form: str, *files: Rows) -> Path:
    folder.mkdir()
    for number, rows in enumerate(files):
        table, path = pa.Table.from_pylist(rows), folder / f"{number}.{form}"
        if form == "csv":
            arrow_csv.write_csv(table, path)
        elif form == "parquet":
            pq.write_table(table, path)
        else:
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as out:
                out.write_table(table)
    return folder


def read(tmp_path: Path, form: str, *files: Rows, **columns: Any) -> Log:
    return read_log(write_folder(tmp_path / "log", form, *files), columns=columns or None)


def notes_of(log: Log) -> str:
    return str(log.provenance["notes"])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("with_steps", [False, True])
def test_files_that_count_anew(tmp_path: Path, form: str, with_steps: bool) -> None:
    """Two workers, each with the episodes 0 and 1, of two and of three steps."""
    rows = [
        make_row(episode, terminated=step == episode + 1, **({"step": step} if with_steps else {}))
        for episode in range(2)
        for step in range(episode + 2)
    ]
    log = read(tmp_path, form, rows, rows)
    assert log.episode_lengths.tolist() == [2, 3, 2, 3]
    assert "2 times a later file has the number of an earlier episode" in notes_of(log)


@pytest.mark.parametrize("form", FORMS)
def test_episodes_that_go_on_in_time(tmp_path: Path, form: str) -> None:
    """Three patients in two months: 2 visits each in the first, 1 in the second, the last."""
    months = [
        [make_row(who, day=f"2024-0{month}-{day}", terminated=month == 2) for who in range(3)]
        for month, day in ((1, 10), (1, 20), (2, 10))
    ]
    log = read(tmp_path, form, months[0] + months[1], months[2], order="day")
    assert log.episode_lengths.tolist() == [3, 3, 3]
    assert "3 times an episode goes on in a later file" in notes_of(log)


@pytest.mark.parametrize("form", FORMS)
def test_an_episode_that_is_cut_in_two(tmp_path: Path, form: str) -> None:
    rows = [make_row(i // 3, terminated=i % 3 == 2) for i in range(9)]
    log = read(tmp_path, form, rows[:4], rows[4:])
    assert log.episode_lengths.tolist() == [3, 3, 3]


@pytest.mark.parametrize("form", FORMS)
def test_later_steps_go_on_wherever_they_lie(tmp_path: Path, form: str) -> None:
    first = [make_row(who, step=step, terminated=False) for who in range(2) for step in range(2)]
    later = [make_row(who, step=2, terminated=True) for who in range(2)]
    assert read(tmp_path, form, first, later).episode_lengths.tolist() == [3, 3]


@pytest.mark.parametrize("form", FORMS)
def test_names_mean_the_same_in_all_files(tmp_path: Path, form: str) -> None:
    first = [make_row(who, terminated=False) for who in ("ann", "bob")]
    later = [make_row(who, terminated=True) for who in ("ann", "bob")]
    assert read(tmp_path, form, first, later).episode_lengths.tolist() == [2, 2]


def test_rows_of_a_file_are_counted_past_blank_lines_and_breaks_in_texts(tmp_path: Path) -> None:
    head = "episode,note,observation,action,reward,terminated\n"
    texts = [
        f'# made by hand\n{head}0,"one\ntwo",0,1,1,false\n\n0,x,0,1,1,true\n',
        f'{head}0,y,0,1,1,false\n0,"z\n\n",0,0,1,true\n',
    ]
    folder = tmp_path / "log"
    folder.mkdir()
    for number, text in enumerate(texts):
        (folder / f"{number}.csv").write_text(text)
    log = read_log(folder, columns={"ignore": ["note"]})
    assert log.episode_lengths.tolist() == [2, 2]


def test_whole_episodes_in_a_row_end_with_their_file(tmp_path: Path) -> None:
    rows = [{"observation": [[0.0], [1.0]], "action": [0, 1], "reward": [1.0, 2.0]}] * 2
    log = read(tmp_path, "parquet", rows, rows[:1], terminated=True)
    assert log.n_episodes == 3
