"""Arrays beside the decision that let the page show more: `evidence.npz`. All of them optional."""

from __future__ import annotations

import io
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.files.commit import write_whole
from nacre.files.documents import ARCHIVE_ERRORS
from nacre.files.manifest import read_checked
from nacre.logs.checks.problems import show_path, show_reason

FILE_NAME = "evidence.npz"
LARGEST_ARRAY = 10_000_000
LARGEST_FILE = 100_000_000

Numbers = NDArray[np.float64]


def _none() -> Numbers:
    return np.zeros(0)


def _no_rows() -> Numbers:
    return np.zeros((0, 0))


@dataclass(frozen=True)
class Evidence:
    """What lies behind a decision, as far as it was kept.

    Args:
        returns: (E,) discounted returns of the old policy's episodes, as far as they were seen.
        tails: (E,) what was predicted of the rest of each, where it was cut off.
        curve_names: Names of the candidates that were learned.
        curves: (C, N) estimated net value after each epoch of learning, NaN after its end.
        stop_reasons: Why learning ended, one for each candidate.
        state_names: M states, from the highest switching cost to the lowest.
        state_costs: (M,) cost of the switch at each.
        action_names: A actions, or groups of actions.
        old_actions: (M, A) their probabilities under the old policy.
        new_actions: (M, A) the same under the new one.
        concentration: (P,) share of the whole cost in the states with the highest cost, from none
            of the states to all of them in even steps.
    """

    returns: Numbers = field(default_factory=_none)
    tails: Numbers = field(default_factory=_none)
    curve_names: tuple[str, ...] = ()
    curves: Numbers = field(default_factory=_no_rows)
    stop_reasons: tuple[str, ...] = ()
    state_names: tuple[str, ...] = ()
    state_costs: Numbers = field(default_factory=_none)
    action_names: tuple[str, ...] = ()
    old_actions: Numbers = field(default_factory=_no_rows)
    new_actions: Numbers = field(default_factory=_no_rows)
    concentration: Numbers = field(default_factory=_none)

    def __post_init__(self) -> None:
        n_curves, n_states, n_actions = map(
            len, (self.curve_names, self.state_names, self.action_names)
        )
        problems = []
        for name, wanted in (
            ("returns", (None,)),
            ("tails", (np.asarray(self.returns).size,)),
            ("curves", (n_curves, None)),
            ("state_costs", (n_states,)),
            ("old_actions", (n_states, n_actions)),
            ("new_actions", (n_states, n_actions)),
            ("concentration", (None,)),
        ):
            array = np.asarray(getattr(self, name), np.float64)
            object.__setattr__(self, name, array)
            fits = array.ndim == len(wanted) and all(
                size is None or size == found
                for size, found in zip(wanted, array.shape, strict=True)
            )
            if array.size and not fits:
                problems.append(f"evidence: {name} has shape {array.shape}; expected {wanted}")
        if len(self.stop_reasons) not in (0, n_curves):
            problems.append(
                f"evidence: {len(self.stop_reasons)} stop_reasons for {n_curves} curves; give one "
                "each"
            )
        if problems:
            raise InputError(problems)


TEXTS = ("curve_names", "stop_reasons", "state_names", "action_names")
ARRAYS = tuple(name for name in Evidence.__dataclass_fields__ if name not in TEXTS)


def write_evidence(evidence: Evidence, path: str | os.PathLike[str]) -> Path:
    """Write the arrays into an npz file, whole or not at all."""
    path = Path(path)
    write_whole(path, dump_evidence(evidence))
    return path


def dump_evidence(evidence: Evidence) -> bytes:
    """The content of the npz file."""
    arrays: dict[str, Any] = {name: getattr(evidence, name) for name in ARRAYS}
    arrays |= {name: np.asarray(getattr(evidence, name), np.str_) for name in TEXTS}
    content = io.BytesIO()
    np.savez_compressed(content, **{name: array for name, array in arrays.items() if array.size})
    return content.getvalue()


def read_evidence(folder: str | os.PathLike[str]) -> Evidence:
    """The `evidence.npz` of a folder; nothing known where there is none.

    Raises:
        InputError: If the file is there but is not what we wrote.
    """
    path = Path(folder) / FILE_NAME
    if not path.exists():
        return Evidence()
    shown = show_path(path)
    try:
        content = io.BytesIO(read_checked(path, LARGEST_FILE))
        _check_sizes(content, shown)
        with np.load(content, allow_pickle=False) as arrays:
            names = [name for name in Evidence.__dataclass_fields__ if name in arrays]
            found: dict[str, Any] = {name: arrays[name] for name in names}
    except ARCHIVE_ERRORS as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{shown}: cannot be read ({show_reason(error)}); remove or replace it"
        ) from None
    for name in TEXTS:
        found[name] = tuple(str(text) for text in np.atleast_1d(found.get(name, ())).ravel())
    try:
        return Evidence(**found)
    except (ValueError, TypeError) as error:
        raise InputError(f"{shown}: {show_reason(error)}; remove or replace it") from None


def _check_sizes(content: io.BytesIO, shown: str) -> None:
    """Small files can hold arrays that fill the memory."""
    with zipfile.ZipFile(content) as archive:
        sizes = {one.filename: one.file_size for one in archive.infolist()}
    large = [name for name, size in sizes.items() if size > LARGEST_ARRAY]
    if large:
        raise InputError(
            f"{shown}: {large[0]!r:.60} has more than {LARGEST_ARRAY:,} bytes; remove the file"
        )
