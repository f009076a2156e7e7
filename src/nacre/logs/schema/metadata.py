"""The JSON that travels with a log's columns: spaces, provenance, and the form of columns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gymnasium.spaces import Space
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.files.documents import parse_json
from nacre.files.manifest import digest_json
from nacre.logs.checks.assembly import Content
from nacre.logs.checks.problems import Problems, show
from nacre.logs.digests import checksum, fingerprint
from nacre.logs.episodes import Log
from nacre.logs.schema.spaces import JSON, SpaceError, space_from_json, space_to_json

KEY = "nacre"
MARK = "nacre.version"
"""A second entry of the same file: one that is lost is noticed by the other."""
VERSION = 2
LARGEST = 100_000_000
_DTYPES = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)} | {
    "float32",
    "float64",
    "bool",
}


@dataclass(frozen=True)
class ColumnForm:
    """How a further column was kept before a text format made it plain.

    Attributes:
        dtype: Its NumPy name.
        width: The number of columns `name_0, name_1, …` it was spread over; None if it was not.
    """

    dtype: str
    width: int | None = None


@dataclass(frozen=True)
class Metadata:
    """What a file says about its columns.

    Attributes:
        spaces: For "observation" and "action", as far as told.
        provenance: Where the log comes from.
        forms: Of further columns; None if the file has no metadata at all.
        checksum: Of the log that was written; "" if the file does not say it.
        sha256: In older files, its fingerprint instead.
    """

    spaces: dict[str, Space[Any]] = field(default_factory=dict)
    provenance: dict[str, JSON] = field(default_factory=dict)
    forms: dict[str, ColumnForm] | None = None
    checksum: str = ""
    sha256: str = ""

    def fits(self, content: Content) -> bool:
        """Whether a log is the one that was written, as far as the file says it."""
        if self.checksum:
            return checksum(content) == self.checksum
        return not self.sha256 or fingerprint(content) == self.sha256


def encode_metadata(log: Log, columns: Mapping[str, NDArray[Any]] | None = None) -> str:
    """Return the metadata of a log, with the forms of `columns` for formats that lose them.

    Those that lose nothing, and that nobody edits by hand, have the log's checksum too.
    """
    document: dict[str, JSON] = {
        "version": VERSION if columns is None else 1,
        "observation_space": space_to_json(log.observation_space),
        "action_space": space_to_json(log.action_space),
        "provenance": dict(log.provenance),
    }
    if columns:
        document["columns"] = {
            name: {
                "dtype": str(values.dtype),
                "width": values.shape[1] if values.ndim == 2 else None,
            }
            for name, values in columns.items()
        }
    try:
        if columns is None:
            document["crc32"] = checksum(log)
            document["check"] = digest_json(document)
        return json.dumps(document, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"log: the provenance cannot be written as JSON ({error}); "
            "use texts, finite numbers, lists and dictionaries"
        ) from error


def has_checksum(told: Mapping[bytes, bytes] | None) -> bool:
    """Whether a file's metadata have the checksum of its log."""
    return b'"crc32"' in (told or {}).get(KEY.encode(), b"")


def decode_metadata(text: str | bytes | None, problems: Problems) -> Metadata:
    """Return what the metadata says; what is wrong in it goes to `problems`."""
    if text is None:
        return Metadata()
    try:
        document = parse_json(text.encode() if isinstance(text, str) else text, largest=LARGEST)
    except (ValueError, RecursionError) as error:
        return _refuse(f"is no JSON ({error})", problems)
    if not isinstance(document, dict):
        return _refuse(f"is {show(document)}, not an object", problems)
    check = document.pop("check", None)
    if document.get("version", 1) != 1 and check != digest_json(document):
        return _refuse("is damaged: its digest does not fit", problems)
    spaces = {}
    for name in ("observation", "action"):
        form = document.get(f"{name}_space")
        try:
            if form is not None:
                spaces[name] = space_from_json(form)
        except SpaceError as error:
            _refuse(f"has the {name} space {error}", problems)
    provenance = document.get("provenance", {})
    if not isinstance(provenance, dict):
        _refuse(f"has the provenance {show(provenance)}, not an object", problems)
        provenance = {}
    forms = _decode_forms(document.get("columns"), problems)
    checksums = (str(document.get(name, "")) for name in ("crc32", "sha256"))
    return Metadata(spaces, provenance, forms, *checksums)


def _decode_forms(forms: object, problems: Problems) -> dict[str, ColumnForm]:
    decoded: dict[str, ColumnForm] = {}
    if forms is None:
        return decoded
    entries = forms.items() if isinstance(forms, dict) else [("columns", forms)]
    for name, form in entries:
        dtype = form.get("dtype") if isinstance(form, dict) else None
        width = form.get("width") if isinstance(form, dict) else None
        if dtype not in _DTYPES or not (width is None or (type(width) is int and width > 0)):
            _refuse(f"has for {show(name)} the form {show(form)}", problems)
        else:
            decoded[name] = ColumnForm(str(dtype), width)
    return decoded


def _refuse(what: str, problems: Problems) -> Metadata:
    problems.add(f"the metadata under {KEY!r} {what}", "mend it, or remove it from the file")
    return Metadata()
