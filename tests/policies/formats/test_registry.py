"""Formats by name, suffix, word and object: ours, and those of other packages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.plugins import registry as plugins
from nacre.plugins.registry import Registry
from nacre.policies import (
    Policy,
    PolicyFormat,
    PolicyOptions,
    Provenance,
    Signature,
    TabularPolicy,
    read_policy,
    read_policy_with_provenance,
    write_policy,
)
from nacre.policies.formats import registry
from nacre.policies.formats.registry import POLICY_FORMATS, find_by_name, find_by_object
from tests.support.policies import expect, problems_of, small_policy

TABLE = TabularPolicy.from_probabilities([[0.75, 0.25], [0.0, 1.0]])


class Ticket:
    """An object of another package; it can be called, as functions can."""

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return np.zeros(len(rows), int)


class ToyFormat(PolicyFormat):
    label = "a toy in .toy"
    suffixes = (".toy",)
    words = ("toy",)
    writable = True

    def takes(self, source: object) -> bool:
        return isinstance(source, Ticket)

    def read(self, source: Any, options: PolicyOptions) -> tuple[Policy, Provenance]:
        if not isinstance(source, Path):
            return TABLE, {"source": "toy", "seed": options.seed}
        document = json.loads(source.read_text())
        return TabularPolicy.from_probabilities(document["table"]), document["provenance"]

    def dump(self, policy: Policy, provenance: Mapping[str, Any]) -> bytes:
        table = np.asarray(expect(TabularPolicy, policy).table).tolist()
        return json.dumps({"table": table, "provenance": dict(provenance)}).encode()


TOY = ToyFormat()


def install(monkeypatch: pytest.MonkeyPatch, **addresses: str) -> None:
    """Let another package register formats: the entry points of its metadata."""
    group = POLICY_FORMATS.group
    points = EntryPoints(EntryPoint(name, value, group) for name, value in addresses.items())
    monkeypatch.setattr(plugins, "entry_points", lambda *, group: points.select(group=group))
    ours = {"safetensors": "nacre.policies.formats.safetensors:SAFETENSORS"} | {
        "callables": "nacre.policies.formats.callables:CALLABLES"
    }
    fresh: Registry[PolicyFormat] = Registry(group, POLICY_FORMATS.kind, ours)
    monkeypatch.setattr(registry, "POLICY_FORMATS", fresh)


def test_every_form_of_ours_is_registered_and_says_what_it_takes() -> None:
    ours = ["safetensors", "onnx", "stable-baselines3", "rules", "columns", "clone", "callables"]
    assert list(POLICY_FORMATS.names[: len(ours)]) == ours
    names = {"p.safetensors": 0, "a/P.ONNX": 1, "p.zip": 2, "p.toml": 3, "columns": 4, "clone": 5}
    for name, place in names.items():
        assert find_by_name(name) is POLICY_FORMATS.find(ours[place])
    assert find_by_object(len) is POLICY_FORMATS.find("callables")
    assert find_by_name("p.parquet") is None
    taken = [key for form in POLICY_FORMATS for key in (*form.suffixes, *form.words)]
    assert len(taken) == len(set(taken))
    assert all(form.label for form in POLICY_FORMATS)


def test_formats_that_are_only_read_say_so() -> None:
    for form in POLICY_FORMATS:
        if not form.writable:
            with pytest.raises(InputError, match="choose another format"):
                form.dump(small_policy(), {})


def test_a_format_of_another_package_is_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, toy=f"{__name__}:TOY")
    path = tmp_path / "p.toy"
    write_policy(TABLE, path, {"made": "by hand"})
    policy, provenance = read_policy_with_provenance(path)
    np.testing.assert_allclose(expect(TabularPolicy, policy).table, TABLE.table, atol=1e-6)
    assert provenance == {"made": "by hand"}
    word, provenance = read_policy_with_provenance("toy", PolicyOptions(seed=3))
    assert word is TABLE
    assert provenance == {"source": "toy", "seed": 3}


def test_objects_of_another_package_come_before_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, toy=f"{__name__}:TOY")
    signature = Signature(Box(-1.0, 1.0, (2,)), Discrete(2))
    assert read_policy(Ticket(), signature=signature) is TABLE
    assert read_policy(lambda rows: np.zeros(len(rows), int), signature=signature) is not TABLE


def test_messages_list_what_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"ends in \.safetensors, \.onnx or \.toml; choose"):
        write_policy(TABLE, tmp_path / "p.zip")
    install(monkeypatch, toy=f"{__name__}:TOY")
    (problem,) = problems_of(tmp_path / "p.parquet")
    assert problem.endswith(
        "nacre reads .safetensors, a function or an object with predict or a toy in .toy"
    )
    with pytest.raises(InputError, match=r"ends in \.safetensors or \.toy; choose"):
        write_policy(TABLE, tmp_path / "p.txt")


def test_a_broken_package_does_not_stand_in_the_way_of_our_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, broken="there_is_no_such_module:FORMAT")
    write_policy(TABLE, tmp_path / "p.safetensors")
    assert isinstance(read_policy(tmp_path / "p.safetensors"), TabularPolicy)
    with pytest.raises(InputError, match="policy format 'broken' of there_is_no_such_module"):
        read_policy(tmp_path / "p.toy")


def test_the_example_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = Path(__file__).parents[3] / "examples" / "plugin" / "src"
    monkeypatch.syspath_prepend(str(examples))
    import_module("nacre_example.policy_format")
    install(monkeypatch, json="nacre_example.policy_format:JSON_TABLE")
    path = tmp_path / "p.json"
    write_policy(TABLE, path, {"made": "by hand"})
    policy, provenance = read_policy_with_provenance(path)
    np.testing.assert_allclose(expect(TabularPolicy, policy).table, TABLE.table, atol=1e-6)
    assert provenance == {"source": "json table", "made": "by hand"}
    with pytest.raises(InputError, match="is no table; write it as"):
        write_policy(small_policy(), path)
    for wrong in ("[", "[1]", "{}", '{"probabilities": [[0.5, 0.6]]}', '{"probabilities": "ab"}'):
        path.write_text(wrong)
        assert problems_of(path)


def test_checkpoints_of_rllib_are_asked_by_a_function(tmp_path: Path) -> None:
    """Followed: what the line says to give is read."""
    (tmp_path / "rllib_checkpoint.json").write_text("{}")
    (problem,) = problems_of(tmp_path)
    found = re.search(r"nacre\.read_policy\((lambda .*?), outputs='logits', log=log\)", problem)
    assert found, problem

    class Tensor(np.ndarray):
        def detach(self) -> Tensor:
            return self

        def numpy(self) -> np.ndarray:
            return np.asarray(self)

    class Module:
        def forward_inference(self, batch: dict[str, np.ndarray]) -> dict[str, Tensor]:
            logits = np.stack([-batch["obs"][..., 0], batch["obs"][..., 0]], axis=-1)
            return {"action_dist_inputs": logits.view(Tensor)}

    class Algorithm:
        def get_module(self) -> Module:
            return Module()

    class Torch:
        as_tensor = staticmethod(np.asarray)

    # The line of the message, word for word.
    asked = eval(found[1], {"algorithm": Algorithm(), "torch": Torch})  # noqa: S307
    policy = read_policy(
        asked, outputs="logits", signature=Signature(Box(-1, 1, (2,), np.float32), Discrete(2))
    )
    rows = jnp.array([[0.5, 0.0], [-0.5, 0.0]])
    assert np.asarray(policy(rows).mode()).tolist() == [1, 0]
