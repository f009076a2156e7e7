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


def test_the_cost_of_a_switch_between_rules_over_a_mapped_log(invoke: Any, tmp_path: Path) -> None:
    """Rules name the columns of the map; exploration on top of the old one changes the cost."""
    folder = examples.find_directory("calls")
    rule = (
        '[[rule]]\nwhen = {{ age = {{ to = 40 }} }}\naction = "{}"\n\n[otherwise]\naction = "{}"\n'
    )
    (tmp_path / "old.toml").write_text(rule.format("none", "none"))
    (tmp_path / "new.toml").write_text(rule.format("voucher", "none"))
    command = [
        *("cost", "--log", folder / "log.csv", "--columns", folder / "map.toml"),
        *("--policy", "old.toml", "--new-policy", "new.toml", "--cost", folder / "cost.toml"),
    ]
    plain = invoke(*command, "--quiet")
    assert plain.code == 0, plain.err
    explored = invoke(*command, "--quiet", "--epsilon", "0.3")
    assert explored.code == 0, explored.err
    assert float(plain.out) > 0
    assert float(explored.out) != float(plain.out)
    refused = invoke(*command, "--epsilon", "2")
    assert refused.code == 2
    assert "epsilon 2.0: no probability; give a number from 0 to 1" in refused.err
