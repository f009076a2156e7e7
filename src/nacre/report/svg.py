"""SVG made of elements: every attribute and text is escaped, nothing is styled inline."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

FONT_SIZE = 12.5
WIDTH = 360.0
"""All drawings are as wide as a phone; wider pages scale them up a little."""


def element(name: str, *children: str, **attributes: object) -> Markup:
    """One element. `class_` is class, and underscores in names stand for hyphens."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(children)
    return Markup(f"<{name}{written}>{inside}</{name}>")  # noqa: S704 - both parts are escaped


def picture(title: str, height: float, *children: str, class_: str = "chart") -> Markup:
    """A whole drawing that screen readers call by its title."""
    return element(
        "svg",
        *children,
        class_=class_,
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_label=title,
    )


def text(x: float, y: float, words: str, *, anchor: str = "start", class_: str = "label") -> Markup:
    """Words at a place."""
    return element("text", words, x=x, y=y, text_anchor=anchor, class_=class_)


def upright(x: float, y: float, words: str) -> Markup:
    """Words along a vertical axis, read from below, centred at a place."""
    turned = f"translate({x:g} {y:g}) rotate(-90)"
    return element("text", words, transform=turned, text_anchor="middle", class_="label")


def fit_text(words: str, width: float) -> str:
    """As many letters as surely fit into a width, by how wide letters usually are."""
    if measure(words) <= width:
        return words
    kept = ""
    for letter in words:
        if measure(kept + letter + "…") > width:
            break
        kept += letter
    return f"{kept}…"


def measure(words: str) -> float:
    """About how wide words are drawn, rather too much than too little."""
    return FONT_SIZE * sum(_measure_letter(letter) for letter in words)


def _measure_letter(letter: str) -> float:
    """In units of the font's size; fonts differ between machines."""
    if unicodedata.combining(letter):
        return 0.0
    if (
        letter in "mwMW@%⟨⟩…→"
        or ord(letter) > 0x2FFF
        or unicodedata.east_asian_width(letter) in "WF"
    ):
        return 1.05
    if letter in "fijlrt .,:;()[]|-":
        return 0.46
    broad = letter.isupper() or unicodedata.category(letter).startswith("S")
    return 0.86 if broad else 0.64


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def polygon(points: Sequence[tuple[float, float]], class_: str) -> Markup:
    """A closed area."""
    written = " ".join(f"{x:.2f},{y:.2f}" for x, y in points)
    return element("polygon", points=written, class_=class_)


@dataclass(frozen=True)
class Axis:
    """Numbers from `low` to `high`, drawn from `first` to `last`."""

    low: float
    high: float
    first: float
    last: float

    def place(self, number: float) -> float:
        """Where a number is drawn; what lies outside is drawn at the edge."""
        share = (number - self.low) / (self.high - self.low)
        return self.first + min(max(share, 0.0), 1.0) * (self.last - self.first)

    def holds(self, number: float) -> bool:
        """Whether a number lies within the drawing."""
        return self.low <= number <= self.high

    @property
    def ticks(self) -> list[float]:
        """Round numbers on the axis, three to six of them."""
        step = round_up((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [step * index for index in range(first, last + 1)]

    def label(self, tick: float) -> str:
        """A tick's number, no longer than its neighbours' need."""
        step = round_up((self.high - self.low) / 5)
        if not 1e-4 <= step < 1e7:
            shown = f"{tick:.3g}"
        else:
            places = next(n for n in range(6) if _is_whole(step * 10.0**n))
            shown = f"{tick:,.{places}f}"
        if not shown.strip("-0.,"):
            return "0"
        return shown.replace("-", "\u2212")


def fit_axis(numbers: Sequence[float | None], first: float, last: float) -> Axis:
    """An axis that holds these numbers and zero, with a little room."""
    known = [n for n in numbers if n is not None and math.isfinite(n)]
    low, high = min([0.0, *known]), max([0.0, *known])
    room = 0.06 * (high - low) or 1.0
    return Axis(low - room if low < 0 else low - room / 2, high + room, first, last)


def draw_axes(across: Axis, up: Axis, names: tuple[str, str]) -> list[Markup]:
    """Both axes with their ticks and names."""
    left, right, bottom, top = across.first, across.last, up.first, up.last
    parts = [line(left, bottom, right, bottom, "axis"), line(left, top, left, bottom, "axis")]
    for tick in across.ticks:
        x = across.place(tick)
        anchor = "end" if x > right - 12 else "middle"
        parts.append(text(x, bottom + 15, across.label(tick), anchor=anchor, class_="tick"))
    for tick in up.ticks:
        y = max(up.place(tick) + 4, top + 8)
        parts.append(text(left - 5, y, up.label(tick), anchor="end", class_="tick"))
    parts.append(text((left + right) / 2, bottom + 34, names[0], anchor="middle"))
    return [*parts, upright(11, (top + bottom) / 2, names[1])]


def round_up(number: float, steps: Sequence[float] = (1, 2, 2.5, 5, 10)) -> float:
    """The next of these steps times a power of ten."""
    power = 10.0 ** math.floor(math.log10(number))
    return next(step * power for step in steps if step * power >= number * (1 - 1e-9))


def _is_whole(number: float) -> bool:
    return abs(number - round(number)) < 1e-6 and round(number) != 0


def _plain(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
