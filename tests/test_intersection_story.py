"""The page of the intersection shows what its script recorded, and the script writes its inputs."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

from nacre.costs import parse_cost
from nacre.logs import read_log
from nacre.policies import read_policy
from nacre.report import read_decision

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "intersection_story.py"))
PAGE = (ROOT / "docs" / "intersection.md").read_text(encoding="utf-8")
RECORDED = ROOT / "results" / "intersection"


def test_the_page_shows_the_recorded_story() -> None:
    story = (RECORDED / "story.txt").read_text(encoding="utf-8")
    assert SCRIPT["fill"](PAGE, story) == PAGE
    assert set(re.findall(r"^--- (\w+)$", story, flags=re.M)) == set(
        re.findall(r"<!-- story: (\w+) -->", PAGE)
    )


def test_the_story_tells_the_record(tmp_path: Path) -> None:
    record = read_decision(RECORDED / "advice")
    story = (RECORDED / "story.txt").read_text(encoding="utf-8")
    SCRIPT["write_inputs"](tmp_path)
    assert "\n".join(SCRIPT["tell"](record, tmp_path / "signals.csv")) + "\n" == story
    # The inputs are what the page shows, and the log is the one of the record.
    shown = dict(re.findall(r"```toml\n# (\w+)\.toml\n(.*?)```", PAGE, flags=re.S))
    for name, text in shown.items():
        written = (tmp_path / f"{name}.toml").read_text(encoding="utf-8")
        assert tomllib.loads(written) == tomllib.loads(text)
    log = read_log(tmp_path / "signals.csv", columns=tmp_path / "map.toml")
    assert log.fingerprint() == record.log["sha256"]
    assert parse_cost(shown["cost"]).terms.unit == "€"
    old, new = (read_policy(tmp_path / f"{name}.safetensors") for name in ("old", "proposal"))
    assert old.signature == new.signature
