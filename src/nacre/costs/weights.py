"""Weights of the cost that are not known for certain: ranges and distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nacre.errors import InputError

REMEDY = "give a number, a range [low, high], or { mean = …, sd = … }"


@dataclass(frozen=True)
class Weight:
    """What one unit costs, and how far that may be off.

    Args:
        mean: The price expected.
        error: Standard deviation of what is believed of it; nothing where the price is known.
    """

    mean: float
    error: float = 0.0


def read_weight(name: str, value: Any) -> Weight:
    """A weight out of a number, a range with all prices in it alike, or a mean and a deviation.

    Raises:
        InputError: If it is none of these, not finite, negative, or a range from high to low.
    """
    if isinstance(value, Weight):
        return Weight(read_price(name, value.mean), read_price(f"error of {name}", value.error))
    if isinstance(value, Mapping):
        if set(value) != {"mean", "sd"}:
            raise InputError(f"{name} = {dict(value)!s:.60}: {REMEDY}")
        return Weight(
            read_price(f"{name}.mean", value["mean"]), read_price(f"{name}.sd", value["sd"])
        )
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != 2:
            raise InputError(f"{name} = {value!s:.60}: {REMEDY}")
        low, high = (read_price(name, end) for end in value)
        if low > high:
            raise InputError(f"{name} = {value!s:.60}: the range goes from high to low; turn it")
        return Weight((low + high) / 2, (high - low) / math.sqrt(12))
    return Weight(read_price(name, value))


def read_price(name: str, value: Any) -> float:
    """A finite number that is not negative."""
    try:
        price = math.nan if isinstance(value, str) else float(value)
    except TypeError:
        price = math.nan
    if not (math.isfinite(price) and price >= 0):
        raise InputError(f"{name} = {value!s:.60}: a price must be finite and not negative")
    return price
