"""Exports: bytes that other programs can read, the same words and numbers in all of them, and the fonts inside an SVG."""

import asyncio
import io
import re
import shutil
import sys
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from fontTools.pens.areaPen import AreaPen
from fontTools.pens.boundsPen import BoundsPen
from fontTools.ttLib import TTFont

from sentviz.charts import Figure, fonts, heatmap, probability_bars
from sentviz.errors import InputError, SentvizError
from sentviz.export.chromium import find_browser
from sentviz.export.files import FORMATS, render, save
from tests.charts import picture
from tests.kit import fake_trace, refused

needs_browser = pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")
EVIL = ["<script>alert(1)</script>", "<b>x</b>", "$x$", "</script><script>", "שלום", "=1+1"]


@needs_browser
def test_pdf_has_text_not_pixels() -> None:
    data = render(heatmap(fake_trace(), 0), "pdf")
    assert data.startswith(b"%PDF-") and b"/Font" in data and b"/Subtype /Image" not in data


def test_html_and_csv_are_harmless() -> None:
    run = 'r</title><script>bad()</script><b>"$x$"'
    page = render(heatmap(fake_trace(tokens=EVIL).replace(run=run), 0), "html").decode()
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", page.partition("<body>")[2])
    assert "default-src 'none'" in page and "bad()</script>" not in page and "<script>alert" not in page
    assert "&lt;script&gt;bad()" in page and page.partition("<body>")[0].count("</title>") == 1
    tokens = ["=cmd()", "+1", "-", "@x", "\t=1", " =1", '영화,"\nb']
    frame = pd.DataFrame({"token": tokens, "kind": pd.Categorical(tokens), "value": np.linspace(-1, 1, 7), "=name": 0})
    data = render(Figure("f", picture(go.Figure()), frame, ""), "csv")
    back = pd.read_csv(io.BytesIO(data), encoding="utf-8-sig")
    assert (
        data.startswith(b"\xef\xbb\xbf") and list(back["token"]) == list(back["kind"]) == ["'" + each for each in tokens[:-1]] + tokens[-1:]
    )
    assert back["value"].tolist() == frame["value"].tolist() and list(back.columns)[-1] == "'=name"
    assert frame["token"].iloc[0] == "=cmd()"
    frame = pd.DataFrame({"token": ["a\0b", "c\x0bd"], "value": [1.0, 2.0]})
    data = render(Figure("f", picture(go.Figure()), frame, "of \x01"), "tex").decode()
    assert "a\u2400b" in data and "c\u240bd" in data and "of \u2401" in data
    assert all(letter.isprintable() or letter == "\n" for letter in data)


def test_save_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = probability_bars(["a", "b"], [0.5, 0.5])
    path = save(figure, tmp_path / "bars.csv")
    assert path.read_bytes() == render(figure, "csv") and [item.name for item in tmp_path.iterdir()] == ["bars.csv"]
    refused(SentvizError, "cannot be written", save, figure, tmp_path / "missing" / "bars.csv")
    (tmp_path / "folder.csv").mkdir()
    refused(SentvizError, "cannot be written", save, figure, tmp_path / "folder.csv")
    refused(InputError, "png, svg, pdf, html, csv", save, figure, tmp_path / "bars.gif")
    monkeypatch.setattr(Path, "write_bytes", lambda self, data: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    refused(SentvizError, "no space left", save, probability_bars(["a", "b"], [0.5, 0.5]), tmp_path / "bars.csv")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["bars.csv", "folder.csv"]


def test_what_works_without_a_browser_or_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", sys.executable)
    assert find_browser() == sys.executable
    monkeypatch.setenv("BROWSER_PATH", "/no/such/browser")
    assert find_browser() is None
    figure = probability_bars(["a", "b"], [0.5, 0.5])
    for wrong in ({"scale": 0}, {"scale": 99}, {"width": 3}, {"height": 10**6}):
        refused(InputError, ".", render, figure, "png", **wrong)
    for format in FORMATS:
        if format in ("html", "csv", "tex"):
            assert render(figure, format)
        else:
            refused(SentvizError, "need Chrome or Chromium", render, figure, format)
    assert fonts.fonts_for(FAMILIES, " \n\t") == [] and fonts.font_file(FAMILIES, "") is None
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert fonts.fonts_for(FAMILIES, "abc") == []


@needs_browser
@pytest.mark.exhaustive
def test_many_threads_and_a_running_loop() -> None:
    figures = [probability_bars([f"left{i}", "right"], [0.5, 0.5]) for i in range(6)]
    with ThreadPoolExecutor(3) as pool:
        drawn = list(pool.map(lambda figure: render(figure, "svg").decode(), figures))
    assert all(f"left{i}" in text for i, text in enumerate(drawn))

    async def inside_a_loop() -> bytes:
        return render(figures[0], "svg")

    assert b"left0" in asyncio.run(inside_a_loop())


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
    assert len(brought) == len(set(brought)) and "a" in fonts_of_letters[0].letters
    for font in fonts_of_letters:
        with TTFont(font.path, fontNumber=font.number, lazy=True) as file:
            known = {chr(code) for code in file.getBestCmap()}
        assert font.letters <= known and not (set(letters) - set(brought)) & known


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
    font = fonts.font_file("sans-serif", "영화한")
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
