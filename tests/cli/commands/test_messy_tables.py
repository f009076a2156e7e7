"""From a messy table to a verdict with the commands that nacre prints, and nothing else."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.advice import VERDICTS
from tests.support.messy import TABLES as KINDS
from tests.support.messy_exports import EXPORTS

Invoke = Callable[..., Any]
TABLES = {**KINDS, **EXPORTS}
WHOLE = ("offers with propensities", "dosing with missing values", "masks")
"""Tables whose advice is asked for in every run; that of the others takes longer."""
LARGEST = "1,000,000 rows"
"""Its advice takes minutes; every run has the same with fewer rows."""
ANSWERS = {
    "two outcomes": {"reward": "revenue"},
    "pain in European writing": {"reward": "pain (0-10)"},
    "thermostat with gaps": {"reward": "comfort"},
    "spreadsheet with totals": {"action": "Rabatt", "reward": "Umsatz"},
    "several choices at once": {"action": "therapy,strength,often", "reward": "recovery"},
}
"""What nobody but the owner of a table can know."""


def find_next(text: str) -> list[list[str]]:
    """The commands that an output says to type next."""
    lines = re.findall(r"^next: nacre (.+?)(?: writes a column map to edit)?$", text, flags=re.M)
    return [shlex.split(line) for line in lines]


def fill_in(command: list[str], answers: dict[str, str]) -> list[str]:
    filled = list(command)
    for part, column in answers.items():
        filled = [word.replace(f"{part}=COLUMN", f"{part}={column}") for word in filled]
    return filled


def follow_hints(invoke: Invoke, folder: Path, kind: str) -> list[str]:
    """From the table to the command that asks for advice, by what nacre prints alone."""
    file = TABLES[kind](folder, np.random.default_rng(100))
    refused = invoke("validate", file.name)
    assert refused.code == 2
    (draft,) = find_next(refused.err)
    drafted = invoke(*draft)
    assert drafted.code == 0, drafted.err
    (step,) = find_next(drafted.out)
    if kind in ANSWERS:
        for part, answer in ANSWERS[kind].items():
            column = answer.partition(",")[0]
            assert re.search(
                f"needed: which column is the {part}\\? .*{re.escape(column)}", drafted.out
            )
        drafted = invoke(*fill_in(step, ANSWERS[kind]))
        (step,) = find_next(drafted.out)
    assert step[0] == "validate"
    valid = invoke(*step)
    assert valid.code == 0, valid.err
    cost, advise = find_next(valid.out)
    priced = invoke(*cost)
    assert priced.code == 0, priced.err
    assert [advise] == find_next(priced.out)
    return advise


@pytest.mark.parametrize("kind", [kind for kind in TABLES if kind not in (*WHOLE, LARGEST)])
def test_hints_lead_from_a_messy_table_to_the_question(
    invoke: Invoke, tmp_path: Path, kind: str
) -> None:
    assert follow_hints(invoke, tmp_path, kind)[0] == "advise"


@pytest.mark.usefixtures("quick_advice")
@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind in WHOLE else [pytest.mark.slow]) for kind in TABLES],
)
def test_hints_lead_from_a_messy_table_to_a_verdict(
    invoke: Invoke, tmp_path: Path, kind: str
) -> None:
    advice = invoke(*follow_hints(invoke, tmp_path, kind), "--quiet")
    assert advice.code == 0, advice.err
    assert advice.out.strip() in VERDICTS
