"""Records of experiments: one JSON file for each row, configuration and seed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.experiments.tables import Row
from nacre.policies.writing import write_whole

FORMAT = 1
SETTINGS = ("table", "row", "config", "seed", "steps", "learner", "cost", "old_policy", "truth")
"""What a record follows from; two records that agree in it have the same figures."""

RENAMED = {"behaviour_weight": "kl_weight"}
"""Options by the names that older records have for them."""


def record_path(out: Path, row: Row, config: str, seed: int) -> Path:
    """Where a record lies below the folder of results."""
    return out / row.table / config / row.name / f"seed-{seed:03d}.json"


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a record whole or not at all."""
    text = json.dumps({"format": FORMAT, **record}, indent=1, allow_nan=False) + "\n"
    write_whole(path, text.encode())


def read_record(path: Path) -> dict[str, Any]:
    """Read a record back."""
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a readable record ({error}); delete it") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise InputError(f"{path}: not a record of this version; delete it")
    return record


def is_done(path: Path, settings: dict[str, Any], learner: Any = None) -> bool:
    """Whether the record is there; one of other settings is refused, never overwritten.

    Args:
        path: Where it lies.
        settings: What it should follow from.
        learner: The configuration behind `settings["learner"]`: what a record does not know of, it
            was made without, and so it has the default.
    """
    if not path.exists():
        return False
    record = read_record(path)
    record["learner"] = _complete(record.get("learner"), learner)
    for name in SETTINGS:
        # Through JSON, as the record went: tuples are lists there.
        wanted = json.loads(json.dumps(settings[name]))
        if record.get(name) != wanted:
            raise InputError(
                f"{path}: made with another {name}; delete it, or choose another --out"
            )
    return True


def _complete(recorded: Any, config: Any) -> Any:
    """A recorded configuration with the defaults of options that have come since."""
    if not (dataclasses.is_dataclass(config) and isinstance(recorded, dict)):
        return recorded
    recorded = {RENAMED.get(name, name): value for name, value in recorded.items()}
    options = {
        option.name: _complete(recorded[option.name], getattr(config, option.name))
        if option.name in recorded
        else json.loads(json.dumps(option.default, default=dataclasses.asdict))
        for option in dataclasses.fields(config)
        if option.name in recorded or option.default is not dataclasses.MISSING
    }
    return recorded | options


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Records of a study, one JSON object a line; none where there is no file yet."""
    if not path.exists():
        return []
    try:
        return [json.loads(line) for line in path.read_text().splitlines()]
    except ValueError as error:
        raise InputError(f"{path}: not a readable record ({error}); delete the line") from None
