"""Sheets of several figures: one file of vectors, letters, shared scales and legends; the command, and what cannot be."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import plotly.graph_objects as go
import pytest
from click.testing import CliRunner

from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.export.chromium import find_browser
from sentviz.export.embedded_record import extract_record
from sentviz.export.record import ChangedError, Record
from sentviz.export.sheets import Sheet
from sentviz.export.verify import compare_with_runs, verify
from sentviz.figures import Figure
from sentviz.figures.figure import base_layout
from sentviz.figures.look import Style
from sentviz.gallery import draw

RUNS = ("sst2/ndt-unit-2", "sst2/vanilla")
TEXT = "A quiet delight."
SVG = "{http://www.w3.org/2000/svg}"
pictures = pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")


def maps() -> list[Figure]:
    return [draw(run, "attention", text=TEXT, layer=1) for run in RUNS]


def lines(values: list[float], *names: str) -> Figure:
    plot = go.Figure(layout=base_layout("light", width=400, height=300, margin=(40, 40, 20, 40)))
    for name in names:
        plot.add_scatter(x=[0, 1, 2], y=values, name=name)
    return Figure("lines", plot, pd.DataFrame({"y": values}), "Lines.")


def test_two_maps_have_one_colour_scale_and_one_bar() -> None:
    """Two maps on one sheet share a scale from the smallest to the largest weight of both; alone each has its own."""
    figures = maps()
    own = [figure.frame["attention"].max() for figure in figures]
    scales = [next(panel.plot.select_traces({"type": "heatmap"})) for panel in Sheet(figures).panels]
    axes = [
        trace if trace.zmax is not None else panel.plot.layout.coloraxis for trace, panel in zip(scales, Sheet(figures).panels, strict=True)
    ]
    ends = [axis.zmax if isinstance(axis, go.Heatmap) else axis.cmax for axis in axes]
    assert ends[0] == ends[1] == pytest.approx(max(own), rel=1e-3) and min(own) < max(own)
    assert [axis.showscale is not False for axis in axes] == [True, False]


def test_panels_of_a_kind_share_ends_and_legends() -> None:
    """Panels of one kind share the widest range if the range is free. Other kinds, and sheets with `shared=False`, keep theirs."""
    first, second = lines([0, 1, 2], "a", "b"), lines([0, 5, 10], "b")
    ranges = [panel.plot.layout.yaxis.range for panel in Sheet([first, second]).panels]
    assert ranges[0] == ranges[1] and ranges[0][0] < 0 and ranges[0][1] > 10
    assert [panel.plot.layout.showlegend for panel in Sheet([first, second]).panels] == [None, False]
    assert [panel.plot.layout.showlegend for panel in Sheet([second, first]).panels] == [None, None]  # "a" is new
    for apart in (Sheet([first, second], shared=False), Sheet([first, replace(second, name="others")])):
        assert [panel.plot.layout.yaxis.range for panel in apart.panels] == [None, None]
    assert first.plot.layout.yaxis.range is None


@pytest.mark.exhaustive
@pictures
def test_a_sheet_is_one_file_with_all_its_panels(tmp_path: Path) -> None:
    """The SVG is 174 mm wide and has all words of the panels, letters in reading order, unique names and vectors only; the PDF is one page
    of text.
    """
    sheet = Sheet([*maps(), draw(RUNS[0], "strip", text=TEXT)], style=Style(size="wide", palette="grey"))
    root = ElementTree.parse(sheet.save(tmp_path / "sheet.svg")).getroot()
    assert float(root.attrib["width"]) / 96 * 25.4 == pytest.approx(174, abs=0.1)
    words = ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]
    letters = [node for node in root if node.tag == f"{SVG}text"]
    assert [node.text for node in letters] == ["a", "b", "c"] and words.count("quiet") >= 4
    assert [float(node.attrib["x"]) > 0 for node in letters] == [False, True, False]
    assert float(letters[0].attrib["y"]) == float(letters[1].attrib["y"]) < float(letters[2].attrib["y"])
    names = [node.attrib["id"] for node in root.iter() if "id" in node.attrib]
    assert len(names) == len(set(names)) and not list(root.iter(f"{SVG}image"))
    used = set(re.findall(r"url\([\"']?#([^\"')]+)", (tmp_path / "sheet.svg").read_text(encoding="utf-8")))
    assert used <= set(names)
    panels = [node for node in root if node.tag == f"{SVG}svg"]
    assert len(panels) == 3 and all(
        float(node.attrib["x"]) + float(node.attrib["width"]) <= float(root.attrib["width"]) + 1 for node in panels
    )

    path = sheet.save(tmp_path / "sheet.pdf")
    assert verify(tmp_path / "sheet.svg").state == "equal"
    if shutil.which("pdftotext") and shutil.which("pdffonts"):
        text = subprocess.run(["pdftotext", path, "-"], capture_output=True, text=True, check=True).stdout
        fonts = subprocess.run(["pdffonts", path], capture_output=True, text=True, check=True).stdout
        # slanted words come letter by letter
        assert text.count("quiet") >= 3 and "Type 3" not in fonts


@pytest.mark.exhaustive
def test_a_sheets_record_is_that_of_its_panels() -> None:
    """A sheet is equal if all panels are; otherwise it has the worst state with the panel's letter. A changed number is found."""
    records = [Record.of(figure) for figure in maps()]
    whole = Record.read(Record.of_sheet("sheet", records).text())
    assert whole.panels == tuple(records) and compare_with_runs(whole).why.endswith("the same numbers in all 2 panels.")
    lost = replace(records[1], runs=(replace(records[1].runs[0], run="mine/own"),))
    assert compare_with_runs(replace(whole, panels=(records[0], lost))).why == "Panel b: Its run mine/own is not installed."
    with pytest.raises(ChangedError):
        Record.read(replace(whole, panels=(replace(records[0], frame="0"),)).text())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"figures": []}, "A sheet holds 1 to 12 figures, not 0."),
        ({"figures": [None] * 13}, "A sheet holds 1 to 12 figures, not 13."),
        ({"figures": [None], "columns": 5}, "A sheet has 1 to 4 columns, not 5."),
        ({"figures": [None], "style": Style(height=80)}, "The height of a sheet follows from its figures. Remove the height setting."),
    ],
)
def test_what_cannot_be_a_sheet(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        Sheet(**arguments)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Sheets can be exported as svg, pdf, png, not as 'html'"):
        Sheet([lines([0, 1], "a")]).render("html")


@pytest.mark.exhaustive
@pictures
def test_the_command_writes_a_sheet(tmp_path: Path) -> None:
    """Panels are written as a person types them; mistakes are one sentence."""
    path = tmp_path / "sheet.svg"
    panels = [part for run in RUNS for part in ("--sheet", f"{run} attention layer=2 text='{TEXT}'")]
    done = CliRunner().invoke(main, ["export", *panels, "--size", "wide", "-o", str(path)])
    assert done.exit_code == 0, done.output
    calls = [panel.call for panel in extract_record(path.read_bytes())[1].panels]
    assert [(call.of, call.options) for call in calls if call] == [(run, {"text": TEXT, "layer": 1}) for run in RUNS]
    for panel, message in (
        ("sst2/vanilla", "RUN FIGURE NAME=VALUE"),
        ("a b 'c", "RUN FIGURE"),
        (f"{RUNS[0]} attention layer=9", "layers 1 to 2, not 9"),
    ):
        done = CliRunner().invoke(main, ["export", "--sheet", panel, "-o", str(path)])
        assert done.exit_code == 1 and message in done.output
