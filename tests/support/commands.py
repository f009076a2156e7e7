"""Configurations with a few updates and records of made-up runs: figures that mean nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nacre.advice.config import AdviceConfig
from nacre.experiments.records import record_path, write_record
from nacre.experiments.tables import Row
from tests.support.advice import suggest_quick


def few_updates(*_: Any) -> AdviceConfig:
    """The old policy with less noise as the only candidate, whatever the log."""
    return suggest_quick()


def write_right_switch(out: Path, row: Row, gain: float) -> None:
    """What a summary reads of a record: a switch that was right."""
    record = {
        "seed": 4,
        "improvement": {"true": gain, "estimated": 1.0},
        "decision": "switch",
        "truth_decision": "switch",
        "tie": False,
        "old_value": {name: {"mean": 1.0} for name in ("returns", "fitted", "true")},
    }
    write_record(record_path(out, row, "paper", 4), record)
