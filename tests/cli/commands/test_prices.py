"""Commands about logs: which column holds what is said in the same way everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nacre import examples


def test_a_log_is_validated_by_its_map(invoke: Any) -> None:
    folder = examples.find_directory("treatment")
    outcome = invoke(
        "validate", str(folder / "log.csv"), "--columns", str(folder / "map.toml"), "--json"
    )
    assert outcome.code == 0
    assert json.loads(outcome.out)["transitions"] == 5714


def test_problems_of_a_mapped_log_are_named_by_its_columns(invoke: Any, tmp_path: Path) -> None:
    folder = examples.find_directory("treatment")
    lines = (folder / "log.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "log.csv").write_text("\n".join([*lines[:50], lines[50].replace(",", ",x", 2)]))
    outcome = invoke(
        "validate", str(tmp_path / "log.csv"), "--columns", str(folder / "map.toml"), "--json"
    )
    assert outcome.code == 2
    assert json.loads(outcome.out)["problems"]
