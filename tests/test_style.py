"""Looks of figures: every value, any figure, and nothing of what it says changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sentviz.charts import Figure, heatmap, probability_bars
from sentviz.charts.chart import Drawing
from sentviz.charts.figure import base_layout
from sentviz.charts.look import FONTS, LEGENDS, PALETTES, PLAIN, SIZES, Look, Style
from sentviz.cli import main
from sentviz.errors import InputError
from sentviz.export.embedded_record import extract_record
from sentviz.export.verify import verify
from tests.kit import fake_trace

RUN = "sst2/ndt-unit-2"


def _series(look: Look, count: int, axes: dict[str, object]) -> go.Figure:
    plot = go.Figure(layout=base_layout(look, title="Series", width=look.room or 600, height=400, margin=(60, 50, 30, 50), **axes))
    for k in range(count):
        plot.add_scatter(x=[1, 2, 3], y=[k, 2 * k, k], name=f"series {k}", mode="lines+markers", line_color=look.colours.lines[k])
    return plot


def lines(count: int = 3, **axes: object) -> Figure:
    """Return a figure with `count` series of three points each."""
    picture = Drawing(_series, {"count": count, "axes": axes})
    return Figure("series", picture, pd.DataFrame({"x": [1, 2, 3]}), "Three series.")


def styled(figure: Figure, style: Style) -> Figure:
    return replace(figure, look=Look(style=style))


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


@given(styles)
def test_a_style_survives_its_text(style: Style) -> None:
    assert Style.parse(style.text) == style
    assert Style.parse([f"{name}={style.text.split(f'{name}=', 1)[1]}" for name in style.changes if name == "note"]).note == style.note
    assert PLAIN.text == "" and Style.parse("") == PLAIN


@pytest.mark.parametrize(
    ("text", "message"),
    [
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
    ],
)
def test_bad_values_are_told_in_a_sentence(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Style.parse(text)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_range_needs_an_axis_that_counts() -> None:
    with pytest.raises(InputError, match="The axis y of this figure has no numbers"):
        styled(heatmap(fake_trace(tokens=["a", "b"]), 0), Style(y=(0, 1))).plot  # noqa: B018 - it is drawn here
    with pytest.raises(InputError, match="logarithmic"):
        styled(lines(xaxis_type="log"), Style(x=(0, 1))).plot  # noqa: B018 - it is drawn here
    assert styled(lines(xaxis_type="log"), Style(x=(1, 100))).plot.layout.xaxis.range == (0, 2)
    assert styled(lines(yaxis_autorange="reversed"), Style(y=(0, 5))).plot.layout.yaxis.range == (5, 0)
    assert styled(lines(), Style(x=(0, 9))).plot.layout.yaxis.range is None


def test_the_command_writes_a_style_and_the_file_says_it(tmp_path: Path) -> None:
    path = tmp_path / "bars.html"
    call = ["export", RUN, "verdict", "--style", "palette=grey", "--style", "note=Ours", "--size", "column", "-o", str(path)]
    done = CliRunner().invoke(main, call)
    assert done.exit_code == 0, done.output
    assert extract_record(path.read_bytes())[1].style == "size=column~palette=grey~note=Ours"
    assert verify(path).state == "equal"
    done = CliRunner().invoke(main, [*call, "--style", "legend=inside"])
    assert done.exit_code == 1 and "legend must be own or right or below or above or none, not 'inside'" in done.output
    assert not styled(probability_bars(["a", "b"], [0.1, 0.9]), PLAIN).plot.layout.title.text
