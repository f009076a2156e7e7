"""The spaces of a policy from a file: for policies that do not say them."""

from __future__ import annotations

import os
from pathlib import Path

from nacre.errors import InputError
from nacre.files.documents import read_toml
from nacre.logs.schema.spaces import SpaceError, space_from_json
from nacre.policies.policy import Signature

EXAMPLE = '[action_space] with type = "discrete" and n = 3, or type = "box", low = […], high = […]'


def read_signature(path: str | os.PathLike[str] | None) -> Signature | None:
    """Return the spaces that a TOML file describes; None if there is no file.

    Raises:
        InputError: With what is missing or wrong.
    """
    if path is None:
        return None
    try:
        document = read_toml(Path(path))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(
            f"{path}: cannot be read as TOML ({reason}); write {EXAMPLE}, and [observation_space]"
        ) from None
    spaces, problems = [], []
    for name in ("observation_space", "action_space"):
        try:
            spaces.append(space_from_json(document.get(name)))
        except SpaceError as error:
            what = str(error) if name in document else f"is missing; write it like {EXAMPLE}"
            problems.append(f"{path}: {name}: {what}")
    if problems:
        raise InputError(problems)
    return Signature(*spaces)
