"""Numbers that people wrote as texts: with a unit, a decimal comma, or groups of digits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nacre.logs.checks.problems import show_key
from nacre.logs.schema.mapping import ColumnMap

NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
JOINED = " and "
"""Between entries of a suggestion."""
# A sign or the code of a currency before the number, or any short word behind it.
_WITH_UNIT = re.compile(
    r"\s*[+-]?\s*([^\s\w.,+()-]{1,3}|USD|EUR|GBP|CHF|JPY|CNY|INR)?\s*[+-]?[0-9][0-9.,]*"
    r"\s*([^\s0-9.,+()-]{1,8})?\s*"
)
# A minus as printers set it, and the parentheses of accountants, which mean one.
_DASH, _PARENTHESES = r"^\s*[\x{2212}\x{2013}]\s*", r"^\s*\(\s*(.*?)\s*\)\s*$"
_SIGNS = {re.compile(r"^\s*[\u2212\u2013]\s*"): "-", re.compile(_PARENTHESES): r"-\1"}
_WRITTEN = re.compile(
    r"\s*[+-]?(?:[0-9]{1,3}(?:(?P<group>[,.' ])[0-9]{3})(?:(?P=group)[0-9]{3})*|[0-9]+)"
    r"(?:(?P<point>[.,])[0-9]+)?\s*"
)


@dataclass(frozen=True)
class Cleaning:
    """What is removed from numbers that are kept as texts.

    Attributes:
        units: By column.
        decimal: The sign before the decimals.
        thousands: The sign between groups of digits.
        missing_values: Texts that stand for a missing number.
    """

    units: Mapping[str, str] = field(default_factory=dict)
    decimal: str = "."
    thousands: str | None = None
    missing_values: tuple[str, ...] = ()

    @classmethod
    def of(cls, columns: ColumnMap, decimal: str | None = None) -> Cleaning:
        """As a column map says."""
        return cls(
            columns.unit,
            columns.decimal or decimal or ".",
            columns.thousands,
            columns.missing_values,
        )

    @property
    def written(self) -> dict[str, Any]:
        """How numbers are written where that is not the usual, for whoever reads raw rows."""
        facts = {
            "decimal": "" if self.decimal == "." else self.decimal,
            "thousands": self.thousands,
            "missing_values": list(self.missing_values),
        }
        return {name: fact for name, fact in facts.items() if fact}

    def clean(self, name: str, chunk: Any) -> Any | None:
        """Return a chunk of texts as numbers; None if there is nothing to clean, or it is no use.

        Args:
            name: The column.
            chunk: Large strings.
        """
        usual = self.decimal == "." and not (self.thousands or self.missing_values)
        if name not in self.units and usual and not _has_signs(chunk):
            return None
        plain = self._strip(name, chunk)
        absent = pc.is_in(plain, value_set=pa.array(["", *self.missing_values], plain.type))
        try:
            return pc.cast(pc.if_else(absent, pa.scalar(None, plain.type), plain), pa.float64())
        except pa.ArrowInvalid:
            return None

    def ease(self, name: str, chunk: Any) -> Any:
        """Return a chunk of texts with those that are numbers in their usual writing."""
        plain = self._strip(name, chunk)
        numbers = pc.fill_null(pc.match_substring_regex(plain, f"^{NUMBER}$"), False)
        return pc.if_else(numbers, plain, chunk)

    def _strip(self, name: str, chunk: Any) -> Any:
        """Return texts without unit and groups of digits, decimals behind a point."""
        unit = self.units.get(name)
        plain = chunk if unit is None else pc.replace_substring(chunk, unit, "")
        if self.thousands is not None:
            plain = pc.replace_substring(plain, self.thousands, "")
        if self.decimal != ".":
            plain = pc.replace_substring(plain, self.decimal, ".")
        plain = pc.replace_substring_regex(plain, pattern=_DASH, replacement="-")
        plain = pc.replace_substring_regex(plain, pattern=_PARENTHESES, replacement=r"-\1")
        return pc.utf8_trim_whitespace(plain)


def _has_signs(chunk: Any) -> bool:
    found = pc.match_substring_regex(chunk, f"{_DASH}|{_PARENTHESES}")
    return bool(pc.any(found).as_py())


def write_sign(text: str) -> str:
    """The text of a number with a minus for a printed one, or for parentheses."""
    for pattern, sign in _SIGNS.items():
        text = pattern.sub(sign, text)
    return text


def suggest_cleaning(name: str, values: Iterable[str]) -> str:
    """Return what to write in the column map so that these texts are read as numbers, or nothing.

    Args:
        name: The column.
        values: Texts that are no numbers; all of them have to be of the same kind.
    """
    listed = [write_sign(value) for value in values]
    if not listed:
        return ""
    signs = _suggest_signs(listed)
    if signs is not None:
        return signs
    found = [_WITH_UNIT.fullmatch(value) for value in listed]
    units = {match[1] or match[2] for match in found if match is not None}
    unit = next(iter(units)) if len(units) == 1 and None not in found else None
    if unit is None:
        return ""
    entry = f'unit.{show_key(name)} = "{unit}"'
    signs = _suggest_signs([value.replace(unit, "") for value in listed])
    return JOINED.join(one for one in (entry, signs) if one)


def _suggest_signs(values: Sequence[str]) -> str | None:
    """Which signs divide these numbers; nothing if only usual ones, None if they are no numbers."""
    found = [_WRITTEN.fullmatch(value) for value in values]
    matches = [match for match in found if match is not None]
    points = {match["point"] for match in matches} - {None}
    groups = {match["group"] for match in matches} - {None}
    if len(matches) < len(found) or len(points) > 1 or len(groups - points) > 1:
        return None
    if not points and groups == {","} and all(value.count(",") == 1 for value in values):
        return 'decimal = "," or thousands = ","'
    entries = ['decimal = ","'] if points == {","} else []
    return JOINED.join([*entries, *(f'thousands = "{sign}"' for sign in groups - points)])
