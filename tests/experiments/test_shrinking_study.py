"""The study of shrinking logs: whole episodes are drawn, records become a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacre import examples
from nacre.experiments import shrinking_study, tables
from nacre.experiments.shared import Truth
from tests.support.experiments import CHEAP, make_advice_config


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
    assert shrinking_study.write_table(lines).splitlines()[2:] == [
        "| hopper-suboptimal | 1,000,000 | switch | 80 [68, 95] | 89 ± 1.2 |",
        "| hopper-suboptimal | 10,000 | undecided | 80 [-∞, 95] | 89 ± 1.2 |",
    ]
    shrinking_study.draw(lines, tmp_path / "shrinking.svg")
    assert "transitions in the log" in (tmp_path / "shrinking.svg").read_text()


def test_a_shorter_log_has_whole_episodes_of_the_longer_one() -> None:
    log = examples.load().log
    short = shrinking_study.shorten(log, 950, seed=3)
    assert 950 <= len(short) < 950 + max(log.episode_lengths)
    returns = set(log.returns(1.0).tolist())
    assert set(short.returns(1.0).tolist()) <= returns
    assert shrinking_study.shorten(log, 950, seed=3).fingerprint() == short.fingerprint()


@pytest.mark.parametrize("gain", [3.0, None])
def test_a_run_says_verdict_and_truth(
    gain: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(tables.TABLES, "poles", (CHEAP,))
    monkeypatch.setattr(shrinking_study, "WHOLE", 1000)
    monkeypatch.setattr(shrinking_study, "suggest_config", lambda log: make_advice_config(gain))
    monkeypatch.setattr(shrinking_study, "Truth", lambda: Truth(4, 20))
    run = {"row": CHEAP.name, "transitions": 600, "seed": 100}
    record = shrinking_study.run_one(run, tmp_path, tmp_path)
    assert run.items() <= record.items()
    assert record["verdict"] in shrinking_study.COLOURS
    assert record["gain"]["mean"] == record["improvement"]["estimated"]
    row = shrinking_study.write_table([record]).splitlines()[-1]
    assert row.startswith("| pole-cheap | 600 | ")
    assert ("unknown" in row) == (gain is None)
    shrinking_study.draw([record | {"row": shrinking_study.ROWS[0]}], tmp_path / "a.svg")


def test_runs_are_rows_and_sizes() -> None:
    runs = shrinking_study.list_runs((100,))
    assert len(runs) == len(shrinking_study.ROWS) * len(shrinking_study.SIZES)
    assert runs[0] == {"row": "hopper-suboptimal", "transitions": 1_000_000, "seed": 100}
