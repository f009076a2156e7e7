"""Arrays beside the decision: kept, read back, refused when damaged."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from nacre.errors import InputError
from nacre.report.evidence import Evidence, read_evidence, write_evidence
from tests.report.conftest import FIRST_EXAMPLE

FULL = Evidence(
    returns=np.asarray([1.0, 2.0, 4.0]),
    curve_names=("a", "b"),
    curves=np.asarray([[1.0, 2.0], [3.0, np.nan]]),
    stop_reasons=("enough", "worse"),
    state_names=("one",),
    state_costs=np.asarray([0.5]),
    action_names=("left", "right"),
    old_actions=np.asarray([[0.2, 0.8]]),
    new_actions=np.asarray([[0.9, 0.1]]),
    concentration=np.linspace(0, 1, 21),
)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write_evidence(FULL, tmp_path / "evidence.npz")
    found = read_evidence(tmp_path)
    for name in Evidence.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(found, name), getattr(FULL, name))


def test_a_folder_without_arrays_gives_none(tmp_path: Path) -> None:
    found = read_evidence(tmp_path)
    assert found.returns.size == found.curves.size == 0
    write_evidence(found, tmp_path / "evidence.npz")
    assert read_evidence(tmp_path).state_names == ()


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04broken"])
def test_damaged_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "evidence.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"evidence.npz: cannot be read"):
        read_evidence(tmp_path)


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "evidence.npz", returns=np.asarray([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match=r"evidence.npz: cannot be read"):
        read_evidence(tmp_path)


def test_arrays_that_would_fill_the_memory_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "evidence.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("returns.npy", b"\0" * 20_000_000)
    with pytest.raises(InputError, match=r"'returns.npy' has more than"):
        read_evidence(tmp_path)


def test_words_for_numbers_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "evidence.npz", returns=np.asarray(["many", "few"]))
    with pytest.raises(InputError, match=r"evidence.npz: could not convert"):
        read_evidence(tmp_path)


def test_shapes_have_to_fit() -> None:
    with pytest.raises(InputError) as caught:
        Evidence(returns=np.zeros((2, 2)), curves=np.zeros((2, 2)), stop_reasons=("a", "b", "c"))
    assert [problem.split()[1] for problem in caught.value.problems] == ["returns", "curves", "3"]


def test_the_kept_example_can_be_read() -> None:
    """It holds arrays of an earlier version, too, which are passed over."""
    found = read_evidence(FIRST_EXAMPLE)
    assert len(found.state_names) == 4
