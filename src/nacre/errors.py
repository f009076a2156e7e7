"""The errors that nacre raises for things its user can mend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class InputError(ValueError):
    """Something handed to nacre from outside is wrong.

    Every problem is one line that names the place, the value and the remedy. The command line
    prints them one by one and exits with 2.
    """

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: tuple[str, ...] = (
            (problems,) if isinstance(problems, str) else tuple(problems)
        )
        super().__init__("\n".join(self.problems))


def suggest_name(name: str, known: Iterable[str]) -> str:
    """The remedy for a name that nobody knows: the nearest one, else all there are."""
    names = list(known)
    near = get_close_matches(name, names, n=1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(names) or 'none'}"
