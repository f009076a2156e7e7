"""The kept decision, fresh for every test."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parent / "example"
DOCUMENT = json.loads((EXAMPLE / "decision.json").read_text(encoding="utf-8"))


@pytest.fixture
def document() -> dict[str, Any]:
    return copy.deepcopy(DOCUMENT)
