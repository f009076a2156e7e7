"""Studies: tables in the docs are those of the records, and records become the right tables."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from nacre.experiments.records import write_record

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
try:
    import shrink_log
    import study_learner
    import study_panels
    import study_proof
    import time_decision
    import write_tables
finally:
    sys.path.pop(0)

PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_tables_in_the_docs_are_those_of_the_records() -> None:
    places = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert write_tables.render(text) == text, f"{page.name}: run scripts/write_tables.py"
        places += len(write_tables.PLACE.findall(text))
    assert places == len(write_tables.STUDIES)


def calibrated(seed: int, verdict: str, truth: float, *, low: float, high: float) -> dict[str, Any]:
    return {
        "seed": seed,
        "switch_optimal": seed % 2 == 1,
        "range": 10.0,
        "verdict": verdict,
        "truth": truth,
        "possible": max(truth, 0.0),
        "low": low,
        "high": high,
        "seconds": 1.0,
    }


def test_a_page_is_filled_from_the_records(tmp_path: Path) -> None:
    lines = [
        calibrated(0, "switch", 5.0, low=4.0, high=6.0),
        calibrated(1, "keep", -1.0, low=-0.5, high=0.5),
        calibrated(2, "switch", -0.5, low=0.1, high=2.0),
        calibrated(3, "undecided", 2.0, low=-1.0, high=3.0),
    ]
    (tmp_path / "calibration").mkdir()
    records = tmp_path / "calibration" / "finite.jsonl"
    records.write_text("".join(json.dumps(line) + "\n" for line in lines))
    page = "before\n<!-- table: calibration -->\nold\n<!-- end -->\nafter\n"
    filled = write_tables.render(page, tmp_path)
    assert filled.startswith("before\n<!-- table: calibration -->\n| | |\n| --- | --- |\n")
    assert filled.endswith("\n<!-- end -->\nafter\n")
    assert "| worlds | 4 |" in filled
    assert "| wrong `switch` | 1 (25.0%) |" in filled
    assert "| of these `switch` | 50.0% |" in filled
    assert "covers the truth | 50.0% |" in filled
    assert write_tables.render(filled, tmp_path) == filled
    with pytest.raises(KeyError, match="unknown"):
        write_tables.render("<!-- table: unknown -->\n<!-- end -->", tmp_path)


def test_the_last_lesson_is_shown_beside_the_others(tmp_path: Path) -> None:
    def gained(name: str, mean: float) -> dict[str, Any]:
        gain = {"mean": mean, "low": mean - 0.25, "high": mean + 0.25}
        return {"name": name, "net_gain": gain}

    candidates = [
        gained("calm-0.1", -1.0),
        gained("learned-0.01", -0.25),
        gained("learned-0.03", 0.5),
    ]
    record = {
        "seed": 104,
        "decision": "switch",
        "candidates": candidates,
        "improvement": {"true": 0.75, "standard_error": 0.125},
    }
    path = tmp_path / write_tables.STUDIES["thrift"].records / "seed-104.json"
    write_record(path, record)
    filled = write_tables.render("<!-- table: thrift -->\n<!-- end -->", tmp_path)
    assert "| 104 | -0.25 | 0.50 [0.25, 0.75] | 0.75 ± 0.12 | switch |" in filled.splitlines()


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
    assert study_learner.write_table(lines).splitlines() == [
        "| variant | hopper |",
        "| --- | --- |",
        "| *old policy* | 12 |",
        "| base | 100 → 110 |",
        "| 2 critics | 55 (1 of 2 broke down) |",
    ]
    study_learner.draw(lines, tmp_path / "study.svg")
    assert "true value less the cost" in (tmp_path / "study.svg").read_text()


def test_learning_for_longer_has_a_table_of_its_own() -> None:
    lines = [
        studied("base", [101.0, 111.0]),
        studied("average of the weights", [51.0, 61.0, 71.0, 81.0, 91.0, 101.0]),
    ]
    epochs = " | ".join(f"{epoch} epochs" for epoch in (4, 8, 12, 16, 20, 24))
    assert study_learner.write_long_table(lines).splitlines() == [
        f"| world | proposed | {epochs} |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| hopper | average of the weights | 50 | 60 | 70 | 80 | 90 | 100 |",
    ]


def test_variants_change_what_they_say() -> None:
    base = study_learner.vary("base")
    assert base.stopping is None
    plain, averaged = (study_learner.vary(name) for name in study_learner.LONG)
    assert (plain.epochs, plain.actor.averaging) == (24, None)
    assert (averaged.epochs, averaged.actor.averaging) == (24, 0.999)
    for name in study_learner.CHANGES:
        assert (study_learner.vary(name) == base) is (name in ("base", "half the noise")), name


def shrunk(transitions: int, verdict: str, low: float | None) -> dict[str, Any]:
    return {
        "row": "hopper-suboptimal",
        "transitions": transitions,
        "seed": 100,
        "verdict": verdict,
        "gain": {"mean": 80.0, "low": low, "high": 95.0},
        "improvement": {"true": 89.4, "standard_error": 1.25},
    }


def test_a_shrinking_log_as_a_table_and_as_a_picture(tmp_path: Path) -> None:
    lines = [shrunk(10_000, "undecided", None), shrunk(1_000_000, "switch", 68.0)]
    assert shrink_log.write_table(lines).splitlines()[2:] == [
        "| hopper-suboptimal | 1,000,000 | switch | 80 [68, 95] | 89 ± 1.2 |",
        "| hopper-suboptimal | 10,000 | undecided | 80 [-∞, 95] | 89 ± 1.2 |",
    ]
    shrink_log.draw(lines, tmp_path / "shrinking.svg")
    assert "transitions in the log" in (tmp_path / "shrinking.svg").read_text()


def timed(seconds: float, decision: str, gain: float) -> dict[str, Any]:
    improvement = {"estimated": 0.0, "true": gain, "standard_error": 0.4}
    return {"seconds": seconds, "decision": decision, "improvement": improvement}


def test_times_of_decisions_become_a_table() -> None:
    line = {
        "row": "hopper-suboptimal",
        "seed": 100,
        "default": timed(100.0, "switch", 101.26),
        "paper": timed(250.0, "switch", 99.0),
        "ratio": 2.5,
    }
    assert time_decision.write_table([line]).splitlines()[2:] == [
        "| hopper-suboptimal | 100 | `paper` | 250 s | switch | 99.0 ± 0.4 |",
        "| hopper-suboptimal | 100 | `default` | 100 s | switch | 101.3 ± 0.4 |",
        "",
        "Times faster: 2.5.",
    ]


def paneled(seed: int, verdict: str, panels: int) -> dict[str, Any]:
    improvement = {"estimated": 20.0, "true": 25.04, "standard_error": 4.96}
    return {
        "row": "ant-optimal",
        "seed": 100,
        "advice_seed": seed,
        "verdict": verdict,
        "panels": panels,
        "improvement": improvement,
    }


def test_what_a_second_panel_settles_becomes_a_table() -> None:
    verdicts = [("switch", 1), ("switch", 2), ("undecided", 2), ("undecided", 1), ("switch", 1)]
    lines = [paneled(seed, *found) for seed, found in enumerate(verdicts)]
    table = study_panels.write_table(lines).splitlines()
    assert table[2:] == ["| ant-optimal | 100 | 5 | 2 | 2 | 1 | 25.0 ± 5.0 |"]
    missing = study_panels.find_missing(lines, ["ant-optimal", "hopper-optimal"], (100,), 6)
    assert list(missing) == [("ant-optimal", 100, [5]), ("hopper-optimal", 100, [*range(6)])]


def test_what_episodes_prove_becomes_a_table() -> None:
    sure = {"gain": 1.514, "standard_error": 0.026, "effective_episodes": 440.4, "usable": True}
    lost = {"gain": None, "standard_error": None, "effective_episodes": 3.2, "usable": False}
    line = {
        "row": "sumo-cl10-ct1-optimal",
        "seed": 101,
        "patient": {"critics": 1.494, "by_way": lost, "by_state": sure},
        "hasty": {"critics": 0.59, "by_way": lost, "by_state": sure},
        "bound": 1.4,
        "true_gain": 1.867,
        "true_error": 0.16,
    }
    other = line | {"seed": 100}
    table = study_proof.write_table([line, other]).splitlines()
    assert [row.split(" | ")[1] for row in table[2:]] == ["100", "101"]
    assert table[3] == (
        "| sumo-cl10-ct1-optimal | 101 | 1.49 | none (3) | 1.51 ± 0.03 (440) | 0.59 | "
        "1.51 ± 0.03 (440) | 1.40 | 1.87 ± 0.16 |"
    )
