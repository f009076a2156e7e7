"""Checks of a log's columns one by one, and the form in which a log keeps them."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import NDArray

from nacre.logs.checks.problems import SHOWN_ROWS, Problems, show, show_key
from nacre.logs.schema.spaces import LARGEST_DISCRETE
from nacre.logs.storage.stores import MEMORY, Store, blocks

BOUND_TOLERANCE = 1e-6


def check_numeric(name: str, values: NDArray[Any], problems: Problems, *, axes: int) -> bool:
    """Check that `values` are numbers or truth values with one axis, or two where `axes` is 2."""
    column = problems.label(name)
    if values.dtype.kind == "O":
        problems.add(
            "holds Python objects, which are never read",
            "store numbers in arrays of a numeric dtype, vectors of one length",
            column=column,
        )
        return False
    if values.dtype.kind not in "biuf":
        problems.add(
            f"has the dtype {values.dtype}, not numbers", "store it as numbers", column=column
        )
        return False
    if values.ndim == 0 or values.ndim > axes or 0 in values.shape[1:]:
        expected = "(rows,)" if axes == 1 else "(rows,) or (rows, width)"
        problems.add(
            f"has the shape {values.shape} where {expected} is expected",
            "store one number or one flat vector a row",
            column=column,
        )
        return False
    return True


def conform(
    name: str,
    values: NDArray[Any],
    space: Space[Any] | None,
    problems: Problems,
    store: Store = MEMORY,
) -> NDArray[Any] | None:
    """Return observations or actions as the log keeps them, or None after naming what is wrong.

    Args:
        name: The field.
        values: (N,) or (N, d) numbers.
        space: The space they belong to; None if nobody said, then whole numbers without an axis
            of their own are taken for the elements of a Discrete space.
        problems: Receives what is wrong.
        store: Where the result goes if it is not the same as `values`.

    Returns:
        (N,) int32 for Discrete, (N, d) float32 for Box.
    """
    if not check_numeric(name, values, problems, axes=2):
        return None
    if isinstance(space, Discrete) or (
        space is None and values.ndim == 1 and values.dtype.kind in "biu"
    ):
        if values.ndim == 2 and values.shape[1] > 1:
            problems.add(
                f"holds vectors of {values.shape[1]} where {space} needs one whole number a row",
                "mend the column or give its Box space",
                column=problems.label(name),
            )
            return None
        n = LARGEST_DISCRETE if space is None else int(space.n)
        return _conform_elements(name, values.reshape(len(values)), n, space is None, problems)
    return _conform_vectors(name, values, space, problems, store)


def _conform_elements(
    name: str, values: NDArray[Any], n: int, unknown: bool, problems: Problems
) -> NDArray[np.int32] | None:
    whole = check_whole(name, values, problems)
    if whole is None:
        return None
    what = "is no whole number from 0 up" if unknown else f"lies outside Discrete({n})"
    remedy = "number the elements from 0, or give the space that holds them all"
    wrong = _report_rows(name, whole, (whole < 0) | (whole >= n), (what, remedy), problems)
    return None if wrong else whole.astype(np.int32)


def _conform_vectors(
    name: str, values: NDArray[Any], space: Space[Any] | None, problems: Problems, store: Store
) -> NDArray[np.float32] | None:
    scalar = values.ndim == 1
    vectors = values[:, None] if scalar else values
    if isinstance(space, Box) and space.shape != vectors.shape[1:]:
        problems.add(
            f"is {vectors.shape[1]} wide where its space has {space.shape[0]} coordinates",
            "give the space that fits, or mend the columns",
            column=problems.label(name),
        )
        return None
    finite = check_finite(name, vectors, problems, scalar=scalar, store=store)
    if finite is None or not isinstance(space, Box):
        return finite
    if (space.low == -np.inf).all() and (space.high == np.inf).all():
        return finite
    low = space.low - BOUND_TOLERANCE * np.maximum(1, np.abs(space.low))
    high = space.high + BOUND_TOLERANCE * np.maximum(1, np.abs(space.high))
    wrong_places = _Places()
    for block in blocks(finite):
        wrong_places.add(block, (finite[block] < low) | (finite[block] > high))
    rows, elements = wrong_places.rows, wrong_places.elements

    def describe(i: int) -> tuple[str, str]:
        j = elements[i]
        return (
            f"lies outside its space, from {space.low[j]:.9g} to {space.high[j]:.9g}",
            show(finite[rows[i], j]),
        )

    remedy = "mend the value or give wider bounds for the space"
    problems.add_rows(name, rows, describe, remedy, elements=None if scalar else elements)
    return None if len(rows) else finite


class _Places:
    """Collects where blocks of vectors are wrong: by coordinate for those that will be shown."""

    def __init__(self) -> None:
        self._rows: list[NDArray[np.int64]] = []
        self._elements: list[NDArray[np.int64]] = []
        self._n_found = 0

    def add(self, block: slice, wrong: NDArray[np.bool_]) -> None:
        if not wrong.any():
            return
        rows, elements = np.nonzero(wrong)
        if self._n_found >= SHOWN_ROWS:
            rows, first = np.unique(rows, return_index=True)
            elements = elements[first]
        self._rows.append(rows + block.start)
        self._elements.append(elements)
        self._n_found += len(rows)

    @property
    def rows(self) -> NDArray[np.int64]:
        return np.concatenate([np.empty(0, np.int64), *self._rows])

    @property
    def elements(self) -> NDArray[np.int64]:
        return np.concatenate([np.empty(0, np.int64), *self._elements])


def check_finite(
    name: str, values: NDArray[Any], problems: Problems, *, scalar: bool, store: Store = MEMORY
) -> NDArray[np.float32] | None:
    """Return (N, d) numbers as float32, or None if one of them is NaN or infinite there."""
    same = values.dtype == np.float32
    narrow = values if same else store.empty(values.shape, np.float32)
    wrong_places = _Places()
    for block in blocks(values, narrow):
        with np.errstate(over="ignore"):
            part = values[block].astype(np.float32, copy=False)
        if not same:
            narrow[block] = part
        wrong_places.add(block, ~np.isfinite(part))
    rows, elements = wrong_places.rows, wrong_places.elements
    if len(rows) == 0:
        return narrow
    problems.add_rows(
        name,
        rows,
        lambda i: (
            "is missing, NaN, infinite or too large for float32",
            show(values[rows[i], elements[i]]),
        ),
        _suggest_missing(name, values, rows, elements, problems, scalar=scalar),
        elements=None if scalar else elements,
    )
    return None


def _suggest_missing(
    name: str,
    values: NDArray[Any],
    rows: NDArray[Any],
    elements: NDArray[Any],
    problems: Problems,
    *,
    scalar: bool,
) -> str:
    """What to do about the first value that is not finite."""
    plain = "write a finite number or leave the episode out"
    mapped = problems.file is not None and (scalar or name in problems.parts)
    if not mapped or not np.isnan(values[rows[0], elements[0]]):
        return plain
    observed = name in ("observation", "next_observation")
    column = problems.label(name, None if scalar else int(elements[0]))
    choice = '"median" (or "mean", a number, "drop")' if observed else '"drop"'
    return f"{plain}, or write missing.{show_key(column)} = {choice} in the column map"


def check_rewards(
    name: str, values: NDArray[Any], problems: Problems
) -> NDArray[np.float32] | None:
    """Return rewards as (N,) float32, or None if they are not finite numbers."""
    values = _flatten_single(values)
    if not check_numeric(name, values, problems, axes=1):
        return None
    rewards = check_finite(name, values[:, None], problems, scalar=True)
    return None if rewards is None else rewards[:, 0]


def check_flags(name: str, values: NDArray[Any], problems: Problems) -> NDArray[np.bool_] | None:
    """Return truth values, also when written as 0 and 1, or None if there are others."""
    values = _flatten_single(values)
    if not check_numeric(name, values, problems, axes=1):
        return None
    if values.dtype.kind == "b":
        return values
    what, remedy = "is neither true nor false", "write true or false, or 1 or 0"
    wrong = _report_rows(name, values, (values != 0) & (values != 1), (what, remedy), problems)
    return None if wrong else values.astype(np.bool_)


def check_whole(name: str, values: NDArray[Any], problems: Problems) -> NDArray[np.int64] | None:
    """Return whole numbers as int64, also when stored as floats, or None if some are not whole."""
    values = _flatten_single(values)
    if not check_numeric(name, values, problems, axes=1):
        return None
    if values.dtype.kind == "f":
        bad = ~((np.abs(values) < 2.0**53) & (np.floor(values) == values))
    elif values.dtype.kind == "u":
        bad = values > np.iinfo(np.int64).max
    else:
        bad = np.zeros(len(values), dtype=np.bool_)
    wrong = _report_rows(name, values, bad, ("is no whole number", "write whole numbers"), problems)
    return None if wrong else values.astype(np.int64)


def check_propensities(name: str, values: NDArray[Any], problems: Problems, discrete: bool) -> None:
    """Report what cannot be the probability, or for action vectors the density, of an action."""
    if values.ndim != 1:
        return
    with np.errstate(invalid="ignore"):
        bad = ~((values > 0) & (values <= (1 + BOUND_TOLERANCE if discrete else np.inf)))
    what = "is no probability of an action that was taken"
    remedy = "write a number above 0 and up to 1, or write ignore for the column in the column map"
    if discrete and (values[bad] > 1).all() and (values[bad] <= 100).all():
        key = show_key(problems.label(name))
        remedy = f'if these are per cent, write unit.{key} = "%" in the column map; else {remedy}'
    _report_rows(name, values, bad, (what, remedy), problems)


def check_further(name: str, values: NDArray[Any], problems: Problems) -> NDArray[Any] | None:
    """Return a further column in its own dtype; half and extended precision become common ones."""
    if not check_numeric(name, values, problems, axes=2):
        return None
    dtype = values.dtype.newbyteorder("=")
    if dtype.kind == "f" and dtype.itemsize not in (4, 8):
        dtype = np.dtype(np.float32 if dtype.itemsize == 2 else np.float64)
    return values.astype(dtype, copy=False)


def _report_rows(
    name: str,
    values: NDArray[Any],
    bad: NDArray[np.bool_],
    texts: tuple[str, str],
    problems: Problems,
) -> bool:
    """Report the rows of (N,) values that are bad, by message and remedy; say if there are any."""
    rows = np.flatnonzero(bad)
    problems.add_rows(name, rows, lambda i: (texts[0], show(values[rows[i]])), texts[1])
    return len(rows) > 0


def _flatten_single(values: NDArray[Any]) -> NDArray[Any]:
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
