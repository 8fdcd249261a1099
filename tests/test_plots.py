"""Pictures of made-up numbers in several looks: every number and every text of the plots is as stored in `tests/data/plots.json`.

`pytest tests/test_plots.py --bless` stores what the code draws now. `tests/golden` compares the tables and captions of all figures.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from sentviz.charts import heatmap, probability_bars, scalar_evolution, small_multiples, token_strip
from sentviz.charts.bar_panels import bar_panels
from sentviz.charts.chart import Axis, Chart, Rule, bars, cells, line, points
from sentviz.charts.clustering import layer_lines
from sentviz.charts.curves import curves
from sentviz.charts.figure import Figure
from sentviz.charts.heads import head_grid
from sentviz.charts.layers import head_table, verdict_lines
from sentviz.charts.look import Look, Style
from sentviz.charts.measured_vs_printed import measured_beside_printed
from sentviz.charts.methods import method_matrix, ranking
from sentviz.charts.scatter import scatter
from sentviz.charts.word_clouds import cloud, word_bars
from sentviz.errors import SentvizError
from sentviz.export.files import _fit_to_style, bare_svg, render
from sentviz.papers.sentiformer.figures import separated
from sentviz.papers.sentiformer.solvers import Setting
from sentviz.runs.target import Target
from tests.charts import answers, figure_of, history, picture, stub
from tests.kit import fake_trace, gated_model, refused, small_model
from tests.stored import DATA, compare, summary

GREY = Style(size="column", palette="grey", title=False, legend="below", note="ours")
LOOKS = {"page": Look(), "phone": Look("dark", 390), "print": Look(style=GREY)}
WORDS = [f"word{i}" for i in range(28)]
RTL = ["הלחם", "של", "good", "bread", "טרי", "מאוד"] * 4
TWO = ("negative", "positive")
PDF = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<</Size 2\n/Root 1 0 R>>\nstartxref\n9\n%%EOF\n"
LENGTHS = [(f"last {k} words", k, n, 100, 0.5 + k / 50, 0.4, 0.7) for k in range(1, 4) for n in (2, 8, 64)]
TABLE = pd.DataFrame({"column": [f"c{i}" for i in range(30)], "row": "a", "value": np.linspace(0, 1, 30)})
HEADS = pd.DataFrame([(0, i, 0.25 + 0.01 * i, 1.5) for i in range(4)], columns=["layer", "head", "entropy", "distance"])
GRID = pd.DataFrame([(i // 7, i % 7, "entropy", i / 21) for i in range(21)], columns=["layer", "head", "measure", "value"])
SERIES = pd.DataFrame(
    {"x": np.tile([0.0, 1.0], 40), "y": np.repeat(np.arange(40.0), 2), "name": np.repeat([f"run {i}" for i in range(40)], 2)}
)
INTERVALS = pd.DataFrame({"x": [0.0, 1.0, 2.0], "y": [0.5, 5.0, 0.5], "low": [0.4, 4.0, 0.1], "high": [0.6, 3.0, 0.9], "name": list("abc")})
BARS = [
    (heading, key, value, text, "plus")
    for heading in ("kernel", "weight")
    for key, (value, text) in enumerate(((0.1, "+0.1"), (-3.0, "−3")))
]
METHODS = pd.DataFrame({"method": [f"method {i}" for i in range(8)], "value": np.linspace(0, 1, 8), "low": 0.1, "high": 0.9, "n": 9})
PRINTED = pd.DataFrame(
    {"model": ["one model", "another"], "printed": [0.9, 0.91], "value": [0.35, 0.43], "low": 0.33, "high": 0.45, "n": 9}
)
PRINTED_LAMBDA = pd.DataFrame({"run": "p", "name": "lambda", "layer": [0, 1], "component": 1, "value": [0.15, 0.9]})
CELLS = go.Figure(
    [
        go.Heatmap(x=["a", "b"], y=["c", "d", "e"], z=[[1, 2], [3, np.nan], [5, 6]], xgap=1),
        go.Heatmap(x=[2.0, 4.0], y=[1.0], z=[[1, 2]], xaxis="x2", yaxis="y2", zmin=0, zmax=9, showscale=False, reversescale=True),
        go.Heatmap(z=[[1], [2]], xaxis="x3", yaxis="y3", coloraxis="coloraxis"),
        go.Scattergl(x=[0, 1], y=[0.5, 0.25], mode="markers", xaxis="x2", yaxis="y2"),
    ],
    {
        "yaxis": {"autorange": "reversed"},
        "xaxis2": {"anchor": "y2"},
        "xaxis3": {"range": [0, 3]},
        "legend": {"yref": "container", "y": 0.5},
        "margin": {"l": 30, "b": 20},
        "annotations": [
            {"x": "b", "y": "d", "text": "of it"},
            {"x": "b", "y": "c", "xref": "x2"},
            {"x": "z", "y": "e"},
        ],
    },
)
MAKERS: dict[str, Callable[[], Figure]] = {
    "cells by name": lambda: Figure("cells", picture(CELLS), pd.DataFrame(), ""),
    "strip": lambda: token_strip(WORDS, np.linspace(-1, 1, 28), low_label="against", high_label="for", title="<i>t"),
    "strip, odd tokens": lambda: token_strip(
        ["<b>", "아주", "x" * 60, "a"], [-2.0, np.nan, 1, 0], removed=[(0, "@you"), (3, "!")], unknown=[1, 0, 0, 0]
    ),
    "strip, long title": lambda: token_strip(WORDS[:3], [0.1, -0.2, 0.3], title="a title of many words " * 9),
    "strip, right to left": lambda: token_strip(["[CLS]", *RTL], np.linspace(-1, 1, len(RTL) + 1), specials=[True] + [False] * len(RTL)),
    "strip, long": lambda: token_strip(["a"] * 500, np.zeros(500)),
    "map": lambda: heatmap(fake_trace(tokens=WORDS), 1),
    "map, signed": lambda: heatmap(fake_trace(signed=True, tokens=["a", "<b>", "a"]), 0, 2, hide_specials=True),
    "map, some tokens": lambda: heatmap(fake_trace(n=80, signed=True).replace(unknown=np.arange(80) == 3), 0, "max"),
    "maps": lambda: small_multiples(fake_trace(n=5, layers=2, heads=4), selected=(1, 2)),
    "maps, layer": lambda: small_multiples(fake_trace(n=5, layers=2, heads=4, signed=True), selected=(0, "mean")),
    "maps, blocks": lambda: small_multiples(fake_trace(n=100, layers=3, heads=2), 0, layers=[2]),
    "probabilities": lambda: probability_bars(["bad", "<b>good"], [0.25, 0.75]),
    "verdict by layer": lambda: verdict_lines(["very bad", "bad", "good"], np.tile([0.21, 0.2, 0.59], (7, 1))),
    "lambda": lambda: scalar_evolution({"run": history(), "b": history(-0.3)}, ["lambda"], printed=PRINTED_LAMBDA),
    "scalars": lambda: scalar_evolution({"run": history(names=("temperature",))}, ["alpha", "temperature"], x="share", change=True),
    "curves": lambda: curves({"a": history(), "b": history(0.3), "c": history(0.1)}, groups={"a": "x", "b": "x", "c": "y"}, x="epoch"),
    "points": lambda: scatter(dots(), classes=TWO, chosen=dots()["label"] == 1, axes=["one", "two", ""]),
    "points by confidence": lambda: scatter(dots(), classes=TWO, colour="confidence", star=(9.0, 9.0), star_name="a <warm> song"),
    "points in space": lambda: scatter(dots(dims=3), classes=TWO, colour="length"),
    "many points": lambda: scatter(dots(2_400), classes=TWO, colour="right", outline=[(0, 0), (1, 0), (0, 1)]),
    "unlabelled points": lambda: scatter(dots().assign(label=-1), classes=TWO),
    "cloud": lambda: cloud(key_words(), ["first", "a long heading " * 9], right=[True, False], selected=(0, "word3")),
    "cloud, by count": lambda: cloud(key_words().assign(sure=False), ["first"], right=[False], by="count"),
    "words": lambda: word_bars(key_words(), title="words", selected="word3"),
    "words, by count": lambda: word_bars(key_words(), title="words", by="count"),
    "methods": lambda: method_matrix([f"w{i}" for i in range(80)], {name: np.sin(np.arange(80) + k) for k, name in enumerate("abc")}),
    "ranking": lambda: ranking(METHODS, title="Any"),
    "bars": lambda: Figure(
        "bars", bar_panels("Bars", BARS, {"kernel": "Kernel", "weight": "Weight"}, {0: "a", 1: "quiet"}), pd.DataFrame(), ""
    ),
    "heads": lambda: head_table(HEADS),
    "grid of heads": lambda: head_grid(GRID, "entropy"),
    "beside print": lambda: measured_beside_printed(PRINTED.assign(seeds=1), title="Accuracy", percent=True),
    "layers": lambda: layer_lines({"places": [9.0, 4.0, 2.0], "leaders": [2.0, 2.0, 2.0]}, "Leaders and places"),
    "lengths": lambda: separated(
        stub(accuracy=pd.DataFrame(LENGTHS, columns=["model", "order", "length", "n", "accuracy", "low", "high"]), setting=Setting("aware"))
    ),
    "exact": lambda: exact("not", "<b>bad", "song"),
    "exact, long parts": lambda: exact("not", "the first half of the film", "a long and painful middle part"),
    "gates": lambda: of_tokens("gates"),
    "positions": lambda: of_tokens("positions"),
    "forgotten rows": lambda: of_epochs("epoch-rows"),
    "epochs": lambda: of_epochs("epoch-points"),
    "confusion": lambda: figure_of("confusion", stub(first=answers([[9, 1], [2, 8]], TWO))),
    "colours": lambda: figure_of("colours", stub()),
    "table without room": lambda: chart(
        cells(TABLE, "column", "row", "value"), x=Axis(rows={c: c for c in TABLE["column"]}), y=Axis(rows={"a": "a"})
    ),
    "faint bars": lambda: chart(bars(INTERVALS, "x", "y", low="low", high="high", faint=True, click=("name",))),
    "many series": lambda: chart(line(SERIES, "x", "y", by="name")),
    "intervals": lambda: chart(points(INTERVALS, "x", "y", low="low", high="high"), rules=[Rule(y=0.5, note="unchanged")]),
    "rows": lambda: chart(
        points(INTERVALS, "y", "name", text="{y:.1f}"), x=Axis("values", form=".1%", zero=True), y=Axis(rows={c: c * 9 for c in "abc"})
    ),
    "nothing": lambda: chart(points(INTERVALS.head(0), "x", "y")),
    "a text": lambda: figure_of("attention", stub(trace=small_model(max_length=48).trace("a warm song"))),
}


def chart(*marks: Any, **options: Any) -> Figure:
    return Figure("chart", Chart("Chart", [*marks], **options), pd.DataFrame(), "")


def dots(n: int = 40, dims: int = 2) -> pd.DataFrame:
    label = np.arange(n) % 2
    predicted = np.arange(n) // 2 % 2
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(n)], "label": label, "predicted": predicted, "right": label == predicted})
    frame = frame.assign(confidence=np.linspace(0.5, 1, n), length=np.arange(n) + 1, text="a <i>warm</i> song")
    return frame.assign(**{axis: np.sin((k + 1) * np.arange(n)) for k, axis in enumerate("xyz"[:dims])})


def key_words(n: int = 20) -> pd.DataFrame:
    """Return typical words of one cell with their places."""
    frame = pd.DataFrame({"cell": 0, "word": [f"word{k}" for k in range(n)], "z": np.linspace(12, 2, n), "count": 9, "rows": 9})
    frame = frame.assign(sure=frame["z"] > 6, x=np.linspace(20, 300, n), y=np.linspace(10, 220, n), size=12.0, width=40.0)
    return frame.assign(value=1.5, low=0.5, high=2.5, share=0.01, share_low=0.005, share_high=0.02, rest=0.001)


def exact(*parts: str) -> Figure:
    pairs = np.array([[0.0, 2.0, -0.1], [2.0, 0.0, -1.0], [-0.1, -1.0, 0.0]])
    numbers = {"values": np.array([1.0, -2.0, 0.5]), "interactions": pairs, "full": 0.0, "empty": 0.0, "rise": 0.0}
    players = [stub(text=part) for part in parts]
    result = stub(players=players, measure="log-odds", absent="deleted", by="words", summary="", target=Target(), **numbers)
    return figure_of("exact", stub(once=lambda key, compute: result))


def of_tokens(name: str) -> Figure:
    model = gated_model()
    trace = model.trace("What a warm garden, and not a dull song!", maps=False, projections=True, gates_shut=[4])
    return figure_of(
        name, stub(trace=trace, model=model, run=stub(capabilities=stub(tags=True), config={"tagger": {"version": "english-1"}}))
    )


def of_epochs(name: str) -> Figure:
    right = np.array([[0, 1, 1, 1], [1, 0, 1, 1], [1, 0, 0, 1], [1, 0, 1, 1]], dtype=bool)
    first = stub(ids=["learned", "once", "twice", "never"], labels=np.array([0, 1, 0, 1]))
    series = stub(epochs=[1, 2, 3, 4], right=right, first=first, vectors=np.sin(np.arange(32.0)).reshape(4, 4, 2))
    return figure_of(name, stub(series=series, run=stub(labels=TWO)))


@pytest.mark.parametrize("name", MAKERS)
def test_a_picture_is_as_stored(name: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The plot on a page, on a narrow dark page and in print, and what the browser must draw for a PDF."""
    figure, now, drawn = MAKERS[name](), {}, []
    browser = stub(render=lambda *scene: drawn.append(scene) or b"<svg/>", paint=lambda *scene: drawn.append(scene) or PDF)
    monkeypatch.setattr("sentviz.export.files.BROWSER", browser)
    render(replace(figure, caption="A caption of several words. " * 6), "pdf", points=9, style=GREY)
    drawn[0][0]["layout"].pop("template", None)
    now["file"] = summary(drawn)
    for look, choices in LOOKS.items():
        plot = replace(figure, look=choices).plot.to_plotly_json()
        plot["layout"].pop("template", None)
        now[look] = summary(plot)
    compare("plots.json", name, now, request)


def test_a_picture_without_a_caption_has_the_size_of_its_style(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentviz.export.files.BROWSER", stub(render=lambda plot, options: (plot, options)))
    figure = Figure("cells", picture(CELLS), pd.DataFrame(), "words")
    plot: Any
    for style, wide, high in ((Style(), 800, 480), (GREY, GREY.millimetres / 25.4 * 96, GREY.millimetres / 25.4 * 96 * 480 / 800)):
        (plot, options), width, height = bare_svg(figure, style)
        assert (width, height) == pytest.approx((wide, high)) and options["scale"] == pytest.approx(wide / 800)
        assert {**options, "scale": 1} == {"format": "svg", "width": 800, "height": 480, "scale": 1}
        assert [trace["type"] for trace in plot["data"]] == ["bar"] * 3 + ["scatter"]
        assert [list(plot["layout"][axis]["range"]) for axis in ("yaxis", "xaxis2")] == [[2.5, -0.5], [1.0, 5.0]]
        assert [(note.get("x"), note.get("y")) for note in plot["layout"]["annotations"]] == [(1, 1), ("b", 0), ("z", 2)]
    at_places = _fit_to_style(figure, "", Style(), None, None, vectors=False)[0].data[0]
    assert (list(at_places.x), list(at_places.y)) == ([0, 1], [0, 1, 2])
    uneven = go.Figure([go.Heatmap(x=[0, 1, 3], z=[[1, 2]])])
    refused(SentvizError, "irregular cells cannot", bare_svg, Figure("cells", picture(uneven), pd.DataFrame(), ""), Style())


def test_the_templates_of_looks_are_as_stored(request: pytest.FixtureRequest) -> None:
    looks = LOOKS | {"serif": Look("dark", style=Style(font="serif", points=8)), "slide": Look(style=Style(size="slide"))}
    bars = probability_bars(["a", "b"], [0.25, 0.75])
    now = {name: summary(replace(bars, look=look).plot.to_plotly_json()["layout"]["template"]) for name, look in looks.items()}
    compare("outputs.json", "templates", now, request)


def test_every_picture_is_stored_once() -> None:
    assert json.loads((DATA / "plots.json").read_text(encoding="utf-8")).keys() == MAKERS.keys()
