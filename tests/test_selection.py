"""Check what a selection of rows holds: words, mistakes and nearest rows, each against a loop; and the settings of the pictures."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sentviz.analysis.embeddings.projection import method_title, parsed_method, project
from sentviz.analysis.testset import selection as lib
from sentviz.analysis.testset.slices import Slice
from sentviz.analysis.testset.word_counts import PRIOR
from sentviz.errors import InputError
from tests.test_predictions_only import brought


def test_words_are_compared_with_the_other_rows() -> None:
    """The log-odds ratio of each word is that of a loop over the rows, with 95 % intervals."""
    rows = brought()
    chosen = rows.frame["text"].str.contains("song").to_numpy()
    frame = lib.typical(lib.selection_words(rows, chosen)).set_index("word")
    assert set(frame.index) >= {"song", "warm"} and "dull" not in frame.index and (frame["low"] > 0).all()
    texts = [{*text.replace(",", "").split()} for text in rows.frame["text"]]
    sides = [[text for text, c in zip(texts, chosen, strict=True) if c == side] for side in (True, False)]
    n, m = (sum(map(len, side)) for side in sides)
    for word, row in frame.iterrows():
        inside, outside = (sum(word in text for text in side) for side in sides)
        a = PRIOR * (inside + outside) / (n + m)
        value = math.log((inside + a) / (n + PRIOR - inside - a)) - math.log((outside + a) / (m + PRIOR - outside - a))
        spread = 1.959964 * math.sqrt(1 / (inside + a) + 1 / (outside + a))
        assert (row["value"], row["low"], row["high"]) == pytest.approx((value, value - spread, value + spread), abs=1e-6)


def test_accuracy_is_counted_on_both_sides() -> None:
    rows = brought()
    chosen = np.arange(80) < 20
    frame = lib.accuracy_of_sides(rows, chosen).set_index("side")
    for side, part in (("the selection", range(20)), ("the other rows", range(20, 80))):
        assert frame.loc[side, "right"] == sum(bool(rows.frame["right"][i]) for i in part) and frame.loc[side, "n"] == len(part)
        assert frame.loc[side, "low"] < frame.loc[side, "value"] < frame.loc[side, "high"]
    answer = lib.describe_errors(rows, chosen)
    assert answer.startswith("20 rows selected. reviews.csv is right on 65.0\u00a0% [") and "Most frequent mistake: " in answer
    unlabelled = replace(rows, frame=rows.frame.assign(label=-1))
    assert lib.describe_errors(unlabelled, chosen) == "20 rows selected. None of them has a label."


@pytest.mark.parametrize("size", [1, 7, 38])
def test_nearest_rows_are_those_of_a_loop(size: int) -> None:
    """Also in half precision, for one row as for many, with fewer rows than asked for; equal distances by place."""
    rng = np.random.default_rng(size)
    vectors = rng.integers(-3, 4, (40, 3)).astype(np.float16)
    chosen = np.zeros(40, dtype=bool)
    chosen[rng.permutation(40)[:size]] = True
    centre = [sum(float(vectors[i, j]) for i in range(40) if chosen[i]) / size for j in range(3)]
    away = sorted((math.dist(centre, vectors[i].tolist()), i) for i in range(40) if not chosen[i])[:10]
    places, distances = lib.nearest_to(vectors, chosen)
    assert distances == pytest.approx([d for d, _ in away])
    assert [round(d, 9) for d in distances] == sorted(round(d, 9) for d in distances)
    if size == 1:
        assert places.tolist() == [i for _, i in away]


def test_an_empty_selection_and_one_of_everything() -> None:
    rows, all_, none = brought(), np.ones(80), np.zeros(80, dtype=bool)
    for ask in (
        lib.describe_errors,
        lib.selection_words,
        lib.accuracy_of_sides,
        lambda _, chosen: lib.nearest_to(np.zeros((80, 2)), chosen),
    ):
        with pytest.raises(InputError, match="The selection holds no row"):
            ask(rows, none)
    with pytest.raises(InputError, match="All rows are selected"):
        lib.typical(lib.selection_words(rows, all_))
    assert not len(lib.nearest_to(np.zeros((80, 2)), all_)[0]) and lib.describe_errors(rows, all_).count("%") == 1
    one = np.arange(80) == 1
    wanted = "1 row selected. reviews.csv is right on 100.0\u00a0% [20.7, 100.0], and on 65.8\u00a0% [54.8, 75.3] of the other rows."
    assert lib.describe_errors(rows, one) == wanted and lib.typical(lib.selection_words(rows, one)).empty


def test_settings_of_a_method_are_in_its_name() -> None:
    """ "tsne-8" is t-SNE with perplexity 8; a wrong setting is refused; a lasso names the setting."""
    assert parsed_method("tsne-50") == ("tsne", 50) and parsed_method("umap") == ("umap", 0)
    for wrong in ("pca-5", "tsne-", "tsne-0", "tsne-9999", "tsne-5.5", "mds"):
        assert parsed_method(wrong) == ("", 0)
        with pytest.raises(InputError, match="A projection uses"):
            project(np.eye(8), wrong)
    part = Slice.parse("lasso=tsne-50.2:0,0;1,0;1,1")
    assert part is not None and part.picture == ("tsne-50", 2)
    assert part.says(("a", "b")) == "inside the outline drawn in the t-SNE (perplexity 50) picture of layer 2"
    assert method_title("umap-5") == "UMAP (neighbours 5)"


@pytest.mark.exhaustive
def test_perplexity_is_that_of_the_name() -> None:
    x = np.random.default_rng(0).normal(size=(60, 5))
    few, many = project(x, "tsne-5"), project(x, "tsne-15")
    assert (few.parameters["perplexity"], many.parameters["perplexity"], few.method) == (5, 15, "tsne-5")
    assert np.abs(few.raw - many.raw).max() > 1 and few.place(x[:1]).shape == (1, 2)
