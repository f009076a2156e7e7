"""The kept decisions, fresh for every test."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from nacre.advice.record import DecisionRecord, check_decision
from nacre.report.sections.base import Context, build_context

FIRST_EXAMPLE = Path(__file__).parent / "example"
"""In format 1, with arrays."""
EXAMPLE = Path(__file__).parent / "example_2"
FIRST_DOCUMENT: dict[str, Any] = json.loads((FIRST_EXAMPLE / "decision.json").read_bytes())
DOCUMENT: dict[str, Any] = json.loads((EXAMPLE / "decision.json").read_bytes())


@pytest.fixture
def document() -> dict[str, Any]:
    return copy.deepcopy(DOCUMENT)


@pytest.fixture
def record() -> DecisionRecord:
    return check_decision(DOCUMENT)


@pytest.fixture
def context(record: DecisionRecord) -> Context:
    return build_context(record)
