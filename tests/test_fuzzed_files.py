"""Every reader of what the threat model does not trust: damage is told in one line, or harmless.

A short and even form of the campaign of fuzzing, which needs a package of its own.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

CAMPAIGNS = Path(__file__).resolve().parent.parent / "scripts" / "campaigns"
sys.path.insert(0, str(CAMPAIGNS))
from fuzz_readers import choose, count_spent, open_once  # noqa: E402
from fuzzed_files import MAKERS, make_reader  # noqa: E402
from mutations import mutate  # noqa: E402

sys.path.remove(str(CAMPAIGNS))
FILES = 60
PARTS = (b"null", b"[]", b"{}", b"1e999", b"-1", b"NaN", b'""', b"9" * 40, b"\xff", b"[" * 99)


def nudge(content: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes left out, another value in their place, or a part twice."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(0, len(changed) + 1))
        left_out = int(rng.integers(0, 8))
        part = PARTS[int(rng.integers(len(PARTS)))] if rng.integers(2) else content[place:][:30]
        changed[place : place + left_out] = part
    return bytes(changed)


@pytest.mark.filterwarnings("ignore:.*cut off in the middle")
@pytest.mark.parametrize("name", MAKERS)
def test_damaged_files_are_refused_or_harmless(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NACRE_ISOLATION", "off")
    reader = make_reader(name, tmp_path / "files")
    path = tmp_path / "files" / reader.name
    rng = np.random.default_rng(150)
    said: Counter[str] = Counter()
    for number in range(FILES):
        good = reader.contents[number % len(reader.contents)]
        path.write_bytes((mutate, nudge)[number % 2](good, rng))
        said[open_once(reader, path)] += 1
    assert set(said) <= {"refused", "read"}


def test_seconds_of_the_processor_count_and_the_least_go_first() -> None:
    records = [
        {"reader": "a", "processor_seconds": 60.5},
        {"reader": "a", "processor_seconds": 1},
        {"reader": "b", "seconds": 600},
    ]
    spent = count_spent(records)
    assert spent == {"a": 61.5, "b": 0}
    assert choose(["a", "b", "c"], spent, 60) in ("b", "c")
    assert choose(["a", "b"], spent + Counter({"b": 61.6}), 62) == "a"
    assert choose(["a"], spent, 61.5) is None
