from __future__ import annotations

import numpy as np

from nacre.logs import Problem
from nacre.logs.checks.problems import Problems, show, show_names, show_path


def test_a_problem_is_one_line_with_place_value_and_remedy() -> None:
    problem = Problem("is not a number", "write one", "a.csv", "reward", 3, 5, "'x'")
    assert str(problem) == (
        "a.csv: column 'reward', row 3 (line 5): is not a number, found 'x'; write one"
    )
    assert str(Problem("is empty", "fill it")) == "log: is empty; fill it"
    assert str(Problem("is odd", "mend it", row=2)) == "log: row 2: is odd; mend it"


def test_control_characters_never_reach_the_message() -> None:
    text = str(Problem("is odd", "mend it", column="a\x1b[31m\nb"))
    assert text.isprintable()
    assert r"'a\x1b[31m\nb'" in text
    assert show_path("a\nb.csv") == r"'a\nb.csv'"
    assert show_path("plain.csv") == "plain.csv"


def test_values_are_shown_short() -> None:
    assert show(np.float32(0.1)) == "0.100000001"
    assert show(np.float64("nan")) == "nan"
    assert show(np.int64(3)) == "3"
    assert len(show("x" * 500)) == 61


def test_many_names_are_cut() -> None:
    assert show_names([]) == "none"
    assert show_names(["a", "b"]) == "'a', 'b'"
    assert show_names(f"c{i}" for i in range(20)).endswith("'c11', and 8 more")


def test_repeated_problems_are_counted_instead_of_listed() -> None:
    problems = Problems(file="f")
    problems.add_rows("x", np.arange(128), lambda i: (f"is {i}", None), "mend it")
    assert [p.row for p in problems.found] == [0, 1, 2, 3, 4, None]
    assert str(problems.found[-1]) == (
        "f: column 'x': and 123 more rows with the same problem; mend it"
    )
    single = Problems()
    single.add_rows(None, np.arange(6), lambda i: ("is odd", None), "mend it")
    assert "and 1 more row with" in str(single.found[-1])


def test_no_rows_are_no_problem() -> None:
    problems = Problems()
    problems.add_rows("x", np.arange(0), lambda i: ("never", None), "never")
    assert not problems


def test_labels_follow_the_source() -> None:
    problems = Problems(labels={"observation": "observations"}, parts={"action": ("up", "down")})
    assert problems.label("observation") == "observations"
    assert problems.label("observation", 3) == "observations[3]"
    assert problems.label("action", 1) == "down"
