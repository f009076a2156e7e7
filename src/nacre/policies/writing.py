"""Writing policies: safetensors, ONNX, a model card, and a file that acts without JAX."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nacre.errors import InputError
from nacre.policies.card import Card, format_card
from nacre.policies.formats.onnx_graph import build_onnx
from nacre.policies.formats.safetensors import SUFFIX, describe_policy, dump_safetensors
from nacre.policies.policy import Policy


def write_policy(
    policy: Policy, path: str | os.PathLike[str], provenance: Mapping[str, Any] | None = None
) -> None:
    """Write a policy of ours to a `.safetensors` or `.onnx` file, whole or not at all.

    Raises:
        InputError: If it has no file form, holds NaN, or the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() not in (SUFFIX, ".onnx"):
        raise InputError(f"{path}: a policy file ends in {SUFFIX} or .onnx; choose such a name")
    try:
        blob = dump_safetensors(policy, provenance or {})
        if path.suffix.lower() == ".onnx":
            blob = build_onnx(policy, describe_policy(policy, provenance or {}))
    except InputError as error:
        raise InputError([f"{path}: {problem}" for problem in error.problems]) from None
    write_whole(path, blob)


def write_card(path: str | os.PathLike[str], card: Card) -> None:
    """Write a model card in Markdown."""
    write_whole(Path(path), format_card(card).encode())


def write_predictor(path: str | os.PathLike[str]) -> None:
    """Write a Python file whose `Predictor` acts with policy files; it needs NumPy, not JAX."""
    source = Path(__file__).parent / "formats" / "numpy_predictor.py"
    write_whole(Path(path), source.read_bytes())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under another name first, so that it is there whole or not at all."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror or error}); choose another place"
        ) from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
