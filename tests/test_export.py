"""Exports: bytes that other programs can read, the same words and numbers in all of them."""

from __future__ import annotations

import asyncio
import io
import os
import re
import signal
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import sentviz.export.files as export
from sentviz.charts import Figure, heatmap, probability_bars
from sentviz.errors import InputError, SentvizError
from sentviz.export.chromium import find_browser
from sentviz.export.files import FORMATS, render, save
from tests.charts import picture
from tests.kit import fake_trace, refused

needs_browser = pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")
SVG = "{http://www.w3.org/2000/svg}"
EVIL = ["<script>alert(1)</script>", "<b>x</b>", "$x$", "</script><script>", "שלום", "=1+1"]


def words(svg: bytes) -> str:
    return "\n".join("".join(node.itertext()) for node in ET.fromstring(svg).iter(f"{SVG}text"))


@pytest.mark.exhaustive
@needs_browser
def test_svg_is_vectors_and_holds_the_tokens_and_caption() -> None:
    svg = render(heatmap(fake_trace(tokens=["quiet", *EVIL[:3]]), 0), "svg")
    root = ET.fromstring(svg)
    assert not {f"{SVG}image", f"{SVG}script", f"{SVG}a"} & {node.tag for node in root.iter()}
    assert {"quiet", *EVIL[1:3], "query", "key"} <= set(words(svg).splitlines()) and "Each row is a" in words(svg)
    assert len([path for path in root.iter(f"{SVG}g") if path.get("class") == "point"]) >= 25


@pytest.mark.slow
@needs_browser
def test_pdf_has_text_not_pixels() -> None:
    data = render(heatmap(fake_trace(), 0), "pdf")
    assert data.startswith(b"%PDF-") and b"/Font" in data and b"/Subtype /Image" not in data


def test_html_is_self_contained_and_harmless() -> None:
    run = 'r</title><script>bad()</script><b>"$x$"'
    page = render(heatmap(fake_trace(tokens=EVIL).replace(run=run), 0), "html").decode()
    assert not re.search(r"<(script|link|img|iframe)[^>]*\b(src|href)=", page.partition("<body>")[2])
    assert "default-src 'none'" in page and "bad()</script>" not in page and "<script>alert" not in page
    assert "&lt;script&gt;bad()" in page and page.partition("<body>")[0].count("</title>") == 1


def test_csv_runs_no_formulas() -> None:
    tokens = ["=cmd()", "+1", "-", "@x", "\t=1", " =1", '영화,"\nb']
    frame = pd.DataFrame({"token": tokens, "kind": pd.Categorical(tokens), "value": np.linspace(-1, 1, 7), "=name": 0})
    data = render(Figure("f", picture(go.Figure()), frame, ""), "csv")
    back = pd.read_csv(io.BytesIO(data), encoding="utf-8-sig")
    assert (
        data.startswith(b"\xef\xbb\xbf") and list(back["token"]) == list(back["kind"]) == ["'" + each for each in tokens[:-1]] + tokens[-1:]
    )
    assert back["value"].tolist() == frame["value"].tolist() and list(back.columns)[-1] == "'=name"
    assert frame["token"].iloc[0] == "=cmd()"


def test_a_table_for_tex_holds_no_character_that_tex_does_not_read() -> None:
    frame = pd.DataFrame({"token": ["a\0b", "c\x0bd"], "value": [1.0, 2.0]})
    data = render(Figure("f", picture(go.Figure()), frame, "of \x01"), "tex").decode()
    assert "a\u2400b" in data and "c\u240bd" in data and "of \u2401" in data
    assert all(letter.isprintable() or letter == "\n" for letter in data)


def test_save_is_all_or_nothing(tmp_path: Path) -> None:
    figure = probability_bars(["a", "b"], [0.5, 0.5])
    path = save(figure, tmp_path / "bars.csv")
    assert path.read_bytes() == render(figure, "csv") and [item.name for item in tmp_path.iterdir()] == ["bars.csv"]
    refused(SentvizError, "cannot be written", save, figure, tmp_path / "missing" / "bars.csv")
    (tmp_path / "folder.csv").mkdir()
    refused(SentvizError, "cannot be written", save, figure, tmp_path / "folder.csv")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["bars.csv", "folder.csv"]
    refused(InputError, "png, svg, pdf, html, csv", save, figure, tmp_path / "bars.gif")


def test_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "write_bytes", lambda self, data: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    refused(SentvizError, "no space left", save, probability_bars(["a", "b"], [0.5, 0.5]), tmp_path / "bars.csv")
    assert not list(tmp_path.iterdir())


def test_without_a_browser_html_and_csv_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", sys.executable)
    assert find_browser() == sys.executable
    monkeypatch.setenv("BROWSER_PATH", "/no/such/browser")
    assert find_browser() is None
    figure = probability_bars(["a", "b"], [0.5, 0.5])
    for wrong in ({"scale": 0}, {"scale": 99}, {"width": 3}, {"height": 10**6}):
        with pytest.raises(InputError):
            render(figure, "png", **wrong)
    for format in FORMATS:
        if format in ("html", "csv", "tex"):
            assert render(figure, format)
        else:
            refused(SentvizError, "need Chrome or Chromium", render, figure, format)


@needs_browser
@pytest.mark.exhaustive
def test_many_threads_and_a_running_loop() -> None:
    figures = [probability_bars([f"left{i}", "right"], [0.5, 0.5]) for i in range(6)]
    with ThreadPoolExecutor(3) as pool:
        drawn = list(pool.map(lambda figure: words(render(figure, "svg")), figures))
    assert all(f"left{i}" in text for i, text in enumerate(drawn))

    async def inside_a_loop() -> bytes:
        return render(figures[0], "svg")

    assert b"left0" in asyncio.run(inside_a_loop())


@needs_browser
@pytest.mark.skipif(os.name == "nt", reason="kills a process group")
@pytest.mark.exhaustive
def test_a_crashed_browser_is_replaced() -> None:
    figure = probability_bars(["a", "b"], [0.5, 0.5])
    render(figure, "svg")
    os.killpg(export.BROWSER._kaleido.subprocess.pid, signal.SIGKILL)
    assert b"<svg" in render(figure, "svg")
