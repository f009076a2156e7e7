"""The bundled service desk: its world, its file, and the joint verdict over its guardrails."""

from __future__ import annotations

import dataclasses
import runpy
from pathlib import Path
from typing import Any

import pytest

import nacre
from nacre import examples
from nacre.advice.record import DecisionRecord, Interval
from nacre.costs import GuardrailTerms, SwitchingCost

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_desk_example.py"
FOLDER = examples.find_directory("desk")


@pytest.fixture(scope="module")
def world() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def ask(cost: SwitchingCost) -> DecisionRecord:
    sources = examples.find_sources("desk")
    return nacre.advise(
        sources.log,
        sources.policy,
        cost,
        candidates=[FOLDER / "proposal.toml"],
        columns=sources.columns,
        config=FOLDER / "only.toml",
        discount=sources.discount,
        progress=False,
    ).record


def holds(interval: Interval, truth: float) -> bool:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low < truth < interval.high


def test_the_script_makes_the_file(world: dict[str, Any], tmp_path: Path) -> None:
    world["main"](tmp_path)
    assert (tmp_path / "log.csv").read_bytes() == (FOLDER / "log.csv").read_bytes()


def test_the_readme_has_the_figures_of_the_world(world: dict[str, Any]) -> None:
    text, gains = (FOLDER / "README.md").read_text(), world["find_gains"]()
    assert f"saves {gains['saved']:.2f} € more a ticket" in text
    assert f"reopens {gains['reopened']:.4f} more" in text
    assert f"takes {gains['minutes']:.2f} minutes longer" in text


def test_gain_and_guardrails_are_proven_together(world: dict[str, Any]) -> None:
    cost, gains = nacre.read_cost(FOLDER / "cost.toml"), world["find_gains"]()
    record = ask(cost)
    assert record.verdict == "switch"
    assert record.reason.endswith("all guardrails hold")
    chosen = record.chosen_entry
    assert [one.held for one in chosen.guardrails] == [True, True]
    assert holds(record.net_gain, gains["saved"] - record.cost.total)
    for one in chosen.guardrails:
        assert holds(one.change, gains[one.column])
    assert [one.label for one in chosen.segments] == ["1", "2", "3"]
    assert all(holds(one.gain, gains["saved"]) for one in chosen.segments)
    assert {one.answer for one in chosen.segments} == {"better"}
    # The same gain with a stricter guardrail is not enough.
    strict = dataclasses.replace(cost.terms, guardrails=(GuardrailTerms("reopened", 0.001),))
    open_record = ask(dataclasses.replace(cost, terms=strict))
    assert open_record.verdict == "undecided"
    assert "the guardrail reopened is not proven" in open_record.reason
    assert open_record.net_gain.low == record.net_gain.low
