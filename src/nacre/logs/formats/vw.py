"""Contextual bandit logs of Vowpal Wabbit: `action:cost:probability | features`, a row each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from nacre.logs.checks.problems import Problems, show
from nacre.logs.formats.array_sources import ArraySource
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.schema.metadata import Metadata
from nacre.logs.storage.stores import Store

_LABEL = re.compile(r"([0-9]+):([-+.0-9eE]+):([-+.0-9eE]+)")
MOST_FEATURES = 2000
MOST_ACTIONS = 100_000


class VowpalWabbit:
    """The text form of `--cb`. Actions are counted from 1 there; costs are rewards with a minus."""

    suffixes = (".vw",)

    def open(
        self, path: Path, problems: Problems, columns: ColumnMap, store: Store
    ) -> ArraySource | None:
        """Read all rows; a feature that a row does not have is 0 there."""
        labels: list[tuple[int, float, float]] = []
        features: dict[str, dict[int, float]] = {}
        try:
            with path.open(encoding="utf-8") as stream:
                for number, line in enumerate(stream, 1):
                    if not line.strip():
                        continue
                    label = _read_label(line, number, problems)
                    if label is None:
                        return None
                    for name, value in _read_features(line):
                        features.setdefault(name, {})[len(labels)] = value
                    labels.append(label)
        except UnicodeDecodeError:
            problems.add("is not UTF-8", "write it as UTF-8")
            return None
        except ValueError as error:
            problems.add(f"line {number}: {error}", "write features as name or name:number")
            return None
        return self._assemble(labels, features, problems)

    def _assemble(
        self,
        labels: list[tuple[int, float, float]],
        features: dict[str, dict[int, float]],
        problems: Problems,
    ) -> ArraySource | None:
        if not 1 <= len(features) <= MOST_FEATURES:
            problems.add(
                f"has {len(features):,} different features; 1 to {MOST_FEATURES:,} can be read",
                "write a table with a column for each feature that matters, as CSV or Parquet",
            )
            return None
        actions = np.array([label[0] for label in labels]) - 1
        arrays: dict[str, Any] = {
            "action": actions,
            "reward": -np.array([label[1] for label in labels]),
            "propensity": np.array([label[2] for label in labels]),
            "terminated": np.ones(len(labels), np.bool_),
        }
        for name, values in features.items():
            column = np.zeros(len(labels), np.float32)
            column[list(values)] = list(values.values())
            arrays[f"observation.{name}"] = column
        n = int(actions.max()) + 1
        told = Metadata({"action": Discrete(n)}, {"labels": {"action": list(range(1, n + 1))}})
        return ArraySource(arrays, problems, told)

    def estimate_bytes(self, path: Path) -> int:
        """Return the size of the file: numbers are about as long as their texts."""
        return path.stat().st_size


def _read_label(line: str, number: int, problems: Problems) -> tuple[int, float, float] | None:
    head = line.partition("|")[0].strip()
    words = [word for word in head.split() if not word.startswith("'")]
    if words and words[0] == "shared":
        problems.add(
            f"line {number} is of the form cb_adf, with several lines for a row",
            "write a row for each decision, with the columns action, cost and probability, as CSV",
        )
        return None
    match = _LABEL.fullmatch(words[0]) if len(words) == 1 else None
    if match is None or len(match[1]) > 9 or not 1 <= int(match[1]) <= MOST_ACTIONS:
        problems.add(
            f"line {number} begins with {show(head)}",
            f"write action:cost:probability | features, actions counted from 1 to {MOST_ACTIONS:,}",
        )
        return None
    return int(match[1]), float(match[2]), float(match[3])


def _read_features(line: str) -> Iterator[tuple[str, float]]:
    for part in line.split("|")[1:]:
        words = part.split()
        space = ""
        if words and not part[0].isspace():
            space = f"{words.pop(0).partition(':')[0]}."
        for word in words:
            name, colon, value = word.rpartition(":")
            if not colon:
                name, value = word, "1"
            number = float(value)
            if number:
                yield f"{space}{name}", number


VW = VowpalWabbit()
