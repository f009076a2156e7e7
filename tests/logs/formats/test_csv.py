from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.logs import Log, read_log, validate_log, write_log
from nacre.logs.description import describe_columns
from nacre.logs.schema.mapping import read_columns
from tests.support.logs import make_log, write_csv, write_parquet

HEAD = "episode,observation_0,observation_1,action_0,reward,terminated,truncated\n"
ROWS = "0,0,5,0.5,1,False,False\n0,1,5,0.5,2,True,False\n1,2,5,-0.5,3,False,False\n"


def problems_of(path: Path, text: str) -> list[str]:
    return [str(p) for p in validate_log(write_csv(path / "log.csv", text))]


def test_plain_text_without_metadata(tmp_path: Path) -> None:
    log = read_log(write_csv(tmp_path / "log.csv", HEAD + ROWS + "1,3,5,0.25,4,False,True\n"))
    without = read_log(write_parquet(tmp_path / "log.parquet", next_observation=None))
    assert log.fingerprint() == without.fingerprint()


@pytest.mark.parametrize(
    "form",
    [
        lambda text: text.replace("False", "false").replace("True", "true"),
        lambda text: text.replace("False", "0").replace("True", "1"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "# a comment\n# another\n" + text,
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("reward", '"reward"'),
    ],
)
def test_the_many_ways_to_write_the_same(tmp_path: Path, form: object) -> None:
    expected = read_log(write_csv(tmp_path / "a.csv", HEAD + ROWS))
    log = read_log(write_csv(tmp_path / "b.csv", form(HEAD + ROWS)))  # type: ignore[operator]
    assert log.fingerprint() == expected.fingerprint()


def test_the_first_line_holds_the_metadata(tmp_path: Path) -> None:
    write_log(make_log(), tmp_path / "log.csv")
    first, second = (tmp_path / "log.csv").read_text().split("\n")[:2]
    assert first.startswith('# nacre: {"version": 1, "observation_space": {"type": "box"')
    assert second.startswith('"episode","observation_0","observation_1","action_0"')


def test_problems_name_row_and_line(tmp_path: Path) -> None:
    text = "# comment\n" + HEAD + ROWS.replace(",3,False", ",high,False")
    (problem,) = problems_of(tmp_path, text)
    assert "log.csv: column 'reward', row 2 (line 5): is not a number, found 'high'" in problem


def test_blank_lines_count_in_the_line_but_not_in_the_row(tmp_path: Path) -> None:
    text = HEAD + "\n" + ROWS.replace("\n", "\n\n").replace(",3,False", ",nan,False")
    (problem,) = problems_of(tmp_path, text)
    assert "column 'reward', row 2 (line 7): is missing, NaN" in problem


@pytest.mark.parametrize("word", ["nan", "NaN", "inf", "-inf", "", "1e999", "1e39"])
def test_what_is_no_finite_number(tmp_path: Path, word: str) -> None:
    (problem,) = problems_of(tmp_path, HEAD + ROWS.replace("1,2,5", f"1,2,{word}"))
    assert "column 'observation_1', row 2 (line 4)" in problem


def test_texts_among_numbers_in_several_columns_are_all_found(tmp_path: Path) -> None:
    text = HEAD + ROWS.replace("0,1,5", "0,left,5").replace(",3,False", ",much,maybe")
    problems = problems_of(tmp_path, text)
    assert len(problems) == 3
    assert "column 'observation_0', row 1 (line 3): is not a number, found 'left'" in problems[0]
    assert "column 'reward', row 2 (line 4): is not a number, found 'much'" in problems[1]
    assert (
        "column 'terminated', row 2 (line 4): is neither true nor false, found 'maybe'; write true"
        in problems[2]
    )


def test_whole_numbers_first_and_fractions_much_later(tmp_path: Path) -> None:
    n = 60_000
    lines = [f"{i},{i % 3},0,{i}{'.5' if i == n - 1 else ''},1,True" for i in range(n)]
    path = tmp_path / "log.csv"
    path.write_text("episode,observation,action,speed,reward,terminated\n" + "\n".join(lines))
    log = read_log(path)
    assert log.columns["speed"][-1] == n - 0.5
    assert log.observations.dtype == np.int32


def test_ragged_rows(tmp_path: Path) -> None:
    text = HEAD + "0,0,5,0.5,1\n" + ROWS.replace(",3,False", ",bad,False") + "1,1,1,1,1,1,1,1\n"
    problems = problems_of(tmp_path, text)
    assert "row 0 (line 2): has 5 entries for 7 columns; give every row one entry" in problems[0]
    assert "row 4 (line 6): has 8 entries for 7 columns" in problems[1]
    assert "column 'reward', row 3 (line 5): is not a number, found 'bad'" in problems[2]
    assert len(problems) == 3


def test_only_a_head(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, HEAD)
    assert "the log is empty" in problem


@pytest.mark.parametrize("text", ["\n\n", "# only a comment\n", "# nacre: {}\n"])
def test_nothing_but_blank_lines_or_comments(tmp_path: Path, text: str) -> None:
    (problem,) = problems_of(tmp_path, text)
    assert "could not be read as CSV" in problem


def test_other_separators_and_decimal_commas_are_recognised(tmp_path: Path) -> None:
    expected = read_log(write_csv(tmp_path / "a.csv", HEAD + ROWS))
    for separator in ";\t|":
        text = (HEAD + ROWS).replace(",", separator).replace("0.5", "0,5")
        log = read_log(write_csv(tmp_path / "b.csv", text))
        assert log.fingerprint() == expected.fingerprint()
        assert "decimals follow a comma, as was recognised" in str(log.provenance["notes"])


def test_repeated_names(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, HEAD.replace("truncated", "reward") + ROWS)
    assert "column 'reward': appears more than once" in problem


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes((HEAD + ROWS).replace("0.5,1", "\xff,1").encode("latin-1"))
    problems = [str(p) for p in validate_log(path)]
    assert problems
    assert all(problem.isprintable() for problem in problems)
    path.write_bytes((HEAD + ROWS).encode() + b"1,\xff\n")
    (problem,) = map(str, validate_log(path))
    assert "could not be read as CSV (line 5 is not UTF-8); write text_encoding" in problem
    path.write_bytes(HEAD.replace("reward", "\xff").encode("latin-1") + ROWS.encode())
    assert "could not be read as CSV" in str(validate_log(path)[0])


@pytest.mark.parametrize("metadata", ["{", "3", '{"action_space": {"type": "cube"}}'])
def test_metadata_that_is_wrong(tmp_path: Path, metadata: str) -> None:
    (problem,) = problems_of(tmp_path, f"# nacre: {metadata}\n" + HEAD + ROWS)
    assert "the metadata under 'nacre'" in problem


def test_names_that_would_break_lines_are_not_written(tmp_path: Path) -> None:
    log = Log.from_arrays([[0.0]], [0], [0], [True], columns={"a\nb": [1]})
    with pytest.raises(InputError, match=r"cannot be called 'a\\nb' in this format; rename it"):
        write_log(log, tmp_path / "log.csv")
    write_log(log, tmp_path / "log.parquet")
    assert list(read_log(tmp_path / "log.parquet").columns) == ["a\nb"]


SHEET = "Calls of 2024{ends}\n{gap}age;offer;spent\n30;mail;1,5\n41;call;2,5\n52;mail;x\n"
SHEET_MAP = {
    "episode": False,
    "terminated": True,
    "observation": ["age"],
    "action": "offer",
    "reward": "spent",
    "labels": {"action": ["mail", "call"]},
}


@pytest.mark.parametrize(("ends", "gap"), [(";;", ";;\n"), ("", "\n"), (";;", "\n\n")])
def test_titles_above_the_names_are_left_out(tmp_path: Path, ends: str, gap: str) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text(SHEET.format(ends=ends, gap=gap))
    line = 6 + gap.count("\n") - 1
    with pytest.raises(InputError, match=rf"'spent', row 2 \(line {line}\): .* found 'x'"):
        read_log(path, columns=SHEET_MAP)
    path.write_text(path.read_text().replace(";x", ";0,5"))
    log = read_log(path, columns=SHEET_MAP)
    assert log.rewards.tolist() == [1.5, 2.5, 0.5]
    notes = log.provenance["notes"]
    assert isinstance(notes, list)
    assert any("above the names of the columns were left out" in str(note) for note in notes)


def test_tabs_are_written_and_read(tmp_path: Path) -> None:
    log = read_log(
        write_csv(tmp_path / "sheet.csv", "age;offer;spent\n30;mail;1,5\n"), columns=SHEET_MAP
    )
    write_log(log, tmp_path / "log.tsv")
    assert b"\t" in (tmp_path / "log.tsv").read_bytes().splitlines()[1]
    assert read_log(tmp_path / "log.tsv").fingerprint() == log.fingerprint()


def test_less_is_better_where_the_map_says_so(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "sheet.csv", "age;offer;spent\n30;mail;1,5\n40;call;-2\n")
    log = read_log(path, columns={**SHEET_MAP, "lower_is_better": True})
    assert log.rewards.tolist() == [-1.5, 2.0]
    (row,) = (row for row in describe_columns(log) if row["meaning"] == "reward")
    assert row["encoding"] == "times -1: lower is better"
    turned = read_log(path, columns=read_columns(SHEET_MAP, ["lower_is_better=true"]))
    assert turned.fingerprint() == log.fingerprint()
