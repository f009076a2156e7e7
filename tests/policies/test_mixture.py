"""Steps from one policy to another: exact probabilities, densities, files, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from nacre.errors import InputError
from nacre.policies.distributions import Mixture
from nacre.policies.files import fingerprint, read_policy
from nacre.policies.formats.numpy_predictor import Predictor
from nacre.policies.formats.safetensors import dump_safetensors
from nacre.policies.heads import Head
from nacre.policies.mixture import MixturePolicy, mix_policies
from nacre.policies.network_policy import MLPPolicy
from nacre.policies.policy import Policy, Signature, ask
from nacre.policies.tabular import TabularPolicy
from nacre.policies.writing import write_policy

PLANE = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
BOX = gymnasium.spaces.Box(-2.0, 2.0, (1,), np.float32)
STATES = jnp.asarray(np.random.default_rng(0).normal(size=(50, 2)), jnp.float32)


def make_pair(head: Head, space: gymnasium.Space[Any]) -> tuple[MLPPolicy, MLPPolicy]:
    first, second = (
        MLPPolicy.init(jax.random.key(seed), Signature(PLANE, space), head=head, hidden=(8,))
        for seed in (1, 2)
    )
    return first, second


def test_probabilities_are_mixed() -> None:
    """Of discrete actions the mixture is exact, and tables stay tables."""
    first, second = make_pair("categorical", gymnasium.spaces.Discrete(4))
    mixed = ask(mix_policies(first, second, 0.25), STATES)
    expected = 0.75 * first(STATES).probabilities + 0.25 * second(STATES).probabilities  # type: ignore[attr-defined]
    np.testing.assert_allclose(mixed.probabilities, expected, atol=1e-6)  # type: ignore[attr-defined]
    sure, other = (TabularPolicy.from_probabilities(rows) for rows in ([[1.0, 0.0]], [[0.2, 0.8]]))
    table = mix_policies(sure, other, 0.5)
    assert isinstance(table, TabularPolicy)
    np.testing.assert_allclose(table.table, [[0.6, 0.4]], atol=1e-6)


def test_densities_are_mixed() -> None:
    """The density is the weighted sum, and draws come from both in their shares."""
    first, second = make_pair("squashed_gaussian", BOX)
    mixed = mix_policies(first, second, 0.3)(STATES)
    assert isinstance(mixed, Mixture)
    actions = first(STATES).sample(jax.random.key(0))
    logs = (first(STATES).log_prob(actions), second(STATES).log_prob(actions))
    expected = 0.7 * np.exp(logs[0]) + 0.3 * np.exp(logs[1])
    np.testing.assert_allclose(np.exp(mixed.log_prob(actions)), expected, rtol=1e-4)
    greedy = make_pair("deterministic", BOX)
    draws = np.asarray(mix_policies(*greedy, 0.3)(STATES).sample(jax.random.key(0), (400,)))
    share = np.mean(np.abs(draws - np.asarray(greedy[1](STATES).mode())) < 1e-6)
    assert share == pytest.approx(0.3, abs=0.02)


def test_ends_of_the_path_are_the_policies_themselves() -> None:
    first, second = make_pair("greedy", gymnasium.spaces.Discrete(4))
    assert mix_policies(first, second, 0.0) is first
    assert mix_policies(first, second, 1.0) is second
    assert isinstance(mix_policies(first, second, 0.5), MixturePolicy)


@pytest.mark.parametrize("head", ["categorical", "squashed_gaussian"])
def test_file_and_predictor_act_like_the_mixture(head: Head, tmp_path: Path) -> None:
    """Read back it is the same policy, and `predict.py` draws both policies in their shares."""
    space = gymnasium.spaces.Discrete(4) if head == "categorical" else BOX
    mixed = mix_policies(*make_pair(head, space), 0.3)
    path = tmp_path / "mixture.safetensors"
    write_policy(mixed, path)
    again = read_policy(path)
    assert isinstance(again, MixturePolicy)
    assert fingerprint(again) == fingerprint(mixed)
    controller = Predictor(str(path), seed=1)
    mode, _ = controller.predict(np.asarray(STATES), deterministic=True)
    np.testing.assert_allclose(mode, mixed(STATES).mode(), atol=1e-5)
    rows = np.repeat(np.asarray(STATES[:1]), 20_000, axis=0)
    drawn, _ = controller.predict(rows)
    expected = np.asarray(mixed(STATES[:1]).sample(jax.random.key(0), (20_000,)))[:, 0]
    assert np.mean(drawn) == pytest.approx(np.mean(expected), abs=0.05)
    assert np.std(drawn) == pytest.approx(np.std(expected), abs=0.05)


def test_a_mixture_of_mixtures_has_a_file_but_no_endless_nest(tmp_path: Path) -> None:
    first, second = make_pair("categorical", gymnasium.spaces.Discrete(4))
    nested: Policy = first
    for depth in range(9):
        nested = mix_policies(nested, second, 0.5)
        path = tmp_path / f"{depth}.safetensors"
        write_policy(nested, path)
        if depth < 8:
            assert fingerprint(read_policy(path)) == fingerprint(nested)
    with pytest.raises(InputError, match="mixtures hold mixtures 8 times over"):
        read_policy(path)
    predicted = Predictor(str(tmp_path / "1.safetensors")).parameters(np.asarray(STATES))
    halves = [np.asarray(one(STATES).probabilities) for one in (first, second)]  # type: ignore[attr-defined]
    expected = 0.25 * halves[0] + 0.75 * halves[1]
    np.testing.assert_allclose(predicted["probabilities"], expected, atol=1e-5)


def test_what_has_no_mixture_is_refused() -> None:
    first, second = make_pair("greedy", gymnasium.spaces.Discrete(4))
    with pytest.raises(InputError, match=r"share 1\.5: no probability"):
        mix_policies(first, second, 1.5)
    with pytest.raises(InputError, match="different spaces"):
        mix_policies(first, make_pair("deterministic", BOX)[0], 0.5)


def test_the_same_policy_is_the_same_file() -> None:
    """Whatever order the library writes its metadata in."""
    mixed = mix_policies(*make_pair("categorical", gymnasium.spaces.Discrete(4)), 0.3)
    assert len({dump_safetensors(mixed, {"from": "here"}) for _ in range(20)}) == 1
