"""Formats by suffix: ours, and one of another package that registers itself by entry point."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nacre.errors import InputError
from nacre.logs import LOG_FORMATS, Log, LogFormat, read_log, validate_log, write_log
from nacre.logs.checks.problems import Problems
from nacre.logs.convert import convert_log
from nacre.logs.formats import registry
from nacre.plugins.registry import Registry
from tests.support.logs import assert_same, make_log

EXAMPLE = Path(__file__).parents[3] / "examples" / "plugin" / "src"
WRITTEN = (
    *(".parquet", ".csv", ".csv.gz", ".csv.zst", ".tsv", ".tsv.gz", ".tsv.zst"),
    *(".arrow", ".feather", ".npz"),
)
LINES = (
    '{"episode": 0, "observation": [0.0], "action": 0, "reward": 1.0, "terminated": false}\n'
    "\n"
    '{"episode": 0, "observation": [1.0], "action": 1, "reward": 2.0, "terminated": true}\n'
)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the example package as a package manager does, and a broken one beside it."""
    site = tmp_path / "site-packages"
    for name, entry in (
        ("nacre_example", "jsonl = nacre_example.log_format:JSON_LINES"),
        ("nacre_broken", "broken = nacre_broken.nothing:FORMAT"),
    ):
        folder = site / f"{name}-0.1.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
        (folder / "entry_points.txt").write_text(f"[{LOG_FORMATS.group}]\n{entry}\n")
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.syspath_prepend(str(site))
    fresh = Registry[LogFormat](LOG_FORMATS.group, LOG_FORMATS.kind, registry.OURS)
    monkeypatch.setattr(registry, "LOG_FORMATS", fresh)


@pytest.mark.usefixtures("install")
@pytest.mark.parametrize("further", [False, True])
def test_a_format_of_another_package_is_written_read_and_validated(
    tmp_path: Path, further: bool
) -> None:
    log = make_log((5, 1, 3), further=further, discrete_actions=further)
    write_log(log, tmp_path / "log.jsonl")
    assert validate_log(tmp_path / "log.jsonl") == []
    assert_same(read_log(tmp_path / "log.jsonl"), log)
    assert_same(read_log(tmp_path / "log.jsonl", cache_dir=tmp_path / "cache"), log)


@pytest.mark.usefixtures("install")
@pytest.mark.parametrize("suffix", WRITTEN)
def test_it_is_converted_to_ours_and_back(tmp_path: Path, suffix: str) -> None:
    log = make_log((2, 3), further=True)
    write_log(log, tmp_path / "log.JSONL")
    convert_log(tmp_path / "log.JSONL", tmp_path / f"log{suffix}")
    convert_log(tmp_path / f"log{suffix}", tmp_path / "again.ndjson")
    assert_same(read_log(tmp_path / "again.ndjson"), log)


@pytest.mark.usefixtures("install")
def test_its_files_are_checked_like_ours(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(LINES)
    assert len(read_log(path)) == 2
    for wrong, message in (
        (LINES.replace("2.0", '"much"'), "column 'reward': has the dtype"),
        (LINES.replace("2.0", "NaN"), "column 'reward', row 1 (line 3): is missing, NaN"),
        (LINES.replace('"reward": 2.0, ', ""), "line 3 differs from line 1 in the key 'reward'"),
        (LINES + "[1]\n", "line 4 is no JSON object, found [1]; write one JSON object a line"),
        (LINES + "{\n", "line 4 is no JSON object, found"),
        ('{"nacre": 3}\n' + LINES, "the metadata under 'nacre' is 3, not an object"),
        ('{"nacre": {}}\n', "are missing; there are none"),
    ):
        path.write_text(wrong)
        assert message in str(validate_log(path)[0])


@pytest.mark.usefixtures("install")
def test_unknown_suffixes_are_answered_with_all_that_are_registered(tmp_path: Path) -> None:
    (tmp_path / "log.abc").write_text("text")
    failure = r"log format 'broken' of nacre_broken\.nothing:FORMAT: cannot be imported"
    listed = r", ".join(suffix.replace(".", r"\.") for suffix in WRITTEN)
    read_only = rf"{listed}, \.hdf5, \.h5, \.vw, \.jsonl, \.ndjson; {failure}"
    with pytest.raises(InputError, match=rf"'\.abc', which is not known; use one of {read_only}"):
        read_log(tmp_path / "log.abc")
    with pytest.raises(InputError, match=rf"use one of {listed}, \.jsonl, \.ndjson; {failure}"):
        write_log(make_log(), tmp_path / "log.abc")


def test_ours_by_suffix() -> None:
    assert registry.list_suffixes(writable=True)[: len(WRITTEN)] == WRITTEN
    for name, form in (("parquet", "a.b.PARQUET"), ("csv", "log.2024.csv.GZ"), ("hdf5", "x.h5")):
        assert registry.find_reader(Path(form), Problems()) is LOG_FORMATS.find(name)
    assert registry.find_writer(Path("log.npz"), Problems()) is LOG_FORMATS.find("npz")
    problems = Problems()
    assert registry.find_writer(Path("log.h5"), problems) is None
    assert registry.find_reader(Path(".csv"), problems) is None
    assert len(problems.found) == 2


def test_datasets_are_asked_for_by_name(tmp_path: Path) -> None:
    problems = Problems()
    assert registry.find_dataset(tmp_path, problems) is None
    assert not problems
    assert registry.find_dataset("minari:../x", problems) is None
    assert problems
    (tmp_path / "metadata.json").write_text("{}")
    assert registry.find_dataset(tmp_path, Problems()) == (tmp_path, LOG_FORMATS.find("minari"))


def test_asking_for_suffixes_imports_no_large_library() -> None:
    code = (
        "import sys; from nacre.logs.formats.registry import list_suffixes; list_suffixes(); "
        "print({'pyarrow', 'h5py', 'jax', 'scipy'} & set(sys.modules))"
    )
    result = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


def test_a_format_that_cannot_say_its_size_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> int:
        raise RuntimeError("no idea")

    log: Log = make_log()
    write_log(log, tmp_path / "log.npz")
    monkeypatch.setattr(LOG_FORMATS.find("npz"), "estimate_bytes", fail)
    assert_same(read_log(tmp_path / "log.npz"), log)
