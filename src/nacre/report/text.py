"""Words and numbers for people: outside strings made visible, numbers with sensible digits."""

from __future__ import annotations

import math
import re
import unicodedata

LONGEST_NAME = 300
UNKNOWN = "unknown"
MINUS = "\u2212"
NARROW = "\u00a0"
PERCENT = f"{NARROW}%"
"""The sign stays with its number when lines are broken."""
POWER = re.compile(r"-?\d+(?:\.\d+)?e[+-]?\d{1,2}\b")
# Joiners are part of ordinary words in several scripts.
_KEPT = {"\u200c", "\u200d", "\u00a0"}


def clean(text: object, longest: int | None = LONGEST_NAME) -> str:
    """Any text on one line: what cannot be seen, or turns the direction of reading, made visible.

    Escaping for HTML is the template's work, not done here.
    """
    plain = "".join(_show(c) for c in str(text))
    if longest is not None and len(plain) > longest:
        plain = f"{plain[: longest - 1]}…"
    return plain


def clean_lines(text: str) -> str:
    """The same for text that may have several lines."""
    return "\n".join(clean(line, None) for line in text.split("\n"))


def _show(character: str) -> str:
    if character.isprintable() or character in _KEPT:
        return character
    if character in "\t\n\r":
        return " "
    if unicodedata.category(character) == "Cs":
        return "\ufffd"
    return f"⟨U+{ord(character):04X}⟩"


def format_number(value: float | None, spread: float | None = None) -> str:
    """A number with the digits that its spread supports: two of the spread's, four in all without.

    `format_number(13.481, 1.08)` is "13.5", `format_number(0.5)` is "0.5". The script of the page
    has the same function.
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{abs(value):,.{count_decimals(value, spread)}f}"
    if spread is None and "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{MINUS}{text}" if value < 0 and text.strip("0.,") else text


def format_bound(value: float | None, spread: float | None) -> str:
    """A bound: one that rounds to zero says on which side of it it lies."""
    text = format_number(value, spread)
    if value and text != UNKNOWN and not text.strip(f"0.,{MINUS}"):
        return f"just {'above' if value > 0 else 'below'} 0"
    return text


def format_confidence(confidence: float, asked: float, most: float = 0.999) -> str:
    """Up to which confidence something is proven; rounding never puts it beyond the asked one."""
    if confidence <= 0.5:
        return f"under 50{PERCENT}"
    if confidence >= most:
        return f"{format_level(most)} or more"
    text = f"{100 * confidence:.1f}".removesuffix(".0")
    if float(text) == round(100 * asked, 6) and confidence != asked:
        return f"just {'above' if confidence > asked else 'below'} {text}{PERCENT}"
    return f"{text}{PERCENT}"


def spell_numbers(text: str) -> str:
    """A sentence whose numbers with powers of ten are written out: 1.14e+04 becomes 11,400."""
    return POWER.sub(lambda found: format_number(float(found[0])), text)


def count_decimals(value: float, spread: float | None = None) -> int:
    """Digits after the point, from 0 to 6."""
    if spread is not None and math.isfinite(spread) and spread > 0:
        places = 1 - math.floor(math.log10(spread))
    elif value:
        places = 3 - math.floor(math.log10(abs(value)))
    else:
        places = 1
    return min(max(places, 0), 6)


def format_percent(share: float | None) -> str:
    """A probability in percent; never "100 %" or "0 %" where it is only close to it."""
    if share is None or not math.isfinite(share):
        return UNKNOWN
    if share > 0.999:
        return f"more than 99.9{PERCENT}"
    if share < 0.001:
        return f"less than 0.1{PERCENT}"
    digits = 1 if share > 0.99 or share < 0.01 else 0
    return f"{100 * share:.{digits}f}{PERCENT}"


def format_share(share: float) -> str:
    """A share of mass in percent."""
    if 0 < share < 0.0005:
        return f"under 0.1{PERCENT}"
    text = f"{100 * share:.1f}" if share < 0.0995 else f"{100 * share:.0f}"
    return f"{text.removesuffix('.0')}{PERCENT}"


def format_level(level: float) -> str:
    """A confidence level in percent, with four digits; more where they would round to certainty."""
    text = f"{100 * level:.4g}"
    return f"{f'{100 * level:.6g}' if text == '100' else text}{PERCENT}"


def half_width(low: float | None, high: float | None) -> float | None:
    """Half of an interval, None where a bound is not known."""
    return None if low is None or high is None else (high - low) / 2
