"""The examples as people have them: what they hold, that their script makes them, and a verdict."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Discrete

from nacre import examples
from nacre.costs import read_cost
from nacre.errors import InputError
from nacre.logs import Log, read_log
from nacre.policies import read_policy
from tests.support.advice import advise_quickly

SCRIPT = Path(__file__).parents[2] / "scripts" / "make_examples.py"
FOREIGN = ("treatment", "offers", "trolley")
LARGEST = 300_000


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, script: dict[str, Any]) -> tuple[Path, Path]:
    """Two directories, each filled by a run of the script."""
    places = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")
    for place in places:
        script["main"](place)
    return places


def read(sources: examples.Sources) -> Log:
    return read_log(sources.log, columns=sources.columns)


def test_names_are_the_folders_that_there_are() -> None:
    folder = examples.find_directory().parent
    assert examples.find_directory() == examples.find_directory("cart")
    assert set(examples.NAMES) == {path.parent.name for path in folder.glob("*/cost.toml")}
    with pytest.raises(InputError, match=r"'\.\./\.\.': not known; choose one of cart, traffic"):
        examples.find_directory("../..")


@pytest.mark.parametrize("name", FOREIGN)
def test_examples_are_small_and_explain_themselves(name: str) -> None:
    folder = examples.find_directory(name)
    assert sum(path.stat().st_size for path in folder.iterdir()) < LARGEST
    readme = (folder / "README.md").read_text()
    for path in folder.iterdir():
        assert path.name == "README.md" or f"`{path.name}`" in readme
    sources = examples.find_sources(name)
    command = readme.split("    nacre advise ")[1].split(" --out")[0].split()
    plain = [Path(word).name if "/" in word else word for word in sources.arguments()]
    pairs = {tuple(words[i : i + 2]) for words in (command, plain) for i in range(0, len(words), 2)}
    # Only a discount of 0.99 goes without saying.
    assert pairs - {("--discount", "0.99")} == {
        tuple(command[i : i + 2]) for i in range(0, len(command), 2)
    }


@pytest.mark.parametrize("name", FOREIGN)
def test_script_makes_what_is_bundled(name: str, made: tuple[Path, Path]) -> None:
    folder = examples.find_directory(name)
    written = sorted(path.name for path in (made[0] / name).iterdir())
    assert written == sorted(
        {"log.csv", "log.parquet", "log.npz", "old.onnx"} & set(listed(folder))
    )
    for file in written:
        assert (made[0] / name / file).read_bytes() == (made[1] / name / file).read_bytes()
    sources = examples.find_sources(name)
    mine, bundled = (
        read_log(made[0] / name / sources.log.name, columns=sources.columns),
        read(sources),
    )
    # Another processor may round the last digit otherwise, and that is carried along the episode.
    for field in ("observations", "actions", "rewards", "next_observations"):
        np.testing.assert_allclose(getattr(mine, field), getattr(bundled, field), atol=1e-4)
    np.testing.assert_array_equal(mine.offsets, bundled.offsets)


def listed(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_logs_are_what_their_pages_say() -> None:
    treatment, offers, trolley = (read(examples.find_sources(name)) for name in FOREIGN)
    assert treatment.n_episodes == 400
    lengths = np.diff(treatment.offsets)
    # The last visit has no successor, unless a stroke made it the last.
    whole = ~treatment.terminated[treatment.offsets[1:] - 1]
    assert (lengths[whole].min(), lengths.max()) == (5, 23)
    assert isinstance(treatment.action_space, Discrete)
    assert treatment.action_space.n == 3
    assert offers.n_episodes == 200
    assert 0 < offers.terminated.sum() < 200
    np.testing.assert_allclose(offers.columns["probability"].sum(axis=1), 1.0, atol=1e-5)
    assert (trolley.n_episodes, len(trolley)) == (100, 6000)


def test_the_trolley_s_policy_made_its_log() -> None:
    sources = examples.find_sources("trolley")
    log = read(sources)
    said: Any = read_policy(sources.policy)(jnp.asarray(log.observations))
    errors = (log.actions - np.asarray(said.location)) / np.asarray(said.std)
    # Standard normal draws: mean within 5/√n, variance within 5·√(2/n).
    assert abs(errors.mean()) < 5 / np.sqrt(errors.size)
    assert abs(errors.var() - 1.0) < 5 * np.sqrt(2 / errors.size)


@pytest.mark.parametrize(
    ("world", "old", "better", "episode", "reward"),
    [
        ("treat", "prescribe", "prescribe_with_care", "patient", "wellbeing"),
        ("sell", "offer", "offer_with_restraint", "customer", "margin"),
    ],
)
def test_a_better_rule_exists(
    script: dict[str, Any], world: str, old: str, better: str, episode: str, reward: str
) -> None:
    returns = []
    for rule in (old, better):
        rows = script[world](script[rule], 300, seed=5)
        _, place = np.unique(rows[episode], return_inverse=True)
        returns.append(np.bincount(place, rows[reward]))
    error = np.hypot(*(one.std() / np.sqrt(len(one)) for one in returns))
    assert returns[1].mean() - returns[0].mean() > 3 * error


def test_a_better_controller_of_the_trolley_exists(script: dict[str, Any]) -> None:
    world = script["make_trolley"]()
    gain, std = np.array([script["TROLLEY_GAIN"]]), np.array([script["TROLLEY_STD"]])
    old = world.start_value(script["LinearPolicy"](gain, std))
    best = world.start_value(world.optimal_policy())
    readme = (examples.find_directory("trolley") / "README.md").read_text()
    assert f"worth {best:.1f} where" in readme.replace("\n", " ")
    assert f"worth {old:.1f}, both" in readme.replace("\n", " ")


@pytest.mark.slow
@pytest.mark.parametrize("name", FOREIGN)
def test_the_command_line_gives_a_verdict(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = examples.find_sources(name)
    found = advise_quickly(monkeypatch, capsys, *sources.arguments())
    log = read(sources)
    assert found["log"]["sha256"] == log.fingerprint()
    assert found["log_checks"]["on_policy"]["on_policy"]
    assert found["cost"]["total"] > 0
    assert read_cost(sources.cost).learning_weight == found["cost_model"]["learning_weight"]
