"""Explanations side by side: rows on their own scales, the words that are named most, hostile words."""

from __future__ import annotations

import numpy as np
import pytest

from sentviz.charts.look import Look
from sentviz.charts.methods import method_matrix
from sentviz.errors import InputError

HOSTILE = ["<b>bad</b>", "$x$", "a" * 90, "ok"]


def test_a_row_is_a_share_of_its_largest() -> None:
    """Each row is divided by its largest size; a row of zeros stays 0, and a missing score is an empty cell."""
    figure = method_matrix(["not", "bad"], {"one": [2.0, -4.0], "two": [0.0, 0.0], "three": [np.nan, 3.0]})
    heights = np.array(figure.plot.data[0].z, dtype=float)
    np.testing.assert_array_equal(heights, [[0.5, -1], [0, 0], [np.nan, 1]])
    assert figure.frame.query("method == 'one'")["score"].tolist() == [2.0, -4.0]
    assert list(figure.plot.layout.yaxis.ticktext) == ["one", "two", "three"]


def test_of_many_words_those_that_are_named_most_stay_in_their_order() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 80))
    figure = method_matrix([f"w{i}" for i in range(80)], dict(zip("abc", scores, strict=True)))
    shares = np.abs(scores) / np.abs(scores).max(axis=1, keepdims=True)
    drawn = figure.frame.query("method == 'a' and drawn")["position"].tolist()
    best = sorted(range(80), key=lambda i: -shares[:, i].mean())[: len(drawn)]
    assert drawn == sorted(best) and 24 < len(drawn) < 80
    assert f"{len(drawn)} of 80 words" in figure.caption and len(figure.frame) == 240
    narrow = figure.picture.draw(Look(width=400))
    assert narrow.layout.width == 400 and 3 < narrow.data[0].z.shape[1] < 24


def test_words_are_text_and_odd_input_is_refused() -> None:
    figure = method_matrix(HOSTILE, {"<i>m</i>": [1.0, 2.0, 3.0, 4.0]})
    texts = [*figure.plot.layout.xaxis.ticktext, *figure.plot.layout.yaxis.ticktext, *np.ravel(figure.plot.data[0].customdata)]
    assert not any("<" in text or "$" in text for text in texts) and max(map(len, texts)) < 120
    for tokens, scores in (([], {"m": []}), (["a"], {}), (["a"], {"m": [1.0, 2.0]})):
        with pytest.raises(InputError, match="needs a word, a method"):
            method_matrix(tokens, scores)
