"""Versions and commit for records."""

from __future__ import annotations

import subprocess

import pytest

import nacre
from nacre import versions


def test_versions_are_those_installed() -> None:
    found = versions.find_versions()
    assert found["nacre"] == nacre.__version__
    assert set(found) <= {"python", *versions.PACKAGES}
    assert {"jax", "numpy"} <= set(found)


def test_packages_that_are_not_there_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "PACKAGES", ("numpy", "no-such-package"))
    assert set(versions.find_versions()) == {"python", "numpy"}


def test_without_a_repository_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setattr(subprocess, "run", refuse)
    assert versions.find_commit() is None


def test_a_commit_is_forty_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    said = subprocess.CompletedProcess([], 0, stdout="a" * 40 + "\n")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: said)
    assert versions.find_commit() == "a" * 40
