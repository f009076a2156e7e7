"""Parts by name: ours, registered by one line each, and those of other packages by entry point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar, cast

from nacre.errors import InputError, suggest_name

Part = TypeVar("Part")


class Registry(Generic[Part]):
    """Parts of one kind. Nothing is imported before somebody asks for it.

    Args:
        group: The entry points' group, such as "nacre.estimators".
        kind: What a part is called in messages.
        ours: "module:object" by name. Another package cannot take these names.
    """

    def __init__(self, group: str, kind: str, ours: Mapping[str, str]) -> None:
        self.group, self.kind = group, kind
        self._addresses = dict(ours)
        self._theirs: dict[str, EntryPoint] | None = None
        self._loaded: dict[str, Part] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """All names, ours first."""
        return (*self._addresses, *self._find_theirs())

    @property
    def foreign_names(self) -> tuple[str, ...]:
        """Names of other packages' parts."""
        return tuple(self._find_theirs())

    def find(self, name: str) -> Part:
        """The part of this name.

        Raises:
            InputError: If there is none, or if it cannot be imported.
        """
        if name not in self._loaded:
            self._loaded[name] = cast(Part, self._load(name))
        return self._loaded[name]

    def find_name(self, part: object) -> str | None:
        """The name of a part; None for one that is not registered."""
        for name in self.names:
            try:
                if self.find(name) is part:
                    return name
            except InputError:
                # Another package's that cannot be imported: it is not the one that is there.
                continue
        return None

    def __iter__(self) -> Iterator[Part]:
        return (self.find(name) for name in self.names)

    def _find_theirs(self) -> dict[str, EntryPoint]:
        if self._theirs is None:
            found = entry_points(group=self.group)
            self._theirs = {one.name: one for one in found if one.name not in self._addresses}
        return self._theirs

    def _load(self, name: str) -> Any:
        if name in self._addresses:
            module, _, attribute = self._addresses[name].partition(":")
            return getattr(import_module(module), attribute)
        theirs = self._find_theirs()
        if name not in theirs:
            hint = suggest_name(name, self.names)
            raise InputError(f"no {self.kind} is called {name!r:.60}; {hint}")
        try:
            return theirs[name].load()
        except (ImportError, AttributeError) as error:
            raise InputError(
                f"{self.kind} {name!r} of {theirs[name].value}: cannot be imported ({error}); "
                "install the package again, or remove it"
            ) from None
