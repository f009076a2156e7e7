"""The plain part of a pickle, read without running it.

A pickle is a program for a stack machine that may import and call anything. This reader follows the
program with a stack of its own on which a name stays a name: containers, numbers and texts are
built, and the few constructors in `Constructors` are replaced by inert functions of ours. Every
other name, and every instruction beyond those that PyTorch writes, ends the reading.
"""

from __future__ import annotations

import pickletools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nacre.errors import InputError
from nacre.policies.formats.tensors import describe_error

Constructors = Mapping[str, Callable[..., Any]]

MOST_INSTRUCTIONS = 2_000_000


@dataclass(frozen=True)
class Name:
    """A name from the pickle, such as `torch.FloatStorage`; only ever compared."""

    text: str


class Inert:
    """An object that a constructor of ours made in place of another; its state is kept, not set."""

    def set_state(self, state: Any) -> None:
        """Keep the state."""
        raise NotImplementedError


def show(value: object) -> str:
    """A value for messages; of containers only the type, for they may be endless."""
    if isinstance(value, Name):
        return f"{value.text!r:.100}"
    if value is None or isinstance(value, str | int | float):
        return f"{value!r:.100}"
    return f"a {type(value).__name__}"


class _Mark:
    """Where a group of stack entries begins."""


_MARK = _Mark()


def read_plain(
    content: bytes,
    constructors: Constructors,
    inert: frozenset[str],
    persistent: Callable[..., Any],
) -> Any:
    """What a pickle holds, as plain containers.

    Args:
        content: The pickle.
        constructors: What to build for each name that may be called.
        inert: Names that may stand as arguments but not be called.
        persistent: What to build for a persistent identifier.

    Raises:
        InputError: If it names or does anything else.
    """
    reader = _Reader(constructors, inert, persistent)
    try:
        with warnings.catch_warnings():
            # Damaged names may hold escapes that Python is about to give up.
            warnings.simplefilter("ignore", DeprecationWarning)
            for count, (opcode, argument, _) in enumerate(pickletools.genops(content)):
                _find_step(opcode.name, count)(reader, argument)
        return reader.finish()
    except InputError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, UnicodeError, OverflowError) as error:
        raise InputError(f"is a damaged pickle ({describe_error(error)})") from None


def _find_step(opcode: str, count: int) -> Callable[[_Reader, Any], None]:
    if count > MOST_INSTRUCTIONS:
        raise InputError(f"is a pickle of more than {MOST_INSTRUCTIONS:,} instructions")
    if opcode not in _STEPS:
        raise InputError(
            f"uses the pickle instruction {opcode}, which no file of weights needs; it was not run"
        )
    return _STEPS[opcode]


class _Reader:
    """The stack and the memory of one pickle."""

    def __init__(
        self, constructors: Constructors, inert: frozenset[str], persistent: Callable[..., Any]
    ) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}
        self._constructors, self._inert, self._persistent = constructors, inert, persistent

    def finish(self) -> Any:
        if len(self.stack) != 1:
            raise ValueError(f"{len(self.stack)} entries are left on its stack")
        return self.stack.pop()

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise ValueError("a mark in place of a value")
        return value

    def pop_group(self) -> list[Any]:
        """All entries above the last mark, which goes with them."""
        group: list[Any] = []
        while (value := self.stack.pop()) is not _MARK:
            group.append(value)
        return group[::-1]

    def name(self, text: str) -> None:
        dotted = ".".join(text.split(" "))
        if dotted not in self._constructors and dotted not in self._inert:
            raise InputError(
                f"wants to call {dotted!r:.100}, which no file of weights needs; it was not run"
            )
        self.push(Name(dotted))

    def reduce(self) -> None:
        arguments, function = self.pop(), self.pop()
        if not isinstance(function, Name) or function.text not in self._constructors:
            raise InputError(f"wants to call {show(function)}; it was not run")
        if not isinstance(arguments, tuple):
            raise TypeError("arguments that are no tuple")
        self.push(self._constructors[function.text](*arguments))

    def build(self) -> None:
        # State of an ordered dictionary: PyTorch keeps versions of layers there. Not needed.
        state = self.pop()
        if isinstance(self.stack[-1], Inert):
            self.stack[-1].set_state(state)
        elif not isinstance(self.stack[-1], dict):
            raise InputError("wants to set the state of something other than a dictionary")

    def identify(self) -> None:
        self.push(self._persistent(self.pop()))

    def append(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, list):
            raise TypeError("appends to something other than a list")
        target.extend(values)

    def set_items(self, values: list[Any]) -> None:
        target = self.stack[-1]
        if not isinstance(target, dict):
            raise TypeError("sets items of something other than a dictionary")
        for key, value in zip(values[::2], values[1::2], strict=True):
            # Hashing nested tuples takes exponential time where they share their parts.
            if not isinstance(key, str | int):
                raise TypeError(f"a key that is {show(key)}")
            target[key] = value


def _name_from_stack(reader: _Reader, _: Any) -> None:
    name, module = reader.pop(), reader.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise TypeError("a name that is no text")
    reader.name(f"{module} {name}")


def _remember(reader: _Reader, _: Any) -> None:
    reader.memory[len(reader.memory)] = reader.stack[-1]


def _set_item(reader: _Reader, _: Any) -> None:
    value, key = reader.pop(), reader.pop()
    reader.set_items([key, value])


def _tuple_of(size: int) -> Callable[[_Reader, Any], None]:
    def step(reader: _Reader, _: Any) -> None:
        reader.push(tuple(reversed([reader.pop() for _ in range(size)])))

    return step


def _store(reader: _Reader, place: int) -> None:
    reader.memory[place] = reader.stack[-1]


_STEPS: dict[str, Callable[[_Reader, Any], None]] = {
    "PROTO": lambda reader, _: None,
    "FRAME": lambda reader, _: None,
    "STOP": lambda reader, _: None,
    "MARK": lambda reader, _: reader.push(_MARK),
    "NONE": lambda reader, _: reader.push(None),
    "NEWTRUE": lambda reader, _: reader.push(True),
    "NEWFALSE": lambda reader, _: reader.push(False),
    "EMPTY_TUPLE": lambda reader, _: reader.push(()),
    "EMPTY_LIST": lambda reader, _: reader.push([]),
    "EMPTY_DICT": lambda reader, _: reader.push({}),
    "TUPLE": lambda reader, _: reader.push(tuple(reader.pop_group())),
    "TUPLE1": _tuple_of(1),
    "TUPLE2": _tuple_of(2),
    "TUPLE3": _tuple_of(3),
    "APPEND": lambda reader, _: reader.append([reader.pop()]),
    "APPENDS": lambda reader, _: reader.append(reader.pop_group()),
    "SETITEM": _set_item,
    "SETITEMS": lambda reader, _: reader.set_items(reader.pop_group()),
    "BINPUT": _store,
    "LONG_BINPUT": _store,
    "BINGET": lambda reader, place: reader.push(reader.memory[place]),
    "LONG_BINGET": lambda reader, place: reader.push(reader.memory[place]),
    "GLOBAL": lambda reader, text: reader.name(text),
    "STACK_GLOBAL": _name_from_stack,
    "MEMOIZE": _remember,
    "REDUCE": lambda reader, _: reader.reduce(),
    "NEWOBJ": lambda reader, _: reader.reduce(),
    "BUILD": lambda reader, _: reader.build(),
    "BINPERSID": lambda reader, _: reader.identify(),
} | dict.fromkeys(
    (
        *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE"),
        *("BINBYTES", "SHORT_BINBYTES"),
    ),
    lambda reader, value: reader.push(value),
)
