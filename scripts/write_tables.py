"""Write the tables and pictures of the studies into the docs, from their records.

A page says where: the lines between `<!-- table: NAME -->` and `<!-- end -->` are replaced.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from nacre.experiments import engine_tables, export_tables, fault_tables
from nacre.experiments.records import read_lines
from nacre.experiments.studies import STUDIES

ROOT = Path(__file__).resolve().parents[1]
PLACE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
WRITERS = (
    fault_tables.TABLES
    | engine_tables.TABLES
    | export_tables.TABLES
    | {
        name: (study.find_file(Path()), write)
        for study in STUDIES.values()
        for name, write in study.tables.items()
    }
)


def render(text: str, results: Path = ROOT / "results") -> str:
    """A page with its tables as the records say."""

    def fill(place: re.Match[str]) -> str:
        file, write = WRITERS[place[2]]
        return f"{place[1]}{write(read_lines(results / file))}\n{place[3]}"

    return PLACE.sub(fill, text)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    docs = ROOT / "docs"
    for page in sorted(docs.glob("*.md")):
        page.write_text(render(page.read_text(encoding="utf-8")), encoding="utf-8")
    for study in STUDIES.values():
        records = read_lines(study.find_file(ROOT / "results"))
        if study.draw is not None and records:
            study.draw(records, docs / "pictures" / f"{study.name}.svg")


if __name__ == "__main__":
    main()
