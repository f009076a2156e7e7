"""The scripts of the gallery: they run, and the pictures of the docs are what they draw."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest

from nacre import examples
from nacre.advice.config import AdviceConfig
from nacre.cli.demo import demo_config
from nacre.estimators.fitted_q import FittedQ
from nacre.learners.scale_noise import ScaleNoise

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / "gallery" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


two_state_world = _load("two_state_world")
traffic_advice = _load("traffic_advice")


def _words(picture: Path) -> list[str]:
    """The texts of an SVG in order; it has to be well-formed."""
    tree = ElementTree.fromstring(picture.read_text(encoding="utf-8"))  # noqa: S314 - our own
    return [node.text for node in tree.iter("{http://www.w3.org/2000/svg}text") if node.text]


def test_two_state_world_is_solved_as_in_the_paper() -> None:
    solution = two_state_world.solve()
    assert solution.names == ("old", "n1", "n2", "n3", "n4")
    assert solution.costs == (0.0, 25.0, 25.0, 50.0, 50.0)
    assert solution.best == ("n1", "old")
    expected = np.array([[50, 50], [75, -25], [24.7487, 25.2513], [50, 50], [-50, -50]])
    np.testing.assert_allclose(solution.net_values, expected, atol=1e-3)


def test_picture_of_the_two_state_world_is_what_its_script_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two_state_world.main(tmp_path / "world.svg")
    assert capsys.readouterr().out == "from s_α: switch to n1\nfrom s_β: keep\n"
    words = _words(tmp_path / "world.svg")
    assert words == _words(PICTURES / "two_state_world.svg")
    assert {"s_α", "s_β", "75 ★", "50 ★", "self, 1", "alt, 0"} <= set(words)


def _tiny(config: AdviceConfig) -> AdviceConfig:
    """One candidate that need not be learned, evaluated by few features."""
    few = FittedQ(sets=2, groups=4, sizes=(16,))
    return dataclasses.replace(config, learners=(ScaleNoise(),), estimators=(few,))


@pytest.mark.slow
def test_advice_on_traffic_is_found_saved_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []
    monkeypatch.setattr(traffic_advice, "photograph", lambda *files: asked.append(files))
    config = _tiny(demo_config(examples.load_traffic()))
    folder = tmp_path / "advice"
    traffic_advice.main(folder, tmp_path, config)
    verdict, _, reason = capsys.readouterr().out.strip().partition(": ")
    assert verdict in ("switch", "keep", "undecided")
    assert reason
    assert {path.name for path in folder.iterdir()} >= {"decision.json", "report.html", "policy"}
    assert asked == [(folder / "report.html", tmp_path / "demo-1440.png")]
    words = _words(tmp_path / "traffic_advice.svg")
    assert {"Candidates", "At other weights", "noise-0.3"} <= set(words)
    assert f"{verdict}: {reason}" in words

    # A decision that is there is drawn and not made anew.
    monkeypatch.setattr(traffic_advice, "find_advice", lambda *_: pytest.fail("advised again"))
    before = (tmp_path / "traffic_advice.svg").read_bytes()
    traffic_advice.main(folder, tmp_path, config)
    assert (tmp_path / "traffic_advice.svg").read_bytes() == before


def test_picture_and_readme_tell_of_the_same_advice() -> None:
    words = _words(PICTURES / "traffic_advice.svg")
    (reason,) = (word for word in words if re.match(r"switch: the net gain is at least", word))
    assert reason.removeprefix("switch: ") in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "today's weight, 5" in words
