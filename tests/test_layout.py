"""Figures fit to print: a sample of `python -m tools.layout`, and planted faults that it has to find."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd
import plotly.graph_objects as go
import pytest

from sentviz.charts.figure import Figure, base_layout
from sentviz.charts.gallery import FIGURES
from sentviz.charts.look import LOOKS
from sentviz.errors import DataMissingError
from sentviz.export.chromium import find_browser
from sentviz.export.files import render
from sentviz.runs.catalog import study_runs
from sentviz.runs.registry import papers
from sentviz.runs.store import Run
from tests.charts import picture
from tools import layout
from tools.layout import drawn, names, of_pdf, of_png, of_svg
from tools.picture import Reader, reader

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.browser,
    pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine"),
]

SAMPLE = {  # broken once, at the size where they were
    "verdict": "column",
    "strip": "column",
    "lambda-grid": "column",
    "particles": "column",
    "epoch-confusion": "column",
    "lexicon-difference": "column",
    "embeddings": "wide",
    "silhouette": "web",
}


@pytest.fixture(scope="module")
def read() -> Iterator[Reader]:
    """Start one browser for all pictures of this file."""
    pytest.importorskip("playwright.sync_api")
    with reader() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    """Return every run that studies read."""
    return study_runs().runs


def plain(**more: object) -> go.Figure:
    """Return three bars with a title, without any fault."""
    plot = go.Figure(layout=base_layout(LOOKS["light"], title="Three bars", width=400, height=240, margin=(48, 44, 16, 40), **more))
    plot.add_bar(x=[1, 2, 3], y=[3, 5, 4], name="bars")
    return plot


def as_figure(plot: go.Figure) -> Figure:
    """Return the plot as a figure with an empty caption."""
    return Figure("as_figure", picture(plot), pd.DataFrame(), "")


def whole(plot: go.Figure) -> None:
    """Leave the plot unchanged."""


def overlapping(plot: go.Figure) -> None:
    plot.add_annotation(x=2, y=2, text="one word")
    plot.add_annotation(x=2.1, y=2, text="another", textangle=-30)


def cut(plot: go.Figure) -> None:
    plot.add_annotation(x=1, y=0.5, xref="paper", yref="paper", xanchor="left", text="too long for its margin")


def outside(plot: go.Figure) -> None:
    plot.add_shape(type="circle", xref="paper", yref="paper", x0=0.9, x1=1.2, y0=0.4, y1=0.6, fillcolor="#000000")


def half_a_point(plot: go.Figure) -> None:
    plot.add_scatter(x=[4], y=[2], mode="markers", marker={"size": 20}, cliponaxis=True)
    plot.update_xaxes(range=[0, 4])


def covered(plot: go.Figure) -> None:
    plot.update_layout(showlegend=True, legend={"x": 0.5, "y": 0.3, "xanchor": "center"})


def empty(plot: go.Figure) -> None:
    plot.update_layout(xaxis_domain=[0, 0.4])


def tiny(plot: go.Figure) -> None:
    plot.add_annotation(x=1, y=4.5, text="H<sub>2</sub>", font_size=9)


def far_apart(plot: go.Figure) -> None:
    plot.update_layout(yaxis_domain=[0.3, 0.7])


@pytest.mark.parametrize(
    ("plant", "kind"),
    [
        (whole, ""),
        (overlapping, "apart"),
        (cut, "whole"),
        (outside, "inside"),
        (half_a_point, "inside"),
        (covered, "free"),
        (empty, "full"),
        (far_apart, "full"),
        (tiny, "small"),
    ],
)
def test_a_planted_fault_is_found(plant: Callable[[go.Figure], None], kind: str, read: Reader) -> None:
    """Each planted fault of a picture is found as that fault alone."""
    plot = plain()
    plant(plot)
    assert {fault.kind for fault in of_svg(as_figure(plot), "web", read)} == ({kind} if kind else set())


def test_a_page_that_is_not_the_picture_is_found(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PDF that is moved by ten pixels, as browsers print with a margin, and one of another width are found."""
    assert not of_pdf(as_figure(plain()), "web", read)
    moved, wider = plain(), plain()
    moved.update_layout(title_pad_l=22)
    wider.update_layout(width=500)
    for damaged in [wider, *([moved] if layout.poppler() else [])]:
        files = {"pdf": render(as_figure(damaged), "pdf"), "svg": render(as_figure(plain()), "svg")}
        monkeypatch.setattr(layout, "render", lambda figure, format, files=files, **size: files[format])
        assert {fault.kind for fault in of_pdf(as_figure(plain()), "web", read)} == {"page"}


def test_a_png_that_is_not_the_picture_is_found(read: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PNG of another width, one without its title, and a blank one are found."""
    assert not of_png(as_figure(plain()), "column", read)
    svg, kinds = render(as_figure(plain()), "svg", size="column"), []
    for change in ({"width": 500}, {"title_text": ""}, {"title_font_color": "#ffffff"}):
        another_figure = plain()
        another_figure.update_layout(**change)
        files = {"png": render(as_figure(another_figure), "png", size="column"), "svg": svg}
        monkeypatch.setattr(layout, "render", lambda figure, format, files=files, **size: files[format])
        kinds.append({fault.kind for fault in of_png(as_figure(plain()), "column", read)})
    assert kinds == [{"page"}, {"blank"}, {"blank"}]


@pytest.mark.parametrize("case", SAMPLE.items())
def test_a_figure_fits(case: tuple[str, str], read: Reader, runs: list[Run]) -> None:
    """Every figure of a shipped run fits its size as SVG."""
    name, size = case
    try:
        figures = drawn(name, runs)
    except DataMissingError as error:
        pytest.skip(str(error))
    assert figures
    for figure in figures:
        assert not of_svg(figure, size, read), figure.name


def test_no_figure_is_forgotten() -> None:
    """The command draws every registered figure and every item of every paper."""
    assert set(FIGURES) < set(names())
    assert {name.partition(":")[0] for name in names()} - set(FIGURES) == set(papers())
