"""Settings of commands beside their flags: from the environment, from a file, by default.

A flag counts more than the environment, the environment more than the file, the file more than the
default. Within each of them what is said for one command counts more than what is said for all.
"""

from __future__ import annotations

import inspect
import os
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from nacre.errors import InputError, suggest_name
from nacre.files.documents import BoundsError, read_toml

FILE = "nacre.toml"
"""Read from the current directory if no other file is named."""
PREFIX = "NACRE"
GENERAL = ("seed", "json", "quiet")
"""What can be set for all commands at once."""
FILE_OPTIONS = ("config", "settings")
SEPARATOR = ";"
"""Between several values of one option in the environment."""

WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
TRUTHS = {"1": True, "true": True, "yes": True, "on": True}
FALSEHOODS = {"0": False, "false": False, "no": False, "off": False}

Kind = type[bool] | type[int] | type[float] | type[str]
Source = Literal["environment", "file", "default"]


@dataclass(frozen=True)
class Option:
    """An option of a command.

    Args:
        name: As on the command line, without its dashes.
        parameter: That of the command's function.
        kind: What its value is; paths are text here.
        several: Whether it can be given more than once.
        default: Its value if nothing else is said.
        required: Whether it has no default.
        low: Least value, if there is one.
        high: Largest value, if there is one.
    """

    name: str
    parameter: str
    kind: Kind
    several: bool = False
    default: Any = None
    required: bool = False
    low: float | None = None
    high: float | None = None

    @property
    def wanted(self) -> str:
        """What its value has to be, for messages."""
        words = WORDS[self.kind]
        return f"a list of {words}" if self.several else words


@dataclass(frozen=True)
class Setting:
    """The value of an option and where it comes from: the variable, or the file, in `place`."""

    value: Any
    source: Source = "default"
    place: str = ""


Options = Mapping[str, Option]
Commands = Mapping[str, Options]


@dataclass(frozen=True)
class SettingsFile:
    """What a file says, by command; under "" what it says for all of them."""

    path: Path
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def list_options(function: Callable[..., Any]) -> dict[str, Option]:
    """The options of a command by name, from its function's signature."""
    function = inspect.unwrap(function)
    hints = typing.get_type_hints(function, include_extras=True)
    found = {}
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        declared = next(iter(getattr(hint, "__metadata__", ())), None)
        name = _find_name(declared)
        if name in ("", *FILE_OPTIONS):
            continue
        kind, several = _find_kind(typing.get_args(hint)[0])
        required = parameter.default is parameter.empty
        found[name] = Option(
            name,
            parameter.name,
            kind,
            several,
            None if required else parameter.default,
            required,
            getattr(declared, "min", None),
            getattr(declared, "max", None),
        )
    return found


def _find_name(declared: Any) -> str:
    """The long name of an option without its dashes; nothing for arguments."""
    # Inside Annotated typer keeps the first name in the place of the default.
    first = getattr(declared, "default", None)
    names = [first, *(getattr(declared, "param_decls", None) or ())]
    long = (name for name in names if isinstance(name, str) and name.startswith("--"))
    return next(long, "").partition("/")[0].removeprefix("--")


def _find_kind(hint: Any) -> tuple[Kind, bool]:
    if isinstance(hint, types.UnionType):
        hint = next(one for one in typing.get_args(hint) if one is not types.NoneType)
    if typing.get_origin(hint) is list:
        return _find_kind(typing.get_args(hint)[0])[0], True
    return (hint if hint in WORDS else str), False


def read_settings(path: str | os.PathLike[str], commands: Commands) -> SettingsFile:
    """Read a file of settings and check all of it, whichever command asks.

    Raises:
        InputError: With every problem: what is no TOML, no command, no option, of a wrong type.
    """
    path = Path(path)
    tables: dict[str, dict[str, Any]] = {"": {}}
    problems: list[str] = []
    general = list_general(commands)
    for key, value in _parse(path).items():
        place = f"{path}: {key}"
        name = _match(key, commands)
        if not isinstance(value, dict):
            option = general.get(key)
            if option is None:
                problems.append(_complain_of_general(place, key, value, commands))
            else:
                _take(place, option, value, tables[""], problems)
        elif name is None:
            problems.append(f"{path}: [{key}] is no command; {suggest_name(key, commands)}")
        else:
            for inner, entry in value.items():
                place, known = f"{path}: {key}.{inner}", _match(inner, commands[name])
                if known is None:
                    hint = suggest_name(inner.replace("_", "-"), commands[name])
                    problems.append(
                        f"{place} = {_show(entry)}: nacre {name} has no such option; {hint}"
                    )
                else:
                    table = tables.setdefault(name, {})
                    _take(place, commands[name][known], entry, table, problems)
    if problems:
        raise InputError(problems)
    return SettingsFile(path, tables)


def list_general(commands: Commands) -> dict[str, Option]:
    """The options that can be set for all commands at once."""
    found = (options[name] for name in GENERAL for options in commands.values() if name in options)
    return {option.name: option for option in found}


def resolve_settings(
    command: str,
    options: Options,
    file: SettingsFile | None = None,
    environment: Mapping[str, str] = os.environ,
) -> dict[str, Setting]:
    """The value of every option of a command before its flags, and where it comes from.

    Args:
        command: Its name; of one inside a group all words, for which only general settings count.
        options: Its options.
        file: What the file says.
        environment: The variables.

    Raises:
        InputError: If a variable has a wrong value, or names an option that there is not.
    """
    tables = {} if file is None else file.tables
    problems = _find_stray(command, options, environment)
    found = {}
    for name, option in options.items():
        variables = [name_variable(name, command), *([name_variable(name)] * (name in GENERAL))]
        variable = next((one for one in variables if environment.get(one)), None)
        table = next((one for one in (command, "") if name in tables.get(one, {})), None)
        if variable is not None:
            value = _convert(variable, environment[variable], option, problems)
            found[name] = Setting(value, "environment", variable)
        elif table is not None:
            found[name] = Setting(tables[table][name], "file", str(file.path if file else ""))
        else:
            found[name] = Setting(option.default)
    if problems:
        raise InputError(problems)
    return found


def name_variable(option: str, command: str = "") -> str:
    """The variable that sets an option of a command, or of all of them."""
    words = [PREFIX, *([command] if command else []), option]
    return "_".join(words).replace("-", "_").replace(" ", "_").upper()


def _parse(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except FileNotFoundError:
        problem = "no such file; --config names a file of settings in TOML"
    except OSError as error:
        problem = f"cannot be read ({error.strerror}); --config names a file of settings in TOML"
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} is not UTF-8; save the file as UTF-8"
    except BoundsError as error:
        problem = f"{error}; --config names a file of settings in TOML"
    except ValueError as error:
        problem = f"is not TOML: {error}; text needs quotation marks, true and false do not"
    raise InputError(f"{path}: {problem}") from None


def _match(name: str, known: Mapping[str, Any]) -> str | None:
    """The name as it is known; new_policy is new-policy."""
    name = name.replace("_", "-")
    return name if name in known else None


def _complain_of_general(place: str, key: str, value: Any, commands: Commands) -> str:
    near = get_close_matches(key, GENERAL, n=1)
    owners = [name for name, options in commands.items() if _match(key, options)]
    if _match(key, commands):
        hint = f"{key} is a command: write [{key}] and its options below"
    elif near:
        hint = f"did you mean {near[0]}?"
    elif owners:
        hint = f"write it below [{owners[0]}]"
    else:
        hint = f"those of all commands are {', '.join(GENERAL)}; others stand below [COMMAND]"
    return f"{place} = {_show(value)}: is no setting of all commands; {hint}"


def _take(
    place: str, option: Option, value: Any, table: dict[str, Any], problems: list[str]
) -> None:
    """Put a value into a table if it is of the kind that its option wants."""
    values = value if option.several and isinstance(value, list) else [value]
    if (isinstance(value, list) and not option.several) or not all(
        _is_kind(one, option.kind) for one in values
    ):
        problems.append(f"{place} = {_show(value)}: must be {option.wanted}")
    elif outside := _find_outside(values, option):
        problems.append(f"{place} = {_show(value)}: {outside}")
    else:
        table[option.name] = values if option.several else value


def _is_kind(value: Any, kind: Kind) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is kind


def _find_outside(values: list[Any], option: Option) -> str:
    if option.low is not None and any(value < option.low for value in values):
        return f"must be at least {option.low}"
    if option.high is not None and any(value > option.high for value in values):
        return f"must be at most {option.high}"
    return ""


def _convert(variable: str, text: str, option: Option, problems: list[str]) -> Any:
    """The value that a variable's text stands for."""
    table: dict[str, Any] = {}
    parts = text.split(SEPARATOR) if option.several else [text]
    try:
        values = [_convert_one(part.strip(), option.kind) for part in parts]
    except ValueError:
        problems.append(f"{variable} = {_show(text)}: must be {option.wanted}")
        return None
    _take(variable, option, values if option.several else values[0], table, problems)
    return table.get(option.name)


def _convert_one(text: str, kind: Kind) -> Any:
    if kind is not bool:
        return kind(text)
    truths = TRUTHS | FALSEHOODS
    if text.lower() not in truths:
        raise ValueError(text)
    return truths[text.lower()]


def _find_stray(command: str, options: Options, environment: Mapping[str, str]) -> list[str]:
    """Variables that are meant for this command but for none of its options."""
    known = {name_variable(name, command): name for name in options}
    beginning = name_variable("", command)
    return [
        f"{variable}: nacre {command} has no such option; {suggest_name(variable, known)}"
        for variable in sorted(environment)
        if variable.startswith(beginning) and variable not in known
    ]


def _show(value: Any) -> str:
    """A value as it is written, cut short."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
