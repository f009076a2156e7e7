"""Tables of text from summaries, worked by hand."""

from __future__ import annotations

from typing import Any

from nacre.experiments.listing import (
    HEADER,
    OLD_HEADER,
    PARTS_HEADER,
    format_markdown,
    format_text,
    tabulate,
    tabulate_old,
    tabulate_parts,
)
from nacre.experiments.summary import Summary
from nacre.experiments.tables import TABLES
from tests.support.experiments import MIXED, TWO, make_record

ANT, ANT_OPTIMAL, *_ = TABLES["gymnasium"]
OURS = ["2", "70.0 ± 14.1 [-57.1, 197.1]", "68.0", "86.5 ± 13.4", "100%", "100%", "100%", "0"]


def summary(records: list[dict[str, Any]], config: str = "default") -> Summary:
    return Summary.from_records(ANT, config, records)


def test_the_table_by_hand() -> None:
    """Published figures once for each row, in the columns of their measure; then ours."""
    optimal = Summary.from_records(ANT_OPTIMAL, "default", MIXED)
    lines = tabulate([summary(TWO, "paper"), summary(TWO), optimal])
    assert all(len(line) == len(HEADER) for line in lines)
    published = ["10", "", "", "58.2 ± 23.7", "100%", "", "90%", ""]
    assert lines[0] == ["ant-suboptimal", "published", *published]
    assert lines[1] == ["", "ours, paper", *OURS]
    assert lines[2] == ["", "ours, default", *OURS]
    # The paper prints no improvement for optimal policies.
    assert lines[3] == ["ant-optimal", "published", "10", "", "", "", "0%", "", "100%", ""]
    assert lines[4][-4:] == ["50%", "33% (1 tie)", "50%", "2"]
    more = Summary.from_records(ANT, "default", [*MIXED, make_record(8, 0.0, tie=True)])
    assert tabulate([more])[1][-3] == "33% (2 ties)"
    ties = summary([make_record(4, 0.1, tie=True), make_record(5, -0.1, tie=True)])
    assert tabulate([ties])[1][-3] == "all ties"


def test_a_single_seed_has_no_spread() -> None:
    _, ours = tabulate([summary(TWO[:1])])
    assert ours[2:] == ["1", "60.0", "61.0", "77.0", "100%", "100%", "100%", "0"]


def test_another_old_policy_than_the_published_one_is_named() -> None:
    records = [record | {"old_policy": {"name": "nacre:ant_weak"}} for record in TWO]
    other = summary(records, "paper")
    assert tabulate([other])[1][1] == "ours, paper, nacre:ant_weak"
    assert tabulate_old([other])[1][1] == "ours, paper, nacre:ant_weak"
    assert other.as_json()["old_policy"] == "nacre:ant_weak"
    assert summary(TWO).as_json()["old_policy"] == "ant_weak"


def test_what_is_not_known_is_said_so() -> None:
    old = {"returns": {"mean": 20.0}, "fitted": {"mean": None}, "true": {"mean": 21.0}}
    record = make_record(5, 80.0, old_value=old)
    unknown = summary([record | {"improvement": {"true": 80.0, "estimated": None}}])
    cells = ["unknown", "unknown", "100%", "100%", "unknown", "0"]
    assert tabulate([unknown])[1][4:] == cells
    assert tabulate_old([unknown])[1][3:] == ["unknown", "20.0", "21.0"]
    assert tabulate_parts([unknown])[0][3:] == ["unknown", "", "unknown", "", "80.0"]


def test_the_table_as_text_by_hand() -> None:
    lines = [["first", "a", "1"], ["", "bb", "2"]]
    assert format_text(("name", "x", "seeds"), lines).splitlines() == [
        "name",
        "  x   seeds",
        "first",
        "  a   1",
        "  bb  2",
    ]


def test_the_table_in_markdown_by_hand() -> None:
    assert format_markdown(("a", "b"), [["1", ""]]) == "| a | b |\n| --- | --- |\n| 1 |  |"


def test_old_values_by_hand() -> None:
    """The published estimate where there is one; critics of advice have a mean."""
    advised = dict(TWO[0]["old_value"], fitted={"mean": 19.0})
    lines = tabulate_old(
        [
            summary(TWO, "paper"),
            summary([make_record(4, 60.0, old_value=advised)]),
            Summary.from_records(ANT_OPTIMAL, "paper", TWO),
        ]
    )
    assert lines == [
        ["ant-suboptimal", "published", "10", "-14.2", "", ""],
        ["", "ours, paper", "2", "4.5", "20.0", "21.0"],
        ["", "ours, default", "1", "19.0", "20.0", "21.0"],
        ["ant-optimal", "ours, paper", "2", "4.5", "20.0", "21.0"],
    ]
    assert all(len(line) == len(OLD_HEADER) for line in lines)


def test_the_way_from_one_measure_to_the_other_by_hand() -> None:
    """86.5 = 70 + 16.5; refitted 10 above the simulated value, 96.5 = 70 + 16.5 + 10.

    28.3 and 38.3 above 58.2, with a standard error of √(180.5 / 2 + 23.7² / 10) = 12.1.
    """
    refitted = [
        record | {"new_value": {**record["new_value"], "refitted": {"value": new}}}
        for record, new in zip(TWO, (93.0, 113.0), strict=True)
    ]
    lines = tabulate_parts([summary(TWO, "paper"), summary(refitted, "authors")])
    assert lines == [
        ["ant-suboptimal", "paper", "58.2", "86.5", "+2.3", "+16.5", "", "70.0"],
        ["ant-suboptimal", "authors", "58.2", "96.5", "+3.2", "+16.5", "+10.0", "70.0"],
    ]
    assert all(len(line) == len(PARTS_HEADER) for line in lines)
