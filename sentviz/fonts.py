"""Fonts that travel inside an SVG, cut down to the letters that it uses."""

from __future__ import annotations

import base64
import io
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

__all__ = ["Font", "embed_fonts", "font_file", "fonts_for"]

_FAMILY = re.compile(r"font-family:\s*([^;\"]+)")
_NAME = "sentviz-embedded"
_MOST = 6  # fonts for one list of families; a picture rarely has more than three scripts


@dataclass(frozen=True)
class Font:
    """A font in a file, or in a collection of several, and the letters that it brings."""

    path: Path
    number: int
    letters: frozenset[str]


def font_file(families: str, letters: Iterable[str]) -> Font | None:
    """The font that this machine uses for a CSS list of families, with those of the letters that it has.

    Where the families' own font has none of them, the one that stands in for it with the first letter; None where there is none.
    """
    wanted = sorted(set(letters))
    program = shutil.which("fc-match")
    if program is None or not wanted:
        return None
    names = ",".join(part.strip().strip("'\"") for part in families.split(","))
    for pattern in (names, f"{names}:charset={ord(wanted[0]):x}"):
        try:
            found = subprocess.run(
                [program, "-f", "%{file}\n%{index}\n%{charset}", pattern], capture_output=True, text=True, timeout=10, check=True
            ).stdout
        except (OSError, subprocess.SubprocessError):
            return None
        file, index, ranges = [*found.split("\n", 2), "", ""][:3]
        has = [tuple(int(end, 16) for end in (part.split("-") * 2)[:2]) for part in ranges.split()]
        brought = frozenset(letter for letter in wanted if any(low <= ord(letter) <= high for low, high in has))
        if brought and Path(file).suffix.lower() in (".ttf", ".otf", ".ttc", ".otc"):
            return Font(Path(file), int(index or 0) & 0xFFFF, brought)
    return None


def fonts_for(families: str, letters: Iterable[str]) -> list[Font]:
    """The fonts that together have the letters, the families' own first; letters that no font has are left out."""
    missing, found = {letter for letter in letters if letter.isprintable() and not letter.isspace()}, list[Font]()
    for _ in range(2 * _MOST):
        font = font_file(families, missing)
        if font is not None:
            found.append(font)
        missing -= font.letters if font is not None else {min(missing, default="")}
        if not missing or len(found) == _MOST:
            break
    return found


def embed_fonts(svg: bytes) -> bytes:
    """The SVG with its fonts inside it, as far as the machine has files for them; other letters are left to the reader's fonts."""
    text = svg.decode("utf-8")
    letters = set("".join(ElementTree.fromstring(svg).itertext()))
    rules: list[str] = []
    for families in sorted(set(_FAMILY.findall(text.replace("&quot;", "'")))):
        names = []
        for font in fonts_for(families, letters):
            names.append(f"'{_NAME}-{len(rules)}'")
            data, kind = _subset(font)
            rules.append(f"@font-face{{font-family:{names[-1]};src:url(data:font/{kind};base64,{base64.b64encode(data).decode()})}}")
        for spelt in (families, families.replace("'", "&quot;")):
            text = text.replace(f"font-family: {spelt}", f"font-family: {', '.join([*names, spelt])}")
    if not rules:
        return svg
    head, _, rest = text.partition(">")
    return f"{head}><style>{''.join(rules)}</style>{rest}".encode()


def _subset(font: Font) -> tuple[bytes, str]:
    """The file with the font's letters and blanks only, and its kind: ttf or otf."""
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    options = Options()
    options.notdef_outline = True
    options.drop_tables += ["FFTM"]
    with TTFont(font.path, fontNumber=font.number, lazy=True) as file:
        cutter = Subsetter(options)
        cutter.populate(text=" \u00a0" + "".join(sorted(font.letters)))
        cutter.subset(file)
        made = io.BytesIO()
        file.save(made)
        return made.getvalue(), "otf" if file.sfntVersion == "OTTO" else "ttf"
