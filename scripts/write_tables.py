"""Write the tables and figures of the studies into the docs, from their records.

A page says where: the lines between `<!-- table: NAME -->` and `<!-- end -->` are replaced.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import calibrate_advice
import shrink_log
import study_learner
import study_panels
import time_decision

from nacre.experiments.records import read_lines

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Study:
    """Records, what they look like as a table, and as a picture where there is one."""

    records: str
    write: Callable[[list[dict[str, Any]]], str]
    draw: Callable[[list[dict[str, Any]], Path], None] | None = None
    picture: str = ""


STUDIES = {
    "calibration": Study("calibration/finite.jsonl", calibrate_advice.write_table),
    "learner": Study(
        "learner/study.jsonl", study_learner.write_table, study_learner.draw, "learner.svg"
    ),
    "averaging": Study("learner/study.jsonl", study_learner.write_long_table),
    "panels": Study("calibration/panels.jsonl", study_panels.write_table),
    "timing": Study("bench/decision.jsonl", time_decision.write_table),
    "shrinking": Study(
        "calibration/shrinking.jsonl", shrink_log.write_table, shrink_log.draw, "shrinking.svg"
    ),
}


def render(text: str, results: Path = ROOT / "results") -> str:
    """A page with its tables as the records say."""

    def fill(found: re.Match[str]) -> str:
        study = STUDIES[found[2]]
        lines = read_lines(results / study.records)
        return f"{found[1]}{study.write(lines)}\n{found[3]}"

    return PLACE.sub(fill, text)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    docs = ROOT / "docs"
    for page in sorted(docs.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        page.write_text(render(text), encoding="utf-8")
    for study in STUDIES.values():
        lines = read_lines(ROOT / "results" / study.records)
        if study.draw is not None and lines:
            study.draw(lines, docs / "pictures" / study.picture)


if __name__ == "__main__":
    main()
