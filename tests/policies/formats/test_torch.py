"""PyTorch files made by hand: views, bounds, and programs that are not run."""

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from nacre.errors import InputError
from nacre.policies.formats.torch import read_state_dict, read_torch


class Call:
    """Pickles as a call of a global name, which need not exist."""

    def __init__(self, module: str, name: str, *arguments: object) -> None:
        self.named, self.arguments = (module, name), arguments


class Storage:
    def __init__(self, key: object, count: object, kind: str = "FloatStorage") -> None:
        self.key, self.count, self.kind = key, count, kind


class Global:
    def __init__(self, module: str, name: str) -> None:
        self.named = module, name


def dump(value: object) -> bytes:
    """A pickle with the instructions that PyTorch writes."""
    return b"\x80\x02" + write(value) + b"."


def write(value: object) -> bytes:
    match value:
        case Call():
            return write(Global(*value.named)) + write(tuple(value.arguments)) + b"R"
        case Global():
            return b"c" + "\n".join(value.named).encode() + b"\n"
        case Storage():
            named = ("storage", Global("torch", value.kind), value.key, "cpu", value.count)
            return write(named) + b"Q"
        case dict():
            items = b"".join(write(key) + write(entry) for key, entry in value.items())
            return b"}(" + items + b"u"
        case tuple():
            return b"(" + b"".join(map(write, value)) + b"t"
        case list():
            return b"](" + b"".join(map(write, value)) + b"e"
        case bool() | None:
            return {True: b"\x88", False: b"\x89", None: b"N"}[value]
        case int():
            raw = value.to_bytes(20, "little", signed=True)
            return b"\x8a" + bytes([len(raw)]) + raw
        case str():
            return b"X" + len(value.encode()).to_bytes(4, "little") + value.encode()
    raise AssertionError(value)


def tensor(storage: object, offset: object, size: object, stride: object) -> Call:
    return Call("torch._utils", "_rebuild_tensor_v2", storage, offset, size, stride, False, {})


def pack(pickled: bytes, storages: Sequence[ArrayLike] = (), **further: bytes | str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        for key, values in enumerate(storages):
            archive.writestr(f"archive/data/{key}", np.asarray(values).tobytes())
        for name, content in further.items():
            archive.writestr(f"archive/{name}", content)
    return stream.getvalue()


NUMBERS = np.arange(12, dtype=np.float32)


def refusal(content: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read_torch(content, "policy.pth")
    (problem,) = caught.value.problems
    assert problem.startswith("policy.pth: ")
    return problem


def test_views_of_one_storage() -> None:
    storage = Storage("0", 12)
    content = dump(
        {
            "whole": tensor(storage, 0, (3, 4), (4, 1)),
            "turned": tensor(storage, 0, (4, 3), (1, 4)),
            "part": tensor(storage, 5, (2,), (3,)),
            "one": tensor(storage, 11, (), ()),
            "empty": tensor(storage, 0, (0, 4), (4, 1)),
        }
    )
    state = read_state_dict(pack(content, [NUMBERS]), "policy.pth")
    matrix = NUMBERS.reshape(3, 4)
    np.testing.assert_array_equal(state["whole"], matrix)
    np.testing.assert_array_equal(state["turned"], matrix.T)
    np.testing.assert_array_equal(state["part"], [5.0, 8.0])
    assert state["one"] == 11.0
    assert state["empty"].shape == (0, 4)


@pytest.mark.parametrize(
    ("kind", "dtype"), [("DoubleStorage", "f8"), ("HalfStorage", "f2"), ("LongStorage", "i8")]
)
def test_types_and_byte_orders(kind: str, dtype: str) -> None:
    content = dump({"x": tensor(Storage("0", 3, kind), 0, (3,), (1,))})
    for order, mark in (("little", "<"), ("big", ">")):
        values = np.array([1, 2, 3], f"{mark}{dtype}")
        state = read_state_dict(pack(content, [values], byteorder=order), "policy.pth")
        np.testing.assert_array_equal(state["x"], [1, 2, 3])
        assert state["x"].dtype == np.dtype(dtype)


def test_parameters_are_their_tensors() -> None:
    inner = tensor(Storage("0", 12), 0, (12,), (1,))
    content = dump({"x": Call("torch._utils", "_rebuild_parameter", inner, True, {})})
    np.testing.assert_array_equal(
        read_state_dict(pack(content, [NUMBERS]), "policy.pth")["x"], NUMBERS
    )


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        (0, (13,), (1,)),
        (1, (12,), (1,)),
        (0, (3, 4), (5, 1)),
        (10**9, (1,), (1,)),
        (0, (10**12,), (0,)),
        (0, (5, 5), (0, 1)),
        (0, (2**62, 2**62), (1, 1)),
    ],
)
def test_tensors_beyond_their_storage(offset: object, size: object, stride: object) -> None:
    content = dump(tensor(Storage("0", 12), offset, size, stride))
    assert "reaches beyond its storage" in refusal(pack(content, [NUMBERS]))


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [(-1, (1,), (1,)), (0, (-3,), (1,)), (0, (3,), (-1,)), (0, ("a",), (1,)), (0, (1, 1), (1,))],
)
def test_tensors_that_are_none(offset: object, size: object, stride: object) -> None:
    assert "has a tensor" in refusal(
        pack(dump(tensor(Storage("0", 12), offset, size, stride)), [NUMBERS])
    )


@pytest.mark.parametrize(
    ("storage", "expected"),
    [
        (Storage("0", 11), "storage '0' has 48 bytes"),
        (Storage("0", -1), "storage '0' has 48 bytes"),
        (Storage("7", 12), "has no member 'archive/data/7'"),
        (Storage("../0", 12), "has no member"),
        (Storage("0", 12, "BFloat16Storage"), "'torch.BFloat16Storage'"),
    ],
)
def test_storages_that_are_not_there(storage: object, expected: str) -> None:
    content = dump(tensor(storage, 0, (12,), (1,)))
    assert expected in refusal(pack(content, [NUMBERS]))


def test_things_that_are_no_storage() -> None:
    content = dump(tensor("text", 0, (1,), (1,)))
    assert "has a tensor without a storage" in refusal(pack(content, [NUMBERS]))
    content = b"\x80\x02" + write(("module", "x")) + b"Q."
    assert "refers to ('module', 'x'), which is no storage" in refusal(pack(content))


@pytest.mark.parametrize(
    "value",
    [
        Call("os", "system", "true"),
        Call("builtins", "eval", "1"),
        Call("torch.storage", "_load_from_bytes", "x"),
        Call("torch", "FloatStorage", 3),
        Call("collections", "OrderedDict", ()),
        {"deep": [{"er": Call("nt", "system", "x")}]},
    ],
)
def test_calls_of_anything_else(value: object) -> None:
    assert refusal(pack(dump(value)))


class Canary:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, ...]]:
        return os.mkdir, ("canary-was-here",)


@pytest.mark.parametrize("protocol", range(6))
def test_real_pickles_do_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: int
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "it was not run" in refusal(pack(pickle.dumps([Canary()], protocol)))
    assert not (tmp_path / "canary-was-here").exists()


def test_states_of_dictionaries_are_ignored() -> None:
    content = b"\x80\x02" + write(Call("collections", "OrderedDict")) + write({"a": 1}) + b"b."
    assert read_torch(pack(content), "policy.pth") == {}
    content = b"\x80\x02" + write([]) + write({"a": 1}) + b"b."
    assert "state of something other than a dictionary" in refusal(pack(content))


def test_shared_parts_do_not_explode() -> None:
    # Hashing or showing this would take 2^60 steps.
    doubled = (
        b"(\x88t"
        + b"q\x00"
        + b"".join(b"h" + bytes([i]) + b"\x86" + b"q" + bytes([i + 1]) for i in range(60))
    )
    content = b"\x80\x02}" + doubled + b"Ns."
    assert "is a damaged pickle" in refusal(pack(content))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"garbage", "is no zip archive"),
        (pickle.dumps({}), "is no zip archive"),
        (b"PK\x03\x04", "cannot be read as a zip file"),
    ],
)
def test_other_files(content: bytes, expected: str) -> None:
    assert expected in refusal(content)


def test_members_that_do_not_belong() -> None:
    assert "'archive/code.py' belongs to no weights" in refusal(pack(dump({}), **{"code.py": b""}))
    assert "byte order" in refusal(pack(dump({}), byteorder=b"middle"))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a/data.pkl", dump({}))
        archive.writestr("b/version", "3")
    assert "has no data.pkl in its only folder" in refusal(stream.getvalue())


@pytest.mark.parametrize("value", [[1], {"a": 1}, None, {1: tensor(Storage("0", 1), 0, (), ())}])
def test_what_is_no_dictionary_of_tensors(value: object) -> None:
    with pytest.raises(InputError, match="not a dictionary of named tensors"):
        read_state_dict(pack(dump(value), [np.zeros(1, np.float32)]), "policy.pth")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 40))
def test_damaged_pickles_are_refused_or_read(noise: bytes, place: int) -> None:
    whole = dump({"x": tensor(Storage("0", 12), 0, (3, 4), (4, 1)), "y": [1, "a", None]})
    damaged = pack(whole[:place] + noise + whole[place + len(noise) :], [NUMBERS])
    problems: tuple[str, ...] = ()
    try:
        read_torch(damaged, "policy.pth")
    except InputError as error:
        problems = error.problems
    assert all("\n" not in problem for problem in problems)


def test_ordinary_dictionaries_of_this_library() -> None:
    plain = OrderedDict(a=1, b=[1.5, None, True])
    assert read_torch(pack(pickle.dumps(dict(plain), 2)), "policy.pth") == dict(plain)
