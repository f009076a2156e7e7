"""Reading and writing by the ending of the name: whole files or none, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from jaxtyping import Array

from nacre.errors import InputError
from nacre.policies import (
    Policy,
    Signature,
    TabularPolicy,
    read_policy,
    write_policy,
)
from nacre.policies.distributions import Deterministic
from tests.support.policies import problems_of, small_policy


class Constant(Policy):
    signature: Signature = eqx.field(static=True)

    def __call__(self, observations: Array) -> Deterministic:
        return Deterministic(jnp.zeros((*observations.shape[:-1], 2)))


@pytest.mark.parametrize(
    ("policy", "name", "provenance", "message"),
    [
        (small_policy(), "p.pt", None, "ends in .safetensors"),
        (small_policy(), "p.safetensors", {"x": object()}, "provenance has no JSON form"),
        (Constant(small_policy().signature), "p.safetensors", None, "Constant has no file form"),
        (
            eqx.tree_at(lambda p: p.network.biases[0], small_policy(), jnp.full(4, np.nan)),
            "p.safetensors",
            None,
            "tensor 'layers.0.bias' holds NaN or infinity",
        ),
        (
            TabularPolicy(jnp.full((1, 2), -np.inf), Signature(Discrete(1), Discrete(2))),
            "p.safetensors",
            None,
            "has a row that allows no action",
        ),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_nothing(
    tmp_path: Path, policy: Policy, name: str, provenance: dict[str, object] | None, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        write_policy(policy, tmp_path / name, provenance)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def fail(*arguments: object) -> None:
    raise OSError("no space left on device")


def interrupt(*arguments: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("accident", "error"), [(fail, InputError), (interrupt, KeyboardInterrupt)]
)
def test_a_failed_write_keeps_the_old_file_and_leaves_no_part(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    accident: Callable[..., None],
    error: type[BaseException],
) -> None:
    path = tmp_path / "p.safetensors"
    write_policy(small_policy(), path)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", accident)
        with pytest.raises(error):
            write_policy(small_policy(seed=1), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_places_that_cannot_be_written_to_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file, not a folder")
    (tmp_path / "d.safetensors").mkdir()
    for path in (tmp_path / "file" / "p.safetensors", tmp_path / "d.safetensors"):
        with pytest.raises(InputError) as caught:
            write_policy(small_policy(), path)
        assert str(caught.value).startswith(f"{path}: cannot be written")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.safetensors", "file"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "does not exist; give the path of a .safetensors policy file"),
        (lambda path: path.mkdir(), "is not a file"),
    ],
)
def test_paths_that_are_no_files(
    tmp_path: Path, make: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "p.safetensors"
    make(path)
    (problem,) = problems_of(path)
    assert message in problem


@pytest.mark.parametrize(
    "address",
    [
        "runs:/abc/model/python_model.pkl",
        "models:/old/1",
        "mlflow-artifacts:/0/a.onnx",
        "s3://x/a.zip",
    ],
)
def test_addresses_are_not_followed(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not even if a folder of that name lies here.
    monkeypatch.chdir(tmp_path)
    Path(address).parent.mkdir(parents=True)
    Path(address).write_bytes(b"cos\nsystem\n(S'touch sang'\ntR.")
    with pytest.raises(InputError, match=r"is an address; .* download the ONNX file or the zip"):
        read_policy(address)
    assert not (tmp_path / "sang").exists()
