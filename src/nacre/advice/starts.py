"""The start of the next episode as people give it: in a file, or as numbers."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from nacre.errors import InputError
from nacre.logs import Log
from nacre.logs.checks.problems import show_path
from nacre.logs.drafting.facts import is_number_text
from nacre.policies.formats.numpy_columns import encode_row, list_columns
from nacre.policies.policy import Signature
from nacre.training.fitted_evaluation import as_rows

BETWEEN_STATES = ";"
REMEDY = "give a .npy or .csv file with a state in each row, or numbers such as 0.1,0.2"


def read_start(text: str, signature: Signature, log: Log | None = None) -> NDArray[np.float64]:
    """The states that the next episode starts from, a row each (states, ...).

    Args:
        text: The name of a .npy or .csv file, or the numbers of a state with commas between them
            and states with semicolons.
        signature: Of the policy that will act there.
        log: Its columns may be those of the file: states are rows of the same table then.

    Raises:
        InputError: If it is neither, or the states are not what the policy observes.
    """
    path = Path(text)
    suffix = path.suffix.lower()
    if suffix == ".npy":
        name, rows = show_path(path), _read_npy(path)
    elif suffix == ".csv":
        name, rows = show_path(path), _read_csv(path, {} if log is None else dict(log.provenance))
    else:
        name, rows = f"--start {text!r:.60}", _read_numbers(text)
    if isinstance(signature.observation_space, gymnasium.spaces.Discrete):
        rows = rows.reshape(-1)
    try:
        return np.asarray(as_rows(rows, signature))
    except InputError as error:
        raise InputError([f"{name}: {problem}" for problem in error.problems]) from None


def _read_numbers(text: str) -> NDArray[np.float64]:
    return _make_rows(
        [part.split(",") for part in text.strip(BETWEEN_STATES).split(BETWEEN_STATES)],
        f"--start {text!r:.60}",
    )


def _read_csv(path: Path, inputs: dict[str, Any]) -> NDArray[np.float64]:
    shown = show_path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{shown}: cannot be read ({_explain(error)}); {REMEDY}") from None
    lines = [line for line in lines if line.strip()]
    wanted = list_columns(inputs)
    for separator in (",", ";", "\t"):
        table = csv.DictReader(lines, delimiter=separator)
        if wanted and set(wanted) <= set(table.fieldnames or ()):
            return _encode_rows(list(table), inputs, shown)
    rows = [line.split(",") for line in lines]
    if rows and not any(is_number_text(cell) for cell in rows[0]):
        rows = rows[1:]
    return _make_rows(rows, shown)


def _encode_rows(
    table: list[dict[str, Any]], inputs: dict[str, Any], name: str
) -> NDArray[np.float64]:
    """Rows of the table that the log is as well, as its observations."""
    states = []
    for number, row in enumerate(table):
        try:
            states.append(encode_row(inputs, row))
        except ValueError as error:
            raise InputError(
                f"{name}: state {number}: {error}; give rows such as the log's"
            ) from None
    return np.array(states, np.float64)


def _make_rows(rows: list[list[str]], name: str) -> NDArray[np.float64]:
    if not rows:
        raise InputError(f"{name}: holds no state; {REMEDY}")
    for number, row in enumerate(rows):
        wrong = next((cell for cell in row if not is_number_text(cell)), None)
        if wrong is not None:
            raise InputError(
                f"{name}: state {number}: {wrong.strip()!r:.40} is not a number; {REMEDY}"
            )
        if len(row) != len(rows[0]):
            raise InputError(
                f"{name}: state {number} has {len(row)} numbers, the first one {len(rows[0])}; "
                "give the same number for each"
            )
    return np.array([[float(cell) for cell in row] for row in rows])


def _read_npy(path: Path) -> NDArray[np.float64]:
    try:
        # Arrays of objects would be unpickled, and pickles can run code.
        rows = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{show_path(path)}: cannot be read ({_explain(error)}); {REMEDY}"
        ) from None
    if not isinstance(rows, np.ndarray) or rows.dtype.kind not in "iuf":
        raise InputError(f"{show_path(path)}: does not hold numbers; {REMEDY}")
    return rows.astype(np.float64)


def _explain(error: Exception) -> str:
    return getattr(error, "strerror", None) or f"{error!s:.100}"
