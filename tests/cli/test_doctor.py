"""What the doctor finds on this machine, and what it says where something is missing."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from nacre.cli import doctor

REQUIREMENTS = [
    "numpy>=2.0",
    "absent-thing>=1.0",
    "gymnasium[mujoco]>=1.0; extra == 'mujoco'",
    "mujoco==0.0.1 ; extra == 'mujoco'",
    'absent-sumo (>=1.4) ; extra == "sumo"',
    "h5py; extra == 'hdf5'",
]


@pytest.fixture
def requirements(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(name: str) -> str:
        if name.startswith("absent"):
            raise PackageNotFoundError(name)
        return "3.3.7"

    monkeypatch.setattr(doctor, "requires", lambda name: REQUIREMENTS)
    monkeypatch.setattr(doctor, "version", find)


def test_this_machine_has_the_essentials() -> None:
    health = doctor.examine_machine()
    assert health.healthy
    assert health.problems == ()
    assert health.versions["numpy"] == version("numpy")
    assert health.devices
    assert 1 <= health.usable_cores <= health.cores
    assert set(health.extras) == set(doctor.EXTRAS)
    assert health.memory.get("available", 0) <= health.memory.get("total", 0)
    document = json.loads(json.dumps(health.as_json()))
    assert document["healthy"] is True
    assert document["extras"]["onnx"]["installed"] is health.extras["onnx"].installed


@pytest.mark.usefixtures("requirements")
def test_what_is_missing_is_found_by_extra_with_the_command_that_installs_it() -> None:
    extras = doctor.find_extras()
    assert extras["mujoco"].missing == ("mujoco==0.0.1 (there is 3.3.7)",)
    assert extras["sumo"].missing == ("absent-sumo(>=1.4)",)
    assert extras["sumo"].install == "pip install 'nacre[sumo]'"
    assert not extras["sumo"].installed
    assert extras["hdf5"].installed
    assert doctor.find_missing() == ("absent-thing>=1.0",)


@pytest.mark.usefixtures("requirements")
def test_a_missing_package_is_a_problem_a_missing_extra_is_none() -> None:
    health = doctor.examine_machine()
    assert health.problems == (
        "absent-thing>=1.0 is not installed; pip install 'absent-thing>=1.0'",
    )
    assert not health.healthy


def test_without_jax_nothing_works_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", None)
    health = doctor.examine_machine()
    assert health.devices == ()
    (problem,) = health.problems
    assert problem.startswith("JAX does not work (")
    assert "pip install" in problem


def test_nothing_is_missing_where_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> list[str]:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "requires", fail)
    assert doctor.find_missing() == ()
    assert all(extra.installed for extra in doctor.find_extras().values())


def test_the_browser_is_the_one_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    assert doctor.find_browser() is None
    for name in ("chrome", "mine"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert doctor.find_browser() == str(tmp_path / "chrome")
    monkeypatch.setenv("CHROMIUM", "mine")
    assert doctor.find_browser() == str(tmp_path / "mine")


def test_folders_that_are_gone_are_not_writable(tmp_path: Path) -> None:
    assert doctor._is_writable(tmp_path)
    assert not doctor._is_writable(tmp_path / "gone")
    assert list(tmp_path.iterdir()) == []
