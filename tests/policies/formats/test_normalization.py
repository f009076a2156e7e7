"""Statistics of normalised observations."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import ArrayLike

from nacre.errors import InputError
from nacre.policies.formats.normalization import read_normalization


def pack(
    *members: tuple[str | zipfile.ZipInfo, bytes | str], compression: int = zipfile.ZIP_STORED
) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return stream.getvalue()


def statistics(path: Path, **arrays: ArrayLike) -> Path:
    content = {"mean": np.zeros(3), "var": np.ones(3)} | {
        name: np.asarray(values) for name, values in arrays.items()
    }
    np.savez(path, allow_pickle=True, **content)
    return path


def test_normalization_by_hand(tmp_path: Path) -> None:
    path = statistics(tmp_path / "s.npz", mean=[1.0, 0.0, 0.0], var=[4.0, 1.0, 1.0], clip=2.0)
    scaling = read_normalization(path)
    np.testing.assert_allclose(scaling(jnp.array([3.0, -9.0, 9.0])), [1.0, -2.0, 2.0], rtol=1e-6)


def test_normalization_without_clipping(tmp_path: Path) -> None:
    assert read_normalization(statistics(tmp_path / "s.npz")).limit is None


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"var": np.ones(2)}, "expected two vectors of the same length"),
        ({"var": -np.ones(3)}, "have to be positive"),
        ({"var": np.zeros(3), "epsilon": 0.0}, "have to be positive"),
        ({"clip": -1.0}, "clip has to be one positive number"),
        ({"mean": np.array([1.0, np.nan, 0.0])}, "'mean' is no plain array of numbers"),
        ({"mean": np.array(["a", "b", "c"])}, "'mean' is no plain array of numbers"),
        ({"returns": np.zeros(1)}, "'returns' is unknown"),
    ],
)
def test_normalization_that_does_not_fit(
    tmp_path: Path, arrays: dict[str, ArrayLike], expected: str
) -> None:
    with pytest.raises(InputError, match=expected):
        read_normalization(statistics(tmp_path / "s.npz", **arrays))


def test_normalization_with_something_missing(tmp_path: Path) -> None:
    np.savez(tmp_path / "s.npz", mean=np.zeros(3))
    with pytest.raises(InputError, match="'var' is missing; write"):
        read_normalization(tmp_path / "s.npz")
    with pytest.raises(InputError, match="no such file"):
        read_normalization(tmp_path / "none.npz")


class Canary:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, ...]]:
        import os

        return os.mkdir, ("canary-was-here",)


def test_object_arrays_are_refused_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("s.npz", mean=np.array([Canary()], object), var=np.ones(1))
    with pytest.raises(InputError, match=r"'mean' is no plain array .*nothing was run"):
        read_normalization(tmp_path / "s.npz")
    assert not (tmp_path / "canary-was-here").exists()


def test_a_header_that_claims_too_much_costs_no_memory(tmp_path: Path) -> None:
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    np.lib.format.write_array_header_1_0(stream, header)
    (tmp_path / "s.npz").write_bytes(pack(("mean.npy", stream.getvalue() + bytes(24))))
    with pytest.raises(InputError, match="its header claims shape"):
        read_normalization(tmp_path / "s.npz")
