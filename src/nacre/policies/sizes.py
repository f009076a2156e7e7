"""Sizes of arrays that compiled programs share: each new size is compiled anew."""

from __future__ import annotations


def round_up(n: int) -> int:
    """The next number of at least 64 with two leading binary digits: at most half as much again."""
    unit = max(64, 1 << max(0, n.bit_length() - 2))
    return -(-n // unit) * unit
