"""Fonts that travel inside an SVG, cut down to the letters that it uses."""

from __future__ import annotations

import base64
import io
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

__all__ = ["embed_fonts", "font_file"]

_FAMILY = re.compile(r"font-family:\s*([^;\"]+)")
_NAME = "sentviz-embedded"


def font_file(families: str, letters: str) -> Path | None:
    """The file of the font that this machine uses for a CSS list of families; None where none is known or it lacks every letter."""
    program = shutil.which("fc-match")
    if program is None:
        return None
    names = ",".join(part.strip().strip("'\"") for part in families.split(","))
    try:
        found = subprocess.run([program, "-f", "%{file}", names], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    path = Path(found)
    return path if path.suffix.lower() in (".ttf", ".otf") and _covered(path, letters) else None


def embed_fonts(svg: bytes) -> bytes:
    """The SVG with each of its fonts inside it, as far as the machine has a file for it; other letters are left to the reader's fonts."""
    text = svg.decode("utf-8")
    letters = "".join(ElementTree.fromstring(svg).itertext())
    rules: list[str] = []
    for families in sorted(set(_FAMILY.findall(text.replace("&quot;", "'")))):
        path = font_file(families, letters)
        if path is None:
            continue
        name = f"{_NAME}-{len(rules)}"
        data = base64.b64encode(_subset(path, letters)).decode()
        rules.append(f"@font-face{{font-family:'{name}';src:url(data:font/ttf;base64,{data})}}")
        for spelt in (families, families.replace("'", "&quot;")):
            text = text.replace(f"font-family: {spelt}", f"font-family: '{name}', {spelt}")
    if not rules:
        return svg
    head, _, rest = text.partition(">")
    return f"{head}><style>{''.join(rules)}</style>{rest}".encode()


def _covered(path: Path, letters: str) -> bool:
    from fontTools.ttLib import TTFont

    with TTFont(path, fontNumber=0, lazy=True) as font:
        return any(ord(letter) in (font.getBestCmap() or {}) for letter in letters if not letter.isspace())


def _subset(path: Path, letters: str) -> bytes:
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    options = Options()
    options.notdef_outline = True
    options.drop_tables += ["FFTM"]
    with TTFont(path, fontNumber=0) as font:
        cutter = Subsetter(options)
        cutter.populate(text=letters)
        cutter.subset(font)
        made = io.BytesIO()
        font.save(made)
    return made.getvalue()
