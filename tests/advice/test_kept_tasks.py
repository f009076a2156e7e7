"""Interrupted advice goes on and ends with the same bits; results survive as they are."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.advice import kept_tasks
from nacre.advice.encoding import NotEncodableError, decode, encode
from nacre.advice.kept_tasks import KeptTasks, count_kept
from nacre.advice.result import Advice
from nacre.estimators.base import Estimate
from nacre.learners.base import Candidate
from nacre.policies import TabularPolicy, fingerprint
from nacre.training.progress import ProgressEvent
from tests.support.advice import make_quick_learner
from tests.support.policies import small_policy
from tests.support.rooms import CONFIG, ask_about_rooms


class StopAfter:
    """Interrupts at the n-th event of a stage."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.heard: list[str] = []

    def __call__(self, event: ProgressEvent) -> None:
        self.heard.append(event.stage)
        if event.stage == self.stage:
            raise KeyboardInterrupt


def strip_time(advice: Advice) -> dict[str, Any]:
    return {name: value for name, value in advice.as_json().items() if name != "wall_seconds"}


def test_an_interrupted_advice_goes_on_and_ends_with_the_same_bits(tmp_path: Path) -> None:
    config = dataclasses.replace(CONFIG, learners=(make_quick_learner(0.1), *CONFIG.learners))
    expected = strip_time(ask_about_rooms(config=config))
    with pytest.raises(KeyboardInterrupt):
        ask_about_rooms(config=config, resume=tmp_path, progress=StopAfter("tabular: best"))
    kept = count_kept(tmp_path)
    assert kept >= 2
    listener = StopAfter("")
    found = ask_about_rooms(config=config, resume=tmp_path, progress=listener)
    assert strip_time(found) == expected
    assert not any(stage.startswith("learning") for stage in listener.heard)
    assert count_kept(tmp_path) > kept
    # Once all is there, nothing runs any more, and the time that it took is told.
    again = StopAfter("")
    complete = ask_about_rooms(config=config, resume=tmp_path, progress=again)
    assert strip_time(complete) == expected
    assert set(again.heard) == {"decision"}
    seconds = complete.record.wall_seconds, found.record.wall_seconds
    assert None not in seconds
    assert seconds[0] > 0.5 * seconds[1]  # type: ignore[operator]


def test_what_follows_from_something_else_is_not_used_and_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask_about_rooms(resume=tmp_path)
    (first,) = tmp_path.iterdir()
    for path in first.glob("*.safetensors"):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    # Damaged results count as not there.
    expected = strip_time(ask_about_rooms())
    assert strip_time(ask_about_rooms(resume=tmp_path)) == expected
    monkeypatch.setattr(kept_tasks, "hash_code", lambda: "another version")
    assert strip_time(ask_about_rooms(resume=tmp_path)) == expected
    (second,) = tmp_path.iterdir()
    assert second != first


def test_nothing_is_kept_without_a_place() -> None:
    kept = KeptTasks()
    kept.add("a", 1)
    assert kept.read(["a"]) == {}
    assert kept.seconds_before == 0.0


def same(mine: Any, other: Any) -> None:
    assert type(mine) is type(other)
    assert str(jax.tree.structure(mine)) == str(jax.tree.structure(other))
    for one, two in zip(jax.tree.leaves(mine), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "result",
    [
        None,
        (1, 2.5, float("inf"), "text", True, None),
        {"a": [1, (2,)], "b": {3: ()}},
        np.arange(6, dtype=np.int8).reshape(2, 3),
        np.float64(0.1),
        jnp.asarray([1.0, jnp.nan]),
        Estimate("fitted_q", 0.1 + 0.2, 1e-300, "data", diagnostics={"x": 1.0}),
    ],
)
def test_results_come_back_as_they_were(result: Any) -> None:
    same(decode(encode(result)), result)


@pytest.mark.parametrize("policy", [small_policy(), TabularPolicy.from_probabilities(np.eye(2))])
def test_policies_come_back_as_they_were(policy: Any) -> None:
    (found,) = decode(encode((Candidate("a", policy, "by hand", (1.0,)),)))
    assert fingerprint(found.policy) == fingerprint(policy)
    same(found.policy, policy)


def test_keys_come_back() -> None:
    key = jax.random.key(7)
    assert jax.random.uniform(decode(encode(key))) == jax.random.uniform(key)


@pytest.mark.parametrize(
    "result", [object(), lambda: None, np.array(["a"]), np.array([None]), {1, 2}, 1j, int]
)
def test_other_things_are_not_kept(result: Any) -> None:
    with pytest.raises(NotEncodableError):
        encode(result)


@pytest.mark.parametrize(
    "tree",
    [
        {"class": ["os", "system"], "fields": {}},
        {"class": ["nacre.errors", "InputError"], "fields": {}},
        {"class": ["nacre.advice.encoding", "importlib.import_module"], "fields": {}},
        {"class": ["nacre.nowhere", "X"], "fields": {}},
        {"numpy": "9", "writeable": True},
        {"unknown": "0"},
    ],
)
def test_nothing_but_results_of_ours_is_made(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from nacre.advice import encoding

    monkeypatch.setattr(encoding, "_encode", lambda result, tensors: tree)
    content = encode(None)
    with pytest.raises(ValueError):
        decode(content)


def test_every_flipped_bit_is_noticed() -> None:
    content = encode({"a": np.arange(4.0), "b": "text"})
    expected = decode(content)
    for place in range(0, 8 * len(content), 5):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        try:
            same(decode(bytes(changed)), expected)
        except ValueError:
            continue
