"""Observation and action spaces: their JSON form, the kinds a log can have, and guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from numpy.typing import NDArray

from nacre.logs.storage.stores import blocks

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"

LARGEST_DISCRETE = 2**31 - 1


class MaskedBox(Box):
    """Observations whose last coordinates say which discrete actions are allowed: 1 or 0 each.

    Policies that act in such a space give no probability to actions that are not allowed.

    Attributes:
        n_masked: How many coordinates these are: the number of actions.
    """

    def __init__(self, low: NDArray[np.float32], high: NDArray[np.float32], n_masked: int) -> None:
        super().__init__(low, high, dtype=np.float32)
        self.n_masked = n_masked


class MaskedDiscrete(Discrete):
    """Numbered states, each with the discrete actions that are allowed in it.

    Attributes:
        allowed: (n, actions) truth values.
    """

    def __init__(self, allowed: NDArray[np.bool_]) -> None:
        super().__init__(len(allowed))
        self.allowed = allowed


class SpaceError(ValueError):
    """A space that a log cannot have; the text says which are possible."""


def given_spaces(
    observation_space: Space[Any] | None, action_space: Space[Any] | None
) -> dict[str, Space[Any]]:
    """Return the spaces that a caller gave, by "observation" and "action"."""
    spaces = {"observation": observation_space, "action": action_space}
    return {name: space for name, space in spaces.items() if space is not None}


def canonical_space(space: Space[Any]) -> Space[Any]:
    """Return `space` in the form a log keeps it: a float32 Box of one axis, or Discrete from 0.

    Raises:
        SpaceError: For any other space.
    """
    if isinstance(space, Box):
        if len(space.shape) != 1 or space.shape[0] == 0:
            raise SpaceError(f"a Box of shape {space.shape}; flatten it to one axis")
        return _box(space.low, space.high, getattr(space, "n_masked", 0))
    if isinstance(space, Discrete):
        if space.start != 0:
            raise SpaceError(
                f"a Discrete space that starts at {space.start}; subtract {space.start} from the "
                f"column and use Discrete({space.n})"
            )
        return MaskedDiscrete(space.allowed) if is_masked(space) else _discrete(int(space.n))
    raise SpaceError(f"{type(space).__name__}; use a Box of one axis or Discrete")


def is_masked(space: Space[Any]) -> TypeGuard[MaskedDiscrete]:
    """Whether states are numbered and each of them has actions of its own."""
    return isinstance(space, MaskedDiscrete)


def add_mask(space: Space[Any], n_actions: int) -> MaskedBox:
    """Return a Box with one more coordinate for each action: whether it is allowed."""
    assert isinstance(space, Box)  # noqa: S101 - masks are added to vectors only
    low, high = np.zeros(n_actions, np.float32), np.ones(n_actions, np.float32)
    return MaskedBox(np.append(space.low, low), np.append(space.high, high), n_actions)


def _box(low: Any, high: Any, n_masked: int = 0) -> Box:
    with np.errstate(over="ignore"):
        low32 = np.asarray(low, dtype=np.float64).astype(np.float32)
        high32 = np.asarray(high, dtype=np.float64).astype(np.float32)
    if np.isnan(low32).any() or np.isnan(high32).any():
        raise SpaceError("a Box with NaN among its bounds; use -inf and inf where there is none")
    if (low32 > high32).any():
        raise SpaceError("a Box with a lower bound above its upper bound; exchange them")
    return MaskedBox(low32, high32, n_masked) if n_masked else Box(low32, high32, dtype=np.float32)


def _discrete(n: int) -> Discrete:
    if not 1 <= n <= LARGEST_DISCRETE:
        raise SpaceError(f"Discrete({n}); n has to lie between 1 and {LARGEST_DISCRETE}")
    return Discrete(n)


def space_to_json(space: Space[Any]) -> dict[str, JSON]:
    """Return the JSON form of a space: `{"type": "box", …}` or `{"type": "discrete", "n": n}`."""
    space = canonical_space(space)
    if isinstance(space, Discrete):
        discrete: dict[str, JSON] = {"type": "discrete", "n": int(space.n)}
        if is_masked(space):
            discrete["allowed"] = [
                "".join("01"[int(flag)] for flag in row) for row in space.allowed
            ]
        return discrete
    assert isinstance(space, Box)  # noqa: S101 - canonical_space leaves these two only
    mask: dict[str, JSON] = {"mask": space.n_masked} if isinstance(space, MaskedBox) else {}
    low, high = _bounds_to_json(space.low), _bounds_to_json(space.high)
    return {"type": "box", "low": low, "high": high, **mask}


def space_from_json(form: object) -> Space[Any]:
    """Return the space that `form` describes; the inverse of `space_to_json`.

    Raises:
        SpaceError: If `form` is not the JSON form of a space.
    """
    if not isinstance(form, Mapping):
        raise SpaceError(f"{form!r:.60}; write an object with a type, box or discrete")
    if form.get("type") == "discrete":
        n = form.get("n")
        if not isinstance(n, int) or isinstance(n, bool):
            raise SpaceError(f"a discrete space with n = {n!r:.60}; write a whole number")
        if form.get("start", 0) != 0:
            raise SpaceError("a discrete space that does not start at 0; shift it to 0")
        return _mask_states(_discrete(n), form.get("allowed"))
    if form.get("type") == "box":
        low = _bounds_from_json(form.get("low"), -np.inf)
        high = _bounds_from_json(form.get("high"), np.inf)
        if len(low) != len(high):
            raise SpaceError(f"a box with {len(low)} lower and {len(high)} upper bounds")
        n_masked = form.get("mask", 0)
        if type(n_masked) is not int or not 0 <= n_masked < len(low):
            raise SpaceError(
                f"a box with mask = {n_masked!r:.60}; write how many coordinates it is"
            )
        return _box(low, high, n_masked)
    raise SpaceError(f"type {form.get('type')!r:.60}; write box or discrete")


def _mask_states(space: Discrete, rows: object) -> Discrete:
    """Read which actions each state allows: a text of zeros and ones for each of them."""
    if rows is None:
        return space
    texts = [row for row in rows if isinstance(row, str)] if isinstance(rows, list) else []
    even = len(texts) == int(space.n) and len({len(text) for text in texts}) == 1
    if not even or not all(text.strip("01") == "" and "1" in text for text in texts):
        raise SpaceError(
            f"a discrete space with allowed = {rows!r:.60}; write {space.n} texts such as "
            '"101", with a 1 for each action that is allowed'
        )
    return MaskedDiscrete(np.array([[sign == "1" for sign in text] for text in texts]))


def _bounds_to_json(bounds: NDArray[np.float32]) -> list[JSON]:
    return [float(bound) if np.isfinite(bound) else str(float(bound)) for bound in bounds]


def _bounds_from_json(bounds: object, absent: float) -> NDArray[np.float64]:
    """Read bounds that are numbers, "inf", "-inf", or null where there is no bound."""
    if not isinstance(bounds, list) or not bounds:
        raise SpaceError(f"a box with bounds {bounds!r:.60}; write a list of numbers")
    values = []
    for bound in bounds:
        if bound is None:
            values.append(absent)
        elif bound in ("inf", "-inf") or (
            isinstance(bound, int | float) and not isinstance(bound, bool)
        ):
            values.append(_as_float(bound))
        else:
            raise SpaceError(f'a box with the bound {bound!r:.60}; write a number, "inf" or "-inf"')
    return np.array(values, dtype=np.float64)


def _as_float(bound: str | int | float) -> float:
    try:
        return float(bound)
    except OverflowError:
        return float("inf") if int(bound) > 0 else float("-inf")


def like_space(values: NDArray[Any]) -> Space[Any]:
    """Return the widest space whose members have the form of `values`, (N,) or (N, d)."""
    if values.ndim == 1:
        return _discrete(LARGEST_DISCRETE)
    return _box([-np.inf] * values.shape[1], [np.inf] * values.shape[1])


def infer_space(columns: Sequence[NDArray[Any]], *, bounded: bool) -> tuple[Space[Any], str]:
    """Guess the space of a column that came without one, and say what was guessed.

    Whole numbers are Discrete(max + 1). Vectors are an unbounded Box, except that actions
    (`bounded`) which all lie in [-1, 1] get these as their bounds: most controllers are scaled so.

    Args:
        columns: All values known from that space: (N,) integers ≥ 0, or (N, d) finite numbers.
        bounded: Whether [-1, 1] is a plausible guess.
    """
    if columns[0].ndim == 1:
        extents = [_extent(values) for values in columns]
        space = _discrete(max(int(high) for _, high in extents) + 1)
        note = f"assumed Discrete({space.n}), one more than the largest value found"
        least = min(int(low) for low, _ in extents)
        if bounded and least > 0:
            # People count from 1; a learner would be offered an action that does not exist.
            note += f"; those below {least} never occur: list in labels.action what there is"
        return space, note
    width = columns[0].shape[1]
    limits = [_extent(values) for values in columns] if bounded else []
    if bounded and all(low >= -1 and high <= 1 for low, high in limits):
        return _box([-1.0] * width, [1.0] * width), (
            "assumed a Box with bounds -1 and 1, within which all values lie"
        )
    return like_space(columns[0]), "assumed a Box without bounds"


def _extent(values: NDArray[Any]) -> tuple[float, float]:
    parts = [(values[rows].min(), values[rows].max()) for rows in blocks(values)]
    return min(low for low, _ in parts), max(high for _, high in parts)
