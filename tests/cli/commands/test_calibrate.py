"""nacre calibrate --summary: figures from the records that are there."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nacre.experiments.calibration.records import append_line

KEYS = {
    "decisions",
    "wrong_switches",
    "claims",
    "false_claims",
    "coverage",
    "clear",
    "clear_taken",
    "commit",
    "worlds",
}


def write_lines(folder: Path) -> None:
    finalist = {
        "name": "one",
        "net_gain": 1.0,
        "intervals": {level: [0.0, 2.0] for level in ("0.5", "0.8", "0.9", "0.95")},
        "cost": 0.0,
        "estimates": [],
        "overlap": {},
        "true_gain": 1.0,
        "standard_error": 0.0,
        "true_net_gain": 1.0,
        "oracle_width": 1.0,
    }
    for world in ("ring", "taxi"):
        append_line(
            folder / "suite-finite.jsonl",
            {
                "suite": "finite",
                "world": world,
                "kind": "soft",
                "seed": 100,
                "commit": "abc",
                "facts": {},
                "value_range": [0.0, 2.0],
                "verdict": "switch",
                "claim": 0.1,
                "chosen": finalist,
                "finalists": [finalist],
                "not_finalists": [],
                "baselines": {},
                "seconds": {"advice": 1.0},
            },
        )


def test_the_summary_as_json(invoke: Callable[..., Any], tmp_path: Path) -> None:
    write_lines(tmp_path)
    ended = invoke("calibrate", "finite", "--summary", "--json", "--out", tmp_path)
    assert ended.code == 0
    found = json.loads(ended.out)
    assert set(found) >= KEYS
    assert (found["decisions"], found["clear"], found["clear_taken"]) == (2, 2, 2)
    assert set(found["worlds"]) == {"ring", "taxi"}
    assert set(found["worlds"]["ring"]) >= KEYS - {"commit", "worlds"}
    one = invoke(
        "calibrate", "finite", "--summary", "--json", "--out", tmp_path, "--worlds", "taxi"
    )
    assert json.loads(one.out)["decisions"] == 1


def test_the_summary_as_text_and_page(invoke: Callable[..., Any], tmp_path: Path) -> None:
    write_lines(tmp_path)
    ended = invoke("calibrate", "finite", "--summary", "--out", tmp_path, "--docs", "docs")
    assert ended.code == 0
    assert "| taxi | 1 |" in ended.out
    assert "written: docs/calibration.md" in ended.err
    assert Path("docs/calibration-finite.svg").is_file()


def test_what_is_not_there_is_said_in_one_line(invoke: Callable[..., Any]) -> None:
    ended = invoke("calibrate", "control", "--summary")
    assert ended.code == 2
    assert ended.err.strip().endswith("run nacre calibrate control first")
    ended = invoke("calibrate", "games", "--summary")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
