"""Tables about engines: every measurement, sums over runs, digests that differ."""

from __future__ import annotations

from nacre.experiments.engine_tables import (
    write_engines,
    write_lost_workers,
    write_plan,
    write_same_bits,
)


def test_every_measurement_is_shown() -> None:
    first = {"engine": "ray", "tasks": 200, "efficiency": 0.1}
    later = {"first_answer_seconds": 9.6, "start_seconds": 20.0, "load_before": 1.2}
    assert write_engines([first, {**first, **later, "efficiency": 0.951}]).splitlines()[2:] == [
        "| `ray` | 200 | 0.10 |  |  |  |",
        "| `ray` | 200 | 0.95 | 10 | 20 | 1 |",
    ]


def test_runs_of_a_commit_are_added_up() -> None:
    run = {"decisions": 30, "kills": 20, "failed": 0, "same": True, "commit": "abcdefgh"}
    kill = {"kills_left": 3, "workers": 2, "commit": "abcdefgh"}
    assert write_lost_workers([kill, run, {**run, "kills": 30, "failed": 1, "same": False}]) == (
        "Commit abcdefg: 50 kills while 60 decisions were made, of which 1 failed; the same "
        "records in 1 of 2 runs."
    )
    assert write_lost_workers([kill]) == "There are no records yet."


def test_other_bits_are_told() -> None:
    records = [
        {"case": case, "engine": engine, "sha256": digest * 8}
        for case, engine, digest in (("a", "local", "12"), ("a", "dask", "12"), ("b", "local", "3"))
    ]
    assert write_same_bits(records).splitlines()[2:] == [
        "| a | 12121212 | 12121212 | yes |",
        "| b | 33333333 |  | yes |",
    ]
    assert write_same_bits([*records, {"case": "b", "engine": "dask", "sha256": "4" * 8}]).endswith(
        "| b | 33333333 | 44444444 | no |"
    )


def test_processors_follow_from_the_mean_time() -> None:
    records = [
        {"suite": "finite", "seconds": {"advice": seconds}, "facts": {"rows": rows}}
        for seconds, rows in ((10.0, 5_000), (76.4, 90_000))
    ]
    assert write_plan(records).splitlines()[2:] == [
        "| finite | 2 | 5,000 to 90,000 | 43 | 76 | 5.0 |"
    ]
