"""Tables of the campaigns of faults, from records made by hand."""

from __future__ import annotations

from nacre.experiments.fault_tables import (
    TABLES,
    write_determinism,
    write_fuzzing,
    write_isolation,
    write_kills,
    write_mutants,
    write_mutations,
    write_scales,
    write_traps,
    write_write_faults,
)


def test_kills_are_counted_by_command() -> None:
    records = [
        {"command": "advise", "share": 0.2, "found": "old", "clean": True, "killed": True},
        {"command": "advise", "share": 0.9, "found": "new", "clean": True, "killed": False},
        {"command": "advise", "call": 3, "found": "new", "clean": True},
        {"command": "report", "call": 4, "found": "between: new are []", "clean": False},
    ]
    lines = write_kills(records).splitlines()
    assert lines[2] == "| advise | 1 | 1 | 1 | 1 | 0 |"
    assert lines[3] == "| report | 0 | 1 | 0 | 0 | 1 |"
    assert lines[-1] == "| all | 1 | 2 | 1 | 1 | 1 |"


def test_ends_of_faults_are_counted() -> None:
    outcomes = ("refused", "refused, new", "done", "not whole")
    records = [
        {"command": "plan", "call": call, "fault": "EIO", "outcome": outcome, "calls": 9}
        for call, outcome in enumerate(outcomes)
    ]
    records.insert(0, records[0] | {"outcome": "not clear"})
    assert write_write_faults(records).splitlines()[2] == "| plan | 9 | 4 | 1 | 1 | 1 | 1 |"


def test_mutations_are_added_up() -> None:
    line = {"kind": "csv", "digests": False}
    records = [
        {**line, "outcomes": {"refused": 18, "raised": 2}},
        {**line, "outcomes": {"equal": 20}},
    ]
    assert write_mutations(records).splitlines()[2] == "| csv | no | 40 | 18 | 20 | 0 | 2 |"


def test_units_and_edges() -> None:
    log = {"log": 0, "verdict": "keep", "same_verdict": True, "largest_difference": 2e-7}
    text = write_scales([log, {"edge": "zero", "verdict": "undecided", "clean": True}])
    assert "| keep | 1 | 0 | 2e-07 |" in text
    assert text.endswith("Numbers at the edge, without a cost: 1 undecided; not clean: 0.")


def test_changes_of_the_code_count_by_their_last_try() -> None:
    names = ("module", "function", "code", "change", "place", "outcome")
    tried = [
        ("a.b", "f", "x < 1", "Lt → LtE", 0, "survived"),
        ("a.b", "f", "x < 1", "Lt → LtE", 0, "killed"),
        ("a.b", "f", "x < 1", "Lt → LtE", 1, "survived"),
        ("a.c", "f", "x", "1 → 2", 0, "survived"),
    ]
    records = [dict(zip(names, one, strict=True)) for one in tried]
    records.append(dict(zip(names, ("a.d", "", "y", "y", 0, "survived"), strict=True)))
    records[-1]["equivalent"] = "why"
    by_line = {"module": "a.e", "change": "line 3: Lt → LtE", "outcome": "killed"}
    assert write_mutants([*records, by_line]).splitlines()[2:] == [
        "| a.b | 2 | 1 | 0 |",
        "| a.c | 1 | 0 | 0 |",
        "| a.d | 1 | 0 | 1 |",
        "| all | 4 | 1 | 1 |",
    ]


def test_rounds_of_a_reader_are_added_up() -> None:
    line = {
        "reader": "csv",
        "seconds": 60,
        "processor_seconds": 5,
        "counts": {"refused": 8, "read": 1},
    }
    records = [line | {"again": {"refused": 2}}, line | {"again": {"ended with -9": 1}}]
    assert write_fuzzing(records).splitlines()[2] == "| csv | 10 | 21 | 18 | 2 | 1 |"


def test_the_last_measurement_and_other_cores() -> None:
    line = {"rows": 1000, "runs": [{}] * 18, "processor": {"ratio": 1.123}}
    assert "1,000 rows takes 1.12 times" in write_isolation([line, line])
    case = {"case": "two cores", "numbers": 9, "differing": 2, "same_policy": True}
    table = write_determinism([case | {"largest_relative_difference": 2e-7}])
    assert table.splitlines()[2] == "| two cores | 9 | 2 | 2e-07 | yes |"


def test_traps_and_nothing() -> None:
    trap = {"outcome": "refused", "processor_seconds": 1.25, "megabytes": 99.6}
    assert write_traps([trap]).startswith("1 of 1 files were refused. None took more than 1.2 s")
    for _, write in TABLES.values():
        assert write([])
