"""Fonts inside an SVG, against what fontTools reads in the files; letters of every script that this machine can write."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest
from fontTools.pens.areaPen import AreaPen
from fontTools.pens.boundsPen import BoundsPen
from fontTools.ttLib import TTFont

from sentviz.charts import fonts, token_strip
from sentviz.export.chromium import find_browser
from sentviz.export.files import render

FAMILIES = "Source Sans, Helvetica Neue, sans-serif"
korean = pytest.mark.skipif(
    fonts.font_file("sans-serif", "영화") is None, reason="no font of this machine has Hangul (Debian and Ubuntu: fonts-noto-cjk)"
)
pictures = pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")
fontconfig = pytest.mark.skipif(shutil.which("fc-match") is None, reason="no fontconfig on this machine")


def letters_of(data: bytes) -> set[str]:
    with TTFont(io.BytesIO(data)) as font:
        return {chr(code) for code in font.getBestCmap()}


def embedded(svg: bytes) -> list[set[str]]:
    """Return the letters of each font in an SVG."""
    return [letters_of(b64decode(data)) for data in re.findall(r"data:font/ttf;base64,([^)]+)\)", svg.decode())]


@fontconfig
def test_a_font_has_the_letters_that_it_is_said_to_bring() -> None:
    letters = "abcéλжשß−√あ好영화ก\ue123"
    fonts_of_letters = fonts.fonts_for(FAMILIES, letters)
    brought = [letter for font in fonts_of_letters for letter in font.letters]
    assert len(brought) == len(set(brought))
    assert "a" in fonts_of_letters[0].letters
    for font in fonts_of_letters:
        with TTFont(font.path, fontNumber=font.number, lazy=True) as file:
            known = {chr(code) for code in file.getBestCmap()}
        assert font.letters <= known
        assert not (set(letters) - set(brought)) & known


def test_nothing_is_known_without_fontconfig_or_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fonts.fonts_for(FAMILIES, " \n\t") == []
    assert fonts.font_file(FAMILIES, "") is None
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert fonts.fonts_for(FAMILIES, "abc") == []


@pytest.mark.slow
@korean
def test_an_svg_carries_hangul_beside_latin() -> None:
    """The syllables in use are embedded from a font in a collection of several."""
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><text style="font-family: {FAMILIES};">정말 좋은 영화 ok</text></svg>'.encode()
    with_fonts = fonts.embed_fonts(svg)
    font_faces = embedded(with_fonts)
    assert len(font_faces) >= 2
    assert set("정말좋은영화") <= set().union(*font_faces)
    assert set("ok") <= font_faces[0]
    assert not set("가나다") & set().union(*font_faces)
    assert len(with_fonts) < 60_000
    first = re.search(r"style=\"font-family: ([^;]*);", with_fonts.decode())
    assert first is not None
    assert first[1].endswith(FAMILIES)


@pytest.mark.slow
@korean
@pictures
@pytest.mark.skipif(shutil.which("pdffonts") is None or shutil.which("pdftotext") is None, reason="no poppler on this machine")
def test_hangul_in_a_pdf_is_text_in_an_outline_font(tmp_path: Path) -> None:
    strip = token_strip(["정말", "좋은", "영화", "quiet", "<b>"], np.arange(5) - 2.0, title="나쁘지 않은 λ")
    (path := tmp_path / "strip.pdf").write_bytes(render(strip, "pdf"))
    rows = subprocess.run(["pdffonts", path], capture_output=True, text=True, check=True).stdout.splitlines()[2:]
    assert len(rows) >= 3
    assert all("TrueType" in row and row.split()[-5:-2] == ["yes", "yes", "yes"] for row in rows)
    text = subprocess.run(["pdftotext", path, "-"], capture_output=True, text=True, check=True).stdout
    assert all(word in text for word in ("정말", "좋은", "영화", "나쁘지 않은 λ", "<b>"))


@pytest.mark.slow
@fontconfig
@korean
def test_outlines_keep_their_shape_and_width() -> None:
    """Each letter of the subset font has the width, box and area of the source font, to a hundredth."""
    font = fonts.font_file("sans-serif", "영화한")
    assert font is not None
    with TTFont(font.path, fontNumber=font.number, lazy=True) as there, TTFont(io.BytesIO(fonts._subset(font))) as subset:
        assert "glyf" in subset
        high, old, new = there["head"].unitsPerEm, there.getGlyphSet(), subset.getGlyphSet()
        for letter in sorted(font.letters):
            whole_name, subset_name = there.getBestCmap()[ord(letter)], subset.getBestCmap()[ord(letter)]
            assert there["hmtx"][whole_name][0] == subset["hmtx"][subset_name][0]
            boxes, areas = [], []
            for glyphs, name in ((old, whole_name), (new, subset_name)):
                box, area = BoundsPen(glyphs), AreaPen(glyphs)
                glyphs[name].draw(box)
                glyphs[name].draw(area)
                boxes.append(box.bounds)
                areas.append(abs(area.value))
            np.testing.assert_allclose(boxes[0], boxes[1], atol=0.01 * high)
            assert areas[0] == pytest.approx(areas[1], rel=0.01)
