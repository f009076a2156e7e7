"""The formats of logs by name, and which of them a path asks for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from nacre.errors import InputError
from nacre.logs.checks.problems import Problems
from nacre.logs.formats.base import DatasetFormat, LogFormat, WritableLogFormat
from nacre.plugins.registry import Registry

OURS = {
    "parquet": "nacre.logs.formats.parquet:PARQUET",
    "csv": "nacre.logs.formats.csv:CSV",
    "arrow": "nacre.logs.formats.arrow:ARROW",
    "npz": "nacre.logs.formats.npz:NPZ",
    "hdf5": "nacre.logs.formats.hdf5:HDF5",
    "vw": "nacre.logs.formats.vw:VW",
    "minari": "nacre.logs.formats.minari:MINARI",
    "parquet_folder": "nacre.logs.formats.parquet_folder:PARQUET_FOLDER",
    "arrow_folder": "nacre.logs.formats.arrow_folder:ARROW_FOLDER",
    "csv_folder": "nacre.logs.formats.csv_folder:CSV_FOLDER",
}
LOG_FORMATS: Registry[LogFormat] = Registry("nacre.log_formats", "log format", OURS)
"""All formats of logs by name: ours, and those that other packages register by entry point."""

ELSEWHERE = {
    (".xlsx", ".xls", ".xlsm", ".ods"): "save the sheet as CSV and give that file",
    (".pkl", ".pickle", ".joblib", ".npy"): (
        "pickles and bare arrays are not read: write a table with named columns, as Parquet or CSV"
    ),
    (".json", ".jsonl", ".db", ".sqlite", ".dta", ".sav", ".sas7bdat", ".rds", ".rdata"): (
        "write the table as Parquet or CSV and give that file"
    ),
    (".zip", ".rar", ".7z", ".tar", ".tgz"): "unpack it and give the file, or the folder",
    (".txt", ".dat", ".tab"): "rename it to end in .csv; separators are recognised",
}
"""Files that people have and that are not read: what to do instead."""


def find_reader(path: Path, problems: Problems) -> LogFormat | None:
    """Return the format that reads a file, by its suffix, or None after reporting."""
    failures: list[str] = []
    for form in _load_formats(failures):
        if not _endings(path).isdisjoint(form.suffixes):
            return form
    remedy = f"use one of {', '.join(list_suffixes())}"
    for endings, instead in ELSEWHERE.items():
        remedy = instead if path.suffix.lower() in endings else remedy
    _report_suffix(path, remedy, failures, problems)
    return None


def find_writer(path: Path, problems: Problems) -> WritableLogFormat | None:
    """Return the format that writes a file, by its suffix, or None after reporting."""
    failures: list[str] = []
    for form in _load_formats(failures):
        if isinstance(form, WritableLogFormat) and not _endings(path).isdisjoint(form.suffixes):
            return form
    remedy = f"use one of {', '.join(list_suffixes(writable=True))}"
    _report_suffix(path, remedy, failures, problems)
    return None


def find_dataset(name: str | os.PathLike[str], problems: Problems) -> tuple[Path, LogFormat] | None:
    """Return where a log lies that is no single file, and its format.

    Returns:
        None if no format knows the name, or after reporting what is wrong with it.
    """
    for form in _load_formats([]):
        if isinstance(form, DatasetFormat):
            place = form.locate(name, problems)
            if place is not None:
                return place, form
            if problems:
                return None
    return None


def list_suffixes(*, writable: bool = False) -> tuple[str, ...]:
    """Return all suffixes that can be read, or those that can be written, ours first."""
    formats = _load_formats([])
    wanted = (form for form in formats if not writable or isinstance(form, WritableLogFormat))
    return tuple(dict.fromkeys(suffix for form in wanted for suffix in form.suffixes))


def _load_formats(failures: list[str]) -> Iterator[LogFormat]:
    """Yield all formats, ours first; those that cannot be imported are told to `failures`."""
    for name in LOG_FORMATS.names:
        try:
            form = LOG_FORMATS.find(name)
        except InputError as error:
            failures.append(str(error))
            continue
        yield form


def _endings(path: Path) -> set[str]:
    """Return `.gz` and `.csv.gz` for `log.csv.gz`."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return {"".join(suffixes[start:]) for start in range(len(suffixes))}


def _report_suffix(path: Path, remedy: str, failures: list[str], problems: Problems) -> None:
    problems.add(
        f"has the suffix {path.suffix!r}, which is not known", "; ".join([remedy, *failures])
    )
