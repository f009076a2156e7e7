"""Writing policies: safetensors, ONNX, a model card, and a file that acts without JAX."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nacre.errors import InputError, check_arguments
from nacre.files.commit import commit_files, write_whole
from nacre.policies.card import Card, format_card
from nacre.policies.formats.onnx_model import dump_columns
from nacre.policies.formats.registry import POLICY_FORMATS, find_writable
from nacre.policies.policy import Policy
from nacre.policies.rules import RulePolicy

Dump = Callable[[Policy, Mapping[str, Any]], bytes | None]
DELIVERED: Mapping[str, str] = {
    "safetensors": "the policy; read it with nacre.read_policy",
    "onnx": "the same for ONNX runtimes",
}
"""Formats of a delivery, and what to say of each file."""
DELIVERED_RULES: Mapping[str, str] = {
    "rules": "the rule, to read and to use; nacre.read_policy takes it with the log",
    "onnx": "the same for ONNX runtimes",
}
"""The same of a rule, which is no network."""
FUTURE = "from __future__ import annotations\n"
COLUMNS_IMPORT = "from nacre.policies.formats.numpy_columns import encode_row\n"
RAW = ".raw.onnx"
"""Ending of the graph that takes the columns of a table."""
RAW_TEXT = (
    "the same for ONNX runtimes, on raw columns: an input for each, with texts (empty if missing), "
    "float64 (NaN if missing) or, for times, int64 seconds since 1970; the output label names the "
    "action"
)


@check_arguments
def write_policy(
    policy: Policy, path: str | os.PathLike[str], provenance: Mapping[str, Any] | None = None
) -> None:
    """Write a policy in the format of the file's ending, whole or not at all.

    Args:
        policy: A network, a table or a rule, or whatever else the format writes.
        path: Ends in `.safetensors` or `.onnx`, or as the formats of other packages say.
        provenance: Where the policy comes from; plain numbers, texts, lists and dictionaries.

    Raises:
        InputError: If it has no such form, holds NaN, or the file cannot be written.
    """
    path = Path(path)
    form = find_writable(path)
    try:
        blob = form.dump(policy, provenance or {})
    except InputError as error:
        raise InputError([f"{path}: {problem}" for problem in error.problems]) from None
    write_whole(path, blob)


@dataclass(frozen=True)
class Delivery:
    """The files of a policy that was handed over.

    Attributes:
        files: File name → what it is.
        missing: A sentence for each file that the policy has no form for.
    """

    files: Mapping[str, str]
    missing: tuple[str, ...]


def deliver_policy(
    policy: Policy,
    folder: str | os.PathLike[str],
    stem: str,
    provenance: Mapping[str, Any],
    formats: Mapping[str, str] = DELIVERED,
) -> Delivery:
    """Write a policy in several formats side by side, and what acts with it without JAX.

    A file of another policy under the same name, from an earlier delivery, is removed where this
    policy has no such form.

    Args:
        policy: The policy.
        folder: Where the files go.
        stem: Their name without the ending.
        provenance: Where the policy comes from.
        formats: Names in `nacre.policies.formats.registry.POLICY_FORMATS` → what the file is.
    """
    contents, delivery = prepare_delivery(policy, stem, provenance, formats)
    names = {f"{stem}{POLICY_FORMATS.find(name).suffixes[0]}" for name in formats}
    names.add(f"{stem}{RAW}")
    commit_files(Path(folder), contents)
    for name in names - set(contents):
        with contextlib.suppress(OSError):
            (Path(folder) / name).unlink(missing_ok=True)
    return delivery


def prepare_delivery(
    policy: Policy,
    stem: str,
    provenance: Mapping[str, Any],
    formats: Mapping[str, str] = DELIVERED,
) -> tuple[dict[str, bytes], Delivery]:
    """The contents of the files of `deliver_policy` by name, and what to say of them."""
    contents: dict[str, bytes] = {}
    files: dict[str, str] = {}
    missing: list[str] = []
    if isinstance(policy, RulePolicy):
        formats = DELIVERED_RULES
    dumps: dict[str, tuple[str, Dump]] = {}
    for form_name, text in formats.items():
        form = POLICY_FORMATS.find(form_name)
        dumps[f"{stem}{form.suffixes[0]}"] = (text, form.dump)
        if form_name == "onnx":
            dumps[f"{stem}{RAW}"] = (RAW_TEXT, dump_columns)
    for name, (text, dump) in dumps.items():
        try:
            content = dump(policy, provenance)
        except InputError as error:
            missing.append(f"no {name}: {error.problems[0]}")
            continue
        if content is not None:
            contents[name], files[name] = content, text
    for acting in (f"{stem}.safetensors", f"{stem}.toml"):
        if acting in files:
            contents["predict.py"] = read_predictor()
            files["predict.py"] = f"acts with {acting}, without JAX"
    return contents, Delivery(files, tuple(missing))


@check_arguments
def write_card(path: str | os.PathLike[str], card: Card) -> None:
    """Write a model card in Markdown."""
    write_whole(Path(path), format_card(card).encode())


@check_arguments
def write_predictor(path: str | os.PathLike[str]) -> None:
    """Write a Python file whose `Predictor` acts with policy files; it needs NumPy, not JAX."""
    write_whole(Path(path), read_predictor())


def read_predictor() -> bytes:
    """The content of that file: the predictor, with what it imports from us in its place."""
    folder = Path(__file__).parent / "formats"
    texts = (folder / f"{name}.py" for name in ("numpy_predictor", "numpy_columns"))
    predictor, columns = (path.read_text(encoding="utf-8") for path in texts)
    return predictor.replace(COLUMNS_IMPORT, columns.partition(FUTURE)[2].lstrip()).encode()
