"""Figures: their frames hold what was computed, their pictures what was meant."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from sentviz.charts import (
    Figure,
    as_text,
    file_safe,
    heatmap,
    palette,
    small_multiples,
)
from sentviz.charts.text import as_run, text_columns
from sentviz.errors import InputError
from tests.kit import fake_trace, refused

SENTENCE = ["The", "plot", "drags", ",", "but", "the", "two", "leads", "are", "a", "quiet", "delight", "."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("&lt;$x$", "&amp;lt;&#36;x&#36;"),
        ("a\nb\t\x00", "a↵b⇥␀"),
        ("a\u200bb", "a⬚b"),
        (" good ", "·good·"),
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


def test_long_text_is_cut_by_columns_not_by_characters() -> None:
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


@pytest.mark.parametrize(("head", "component"), [("mean", "effective"), ("max", 0), (2, 1), (2, "effective")])
def test_heatmap_frame_is_the_map(head: int | str, component: int | str) -> None:
    trace = fake_trace(signed=True, tokens=SENTENCE)
    figure = heatmap(trace, 1, head, component)
    expected = trace.map(1, head, component)
    np.testing.assert_allclose(figure.frame["attention"].to_numpy().reshape(expected.shape), expected, rtol=1e-6)
    np.testing.assert_allclose(figure.plot.data[0].z, expected, rtol=1e-6)
    cell = figure.frame.query("query == 3 and key == 1").iloc[0]
    assert (cell["query_token"], cell["key_token"], cell["attention"]) == ("drags", "The", pytest.approx(expected[3, 1]))


def test_hidden_mass_by_hand() -> None:
    attention = np.array([[[[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1]]]], dtype=np.float32)
    trace = fake_trace(tokens=["a", "b"], layers=1, heads=1, components=1).replace(attention=attention)
    figure = heatmap(trace, 0, 0, top=2)  # keys receive 1.2, 1.4, 0.4: the third is hidden; rows 1 and 2 hide 0.2 and 0.1 of 2
    assert sorted(set(figure.frame["key"])) == [0, 1] == sorted(set(figure.frame["query"]))
    assert "2 of 3 keys and 2 of 3 queries are shown; 15.0\u00a0% of their attention is on hidden keys." in figure.caption
    specials = heatmap(trace, 0, 0, hide_specials=True)
    assert sorted(set(specials.frame["key"])) == [1, 2]
    assert "38.9\u00a0%" not in specials.caption and "35.0\u00a0%" in specials.caption  # rows b, c: 0.6 + 0.1 of 2


def test_a_heatmap_keeps_its_only_query_and_refuses_what_it_cannot_show() -> None:
    trace = fake_trace(n=100)
    trace = trace.replace(attention=trace.attention[:, :, 7:8], query_ids=(7,))  # type: ignore[index]
    assert set(heatmap(trace, 0).frame["query"]) == {7}
    with pytest.raises(InputError):
        heatmap(fake_trace(), 0, top=0)
    with pytest.raises(InputError):
        heatmap(fake_trace(tokens=[]), 0, hide_specials=True)
    refused(InputError, "layers 0, 1, not 5", heatmap, fake_trace(layers=2), 5)


@pytest.mark.parametrize(("layers", "heads", "n"), [(2, 4, 12), (12, 12, 8), (1, 1, 1)])
def test_small_multiples_frame_is_the_maps(layers: int, heads: int, n: int) -> None:
    trace = fake_trace(n=n, layers=layers, heads=heads)
    figure = small_multiples(trace)
    assert trace.attention is not None
    np.testing.assert_allclose(figure.frame["attention"].to_numpy().reshape(trace.attention.shape), trace.attention)
    drawn = np.asarray(figure.plot.data[0].z)
    assert np.isfinite(drawn).sum() == trace.attention.size
    assert len(figure.plot.layout.xaxis.tickvals) == heads * n
    some = small_multiples(fake_trace(n=100, layers=3, heads=2), 0, layers=[2]).frame  # in blocks of 2 tokens
    assert set(some["layer"]) == {2} and set(some["component"]) == {"A₁"} and list(some["key"].unique()) == list(range(0, 100, 2))
    assert some.groupby(["head", "query"])["attention"].sum().to_numpy() == pytest.approx(1, abs=1e-5)


def test_names_are_safe_and_themes_known() -> None:
    assert file_safe("Attention", "../../etc/passwd", "A₁") == "attention-..-..-etc-passwd-a"
    assert file_safe("한국어") == "figure"
    for name in ("a/b", "../a", "a b", "", "Ä"):
        refused(InputError, r"is not a safe file name. Name it for example '[a-z.-]+'", Figure, name, go.Figure(), pd.DataFrame(), "")
    with pytest.raises(ValueError, match="theme"):
        palette("sepia")  # type: ignore[arg-type]
