"""All forms of policies: a new one of ours is one line here, others register by entry point."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from nacre.errors import InputError
from nacre.plugins.registry import Registry
from nacre.policies.formats.base import PolicyFormat
from nacre.policies.policy import Policy

POLICY_FORMATS: Registry[PolicyFormat] = Registry(
    "nacre.policy_formats",
    "policy format",
    {
        "safetensors": "nacre.policies.formats.safetensors:SAFETENSORS",
        "onnx": "nacre.policies.formats.onnx_model:ONNX",
        "stable-baselines3": "nacre.policies.formats.sb3:STABLE_BASELINES",
        "rules": "nacre.policies.formats.rules:RULES",
        "columns": "nacre.policies.formats.columns:COLUMNS",
        "clone": "nacre.policies.formats.clone:CLONE",
        "callables": "nacre.policies.formats.callables:CALLABLES",
    },
)


def find_by_name(name: str) -> PolicyFormat | None:
    """The format that a word stands for, or that a file of this name has.

    Ours come first, so that no other package is imported for the sake of our files.
    """
    suffix = Path(name).suffix.lower()
    return next(
        (form for form in POLICY_FORMATS if name in form.words or suffix in form.suffixes), None
    )


def find_by_object(source: object) -> PolicyFormat:
    """The format that takes an object.

    Other packages are asked before ours: a function of the user's own is what is left.

    Raises:
        InputError: If none does.
    """
    for name in reversed(POLICY_FORMATS.names):
        if (form := POLICY_FORMATS.find(name)).takes(source):
            return form
    raise InputError(f"a {type(source).__name__} is no policy; nacre reads {describe_formats()}")


def is_source(source: object) -> bool:
    """Whether something is a policy, a name of one, or an object that a format takes."""
    if isinstance(source, Policy | str | os.PathLike):
        return True
    return any(form.takes(source) for form in POLICY_FORMATS)


def find_writable(path: str | os.PathLike[str]) -> PolicyFormat:
    """The format in which a file of this name is written.

    Raises:
        InputError: If there is none.
    """
    form = find_by_name(os.fspath(path))
    if form is None or not form.writable:
        endings = _join(
            suffix for form in POLICY_FORMATS if form.writable for suffix in form.suffixes
        )
        raise InputError(f"{path}: a policy file ends in {endings}; choose such a name")
    return form


def describe_formats() -> str:
    """All that can be read, for messages."""
    return _join(form.label for form in POLICY_FORMATS)


def _join(names: Iterator[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
