"""Figures: their frames hold what was computed, any chart is a picture or a sentence, and every figure is registered by name."""

import ast
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from sentviz.charts import Figure, as_text, file_safe, heatmap, palette, small_multiples
from sentviz.charts.chart import Axis, Chart, Mark, Panels, bars, line, points
from sentviz.charts.chart_layout import row_texts
from sentviz.charts.gallery import FIGURES, code, draw
from sentviz.charts.look import PALETTES, Look, Style
from sentviz.charts.registry import figure
from sentviz.charts.subjects import SUBJECTS, Sentence
from sentviz.charts.text import as_run, text_columns
from sentviz.cli import main
from sentviz.errors import InputError, SentvizError
from tests.kit import fake_trace, refused

SENTENCE = ["The", "plot", "drags", ",", "but", "the", "two", "leads", "are", "a", "quiet", "delight", "."]


TEXTS = {
    "<b>x</b>": "&lt;b&gt;x&lt;/b&gt;",
    "&lt;$x$": "&amp;lt;&#36;x&#36;",
    "a\nb\t\x00": "a↵b⇥␀",
    "a\u200bb": "a⬚b",
    " good ": "·good·",
    "": "∅",
    "שלום": "\u2068שלום\u2069",
    "\u202eevil": "⬚evil",
    "\ud800": "\ufffd",
    "a\ufffe\uffff": "a⬚⬚",
    "👩\u200d👧": "👩\u200d👧",
}


def test_any_text_is_shown_as_text_and_cut_by_columns() -> None:
    assert {text: as_text(text) for text in TEXTS} == TEXTS
    assert as_text("a" * 40, 10) == "a" * 9 + "…"
    assert as_text("영" * 40, 10) == "영" * 4 + "…"
    assert as_text("<" * 40, 3) == "&lt;&lt;…"
    assert as_text("a" * 40, None) == "a" * 40
    assert len(as_text("e" + "\u0301" * 10_000, 10)) < 100
    assert text_columns("영화") == 4 and text_columns("e\u0301") == 1
    name = "twitter_financial/ndt-symmetric-4-seed2"
    assert as_run(name, 40) == name
    label = as_run(name, 32)  # keeps model and seed
    assert len(label) == 32 and label.startswith("twitter") and label.endswith("symmetric-4-seed2")
    assert "<" not in as_run("<b>" * 30, 32) and text_columns(as_run("영화" * 40, 20)) <= 20
    assert file_safe("Attention", "../../etc/passwd", "A₁") == "attention-..-..-etc-passwd-a"
    assert file_safe("한국어") == "figure"
    for name in ("a/b", "../a", "a b", "", "Ä"):
        refused(InputError, r"is not a safe file name. Name it for example '[a-z.-]+'", Figure, name, go.Figure(), pd.DataFrame(), "")
    refused(ValueError, "theme", palette, "sepia")


@pytest.mark.parametrize(("head", "component"), [("mean", "effective"), ("max", 0), (2, 1), (2, "effective")])
def test_heatmap_frame_is_the_map(head: int | str, component: int | str) -> None:
    trace = fake_trace(signed=True, tokens=SENTENCE)
    figure = heatmap(trace, 1, head, component)
    expected = trace.map(1, head, component)
    np.testing.assert_allclose(figure.frame["attention"].to_numpy().reshape(expected.shape), expected, rtol=1e-6)
    np.testing.assert_allclose(figure.plot.data[0].z, expected, rtol=1e-6)
    cell = figure.frame.query("query == 3 and key == 1").iloc[0]
    assert (cell["query_token"], cell["key_token"], cell["attention"]) == ("drags", "The", pytest.approx(expected[3, 1]))


def test_hidden_mass_by_hand_and_what_cannot_be_drawn() -> None:
    attention = np.array([[[[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1]]]], dtype=np.float32)
    trace = fake_trace(tokens=["a", "b"], layers=1, heads=1, components=1).replace(attention=attention)
    figure = heatmap(trace, 0, 0, top=2)  # keys receive 1.2, 1.4, 0.4: the third is hidden; rows 1 and 2 hide 0.2 and 0.1 of 2
    assert sorted(set(figure.frame["key"])) == [0, 1] == sorted(set(figure.frame["query"]))
    assert "2 of 3 keys and 2 of 3 queries are shown; 15.0\u00a0% of their attention is on hidden keys." in figure.caption
    specials = heatmap(trace, 0, 0, hide_specials=True)
    assert sorted(set(specials.frame["key"])) == [1, 2]
    assert "38.9\u00a0%" not in specials.caption and "35.0\u00a0%" in specials.caption  # rows b, c: 0.6 + 0.1 of 2
    trace = fake_trace(n=100)
    trace = trace.replace(attention=trace.attention[:, :, 7:8], query_ids=(7,))  # type: ignore[index]
    assert set(heatmap(trace, 0).frame["query"]) == {7}
    refused(InputError, ".", heatmap, fake_trace(), 0, top=0)
    refused(InputError, ".", heatmap, fake_trace(tokens=[]), 0, hide_specials=True)
    refused(InputError, "layers 0, 1, not 5", heatmap, fake_trace(layers=2), 5)
    for run, name, options, message in (
        ("sst2/ndt-unit-2", "atention", {}, "There is no figure 'atention'; similar names: attention, "),
        ("sst2/ndt-unit-2", "strip", {"layer": 1}, "The figure strip takes no layer; it takes text, pair"),
        ("sst2/vanilla", "lambda", {}, "sst2/vanilla has no lambda."),
        ("sst2/vanilla", "component-words", {}, "one attention map per head"),
        ("imdb/hardmax-d2", "smoother", {}, "is not a softmax"),
        ("sst2/ndt-unit-2", "particles", {}, "`sentviz train imdb --model hardmax-d2`"),
        ("sst2/ndt-unit-2-s1", "head-grid", {}, "`sentviz heads sst2/ndt-unit-2-s1` measures them"),
        ("sst2/ndt-unit-2-s1", "attention", {}, "without weights. `sentviz train`"),
        ("sst2/ndt-unit-2", "agreement", {}, "name the second run with versus"),
        ("sst2", "roc-panels", {}, "takes all, not 'sst2'"),
        ("sst2/ndt-unit-2", "confusion", {"over": "train"}, "no stored predictions for the split 'train'"),
    ):
        refused(SentvizError, f"^[^\n]*{re.escape(message)}[^\n]*$", draw, run, name, **options)


@pytest.mark.parametrize(("layers", "heads", "n"), [(2, 4, 12), (12, 12, 8), (1, 1, 1)])
def test_small_multiples_frame_is_the_maps(layers: int, heads: int, n: int) -> None:
    trace = fake_trace(n=n, layers=layers, heads=heads)
    figure = small_multiples(trace)
    np.testing.assert_allclose(figure.frame["attention"].to_numpy().reshape(trace.attention.shape), trace.attention)
    drawn = np.asarray(figure.plot.data[0].z)
    assert np.isfinite(drawn).sum() == trace.attention.size
    assert len(figure.plot.layout.xaxis.tickvals) == heads * n
    some = small_multiples(fake_trace(n=100, layers=3, heads=2), 0, layers=[2]).frame  # in blocks of 2 tokens
    assert set(some["layer"]) == {2} and set(some["component"]) == {"A₁"} and list(some["key"].unique()) == list(range(0, 100, 2))
    assert some.groupby(["head", "query"])["attention"].sum().to_numpy() == pytest.approx(1, abs=1e-5)


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


@settings(max_examples=25, deadline=None)
@given(charts(), st.sampled_from([0, 250, 390, 900]), st.sampled_from(["light", "dark"]), st.sampled_from(list(PALETTES)))
def test_any_chart_is_drawn_in_any_look(chart: Chart, width: int, theme: Any, palette: str) -> None:
    plot = chart.draw(Look(theme, width, Style(palette=palette)))
    assert plot.layout.width == width or not width
    margin = plot.layout.margin
    assert plot.layout.width - margin.l - margin.r >= 60 or width == 250
    assert plot.layout.height - margin.t - margin.b >= 30
    assert min((note.font.size for note in plot.layout.annotations), default=12) >= 11
    labels = [plot.layout.title.text or "", *(trace.name or "" for trace in plot.data), *(note.text for note in plot.layout.annotations)]
    assert not any(re.search(r"<(?!/?br>)", label) for label in labels)


@settings(max_examples=5, deadline=None)
@given(charts())
def test_a_chart_survives_storage(chart: Chart) -> None:
    assert pickle.loads(pickle.dumps(chart)).draw(Look()).to_json() == chart.draw(Look()).to_json()


def test_rows_and_notebooks_are_written_as_in_python() -> None:
    for make in MAKERS:
        plot = Chart("Nothing", [make(pd.DataFrame({"x": [], "y": []}), "x", "y")]).draw(Look())
        assert [note.text for note in plot.layout.annotations] == ["There is no row to draw."]
    frame = pd.DataFrame({"n": [1234, -5], "share": [0.25, -0.5], "name": ["<b>", "a" * 200]})
    first, second = row_texts("{name}: {n:,} is {share:.0%}", frame)
    assert first == "&lt;b&gt;: 1,234 is 25\u00a0%" and second.endswith(": −5 is −50\u00a0%") and len(second) < 120
    assert row_texts("as it is", frame) == ["as it is"] * 2 and row_texts("", frame) == [""] * 2
    for name, spec in FIGURES.items():
        lines = str(code("a/b", name, **{each.name: each.default for each in spec.options.values()}))
        assert lines.splitlines()[2] == f"figure = draw('a/b', {name!r})" and ast.parse(lines)
    assert "theme='dark'" in str(code("a/b", "strip", theme="dark"))
    refused(InputError, "takes no nonsense", code, "a/b", "strip", nonsense=1)
    listed = CliRunner().invoke(main, ["figures"]).output
    assert all(f" {name} " in listed for name in FIGURES) and all(subject.SAYS in listed for subject in SUBJECTS)
    refused(InputError, "two figures 'strip'", figure("strip", "again", Sentence), lambda of, *, theme="light": None)
    for name in ("mine/map", "..", "My map", "", "strip-", "karte-ä"):
        refused(InputError, "may have only small letters and digits", figure(name, "mine", Sentence, "strip:token_strip"), lambda of: None)
        assert name not in FIGURES


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("strip", "--layer", "2"), "The figure strip takes no layer"),
        (("attention", "-O", "side"), "NAME=VALUE"),
        (("attention", "-O", "hide_specials=perhaps"), "hide_specials must be yes or no, not 'perhaps'"),
        (("strip", "-O", "lambdas=1"), "lambdas must be given in a notebook"),
        (("curves", "-O", "series=a"), "series must be a whole number, or several joined by commas, not 'a'."),
        (("difference", "--versus", "a/b", "--versus", "c/d"), "compares with one run: give --versus once"),
    ],
)
def test_options_are_checked_against_the_figure(arguments: tuple[str, ...], message: str, tiny_run: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["export", str(tiny_run), *arguments, "-o", str(tmp_path / "figure.csv")])
    assert done.exit_code and message in done.output and not list(tmp_path.iterdir())
