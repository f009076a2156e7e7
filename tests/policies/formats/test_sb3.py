"""Zips written by Stable-Baselines3, against what that library says at 1,000 observations."""

import base64
import json
import os
import pickle
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nacre.errors import InputError
from nacre.policies import (
    ActionDistribution,
    Categorical,
    Gaussian,
    MLPPolicy,
    Scaling,
    Signature,
    fingerprint,
    read_policy,
    read_policy_with_provenance,
    write_policy,
)
from nacre.policies.formats.normalization import read_normalization
from nacre.policies.formats.sb3 import StableBaselinesOptions, read_stable_baselines
from nacre.policies.formats.sb3_networks import find_actor
from nacre.policies.formats.tensors import Tensors
from nacre.policies.formats.torch import read_state_dict
from tests.support.policies import expect

FIXTURES = Path(__file__).parents[1] / "fixtures"
TOLERANCE = 1e-5


def load(
    name: str, options: StableBaselinesOptions | None = None
) -> tuple[MLPPolicy, ActionDistribution, dict[str, np.ndarray]]:
    policy = read_stable_baselines(FIXTURES / f"{name}.zip", options)
    reference = dict(np.load(FIXTURES / f"{name}.npz"))
    distribution = policy(jnp.asarray(reference["observations"]))
    assert len(reference["observations"]) == 1000
    return policy, distribution, reference


def rewrite(
    path: Path,
    source: str = "ppo_box",
    *,
    drop: Sequence[str] = (),
    add: Sequence[tuple[str | zipfile.ZipInfo, bytes | str]] = (),
    **changed: bytes | str,
) -> Path:
    """A copy of a fixture with members left out, added or replaced."""
    with zipfile.ZipFile(FIXTURES / f"{source}.zip") as old, zipfile.ZipFile(path, "w") as new:
        for member in old.infolist():
            if member.filename not in drop:
                content = changed.pop(member.filename.replace(".", "_"), old.read(member))
                new.writestr(member.filename, content)
        for name, content in add:
            new.writestr(name, content)
    assert not changed
    return path


def rewrite_data(path: Path, source: str = "ppo_box", **changed: object) -> Path:
    with zipfile.ZipFile(FIXTURES / f"{source}.zip") as old:
        data = json.loads(old.read("data"))
    return rewrite(path, source, data=json.dumps(data | changed))


def problems_of(path: Path, options: StableBaselinesOptions | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_stable_baselines(path, options)
    for problem in caught.value.problems:
        assert problem.startswith(f"{path}: ")
        assert "\n" not in problem
    return "\n".join(caught.value.problems)


# ---- the same distribution as Stable-Baselines3


@pytest.mark.parametrize("name", ["ppo_box", "a2c_linear"])
def test_clipped_gaussian_of_ppo_and_a2c(name: str) -> None:
    policy, distribution, reference = load(name)
    assert policy.head == "clipped_gaussian"
    np.testing.assert_allclose(
        expect(Gaussian, distribution).location, reference["mean"], atol=TOLERANCE
    )
    np.testing.assert_allclose(expect(Gaussian, distribution).std, reference["std"], atol=TOLERANCE)
    np.testing.assert_allclose(distribution.mode(), reference["actions"], atol=TOLERANCE)


@pytest.mark.parametrize("name", ["ppo_discrete", "a2c_states"])
def test_probabilities_of_ppo_and_a2c(name: str) -> None:
    policy, distribution, reference = load(name)
    assert policy.head == "categorical"
    np.testing.assert_allclose(
        expect(Categorical, distribution).probabilities, reference["probabilities"], atol=TOLERANCE
    )


def test_squashed_gaussian_of_sac() -> None:
    policy, distribution, reference = load("sac")
    assert policy.head == "squashed_gaussian"
    np.testing.assert_allclose(
        expect(Gaussian, distribution).location, reference["mean"], atol=TOLERANCE
    )
    np.testing.assert_allclose(expect(Gaussian, distribution).std, reference["std"], atol=TOLERANCE)
    np.testing.assert_allclose(distribution.mode(), reference["actions"], atol=TOLERANCE)


def test_certain_action_of_td3() -> None:
    policy, distribution, reference = load("td3")
    assert policy.head == "deterministic"
    np.testing.assert_allclose(distribution.mode(), reference["actions"], atol=TOLERANCE)


def test_greedy_action_of_dqn() -> None:
    policy, distribution, reference = load("dqn")
    assert policy.head == "greedy"
    np.testing.assert_allclose(
        policy.network(jnp.asarray(reference["observations"])), reference["q"], atol=TOLERANCE
    )
    np.testing.assert_array_equal(distribution.mode(), reference["actions"])
    assert set(np.unique(expect(Categorical, distribution).probabilities)) == {0.0, 1.0}


def test_normalized_observations_with_their_clipping() -> None:
    scaling = read_normalization(FIXTURES / "ppo_normalized_statistics.npz")
    _, distribution, reference = load("ppo_normalized", StableBaselinesOptions(scaling=scaling))
    scaled = scaling(jnp.asarray(reference["observations"]))
    assert float(jnp.mean(jnp.abs(scaled) == 1.5)) > 0.1
    np.testing.assert_allclose(
        expect(Gaussian, distribution).location, reference["mean"], atol=TOLERANCE
    )
    np.testing.assert_allclose(distribution.mode(), reference["actions"], atol=TOLERANCE)


def test_spaces_come_from_the_plain_text() -> None:
    policy, _, _ = load("ppo_box")
    box = Box(np.array([-1.0, -0.5], np.float32), np.array([2.0, 0.5], np.float32))
    assert policy.signature == Signature(Box(-np.inf, np.inf, (4,)), box)
    assert load("a2c_states")[0].signature == Signature(Discrete(6), Discrete(3))


def test_activations_come_from_the_plain_text_or_the_algorithm() -> None:
    assert load("ppo_discrete")[0].network.activations == ("relu", "identity")
    assert load("ppo_box")[0].network.activations == ("tanh", "tanh", "identity")
    assert load("dqn")[0].network.activations == ("relu", "relu", "identity")


# ---- what a zip may leave open


def test_spaces_that_are_not_plain_can_be_given(tmp_path: Path) -> None:
    hidden = {":type:": "<class 'my.Box'>", ":serialized:": "gAV"}
    path = rewrite_data(tmp_path / "m.zip", observation_space=hidden)
    problems = problems_of(path)
    assert "observation_space: is \"<class 'my.Box'>\"" in problems
    assert "signature=" in problems
    signature = load("ppo_box")[0].signature
    policy = read_stable_baselines(path, StableBaselinesOptions(signature=signature))
    assert policy.signature == signature


def test_given_spaces_have_to_agree_with_plain_ones() -> None:
    signature = Signature(Box(-np.inf, np.inf, (4,)), Box(-1.0, 1.0, (2,)))
    problems = problems_of(FIXTURES / "ppo_box.zip", StableBaselinesOptions(signature=signature))
    assert "leave the signature out or correct it" in problems


def test_given_spaces_may_be_more_precise() -> None:
    low, high = np.array([-1.0, -0.5]), np.array([2.0 + 1e-6, 0.5])
    signature = Signature(Box(-np.inf, np.inf, (4,)), Box(low, high, dtype=np.float64))
    assert load("ppo_box", StableBaselinesOptions(signature=signature))[0].signature == signature


def test_activation_hidden_in_a_pickle_has_to_be_given(tmp_path: Path) -> None:
    hidden = {":type:": "<class 'dict'>", ":serialized:": "gAV"}
    path = rewrite_data(tmp_path / "m.zip", policy_kwargs=hidden)
    assert "activation='relu' or 'tanh'" in problems_of(path)
    policy = read_stable_baselines(path, StableBaselinesOptions(activation="relu"))
    assert policy.network.activations == ("relu", "relu", "identity")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (
            {"policy_kwargs": {"activation_fn": "<class 'torch.nn.ELU'>"}},
            "export the policy to ONNX",
        ),
        ({"observation_space": None}, "expected a gymnasium space"),
        (
            {"action_space": {":type:": "<class 'gymnasium.spaces.multi_discrete.MultiDiscrete'>"}},
            "is a MultiDiscrete; nacre reads Box and Discrete",
        ),
        (
            {
                "observation_space": {
                    ":type:": "<class 'gymnasium.spaces.box.Box'>",
                    "_shape": [84, 84],
                }
            },
            "flatten it to one axis",
        ),
        (
            {
                "observation_space": {
                    ":type:": "<class 'gymnasium.spaces.box.Box'>",
                    "_shape": [4],
                    "low": "[0. ... 0.]",
                    "high": "[0. ... 0.]",
                }
            },
            "has the bounds '[0. ... 0.]' for 4 coordinates",
        ),
        (
            {
                "action_space": {
                    ":type:": "<class 'gymnasium.spaces.discrete.Discrete'>",
                    "n": "3",
                    "start": "1",
                }
            },
            "expected one that starts at 0",
        ),
    ],
)
def test_settings_that_cannot_be_read_are_named(
    tmp_path: Path, changed: dict[str, object], expected: str
) -> None:
    assert expected in problems_of(rewrite_data(tmp_path / "m.zip", "ppo_box", **changed))


def test_given_activation_has_to_agree() -> None:
    assert "relu in the zip, but tanh" in problems_of(
        FIXTURES / "ppo_discrete.zip", StableBaselinesOptions(activation="tanh")
    )


def test_state_dependent_exploration_acts_by_its_mean() -> None:
    policy, provenance = read_policy_with_provenance(FIXTURES / "ppo_sde.zip")
    assert isinstance(policy, MLPPolicy)
    assert policy.head == "deterministic"
    assert "acts by its mean" in provenance["notes"][0]
    tensors, size = tensors_of("ppo_sde"), policy.signature.observation_size
    rows = np.random.default_rng(0).normal(size=(5, size)).astype(np.float32)
    latent = rows
    for place in (0, 2):
        weight = tensors[f"mlp_extractor.policy_net.{place}.weight"]
        latent = np.tanh(latent @ weight.T + tensors[f"mlp_extractor.policy_net.{place}.bias"])
    mean = latent @ tensors["action_net.weight"].T + tensors["action_net.bias"]
    low, high = policy.signature.action_limits
    np.testing.assert_allclose(
        policy(jnp.asarray(rows)).mode(), np.clip(mean, low, high), atol=TOLERANCE
    )


def test_soft_actors_with_state_dependent_exploration_cut_their_mean_at_two() -> None:
    rng = np.random.default_rng(0)
    tensors: Tensors = {
        "actor.latent_pi.0.weight": rng.normal(size=(8, 3)).astype(np.float32),
        "actor.latent_pi.0.bias": rng.normal(size=8).astype(np.float32),
        "actor.mu.0.weight": 3 * rng.normal(size=(2, 8)).astype(np.float32),
        "actor.mu.0.bias": rng.normal(size=2).astype(np.float32),
        "actor.log_std": np.zeros((8, 2), np.float32),
    }
    signature = Signature(Box(-1.0, 1.0, (3,)), Box(-2.0, 4.0, (2,)))
    policy = find_actor(tensors, state_noise=True)(tensors, signature, "relu", None)
    rows = rng.normal(size=(20, 3)).astype(np.float32)
    latent = np.maximum(
        rows @ tensors["actor.latent_pi.0.weight"].T + tensors["actor.latent_pi.0.bias"], 0
    )
    mean = latent @ tensors["actor.mu.0.weight"].T + tensors["actor.mu.0.bias"]
    assert np.abs(mean).max() > 2
    expected = 1.0 + 3.0 * np.tanh(np.clip(mean, -2, 2))
    np.testing.assert_allclose(policy(jnp.asarray(rows)).mode(), expected, atol=1e-5)


def test_quantiles_are_averaged() -> None:
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(5 * 3, 4)).astype(np.float32)
    tensors: Tensors = {
        "quantile_net.quantile_net.0.weight": weight,
        "quantile_net.quantile_net.0.bias": np.zeros(15, np.float32),
    }
    policy = find_actor(tensors)(
        tensors, Signature(Box(-1.0, 1.0, (4,)), Discrete(3)), "relu", None
    )
    rows = rng.normal(size=(20, 4)).astype(np.float32)
    quantiles = (rows @ weight.T).reshape(20, 5, 3)
    np.testing.assert_array_equal(
        policy(jnp.asarray(rows)).mode(), quantiles.mean(axis=1).argmax(axis=1)
    )
    with pytest.raises(InputError, match="15 numbers for 4 actions"):
        find_actor(tensors)(tensors, Signature(Box(-1.0, 1.0, (4,)), Discrete(4)), "relu", None)


def test_random_search_is_linear_or_squashed() -> None:
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(2, 3)).astype(np.float32)
    signature = Signature(Box(-1.0, 1.0, (3,)), Box(-1.0, 1.0, (2,)))
    rows = rng.normal(size=(20, 3)).astype(np.float32)
    linear: Tensors = {"action_net.weight": weight}
    policy = find_actor(linear)(linear, signature, "relu", None)
    expected = np.clip(rows @ weight.T, -1, 1)
    np.testing.assert_allclose(policy(jnp.asarray(rows)).mode(), expected, atol=TOLERANCE)
    squashed: Tensors = {
        "action_net.0.weight": weight,
        "action_net.0.bias": np.zeros(2, np.float32),
    }
    policy = find_actor(squashed)(squashed, signature, "relu", None)
    expected = np.tanh(rows @ weight.T)
    np.testing.assert_allclose(policy(jnp.asarray(rows)).mode(), expected, atol=TOLERANCE)


def test_zips_of_old_versions_say_shape(tmp_path: Path) -> None:
    with zipfile.ZipFile(FIXTURES / "ppo_box.zip") as old:
        space = json.loads(old.read("data"))["observation_space"]
    space["shape"] = space.pop("_shape")
    path = rewrite_data(tmp_path / "old.zip", observation_space=space)
    assert read_stable_baselines(path).signature == load("ppo_box")[0].signature


def test_spaces_and_tensors_have_to_fit(tmp_path: Path) -> None:
    space = {":type:": "<class 'gymnasium.spaces.discrete.Discrete'>", "n": "3", "start": "0"}
    assert "actions needs 3" in problems_of(rewrite_data(tmp_path / "a.zip", action_space=space))
    assert "is Discrete" in problems_of(rewrite_data(tmp_path / "b.zip", "sac", action_space=space))
    assert "is Discrete" in problems_of(rewrite_data(tmp_path / "c.zip", "td3", action_space=space))
    box = {":type:": "<class 'gymnasium.spaces.box.Box'>", "_shape": [3]}
    box |= {"low": "[-1. -1. -1.]", "high": "[1. 1. 1.]"}
    assert "discrete actions" in problems_of(
        rewrite_data(tmp_path / "d.zip", "dqn", action_space=box)
    )


# ---- nothing runs


class Canary:
    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, ...]]:
        return os.mkdir, ("canary-was-here",)


def torch_file(content: bytes) -> bytes:
    """A PyTorch file with this pickle and nothing else."""
    path = Path("inner.pth")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", content)
        archive.writestr("archive/version", "3")
    return path.read_bytes()


@pytest.mark.parametrize(
    "member", ["policy_pth", "pytorch_variables_pth", "policy_optimizer_pth", "data"]
)
@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("protocol", range(6))
def test_canaries_do_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, member: str, wrapped: bool, protocol: int
) -> None:
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps({"x": Canary()}, protocol)
    changed = {member: torch_file(content) if wrapped else content}
    path = rewrite(tmp_path / "m.zip", "ppo_box", drop=(), add=(), **changed)
    problems = problems_of(path)
    if wrapped and member != "data":
        assert "it was not run" in problems
    assert member.replace("_pth", ".pth").replace("policy_opt", "policy.opt") in problems
    assert not Path("canary-was-here").exists()


def test_canary_among_the_settings_is_never_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = base64.b64encode(pickle.dumps(Canary())).decode()
    path = rewrite_data(
        tmp_path / "m.zip",
        policy_kwargs={":type:": "<class 'dict'>", ":serialized:": text, "net_arch": [16, 16]},
        lr_schedule={":type:": "<class 'function'>", ":serialized:": text},
    )
    assert read_stable_baselines(path).network.sizes == (4, 16, 16, 4)
    assert not Path("canary-was-here").exists()


def test_strange_members_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    canary = pickle.dumps(Canary())
    path = rewrite(tmp_path / "m.zip", add=[("replay_buffer.pkl", canary), ("x/y.pth", canary)])
    problems = problems_of(path)
    assert "'replay_buffer.pkl' is not of Stable-Baselines3" in problems
    assert "'x/y.pth' is not of Stable-Baselines3" in problems
    assert not Path("canary-was-here").exists()


@pytest.mark.parametrize("member", ["data", "policy.pth"])
def test_missing_members_are_named(tmp_path: Path, member: str) -> None:
    path = rewrite(tmp_path / "m.zip", drop=[member])
    assert f"has no member '{member}'" in problems_of(path)


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_settings_that_are_no_object(tmp_path: Path, content: bytes) -> None:
    assert "member 'data' is not" in problems_of(rewrite(tmp_path / "m.zip", data=content))


# ---- tensors that are no MLP policy


def tensors_of(name: str) -> Tensors:
    with zipfile.ZipFile(FIXTURES / f"{name}.zip") as archive:
        return read_state_dict(archive.read("policy.pth"), "policy.pth")


@pytest.mark.parametrize(
    ("name", "changed", "expected"),
    [
        ("ppo_box", {"features_extractor.cnn.0.weight": np.zeros(1)}, "export the policy to ONNX"),
        ("ppo_box", {"mlp_extractor.policy_net.3.weight": np.zeros((2, 2))}, "no plain MLP"),
        ("ppo_box", {"mlp_extractor.policy_net.1.scale": np.zeros(2)}, "no linear layer"),
        ("ppo_box", {"action_net.bias": np.zeros(3)}, "expected (outputs, inputs)"),
        ("ppo_box", {"log_std": np.zeros((16, 2))}, "use_sde=False"),
        ("sac", {"actor.mu.weight": np.zeros((3, 16)), "actor.mu.bias": np.zeros(3)}, "be alike"),
    ],
)
def test_tensors_of_another_kind(name: str, changed: Tensors, expected: str) -> None:
    tensors = tensors_of(name) | changed
    signature = load(name)[0].signature
    with pytest.raises(InputError) as caught:
        find_actor(tensors)(tensors, signature, "tanh", None)
    assert expected in str(caught.value)


def test_tensors_of_nothing_known() -> None:
    with pytest.raises(InputError, match="are of no PPO, A2C, SAC, TD3, DQN or ARS"):
        find_actor({"net.weight": np.zeros((2, 2))})


def test_layers_shared_with_the_value_come_first() -> None:
    tensors = tensors_of("ppo_box")
    for part in ("weight", "bias"):
        tensors[f"mlp_extractor.shared_net.0.{part}"] = tensors.pop(
            f"mlp_extractor.policy_net.0.{part}"
        )
        tensors[f"mlp_extractor.policy_net.0.{part}"] = tensors.pop(
            f"mlp_extractor.policy_net.2.{part}"
        )
    policy, distribution, reference = load("ppo_box")
    shared = find_actor(tensors)(tensors, policy.signature, "tanh", None)
    rows = jnp.asarray(reference["observations"])
    np.testing.assert_array_equal(
        expect(Gaussian, shared(rows)).location, expect(Gaussian, distribution).location
    )


def test_td3_needs_bounds() -> None:
    signature = Signature(Box(-np.inf, np.inf, (4,)), Box(-np.inf, np.inf, (2,)))
    with pytest.raises(InputError, match="infinite"):
        find_actor(tensors_of("td3"))(tensors_of("td3"), signature, "relu", None)


# ---- through read_policy


def test_zips_are_read_by_their_ending() -> None:
    policy, provenance = read_policy_with_provenance(FIXTURES / "sac.zip")
    assert expect(MLPPolicy, policy).head == "squashed_gaussian"
    assert provenance == {"source": "stable-baselines3"}


def test_statistics_are_named_by_their_file() -> None:
    policy = read_policy(
        FIXTURES / "ppo_normalized.zip", normalization=FIXTURES / "ppo_normalized_statistics.npz"
    )
    scaling = expect(Scaling, expect(MLPPolicy, policy).scaling)
    assert scaling.limit == 1.5


def test_a_zip_survives_safetensors(tmp_path: Path) -> None:
    statistics = FIXTURES / "ppo_normalized_statistics.npz"
    for name, normalization in (("dqn", None), ("td3", None), ("ppo_normalized", statistics)):
        policy = read_policy(FIXTURES / f"{name}.zip", normalization=normalization)
        write_policy(policy, tmp_path / "p.safetensors")
        assert fingerprint(read_policy(tmp_path / "p.safetensors")) == fingerprint(policy)


@pytest.mark.parametrize("name", ["model.pkl", "model.pth", "model.pt", "model.joblib"])
def test_pickles_are_not_even_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(pickle.dumps(Canary()))
    with pytest.raises(InputError, match=r"pickles run code when they are read|hold programs"):
        read_policy(tmp_path / name)
