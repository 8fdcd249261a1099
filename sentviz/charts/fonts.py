"""Fonts inside an SVG: reduced to the letters that it uses, with outlines that a PDF can store as text."""

from __future__ import annotations

import base64
import io
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from fontTools.ttLib import TTFont

_FAMILY = re.compile(r"font-family:\s*([^;\"]+)")
_BOLD = re.compile(r"font-weight:\s*(?:bold|[6-9]00)")
_NAME = "sentviz-embedded"
_ERROR = 0.001  # largest distance between a quadratic outline and the cubic one, as a share of the letter's height
_MOST = 6  # fonts for one list of families; a picture rarely has more than three scripts


@dataclass(frozen=True)
class Font:
    """A font in a file, or in a collection of several fonts, and the letters that it has."""

    path: Path
    number: int
    letters: frozenset[str]


def font_file(families: str, letters: Iterable[str], *, bold: bool = False) -> Font | None:
    """Find the installed font for a CSS list of families, and those of the letters that it has.

    If the families' own font has none of the letters, its substitute for the first letter is returned; None if there is no font.
    """
    wanted = sorted(set(letters))
    program = shutil.which("fc-match")
    if program is None or not wanted:
        return None
    names = ",".join(part.strip().strip("'\"") for part in families.split(",")) + (":bold" if bold else "")
    for pattern in (names, f"{names}:charset={ord(wanted[0]):x}"):
        try:
            output = subprocess.run(
                [program, "-f", "%{file}\n%{index}\n%{charset}", pattern], capture_output=True, text=True, timeout=10, check=True
            ).stdout
        except (OSError, subprocess.SubprocessError):
            return None
        file, index, ranges = [*output.split("\n", 2), "", ""][:3]
        has = [tuple(int(end, 16) for end in (part.split("-") * 2)[:2]) for part in ranges.split()]
        brought = frozenset(letter for letter in wanted if any(low <= ord(letter) <= high for low, high in has))
        if brought and Path(file).suffix.lower() in (".ttf", ".otf", ".ttc", ".otc"):
            return Font(Path(file), int(index or 0) & 0xFFFF, brought)
    return None


def fonts_for(families: str, letters: Iterable[str], *, bold: bool = False) -> list[Font]:
    """Find fonts that together have the letters, the families' own font first; letters that no font has are left out."""
    missing, fonts = {letter for letter in letters if letter.isprintable() and not letter.isspace()}, list[Font]()
    for _ in range(2 * _MOST):
        font = font_file(families, missing, bold=bold)
        if font is not None:
            fonts.append(font)
        missing -= font.letters if font is not None else {min(missing, default="")}
        if not missing or len(fonts) == _MOST:
            break
    return fonts


def embed_fonts(svg: bytes) -> bytes:
    """Embed the fonts of an SVG in it, if their files are installed; for other letters the reader's fonts are used."""
    text = svg.decode("utf-8")
    letters = set("".join(ElementTree.fromstring(svg).itertext()))
    weights = (False, True) if _BOLD.search(text) else (False,)
    rules: list[str] = []
    for number, families in enumerate(sorted(set(_FAMILY.findall(text.replace("&quot;", "'"))))):
        names: dict[str, None] = {}
        for bold in weights:
            for place, font in enumerate(fonts_for(families, letters, bold=bold)):
                name = f"'{_NAME}-{number}-{place}'"
                names[name] = None
                source = f"url(data:font/ttf;base64,{base64.b64encode(_subset(font)).decode()})"
                rules.append(f"@font-face{{font-family:{name};{'font-weight:bold;' * bold}src:{source}}}")
        for spelt in (families, families.replace("'", "&quot;")):
            text = text.replace(f"font-family: {spelt}", f"font-family: {', '.join([*names, spelt])}")
    if not rules:
        return svg
    head, _, rest = text.partition(">")
    return f"{head}><style>{''.join(rules)}</style>{rest}".encode()


def _subset(font: Font) -> bytes:
    """Return the font's file with the given letters and blanks only, as TrueType of one weight.

    Browsers write other outlines into a PDF as pictures of letters (Type 3), which many programs neither search nor print well.
    """
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    options = Options()
    options.notdef_outline = True
    options.drop_tables += ["FFTM"]
    with TTFont(font.path, fontNumber=font.number, lazy=True) as file:
        cutter = Subsetter(options)
        cutter.populate(text=" \u00a0" + "".join(sorted(font.letters)))
        cutter.subset(file)
        if "fvar" in file:
            from fontTools.varLib.instancer import instantiateVariableFont

            file = instantiateVariableFont(file, {axis.axisTag: axis.defaultValue for axis in file["fvar"].axes})
        if "glyf" not in file and ("CFF " in file or "CFF2" in file):
            _as_truetype(file)
        output = io.BytesIO()
        file.save(output)
        return output.getvalue()


def _as_truetype(font: TTFont) -> None:
    """Replace cubic outlines by quadratic ones, in place."""
    from fontTools.pens.cu2quPen import Cu2QuPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from fontTools.ttLib import newTable

    outlines, drawn = font.getGlyphSet(), {}
    for name in font.getGlyphOrder():
        pen = TTGlyphPen(None)
        outlines[name].draw(Cu2QuPen(pen, max_err=_ERROR * font["head"].unitsPerEm, reverse_direction=True))
        drawn[name] = pen.glyph()
    font["loca"], font["glyf"] = newTable("loca"), newTable("glyf")
    font["glyf"].glyphOrder = font.getGlyphOrder()
    font["glyf"].glyphs = drawn
    for name, glyph in drawn.items():
        glyph.recalcBounds(font["glyf"])
        font["hmtx"][name] = (font["hmtx"][name][0], getattr(glyph, "xMin", 0))
    font["maxp"].tableVersion = 0x00010000
    for field in ("maxZones", "maxTwilightPoints", "maxStorage", "maxFunctionDefs", "maxInstructionDefs"):
        setattr(font["maxp"], field, int(field == "maxZones"))
    for field in ("maxStackElements", "maxSizeOfInstructions", "maxComponentElements"):
        setattr(font["maxp"], field, 0)
    font["maxp"].compile(font)
    font["post"].formatType = 3.0
    for table in ("CFF ", "CFF2", "VORG"):
        if table in font:
            del font[table]
    font.sfntVersion = "\x00\x01\x00\x00"
