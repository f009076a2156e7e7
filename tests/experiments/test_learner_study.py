"""The study of the learner: variants change what they say, records become tables and a picture."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from nacre.experiments import learner_study, tables
from tests.support.experiments import CHEAP, LEARNER


def studied(variant: str, values: list[float], *, healthy: bool = True) -> dict[str, Any]:
    looks = [
        {"updates": 2000 * (i + 1), "true": value, "cost": 1.0} for i, value in enumerate(values)
    ]
    return {
        "world": "hopper",
        "variant": variant,
        "seed": 100,
        "old": 12.0,
        "looks": looks,
        "healthy": healthy,
    }


def test_the_study_of_the_learner_as_a_table_and_as_a_picture(tmp_path: Path) -> None:
    lines = [
        studied("base", [101.0, 111.0]),
        studied("2 critics", [51.0, 31.0]),
        studied("2 critics", [61.0], healthy=False),
    ]
    assert learner_study.write_table(lines).splitlines() == [
        "| variant | hopper |",
        "| --- | --- |",
        "| *old policy* | 12 |",
        "| base | 100 → 110 |",
        "| 2 critics | 55 (1 of 2 broke down) |",
    ]
    learner_study.draw(lines, tmp_path / "study.svg")
    assert "true value less the cost" in (tmp_path / "study.svg").read_text()


def test_learning_for_longer_has_a_table_of_its_own() -> None:
    lines = [
        studied("base", [101.0, 111.0]),
        studied("average of the weights", [51.0, 61.0, 71.0, 81.0, 91.0, 101.0]),
    ]
    epochs = " | ".join(f"{epoch} epochs" for epoch in (4, 8, 12, 16, 20, 24))
    assert learner_study.write_long_table(lines).splitlines() == [
        f"| world | proposed | {epochs} |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| hopper | average of the weights | 50 | 60 | 70 | 80 | 90 | 100 |",
    ]


def test_variants_change_what_they_say() -> None:
    base = learner_study.vary("base")
    assert base.stopping is None
    plain, averaged = (learner_study.vary(name) for name in learner_study.LONG)
    assert (plain.epochs, plain.actor.averaging) == (24, None)
    assert (averaged.epochs, averaged.actor.averaging) == (24, 0.999)
    for name in learner_study.CHANGES:
        assert (learner_study.vary(name) == base) is (name in ("base", "half the noise")), name


def test_every_variant_runs_in_every_world() -> None:
    runs = learner_study.list_runs((100, 101))
    n_variants = len(learner_study.CHANGES) + len(learner_study.LONG)
    assert len(runs) == 2 * n_variants * len(learner_study.WORLDS)
    assert runs[0] == {"world": "hopper", "variant": "base", "seed": 100}


def test_a_run_looks_at_true_values_as_it_learns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tables.TABLES, "poles", (CHEAP,))
    monkeypatch.setattr(learner_study, "WORLDS", {"pole": (CHEAP.name, 1000)})
    config = dataclasses.replace(LEARNER, warm_critics=False)
    monkeypatch.setattr(learner_study, "vary", lambda name: config)
    for name, value in (("EPISODES", 2), ("STEPS", 20)):
        monkeypatch.setattr(learner_study, name, value)
    run = {"world": "pole", "variant": "half the noise", "seed": 100}
    record = learner_study.run_one(run, tmp_path, tmp_path)
    assert run.items() <= record.items()
    assert (record["transitions"], record["healthy"]) == (1000, True)
    # Three epochs, looked at after every second.
    (look,) = record["looks"]
    assert look["updates"] == 2 * LEARNER.steps_per_epoch
    assert 0.1 - 1e-6 <= look["cost"] <= 0.5 + 1e-6
    assert math.isfinite(look["true"])
    assert 0 < record["old"] <= 20
