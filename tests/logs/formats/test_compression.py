from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from nacre.errors import InputError
from nacre.logs import read_log, validate_log
from nacre.logs.formats import compression
from tests.support.logs import write_csv

TEXT = (
    "episode,obs_0,obs_1,action,reward,done\n"
    "0,0.5,1,1,0.2,false\n0,0.25,1,0,0.3,true\n1,0.5,2,1,0.1,true\n"
)


def write(path: Path, content: bytes) -> Path:
    """Compress as the suffix says."""
    with pa.output_stream(path, compression=compression.CODECS[path.suffix]) as stream:
        stream.write(content)
    return path


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.zst"])
def test_compressed_text_is_the_same_log(tmp_path: Path, suffix: str) -> None:
    plain = read_log(write_csv(tmp_path / "log.csv", TEXT))
    packed = read_log(write(tmp_path / f"log{suffix}", TEXT.encode()))
    assert packed.fingerprint() == plain.fingerprint()
    assert packed.provenance == plain.provenance


def test_what_pandas_and_gzip_write(tmp_path: Path) -> None:
    plain = read_log(write_csv(tmp_path / "log.csv", TEXT))
    pd.read_csv(tmp_path / "log.csv").to_csv(tmp_path / "pandas.CSV.GZ", index=False)
    two = gzip.compress(TEXT[:60].encode()) + gzip.compress(TEXT[60:].encode())
    (tmp_path / "two.csv.gz").write_bytes(two)
    for name in ("pandas.CSV.GZ", "two.csv.gz"):
        assert read_log(tmp_path / name).fingerprint() == plain.fingerprint()


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.zst"])
def test_problems_name_rows_and_lines(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"log{suffix}", TEXT.replace("0.3", "much").encode())
    (text,) = map(str, validate_log(path))
    assert "column 'reward', row 1 (line 3): is not a number, found 'much'" in text


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.zst"])
def test_what_grows_without_end_is_refused(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "ALWAYS_ALLOWED_TEXT", 2**16)
    bomb = TEXT.encode() + b"1,0.5,2,1,0.1,false\n" * 2**19
    path = write(tmp_path / f"log{suffix}", bomb)
    assert len(bomb) > compression.LARGEST_TEXT_RATIO * path.stat().st_size
    with pytest.raises(InputError, match=r"could not be read as CSV \(.*it unpacks to more than"):
        read_log(path)
    header = write(tmp_path / f"header{suffix}", b"x" * 2**24)
    with pytest.raises(InputError, match=r"its first line is longer|it unpacks to more than"):
        read_log(header)


def test_a_first_line_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_bytes(b"episode," * 10_000)
    with pytest.raises(InputError, match="its first line is longer than 65536 bytes"):
        read_log(tmp_path / "log.csv")


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.zst"])
def test_what_is_damaged_or_not_compressed(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"log{suffix}", TEXT.encode())
    whole = path.read_bytes()
    for content in (whole[:-20], TEXT.encode()):
        path.write_bytes(content)
        (text,) = map(str, validate_log(path))
        assert "could not be read as CSV" in text
