"""Figures: their frames hold what was computed, their pictures what was meant."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from sentviz.charts import (
    Figure,
    Theme,
    as_text,
    file_safe,
    heatmap,
    palette,
    probability_bars,
    scalar_evolution,
    small_multiples,
    token_strip,
)
from sentviz.charts.colours import blend, ink_on
from sentviz.charts.curves import curves
from sentviz.charts.look import LOOKS, Look
from sentviz.charts.scatter import scatter
from sentviz.charts.text import as_run, text_columns
from sentviz.errors import InputError
from tests.kit import fake_trace

SENTENCE = ["The", "plot", "drags", ",", "but", "the", "two", "leads", "are", "a", "quiet", "delight", "."]
THEMES: tuple[Theme, ...] = ("light", "dark")


def history(start: float = 0.2) -> pd.DataFrame:
    """Return two layers with lambda_1 to lambda_3 at steps 0, 10, 20 (growing by 0.01 each), and accuracies with a tied best."""
    rows = [
        (step, step / 10, "lambda", layer, c, 1.0 if c == 0 else start + 0.1 * layer - 0.04 * (c - 1) + 0.001 * step)
        for layer in (0, 1)
        for c in (0, 1, 2)
        for step in (20, 0, 10)
    ]
    rows += [(step, step / 10, "train_loss", -1, -1, 1 - step / 40) for step in (0, 5, 10, 15, 20)]
    rows += [(10, 1.0, "validation_accuracy", -1, -1, 0.8), (20, 2.0, "validation_accuracy", -1, -1, 0.8)]
    return pd.DataFrame(rows, columns=["step", "epoch", "name", "layer", "component", "value"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<script>", "&lt;script&gt;"),
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("&lt;", "&amp;lt;"),
        ("$x$", "&#36;x&#36;"),
        ("a\nb", "a↵b"),
        ("\t", "⇥"),
        ("a\x00", "a␀"),
        ("a\u200bb", "a⬚b"),
        (" good ", "·good·"),
        ("  ", "··"),
        ("", "∅"),
        ("שלום", "\u2068שלום\u2069"),
        ("\u202eevil", "⬚evil"),
        ("\ud800", "\ufffd"),
        ("a\ufffe\uffff", "a⬚⬚"),
        ("👩\u200d👧", "👩\u200d👧"),
    ],
)
def test_any_text_is_shown_as_text(text: str, expected: str) -> None:
    assert as_text(text) == expected


def test_a_long_run_name_keeps_its_model_and_seed() -> None:
    name = "twitter_financial/ndt-symmetric-4-seed2"
    assert as_run(name, 40) == name
    label = as_run(name, 32)
    assert len(label) == 32 and label.startswith("twitter") and label.endswith("symmetric-4-seed2")
    assert "<" not in as_run("<b>" * 30, 32)
    assert text_columns(as_run("영화" * 40, 20)) <= 20


def test_long_text_is_cut_by_columns_not_by_characters() -> None:
    assert as_text("a" * 40, 10) == "a" * 9 + "…"
    assert as_text("영" * 40, 10) == "영" * 4 + "…"
    assert as_text("<" * 40, 3) == "&lt;&lt;…"
    assert as_text("a" * 40, None) == "a" * 40
    assert len(as_text("e" + "\u0301" * 10_000, 10)) < 100
    assert text_columns("영화") == 4 and text_columns("e\u0301") == 1


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("head", ["mean", "max", 2])
@pytest.mark.parametrize("component", ["effective", 0, 1])
def test_heatmap_frame_is_the_map(signed: bool, head: int | str, component: int | str) -> None:
    trace = fake_trace(signed=signed, tokens=SENTENCE)
    figure = heatmap(trace, 1, head, component)
    expected = trace.map(1, head, component)
    np.testing.assert_allclose(figure.frame["attention"].to_numpy().reshape(expected.shape), expected, rtol=1e-6)
    np.testing.assert_allclose(figure.plot.data[0].z, expected, rtol=1e-6)
    cell = figure.frame.query("query == 3 and key == 1").iloc[0]
    assert (cell["query_token"], cell["key_token"], cell["attention"]) == (
        "drags",
        "The",
        pytest.approx(expected[3, 1]),
    )


def test_equal_tokens_stay_apart() -> None:
    figure = heatmap(fake_trace(tokens=["good"] * 8), 0)
    assert figure.plot.layout.xaxis.ticktext == figure.plot.layout.yaxis.ticktext
    assert len(figure.plot.layout.xaxis.tickvals) == 9 and len(set(figure.plot.layout.xaxis.tickvals)) == 9
    assert len(figure.frame) == 81


def test_hidden_mass_by_hand() -> None:
    attention = np.array([[[[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1]]]], dtype=np.float32)
    trace = fake_trace(tokens=["a", "b"], layers=1, heads=1, components=1).replace(attention=attention)
    figure = heatmap(trace, 0, 0, top=2)  # keys receive 1.2, 1.4, 0.4: the third is hidden; rows 1 and 2 hide 0.2 and 0.1 of 2
    assert sorted(set(figure.frame["key"])) == [0, 1] == sorted(set(figure.frame["query"]))
    assert "2 of 3 keys and 2 of 3 queries are shown; 15.0\u00a0% of their attention is on hidden keys." in figure.caption
    specials = heatmap(trace, 0, 0, hide_specials=True)
    assert sorted(set(specials.frame["key"])) == [1, 2]
    assert "38.9\u00a0%" not in specials.caption and "35.0\u00a0%" in specials.caption  # rows b, c: 0.6 + 0.1 of 2


def test_row_sums_are_of_all_keys() -> None:
    trace = fake_trace(n=80, signed=True)
    figure = heatmap(trace, 0, 0)
    assert len(set(figure.frame["key"])) == 48
    np.testing.assert_allclose(figure.plot.data[1].customdata, trace.lambdas[0].sum(), atol=1e-5)
    assert "the sum of this layer's λ" in figure.caption


def test_one_query_row_survives_the_cut() -> None:
    trace = fake_trace(n=100)
    assert trace.attention is not None
    trace = trace.replace(attention=trace.attention[:, :, 7:8], query_ids=(7,))
    assert set(heatmap(trace, 0).frame["query"]) == {7}


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("draw", [lambda trace: heatmap(trace, 0, 0), small_multiples])
def test_signed_maps_are_centred(draw, theme: Theme) -> None:  # type: ignore[no-untyped-def]
    signed = replace(draw(fake_trace(signed=True)), look=LOOKS[theme]).plot.layout.coloraxis
    assert signed.cmin == -signed.cmax < 0
    assert [colour for _, colour in signed.colorscale] == list(palette(theme).signed)
    plain = replace(draw(fake_trace()), look=LOOKS[theme]).plot.layout.coloraxis
    assert plain.cmin == 0 < plain.cmax
    assert [colour for _, colour in plain.colorscale] == list(palette(theme).sequential)


def test_heatmap_escapes_tokens_everywhere() -> None:
    figure = heatmap(fake_trace(tokens=["<script>", "<b>x</b>", "$x$", "שלום"]), 0)
    labels = "".join(figure.plot.layout.xaxis.ticktext) + "".join(np.ravel(figure.plot.data[0].customdata))
    for raw in ("<script>", "<b>", "$x$"):
        assert raw not in labels
    assert list(figure.frame["key_token"][:3]) == ["[CLS]", "<script>", "<b>x</b>"]


def test_unknown_tokens_are_marked() -> None:
    trace = fake_trace(tokens=["good", "zzyzx"]).replace(unknown=np.array([False, False, True]))
    figure = heatmap(trace, 0)
    assert figure.plot.layout.xaxis.ticktext[2] == "zzyzx°" and "°" in figure.caption


def test_heatmap_refuses_what_it_cannot_show() -> None:
    with pytest.raises(InputError):
        heatmap(fake_trace(), 0, top=0)
    with pytest.raises(InputError):
        heatmap(fake_trace(tokens=[]), 0, hide_specials=True)
    with pytest.raises(InputError, match="layers 0, 1, not 5"):
        heatmap(fake_trace(layers=2), 5)


@pytest.mark.parametrize(("layers", "heads", "n"), [(2, 4, 12), (12, 12, 8), (1, 1, 1)])
def test_small_multiples_frame_is_the_maps(layers: int, heads: int, n: int) -> None:
    trace = fake_trace(n=n, layers=layers, heads=heads)
    figure = small_multiples(trace)
    assert trace.attention is not None
    np.testing.assert_allclose(figure.frame["attention"].to_numpy().reshape(trace.attention.shape), trace.attention)
    drawn = np.asarray(figure.plot.data[0].z)
    assert np.isfinite(drawn).sum() == trace.attention.size
    assert len(figure.plot.layout.xaxis.tickvals) == heads * n
    assert {f"L{layers}", f"H{heads}"} <= {note.text for note in figure.plot.layout.annotations}


@pytest.mark.parametrize(("selected", "framed"), [((1, 2), 1), ((0, "mean"), 4), ((1, "max"), 4)])
def test_small_multiples_take_clicks_and_frame_what_is_open(selected: tuple[int, int | str], framed: int) -> None:
    """Each map is one mark with its layer and head, in its middle; the frame is around the open map, or all maps of the layer."""
    figure = small_multiples(fake_trace(n=5, layers=2, heads=4), selected=selected)
    cells, marks = figure.plot.data
    assert [list(place) for place in marks.customdata] == [[layer, head] for layer in range(2) for head in range(4)]
    grid = np.asarray(cells.z)
    for (layer, head), x, y in zip(marks.customdata, marks.x, marks.y, strict=True):
        assert grid[int(y), int(x)] == pytest.approx(fake_trace(n=5, layers=2, heads=4).map(layer, head)[2, 2])
    (frame,) = figure.plot.layout.shapes
    inside = [frame.x0 < x < frame.x1 and frame.y0 < y < frame.y1 for x, y in zip(marks.x, marks.y, strict=True)]
    assert sum(inside) == framed and inside[4 * selected[0] + 2] and len(small_multiples(fake_trace()).plot.data) == 1


def test_small_multiples_of_chosen_layers_and_blocks() -> None:
    trace = fake_trace(n=100, layers=3, heads=2)
    figure = small_multiples(trace, 0, layers=[2])
    assert set(figure.frame["layer"]) == {2} and set(figure.frame["component"]) == {"A₁"}
    assert figure.frame.groupby(["head", "query"])["attention"].sum().to_numpy() == pytest.approx(1, abs=1e-5)
    assert "block of 2 × 2 tokens" in figure.caption
    assert list(figure.frame["key"].unique()) == list(range(0, 100, 2))


def boxes(figure: Figure) -> pd.DataFrame:
    bar = figure.plot.data[0]
    return pd.DataFrame({"line": bar.y, "start": bar.base, "end": np.add(bar.base, bar.x), "text": bar.text})


def test_strip_shows_what_was_removed_in_its_place() -> None:
    """The boxes are in the order of the text, with removed text in its place; the frame holds the tokens alone."""
    figure = token_strip(["I", "like", "it"], [0.0, 1.0, 0.0], removed=[(0, "@you"), (2, "!!"), (3, "<b>")])
    bar = figure.plot.data[0]
    labels = [text for _, text in sorted(zip(bar.base, bar.text, strict=True))]
    assert labels == ["<s>@you</s>", "I", "like", "<s>!!</s>", "it", "<s>&lt;b&gt;</s>"]
    assert figure.frame["token"].tolist() == ["I", "like", "it"]
    assert "Struck through" in figure.caption and "Struck" not in token_strip(["I"], [0.0]).caption


def test_strip_wraps_without_overlaps() -> None:
    tokens = [*SENTENCE, "아주", "재미있는", "x" * 60, "مرحبا"] * 12
    placed = boxes(replace(token_strip(tokens, np.linspace(-1, 1, len(tokens))), look=Look(width=516)))
    assert placed["line"].is_monotonic_increasing and placed["line"].max() > 5
    assert placed["end"].max() <= 60
    for _, line in placed.groupby("line"):
        assert (line["start"].to_numpy()[1:] > line["end"].to_numpy()[:-1]).all()
    width = (placed["end"] - placed["start"]).groupby(placed["text"]).first()
    assert width["재미있는"] == pytest.approx(8 + 1.2) and width["but"] == pytest.approx(3 + 1.2)


def test_strip_colours_by_sign_and_text_is_legible() -> None:
    for theme in THEMES:
        bar = replace(token_strip(["a", "b", "c", "d"], [-2.0, 0.0, 2.0, np.nan]), look=Look(theme)).plot.data[0]
        ends = palette(theme).signed
        assert list(bar.marker.color) == [ends[0], ends[3], ends[-1], ends[3]]
        assert list(bar.insidetextfont.color)[:3] == [ink_on(colour) for colour in (ends[0], ends[3], ends[-1])]


def test_strip_keeps_every_token_in_its_frame() -> None:
    figure = token_strip(["<b>"] * 500, np.zeros(500), unknown=np.ones(500), title="<i>$")
    assert len(boxes(figure)) == 400 and len(figure.frame) == 500
    assert "The first 400 of 500 tokens are shown." in figure.caption
    assert figure.plot.data[0].text[0] == "&lt;b&gt;°" and figure.plot.layout.title.text == "&lt;i&gt;&#36;"
    for tokens, scores in ((["a"], [1, 2]), ([], [])):
        with pytest.raises(InputError):
            token_strip(tokens, scores)


def test_lambda_starts_and_ends_where_training_did() -> None:
    figure = scalar_evolution({"run": history()}, ["lambda"])
    assert set(figure.frame["component"]) == {1, 2}
    marks = [trace for trace in figure.plot.data if trace.mode == "markers" and trace.x[0] is not None]
    ends = {symbol: [trace.y[0] for trace in marks if trace.marker.symbol == symbol] for symbol in ("circle-open", "circle")}
    assert ends == {"circle-open": pytest.approx([0.2, 0.16, 0.3, 0.26]), "circle": pytest.approx([0.22, 0.18, 0.32, 0.28])}
    assert {(trace.marker.symbol, trace.x[0]) for trace in marks} == {("circle-open", 0), ("circle", 20)}
    notes = [note.text for note in figure.plot.layout.annotations]
    assert {"λ₂ 0.220", "λ₃ 0.180", "λ₂ 0.320", "λ₃ 0.280", "layer 1", "layer 2", "step"} == set(notes)


def test_scalars_by_share_of_training_end_together() -> None:
    """Runs of 20 and 40 steps both end at 1; the frame has the share, and an unknown axis is refused."""
    longer = history().assign(step=lambda rows: 2 * rows["step"])
    figure = scalar_evolution({"short": history(), "long": longer}, ["lambda"], x="share")
    lines = [trace for trace in figure.plot.data if trace.mode == "lines" and trace.x[0] is not None]
    assert len(lines) == 8 and all(list(line.x) == [0, 0.5, 1] for line in lines)
    assert figure.frame.groupby("run")["share"].max().to_dict() == {"short": 1, "long": 1}
    assert "share of each run's training" in figure.caption and "share" in figure.name
    assert "share" not in scalar_evolution({"short": history()}, ["lambda"]).frame
    with pytest.raises(InputError, match="`x` must be 'step' or 'share'"):
        scalar_evolution({"short": history()}, ["lambda"], x="epoch")  # type: ignore[arg-type]


@pytest.mark.exhaustive
def test_lambda_change_and_print() -> None:
    changed = scalar_evolution({"a<b>": history(), "b": history(-0.3)}, ["lambda"], change=True)
    assert changed.frame.groupby(["run", "layer", "component"])["change"].last().to_numpy() == pytest.approx(0.02)
    assert all("a<b>" not in str(trace.name or "") + str(trace.hovertext) for trace in changed.plot.data)
    printed = pd.DataFrame({"run": ["p", "p"], "name": "lambda", "layer": [0, 1], "component": [1, 1], "value": [0.15, 0.9]})
    figure = scalar_evolution({"run": history()}, ["lambda"], printed=printed)
    diamonds = [trace for trace in figure.plot.data if trace.marker.symbol == "diamond-open" and trace.x[0] is not None]
    assert [list(trace.y) for trace in diamonds] == [[0.15], [0.9]]
    with pytest.raises(InputError):
        scalar_evolution({"vanilla": history().query("name != 'lambda'")}, ["lambda"])


def test_curves_mark_the_first_best_epoch() -> None:
    figure = curves({"run": history()}, x="epoch")
    assert list(figure.frame.query("best")[["name", "epoch"]].itertuples(index=False, name=None)) == [("validation_accuracy", 1.0)]
    assert {note.text for note in figure.plot.layout.annotations} >= {"train loss", "validation accuracy"}
    assert curves({"run": history()}, stored={"run": 20}).frame.query("best")["step"].tolist() == [20]
    with pytest.raises(InputError):
        curves({"run": history()}, names=("nothing",))
    with pytest.raises(InputError):
        curves({})


def test_probability_bars() -> None:
    figure = probability_bars(["bad", "<b>good"], [0.25, 0.75])
    assert list(figure.frame["probability"]) == [0.25, 0.75]
    assert [note.text for note in figure.plot.layout.annotations] == ["25.0\u00a0%", "75.0\u00a0%"]
    assert figure.plot.layout.yaxis.ticktext[1] == "&lt;b&gt;good"
    with pytest.raises(InputError):
        probability_bars(["one"], [0.5, 0.5])


@pytest.mark.parametrize("theme", THEMES)
def test_lines_and_ink_are_legible(theme: Theme) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    def contrast(a: str, b: str) -> float:
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    colours = palette(theme)
    assert min(contrast(line, colours.paper) for line in colours.lines) >= 3
    assert contrast(colours.ink, colours.paper) >= 7 and contrast(colours.muted, colours.paper) >= 4.5
    fills = blend(colours.signed, np.linspace(0, 1, 201)) + blend(colours.sequential, np.linspace(0, 1, 201))
    assert min(contrast(fill, ink_on(fill)) for fill in fills) >= 4.5


def test_names_are_safe_and_themes_known() -> None:
    assert file_safe("Attention", "../../etc/passwd", "A₁") == "attention-..-..-etc-passwd-a"
    assert file_safe("한국어") == "figure"
    for name in ("a/b", "../a", "a b", "", "Ä"):
        with pytest.raises(InputError, match=r"is not a safe file name. Name it for example '[a-z.-]+'"):
            Figure(name, go.Figure(), pd.DataFrame(), "")
    with pytest.raises(ValueError, match="theme"):
        palette("sepia")  # type: ignore[arg-type]


def test_figures_are_pure() -> None:
    """Two calls give equal figures and leave the trace unchanged."""
    trace = fake_trace(tokens=SENTENCE)
    assert heatmap(trace, 0).plot == heatmap(trace, 0).plot
    assert small_multiples(trace).plot == small_multiples(trace).plot


@pytest.mark.exhaustive
def test_figures_import_nothing_heavy() -> None:
    code = "import sys, sentviz.charts, sentviz.export.files; print({'torch', 'streamlit', 'kaleido'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "set()"


def recorded(name: str, layer: int, start: float, component: int = -1) -> list[tuple[int, float, str, int, int, float]]:
    """Return a scalar that grows by 0.01 in each of three steps."""
    return [(step, step / 10, name, layer, component, start + step / 1000) for step in (0, 10, 20)]


def test_scalars_of_the_whole_model_share_a_panel_and_others_have_one_a_layer() -> None:
    """Alpha and beta share a panel; temperatures have an axis that the panels of both layers share."""
    rows = [*recorded("alpha", -1, 1.0), *recorded("beta", -1, 0.5), *recorded("temperature", 0, 4.0), *recorded("temperature", 1, 5.0)]
    rows += recorded("train_loss", -1, 9.0)
    frame = pd.DataFrame(rows, columns=["step", "epoch", "name", "layer", "component", "value"])
    figure = scalar_evolution({"run": frame}, ["alpha", "beta", "temperature"])
    assert set(figure.frame["name"]) == {"alpha", "beta", "temperature"} and len(figure.frame) == 12
    notes = {note.text for note in figure.plot.layout.annotations}
    assert notes == {"whole model", "τ, layer 1", "τ, layer 2", "α 1.020", "β 0.520", "τ 4.020", "τ 5.020", "step"}
    axes = list(figure.plot.select_yaxes())
    assert len(axes) == 3 and [axis.matches for axis in axes] == [None, None, "y2"]
    lines = {trace.yaxis: [] for trace in figure.plot.data if trace.mode == "lines" and trace.x[0] is not None}
    for trace in figure.plot.data:
        if trace.mode == "lines" and trace.x[0] is not None:
            lines[trace.yaxis].append(round(trace.y[0], 3))
    assert lines == {"y": [1.0, 0.5], "y2": [4.0], "y3": [5.0]}
    assert figure.plot.layout.title.text == "α, β, τ while training" and figure.name == "alpha-beta-temperature-run"
    single_panel = scalar_evolution({"run": frame}, ["beta"])
    assert set(single_panel.frame["name"]) == {"beta"} and single_panel.plot.layout.title.text == "β while training"
    with pytest.raises(InputError, match="learned gamma or lambda in its history"):
        scalar_evolution({"run": frame}, ["gamma", "lambda"])


def test_a_printed_scalar_stands_in_its_panel() -> None:
    frame = pd.DataFrame(recorded("alpha", -1, 1.0), columns=["step", "epoch", "name", "layer", "component", "value"])
    printed = pd.DataFrame({"run": ["p"], "name": ["alpha"], "layer": [-1], "component": [-1], "value": [1.7]})
    figure = scalar_evolution({"run": frame}, ["alpha"], printed=printed)
    diamonds = [list(trace.y) for trace in figure.plot.data if trace.marker.symbol == "diamond-open" and trace.x[0] is not None]
    assert diamonds == [[1.7]]


@pytest.mark.parametrize("tall", [0.2, 1.0, 4.0])
def test_a_scatter_is_as_high_as_its_points_ask_for(tall: float) -> None:
    """Both axes have one scale, so a flat cloud of points in a high picture would leave an empty rim."""
    at = np.random.default_rng(0).random((60, 2)) * [1.0, tall]
    frame = pd.DataFrame({"id": [str(i) for i in range(60)], "x": at[:, 0], "y": at[:, 1], "label": 0, "predicted": 0})
    figure = scatter(frame.assign(right=True, confidence=0.9), classes=["a", "b"], axes=["one", "two", ""])
    for width in (0, 390):
        plot = replace(figure, look=Look(width=width)).plot
        margin, ends = plot.layout.margin, (plot.layout.xaxis.range, plot.layout.yaxis.range)
        wide, high = plot.layout.width - margin.l - margin.r, plot.layout.height - margin.t - margin.b
        to_scale = wide * np.ptp(ends[1]) / np.ptp(ends[0])
        assert abs(high - np.clip(to_scale, 0.4 * min(wide, 512), 512)) <= 1
