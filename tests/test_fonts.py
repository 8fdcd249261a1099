"""Fonts inside an SVG, against what fontTools reads in the files; letters of every script that this machine can write."""

from __future__ import annotations

import io
import re
import shutil
from base64 import b64decode

import numpy as np
import pytest
from fontTools.pens.areaPen import AreaPen
from fontTools.pens.boundsPen import BoundsPen
from fontTools.ttLib import TTFont

from sentviz.charts import fonts

FAMILIES = "Source Sans, Helvetica Neue, sans-serif"
korean = pytest.mark.skipif(
    fonts.font_file("sans-serif", "영화") is None, reason="no font of this machine has Hangul (Debian and Ubuntu: fonts-noto-cjk)"
)
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
        assert font.letters <= known and not (set(letters) - set(brought)) & known


def test_nothing_is_known_without_fontconfig_or_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fonts.fonts_for(FAMILIES, " \n\t") == [] and fonts.font_file(FAMILIES, "") is None
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert fonts.fonts_for(FAMILIES, "abc") == []


@korean
def test_an_svg_carries_hangul_beside_latin() -> None:
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><text style="font-family: {FAMILIES};">정말 좋은 영화 ok</text></svg>'.encode()
    with_fonts = fonts.embed_fonts(svg)
    font_faces = embedded(with_fonts)
    every = set().union(*font_faces)
    assert len(font_faces) >= 2 and set("ok") <= font_faces[0] and set("정말좋은영화") <= every and not set("가나다") & every
    assert len(with_fonts) < 60_000 and f"{FAMILIES};" in with_fonts.decode()


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
