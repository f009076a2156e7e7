"""The arithmetic of summaries, by lines made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacre.experiments.calibration.page import write_page
from nacre.experiments.calibration.records import append_line, find_path
from nacre.experiments.calibration.summary import summarise, tabulate, tabulate_rules


def make_line(
    verdict: str, estimate: float, true: float, *, seed: int = 0, **changes: Any
) -> dict[str, Any]:
    """A case with one finalist whose 90 % interval is the estimate ±1, over a range of 10."""
    widths = {"0.5": 0.4, "0.8": 0.8, "0.9": 1.0, "0.95": 1.2}
    finalist = {
        "name": "one",
        "net_gain": estimate,
        "intervals": {level: [estimate - w, estimate + w] for level, w in widths.items()},
        "cost": 0.0,
        "estimates": [],
        "overlap": {},
        "true_gain": true,
        "standard_error": 0.0,
        "true_net_gain": true,
        "oracle_width": 0.5,
    }
    return {
        "suite": "finite",
        "world": "ring",
        "kind": "soft",
        "seed": seed,
        "commit": "abc",
        "configuration": "x",
        "facts": {"offer": "many"},
        "value_range": [0.0, 10.0],
        "verdict": verdict,
        "claim": estimate - 1.0 if verdict == "switch" else None,
        "chosen": finalist,
        "finalists": [finalist],
        "not_finalists": [],
        "baselines": {
            "fitted_q": {"verdict": "switch", "chosen": "one", "true_net_gain": true},
            "importance_sampling": {"verdict": "keep", "chosen": None, "true_net_gain": None},
        },
        "seconds": {"advice": 2.0},
        **changes,
    }


LINES = [
    make_line("switch", 3.0, 3.5),  # right, claim true, covered at 0.8 and above, clear and taken
    make_line("switch", 3.0, 1.5),  # right, claim (2) false, nowhere covered, clear and taken
    make_line("switch", 2.0, -0.5, world="cliff"),  # wrong, claim (1) false
    make_line("keep", -1.0, -1.1),  # covered everywhere
    make_line("undecided", 1.0, 2.0, kind="random"),  # clear but not taken, covered at 0.9 and 0.95
]


def test_every_figure() -> None:
    found = summarise(LINES)
    assert (found["decisions"], found["switches"], found["wrong_switches"]) == (5, 3, 1)
    assert (found["claims"], found["false_claims"]) == (3, 2)
    assert found["coverage"] == {"0.5": 0.2, "0.8": 0.4, "0.9": 0.6, "0.95": 0.6}
    assert (found["clear"], found["clear_taken"]) == (3, 2)
    assert (found["clear_shown"], found["clear_shown_taken"]) == (3, 2)
    assert found["net_value"] == pytest.approx((3.5 + 1.5 - 0.5) / 10)
    assert found["width_ratio"] == pytest.approx(4.0)
    assert found["seconds"] == 2.0
    assert found["commit"] == "abc"
    assert found["worlds"]["cliff"]["wrong_switches"] == 1
    assert found["worlds"]["ring"]["decisions"] == 4
    assert set(found["kinds"]) == {"soft", "random"}


def test_clear_gains_that_no_log_could_show_are_counted_apart() -> None:
    facts = {"offer": "many", "can_show": False}
    found = summarise([*LINES, make_line("undecided", 0.0, 5.0, facts=facts)])
    assert (found["clear"], found["clear_taken"]) == (4, 2)
    assert (found["clear_shown"], found["clear_shown_taken"]) == (3, 2)


def test_baselines_are_counted_on_the_same_decisions() -> None:
    plain = summarise(LINES)["baselines"]
    assert plain["empirical_mdp"] is None
    assert plain["fitted_q"]["wrong_switches"] == 2
    assert plain["fitted_q"]["clear_taken"] == 3
    assert plain["fitted_q"]["net_value"] == pytest.approx((3.5 + 1.5 - 0.5 - 1.1 + 2.0) / 10)
    assert plain["importance_sampling"]["switches"] == 0


def test_an_open_interval_covers_and_has_no_width() -> None:
    line = make_line("undecided", 1.0, 50.0)
    line["chosen"]["intervals"] = {"0.9": [0.0, None]}
    found = summarise([line])
    assert found["coverage"]["0.9"] == 1.0
    assert found["coverage"]["0.5"] is None
    assert found["width_ratio"] is None


def test_errors_of_a_simulated_truth_are_allowed_for_beside_it() -> None:
    line = make_line("switch", 3.0, 4.5)
    line["chosen"]["standard_error"] = 0.3
    found = summarise([line])
    assert found["coverage"]["0.9"] == 0.0
    assert found["coverage_within_error"]["0.9"] == 1.0
    assert found["coverage_within_error"]["0.5"] == 0.0
    assert found["tied_switches"] == 0
    line["chosen"]["true_net_gain"] = -0.5
    assert summarise([line])["tied_switches"] == 1


def test_a_clear_gain_that_was_not_tested_is_one_that_was_missed() -> None:
    untested = {"name": "other", "true_net_gain": 4.0}
    found = summarise([make_line("keep", -1.0, -1.1, not_finalists=[untested])])
    assert (found["clear"], found["clear_taken"]) == (1, 0)


def test_equal_policies_are_counted_apart() -> None:
    facts = {"offer": "same"}
    lines = [make_line("switch", 1.5, 0.0, facts=facts), make_line("keep", 0.0, 0.0, facts=facts)]
    found = summarise(lines)
    assert (found["equal"], found["equal_switches"], found["wrong_switches"]) == (2, 1, 1)


def test_a_refused_case_counts_as_a_decision_without_a_switch() -> None:
    line = make_line("refused", 0.0, 0.0, chosen=None, finalists=[], baselines={})
    found = summarise([line])
    assert (found["decisions"], found["wrong_switches"], found["clear"]) == (1, 0, 0)
    assert found["verdicts"]["refused"] == 1


def test_tables_end_with_all_and_name_every_rule() -> None:
    header, rows = tabulate(summarise(LINES), "worlds")
    assert [row[0] for row in rows] == ["cliff", "ring", "all"]
    assert all(len(row) == len(header) for row in rows)
    header, rows = tabulate_rules(summarise(LINES))
    assert [row[0] for row in rows] == ["nacre", "fitted q", "importance sampling"]
    assert all(len(row) == len(header) for row in rows)


def test_the_page_is_written_from_the_records_of_all_suites(tmp_path: Path) -> None:
    for number, line in enumerate(LINES):
        append_line(find_path(tmp_path, "finite"), {**line, "seed": number})
    page, figure = write_page(tmp_path, tmp_path / "docs")
    text = page.read_text(encoding="utf-8")
    assert "5 decisions, seeds 0 to 4, commit `abc`" in text
    assert figure.name in text
    drawing = figure.read_text(encoding="utf-8")
    assert drawing.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert drawing.count("<circle") == 4
    assert write_page(tmp_path, tmp_path / "docs") == [page, figure]
    assert page.read_text(encoding="utf-8") == text
