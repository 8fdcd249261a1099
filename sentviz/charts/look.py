"""The look of a figure: theme, width, colours and style. Whoever shows a figure chooses it; what the figure says does not depend on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Annotated, Any

from sentviz.charts.colours import THEMES, Palette, Theme, palette, simulated
from sentviz.charts.options import Kind, choice, options_of
from sentviz.errors import InputError
from sentviz.io.typed import Finite, Misfit, check, read, sized, within

MONOSPACE = "DejaVu Sans Mono, Menlo, Consolas, monospace"


@dataclass(frozen=True)
class Size:
    """A place in print: its width, the size of its letters, its pixels per inch as PNG. Papers typeset captions themselves."""

    millimetres: float
    points: float
    dpi: int = 300


SIZES = {"column": Size(84, 8), "wide": Size(174, 8), "slide": Size(254, 16, 150)}
FONTS = {
    "sans": "",
    "serif": "Liberation Serif, Times New Roman, Times, DejaVu Serif, serif",
    "mono": MONOSPACE,
}
LEGENDS = {"own": "unchanged", "right": "right", "below": "below", "above": "above", "none": "none"}
PALETTES = {"ours": "ours", "grey": "grey, for print", "journal": "journal"}
Span = tuple[Finite, Finite]
SPAN = Kind("from..to", lambda typed: read(Span, typed.replace("..", ",")), lambda value: f"{value[0]:g}..{value[1]:g}")
LEAST = {"width": 20, "height": 20, "points": 4}  # below it, only 0

_PIXELS = 96 / 25.4  # pixels per millimetre
_BASE_FONT = 13  # pixels of letters in figures
GREYS: dict[Theme, tuple[str, ...]] = {
    "light": ("#000000", "#8a8a8a", "#4a4a4a", "#707070", "#2a2a2a", "#5c5c5c", "#939393"),
    "dark": ("#ffffff", "#8a8a8a", "#c4c4c4", "#a6a6a6", "#e2e2e2", "#b4b4b4", "#787878"),
}
JOURNAL: dict[Theme, tuple[str, ...]] = {
    "light": ("#1f1f1f", "#b2182b", "#2166ac", "#4d7c21", "#8c510a", "#762a83", "#6e6e6e"),
    "dark": ("#f2f2f2", "#ff8a80", "#7db8ff", "#a5d66b", "#e6b06a", "#d29bea", "#b0b0b0"),
}
PATTERNS = ("", "/", ".", "x", "\\", "+", "-")


@dataclass(frozen=True)
class Style:
    """The look of a figure; the default is the figure as it is drawn.

    Attributes:
        size: name of a width in millimetres and a size of letters in points, a key of `SIZES`; "screen" for neither.
        width, height: size of the picture in millimetres, 20 to 600; 0 for the width of `size`, and the height that follows from it.
        points: size of the letters, 4 to 40; 0 for that of `size`.
        font: a key of `FONTS`. legend: place of the legend, one of `LEGENDS`. palette: one of `PALETTES`.
        title: True to draw the title. caption: True to add the caption; by default on screen only, because papers typeset captions.
        x, y: range of the axes of numbers in all panels, from and to.
        note: plain text below the picture.
    """

    size: Annotated[str, choice(dict.fromkeys(("screen", *SIZES), ""))] = "screen"
    width: Annotated[float, within(0, 600)] = 0
    height: Annotated[float, within(0, 600)] = 0
    points: Annotated[float, within(0, 40)] = 0
    font: Annotated[str, choice(FONTS)] = "sans"
    title: bool = True
    caption: bool | None = None
    legend: Annotated[str, choice(LEGENDS)] = "own"
    palette: Annotated[str, choice(PALETTES)] = "ours"
    x: Annotated[Span | None, SPAN] = None
    y: Annotated[Span | None, SPAN] = None
    note: Annotated[str, sized(None, 300)] = ""

    def __post_init__(self) -> None:
        for option in _OPTIONS.values():
            option.check(getattr(self, option.name))
        try:
            check(self)
        except Misfit as fault:
            raise InputError(f"The style's {fault}.") from fault
        for name, least in LEAST.items():
            if 0 < getattr(self, name) < least:
                raise InputError(f"The style's {name} must be 0 or at least {least}, not {getattr(self, name):g}.")
        for name in ("x", "y"):
            if (span := getattr(self, name)) is not None and span[0] >= span[1]:
                raise InputError(f"The style's {name} must begin with the smaller number, for example {name}=0..1.")

    @classmethod
    def parse(cls, text: str | Iterable[str]) -> Style:
        """Parse a style from `text`, for example size=column~palette=grey, or from its parts one by one."""
        if isinstance(text, str):
            before, note, after = text.partition("note=")
            text = [*before.split("~"), note + after]
        values: dict[str, Any] = {}
        for part in filter(None, text):
            name, equals, value = part.partition("=")
            if name not in _OPTIONS or not equals:
                raise InputError(f"A style is written as NAME=VALUE with the names {', '.join(_OPTIONS)}, not as {part!r:.80}.")
            values[name] = _OPTIONS[name].read(value)
        return cls(**values)

    @property
    def changes(self) -> dict[str, Any]:
        """Settings that differ from their defaults."""
        return {name: value for name, option in _OPTIONS.items() if (value := getattr(self, name)) != option.default}

    @property
    def text(self) -> str:
        """The style in one line, as `parse` reads it, without settings that have their defaults."""
        return "~".join(f"{name}={_OPTIONS[name].kind.write(value)}" for name, value in self.changes.items())

    @property
    def millimetres(self) -> float:
        """Width in print; 0 on screen."""
        return self.width or (SIZES[self.size].millimetres if self.size in SIZES else 0)

    @property
    def dpi(self) -> int:
        """Pixels per inch of a PNG in print."""
        return SIZES[self.size].dpi if self.size in SIZES else 300

    @property
    def letters(self) -> float:
        """Size of letters in print, relative to letters of 13 pixels."""
        points = self.points or (SIZES[self.size].points if self.size in SIZES else 8)
        return points * 96 / 72 / _BASE_FONT

    @property
    def pixels(self) -> int:
        """Width of the layout that print shrinks to its millimetres, so that letters have their points; 0 on screen."""
        return round(self.millimetres * _PIXELS / self.letters)

    @property
    def tall(self) -> int:
        """Height of that layout; 0 for what the width asks for."""
        return round(self.height * _PIXELS / (self.letters if self.millimetres else 1))

    @property
    def captioned(self) -> bool:
        """True if the caption is below the figure."""
        return not self.millimetres if self.caption is None else self.caption


_OPTIONS = options_of(Style)
PLAIN = Style()


@dataclass(frozen=True)
class Look:
    """The choices with which a figure is drawn.

    Attributes:
        theme: of the page; files are drawn in "light".
        width: pixels of the layout; 0 for that of the style, or else the width that the figure is best read at.
        style: sizes, letters, legend, palette and ranges, as a person chooses them for print.
    """

    theme: Theme = "light"
    width: int = 0
    style: Style = PLAIN

    @property
    def room(self) -> int:
        """Width of the layout in pixels; 0 if the figure chooses it."""
        return self.width or self.style.pixels

    @property
    def colours(self) -> Palette:
        """The colours of the theme in the palette of the style."""
        return _colours(self.theme, self.style.palette)

    @property
    def is_grey(self) -> bool:
        """True if colours cannot tell things apart, so that dashes, symbols and hatching must."""
        return self.style.palette == "grey"

    def colour(self, role: str | int) -> str:
        """Return the colour of a role: the name of a colour of `Palette`, or the number of a series, counted from 0."""
        colour: str = self.colours.line(role) if isinstance(role, int) else getattr(self.colours, role)
        return colour


@cache
def _colours(theme: Theme, name: str) -> Palette:
    colours = palette(theme)
    if name == "journal":
        return replace(colours, lines=JOURNAL[theme])
    if name == "grey":
        return replace(Palette(**{each.name: _greys(getattr(colours, each.name)) for each in fields(Palette)}), lines=GREYS[theme])
    return colours


def _greys(colour: Any) -> Any:
    return simulated(colour, "greys") if isinstance(colour, str) else tuple(map(_greys, colour))


LOOKS = {theme: Look(theme) for theme in THEMES}
"""The plain look of each theme."""
