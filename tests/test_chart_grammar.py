"""The grammar of charts under any data: every chart is a picture that fits its place, or one sentence."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentviz.charts.chart import Axis, Chart, Mark, Panels, bars, line, points
from sentviz.charts.chart_layout import row_texts
from sentviz.charts.look import PALETTES, Look, Style

NAMES = ["negative", "a" * 300, "two words " * 30, "مرحبا بالعالم", "감성 분석 모델", "<b>bold</b>", "a&b", "", "−0.5"]
NUMBERS = st.floats(-1e6, 1e6) | st.sampled_from([np.inf, -np.inf, np.nan, 0.0])
MAKERS: tuple[Callable[..., Mark], ...] = (points, line, bars)


@st.composite
def charts(draw: st.DrawFn) -> Chart:
    """Return a chart of up to 12 rows of hostile names and numbers, whose intervals may lie on the wrong side."""
    n = draw(st.integers(0, 12))

    def column() -> list[float]:
        return draw(st.lists(NUMBERS, min_size=n, max_size=n))

    frame = pd.DataFrame({"x": column(), "y": column(), "low": column(), "high": column()}, dtype=float)
    frame["name"] = draw(st.lists(st.sampled_from(NAMES), min_size=n, max_size=n))
    frame["panel"] = draw(st.lists(st.sampled_from(["one", "two"]), min_size=n, max_size=n))
    rows = draw(st.booleans())
    interval: dict[str, Any] = {"low": "low", "high": "high"} if draw(st.booleans()) else {}
    words: dict[str, Any] = {"hover": "{name}: {y:.2f}", "text": draw(st.sampled_from(["", "{x:.1f}"]))}
    by, make = draw(st.sampled_from(["", "name"])), draw(st.sampled_from(MAKERS))
    mark = make(frame, "x", "name" if rows else "y", by=by, **words, **interval)
    down = Axis("values", rows={name: name for name in NAMES}) if rows else Axis(draw(st.sampled_from(NAMES)))
    panels = Panels("panel", {"one": "One", "two": NAMES[2]}) if draw(st.booleans()) else None
    ends = "{name}" if not rows and mark.kind == "line" and mark.by and draw(st.booleans()) else ""
    return Chart(draw(st.sampled_from(NAMES)), [mark], Axis(draw(st.sampled_from(NAMES))), down, panels=panels, ends=ends)


@settings(max_examples=60, deadline=None)
@given(charts(), st.sampled_from([0, 250, 390, 900]), st.sampled_from(["light", "dark"]), st.sampled_from(list(PALETTES)))
def test_any_chart_is_drawn_in_any_look(chart: Chart, width: int, theme: Any, palette: str) -> None:
    """The picture has the asked width, room for its axes, letters of at least 11 pixels, and nobody's text as markup."""
    plot = chart.draw(Look(theme, width, Style(palette=palette)))
    assert plot.layout.width == width or not width
    margin = plot.layout.margin
    assert plot.layout.width - margin.l - margin.r >= 60 or width == 250
    assert plot.layout.height - margin.t - margin.b >= 30
    assert min((note.font.size for note in plot.layout.annotations), default=12) >= 11
    labels = [plot.layout.title.text or "", *(trace.name or "" for trace in plot.data), *(note.text for note in plot.layout.annotations)]
    assert not any(re.search(r"<(?!/?br>)", label) for label in labels)


@settings(max_examples=12, deadline=None)
@given(charts())
def test_a_chart_survives_storage(chart: Chart) -> None:
    assert pickle.loads(pickle.dumps(chart)).draw(Look()).to_json() == chart.draw(Look()).to_json()


@pytest.mark.parametrize("make", MAKERS)
def test_an_empty_chart_says_so(make: Callable[..., Mark]) -> None:
    plot = Chart("Nothing", [make(pd.DataFrame({"x": [], "y": []}), "x", "y")]).draw(Look())
    assert [note.text for note in plot.layout.annotations] == ["There is no row to draw."]


def test_words_of_rows_are_those_of_pythons_format() -> None:
    frame = pd.DataFrame({"n": [1234, -5], "share": [0.25, -0.5], "name": ["<b>", "a" * 200]})
    first, second = row_texts("{name}: {n:,} is {share:.0%}", frame)
    assert first == "&lt;b&gt;: 1,234 is 25\u00a0%" and second.endswith(": −5 is −50\u00a0%") and len(second) < 120
    assert row_texts("as it is", frame) == ["as it is"] * 2 and row_texts("", frame) == [""] * 2
