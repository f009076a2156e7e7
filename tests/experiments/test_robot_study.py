"""What learners reach on robots: the list of runs and the table."""

from __future__ import annotations

from nacre.experiments import robot_study


def test_all_worlds_are_run_with_few_rows_first() -> None:
    runs = robot_study.list_runs([4, 5])
    assert len(runs) == 2 * 2 * len(robot_study.WORLDS)
    assert [run["rows"] for run in runs[:4]] == [200_000, 200_000, 200_000, 20_000]
    assert len({tuple(run.values()) for run in runs}) == len(runs)


def test_the_table_has_means_over_seeds_beside_what_is_asked_for() -> None:
    def make(seed: int, gain: float, problem: str = "") -> dict[str, object]:
        return {
            "world": "hopper",
            "rows": 200_000,
            "seed": seed,
            "candidates": [
                {"name": "td3-0.03", "net_gain": gain, "problem": problem},
                {"name": "noise-0.3", "net_gain": 4.0, "problem": ""},
            ],
            "finalists": [{"name": "noise-0.3", "net_gain": 4.0}],
            "processor_seconds": {"td3-0.03": 30.0, "finalists": 10.0},
        }

    table = robot_study.write_table([make(4, 10.0), make(5, 20.0, "It fell.")])
    assert table.splitlines()[2:] == [
        "| hopper | 200,000 | 2 | 102 | 4 (least 4) | "
        "td3-0.03 10.0, dropped 1; noise-0.3 4.0 | 40 |"
    ]
