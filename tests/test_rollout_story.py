"""The page of the roll-out on traffic shows what its script recorded."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = re.compile(r"<!-- story: (\w+) -->\n```text\n(.*?)\n```\n<!-- end -->", re.S)


def test_the_page_shows_the_recorded_story() -> None:
    page = (ROOT / "docs" / "rollout_traffic.md").read_text(encoding="utf-8")
    story = (ROOT / "results" / "rollout" / "story.txt").read_text(encoding="utf-8")
    first, *parts = re.split(r"^--- (\w+)$", story, flags=re.M)
    told = {"plan": first.strip()} | {
        name: text.strip("\n") for name, text in zip(parts[::2], parts[1::2], strict=True)
    }
    assert dict(PLACE.findall(page)) == told


def test_the_watch_does_the_right_thing_each_time() -> None:
    story = (ROOT / "results" / "rollout" / "story.txt").read_text(encoding="utf-8")
    verdicts = re.findall(r"^(NEXT STAGE|STOP|STEP BACK|KEEP COLLECTING)$", story, flags=re.M)
    assert verdicts == ["NEXT STAGE", "STEP BACK", "STOP"]
