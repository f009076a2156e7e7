"""The parts of a transition by name."""

from __future__ import annotations

import re

VECTORS = ("observation", "action", "next_observation")
MASK = "allowed"
"""Which actions were allowed, a column for each; becomes a part of the observation."""
FLAGS = ("terminated", "truncated")
FIELDS = ("episode", *VECTORS, "reward", *FLAGS)
REQUIRED = ("episode", "observation", "action", "reward", "terminated")
_RESERVED = re.compile(rf"({'|'.join(FIELDS)})|({'|'.join(VECTORS)})_[0-9]+")


def is_reserved(name: object) -> bool:
    """Return whether a further column must not have this name."""
    return not isinstance(name, str) or not name or _RESERVED.fullmatch(name) is not None
