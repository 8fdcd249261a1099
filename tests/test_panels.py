"""Shared parts of figures, sizes of print, tables in files and on pages, numbers as people read them, and looks of figures."""

import io
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sentviz.browser.packing import marked
from sentviz.charts import Figure, fonts, heatmap, probability_bars
from sentviz.charts.chart import Drawing
from sentviz.charts.figure import base_layout
from sentviz.charts.layers import verdict_lines
from sentviz.charts.look import FONTS, LEGENDS, PALETTES, PLAIN, SIZES, Look, Style
from sentviz.charts.methods import method_matrix
from sentviz.charts.panels import pushed_apart
from sentviz.charts.plane import View, decision_line
from sentviz.charts.scatter import scatter
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.export.chromium import find_browser
from sentviz.export.embedded_record import extract_record
from sentviz.export.files import render
from sentviz.export.verify import verify
from sentviz.io.glossary import glossary, tip
from sentviz.io.numbers import MINUS, PERCENT, in_points, number, p_value, percent, probability, signed, span, written
from tests.charts import picture
from tests.kit import fake_trace, refused
from tests.shipped import often

finite = st.floats(-1e9, 1e9)
RUN = "sst2/ndt-unit-2"
numbers = st.integers(20, 600).map(float)
spans = st.tuples(st.integers(-99, 0), st.integers(1, 99)).map(lambda span: (float(span[0]), float(span[1])))
styles = st.builds(
    Style,
    size=st.sampled_from(["screen", *SIZES]),
    width=numbers,
    points=st.sampled_from([0.0, 4.0, 9.5]),
    font=st.sampled_from(list(FONTS)),
    title=st.booleans(),
    caption=st.sampled_from([None, True, False]),
    legend=st.sampled_from(list(LEGENDS)),
    palette=st.sampled_from(list(PALETTES)),
    x=st.none() | spans,
    note=st.text(max_size=40),
)


def test_views_lines_and_names_are_where_slow_computations_put_them() -> None:
    points, inner = np.array([[0.0, 0.0], [10.0, 1.0]]), (350, 250)
    view = View.around(points, inner, (50, 60))
    np.testing.assert_allclose((view.high - view.low) / view.unit, inner)
    assert (np.ptp(points, axis=0) / view.unit + (50, 60) <= np.add(inner, 1e-9)).all()
    np.testing.assert_allclose((view.low + view.high) / 2, [5, 0.5])
    np.testing.assert_allclose(view.pixels([[5, 0.5]]), [[175, 125]])
    plot, w, b = go.Figure(), np.array([2.0, -1.0]), 0.5
    view = View(-np.ones(2), np.ones(2), 0.01, np.array([200.0, 200.0]))
    decision_line(plot, (w, b), view, "#000000")
    ends = np.stack([plot.data[0].x, plot.data[0].y], axis=1)
    np.testing.assert_allclose(ends @ w + b, 0, atol=1e-9)
    assert (np.abs(ends).max(axis=1) > 1).all()
    decision_line(plot, (np.zeros(2), b), view, "#000000")
    assert len(plot.data) == 1
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 9):
        heights, least = np.sort(rng.uniform(size=n)), 0.15
        slow, owed = heights.copy(), np.zeros((n, n))
        for _ in range(4000):
            for i in range(n - 1):
                back = slow + owed[i]
                short = max(least - (back[i + 1] - back[i]), 0) / 2
                slow = back.copy()
                slow[i], slow[i + 1] = back[i] - short, back[i + 1] + short
                owed[i] = back - slow
        np.testing.assert_allclose(pushed_apart(heights, least), slow, atol=1e-6)
    np.testing.assert_array_equal(pushed_apart([0.0, 1.0], 0.5), [0.0, 1.0])


def test_words_are_text_and_odd_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for changed in [{"a": 1, "b": 3}, {"a": 1}, {"a": 1, "b": 2, "c": None}]:
        mark = marked({"a": 1, "b": 2})["mark"]
        assert mark == marked({"b": 2, "a": 1})["mark"] != marked(changed)["mark"]
    svg = b'<svg xmlns="http://www.w3.org/2000/svg"><text style="font-family: Nowhere Sans;">abc</text></svg>'
    monkeypatch.setattr(fonts, "font_file", lambda families, letters, bold=False: None)
    assert fonts.embed_fonts(svg) == svg
    figure = probability_bars(["50% & more", "a_b"], [0.25, 0.75])
    tex = render(Figure("x", figure.picture, figure.frame, "Costs $5 {now}."), "tex").decode()
    assert r"\toprule" in tex and r"\bottomrule" in tex
    assert r"50\% \& more" in tex and r"a\_b" in tex
    assert r"\$5 \{now\}" in tex and tex.startswith("% ")
    for wrong, message in (({"size": "poster"}, "column or wide or slide"), ({"size": "column", "points": 1}, "points")):
        refused(InputError, message, render, figure, "png", **wrong)
    figure = method_matrix(["<b>bad</b>", "$x$", "a" * 90, "ok"], {"<i>m</i>": [1.0, 2.0, 3.0, 4.0]})
    texts = [*figure.plot.layout.xaxis.ticktext, *figure.plot.layout.yaxis.ticktext, *np.ravel(figure.plot.data[0].customdata)]
    assert not any("<" in text or "$" in text for text in texts) and max(map(len, texts)) < 120
    for tokens, scores in (([], {"m": []}), (["a"], {}), (["a"], {"m": [1.0, 2.0]})):
        refused(InputError, "needs a word, a method", method_matrix, tokens, scores)


@pytest.mark.exhaustive
@pytest.mark.skipif(find_browser() is None, reason="no Chrome or Chromium on this machine")
@pytest.mark.parametrize("name", often(SIZES, "wide"))
def test_an_svg_is_as_wide_as_its_place(name: str) -> None:
    svg = render(heatmap(fake_trace(tokens=["a", "<b>", "quiet", "delight"]), 0), "svg", size=name)
    root = ElementTree.fromstring(svg)
    assert float(root.attrib["width"]) / 96 * 25.4 == pytest.approx(SIZES[name].millimetres, abs=0.5)
    factor = float(root.attrib["width"]) / float(root.attrib["viewBox"].split()[2])
    assert 13 * factor * 72 / 96 == pytest.approx(SIZES[name].points, rel=1e-3)


def of(frame: pd.DataFrame, caption: str = "", **options: tuple[str, ...]) -> Figure:
    return Figure("f", picture(go.Figure()), frame, caption, **options)


def read(figure: Figure) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(render(figure, "csv")), encoding="utf-8-sig", dtype=str, keep_default_na=False)


def body(figure: Figure) -> list[list[str]]:
    """Return the cells of a table in TEX."""
    lines = render(figure, "tex").decode().split("\\midrule")[1].split("\\bottomrule")[0].splitlines()
    return [[cell.strip() for cell in line.replace("\\\\", "").split("&")] for line in lines if line.strip()]


def test_tables_and_styles_are_written_or_refused_in_a_sentence() -> None:
    columns = ["layer", "head", "component", "query", "token", "value"]
    frame = pd.DataFrame([[0, -1, 0, 3, "a", 0.5], [1, 2, 1, 0, "b", 1.5]], columns=columns)
    assert read(of(frame)).to_numpy().tolist() == [["1", "", "1", "4", "a", "0.5"], ["2", "3", "2", "1", "b", "1.5"]]
    assert body(of(frame, from_zero=("layer",))) == [["0", "", "1", "4", "a", "0.5"], ["1", "3", "2", "1", "b", "1.5"]]
    assert frame["layer"].tolist() == [0, 1] and frame["head"].tolist() == [-1, 2]
    first, states = read(heatmap(fake_trace(), 0)), verdict_lines(["no", "yes"], np.full((3, 2), 0.5))
    assert set(first["layer"]) == {"1"} and first["query"].astype(int).min() == 1 and set(read(states)["layer"]) == {"0", "1", "2"}
    rows = [("a/b", "lambda", layer, 1, step, step / 10, step / 50) for layer in (0, 1) for step in range(50)]
    lambdas = of(pd.DataFrame(rows, columns=["run", "name", "layer", "component", "step", "epoch", "value"]), "Lambda.")
    assert [(cells[2], cells[-1]) for cells in body(lambdas)] == [("1", "0.98"), ("2", "0.98")]
    assert "This table shows the last step of each line." in render(lambdas, "tex").decode()
    capped = of(pd.DataFrame({"word": [f"w{i}" for i in range(500)], "value": 0.5}))
    assert len(body(capped)) == 40 and "the first 40 of 500 rows" in render(capped, "tex").decode()
    columns = {"x": 0.0, "y": 0.0, "label": [0, 1, 1] * 100, "predicted": 1, "right": [False, True, True] * 100, "confidence": 0.9}
    points = scatter(pd.DataFrame({"id": range(300)} | columns), classes=["no", "yes"])
    assert body(points) == [["no", "100", "0"], ["yes", "200", "200"]]
    figure = heatmap(fake_trace(tokens=["a", "b", "a"]), 0)
    names = ["[CLS] (1)", "a (2)", "b (3)", "a (4)"]
    assert figure.printed is not None
    assert list(figure.printed.columns) == ["token", *names] and figure.printed["token"].tolist() == names
    np.testing.assert_array_equal(figure.printed.iloc[:, 1:].to_numpy().ravel(), figure.frame["attention"])
    for text, message in [
        ("size=poster", "size must be screen or column or wide or slide, not 'poster'."),
        ("width=5", "The style's width must be 0 or at least 20, not 5."),
        ("height=nan", "height must be a finite number, not 'nan'."),
        ("points=99", "The style's points must be a number from 0 to 40, not 99.0."),
        ("title=perhaps", "title must be yes or no, not 'perhaps'."),
        ("x=3..1", "The style's x must begin with the smaller number"),
        ("x=0..inf", "x must be from..to, not '0..inf'."),
        ("y=low", "y must be from..to, not 'low'."),
        ("colour=red", "A style is written as NAME=VALUE with the names size, width"),
        ("note=" + "a" * 301, "The style's note must be a text of at most 300 characters, not 'aaa"),
    ]:
        with pytest.raises(InputError) as caught:
            Style.parse(text)
        assert message in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(InputError, match="The axis y of this figure has no numbers"):
        styled(heatmap(fake_trace(tokens=["a", "b"]), 0), Style(y=(0, 1))).plot  # noqa: B018 - it is drawn here
    with pytest.raises(InputError, match="logarithmic"):
        styled(lines(xaxis_type="log"), Style(x=(0, 1))).plot  # noqa: B018 - it is drawn here
    assert styled(lines(xaxis_type="log"), Style(x=(1, 100))).plot.layout.xaxis.range == (0, 2)
    assert styled(lines(yaxis_autorange="reversed"), Style(y=(0, 5))).plot.layout.yaxis.range == (5, 0)
    assert styled(lines(), Style(x=(0, 9))).plot.layout.yaxis.range is None


def test_numbers_and_terms_are_written_by_hand() -> None:
    assert percent(0.936) == "93.6\u00a0%" and percent(0.936, 0) == "94\u00a0%"
    assert percent(0.936, ends=(0.932, 0.94)) == "93.6\u00a0% [93.2, 94.0]"
    assert percent(-0.25, 0, (-0.3, 0.1), signed) == "−25\u00a0% [−30, +10]"
    assert in_points(0.012, (-0.003, 0.027)) == "+1.20 points [−0.30, +2.70]" and in_points(0.5, write=number) == "50.00 points"
    assert number(1234.5, 1) == "1,234.5" and number(-0.001) == "0.00" and signed(-0.001) == "−0.00" and number(0.5, unit=" s") == "0.50 s"
    assert [probability(p) for p in (0.9996, 0.5, 0.001)] == [">99\u00a0%", "50\u00a0%", "<1\u00a0%"]
    assert [p_value(p) for p in (0.0123, 0.2, 1.0, 1e-9)] == ["p = 0.012", "p = 0.2", "p = 1", "p < 0.0001"]
    assert span([3, 1, 2]) == "1 to 3" and span([2000, 2000]) == "2,000" and span([0.5, 0.25], percent) == "25.0\u00a0% to 50.0\u00a0%"
    assert written("a-1%", "") == "a-1%" and written(-0.5, ".0%") == "−50\u00a0%" and written(-5) == "−5"
    for term in glossary().values():
        assert term.title and term.paper and term.text.endswith((".", ")")) and term.formula.count("{") == term.formula.count("}")
    for name in ("component", "effective", "lambda", "constraint", "gate", "leader", "silhouette"):
        assert glossary()[name].text in tip(name)


@given(finite, st.integers(0, 4))
def test_what_is_written_is_the_number(value: float, digits: int) -> None:
    for text, exact in ((number(value, digits), value), (signed(value, digits), value), (percent(value, digits), 100 * value)):
        read = float(text.replace(MINUS, "-").replace(",", "").removesuffix(PERCENT))
        assert read == float(f"{exact:.{digits}f}") and not re.search(r"-|\d%", text)


def _series(look: Look, count: int, axes: dict[str, object]) -> go.Figure:
    plot = go.Figure(layout=base_layout(look, title="Series", width=look.room or 600, height=400, margin=(60, 50, 30, 50), **axes))
    for k in range(count):
        plot.add_scatter(x=[1, 2, 3], y=[k, 2 * k, k], name=f"series {k}", mode="lines+markers", line_color=look.colours.lines[k])
    return plot


def lines(count: int = 3, **axes: object) -> Figure:
    picture = Drawing(_series, {"count": count, "axes": axes})
    return Figure("series", picture, pd.DataFrame({"x": [1, 2, 3]}), "Three series.")


def styled(figure: Figure, style: Style) -> Figure:
    return replace(figure, look=Look(style=style))


@given(styles)
def test_a_style_survives_its_text(style: Style) -> None:
    assert Style.parse(style.text) == style
    assert Style.parse([f"{name}={style.text.split(f'{name}=', 1)[1]}" for name in style.changes if name == "note"]).note == style.note
    assert PLAIN.text == "" and Style.parse("") == PLAIN


def test_the_command_writes_a_style_and_the_file_says_it(tmp_path: Path) -> None:
    path = tmp_path / "bars.html"
    call = ["export", RUN, "verdict", "--style", "palette=grey", "--style", "note=Ours", "--size", "column", "-o", str(path)]
    done = CliRunner().invoke(main, call)
    assert done.exit_code == 0, done.output
    assert extract_record(path.read_bytes())[1].style == "size=column~palette=grey~note=Ours" and verify(path).state == "equal"
    done = CliRunner().invoke(main, [*call, "--style", "legend=inside"])
    assert done.exit_code == 1 and "legend must be own or right or below or above or none, not 'inside'" in done.output
    assert not styled(probability_bars(["a", "b"], [0.1, 0.9]), PLAIN).plot.layout.title.text
