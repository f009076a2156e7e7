"""What all formats of ours have in common."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from nacre.logs import LOG_FORMATS
from nacre.logs.checks.problems import Problems
from nacre.logs.formats import registry
from nacre.logs.formats.base import DatasetFormat, WritableLogFormat
from nacre.logs.schema.mapping import ColumnMap
from nacre.logs.storage.stores import MEMORY


def test_what_formats_can_do_is_what_they_have_methods_for() -> None:
    ours = {name: LOG_FORMATS.find(name) for name in registry.OURS}
    read_only = {name for name, form in ours.items() if not isinstance(form, WritableLogFormat)}
    assert read_only == {"hdf5", "minari", "vw", "arrow_folder", "csv_folder", "parquet_folder"}
    datasets = {name for name, form in ours.items() if isinstance(form, DatasetFormat)}
    assert datasets == {"minari", "arrow_folder", "csv_folder", "parquet_folder"}


def test_suffixes_are_in_small_letters_and_belong_to_one_format() -> None:
    suffixes = [s for name in registry.OURS for s in LOG_FORMATS.find(name).suffixes]
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in suffixes)
    assert max(Counter(suffixes).values()) == 1


WITHOUT_FILES = {"minari", "arrow_folder", "csv_folder", "parquet_folder"}


@pytest.mark.parametrize("name", sorted(set(registry.OURS) - WITHOUT_FILES))
def test_what_cannot_be_opened_is_reported_and_not_raised(tmp_path: Path, name: str) -> None:
    form, problems = LOG_FORMATS.find(name), Problems(file="log")
    path = tmp_path / f"log{form.suffixes[0]}"
    path.write_bytes(bytes(range(256)))
    assert form.open(path, problems, ColumnMap(), MEMORY) is None
    assert re.search("could not be read|is not UTF-8", str(problems.found[0]))
