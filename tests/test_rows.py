"""Predicted rows and their slices: against plain loops over the same rows, and what damaged or foreign input gives."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sentviz.analysis.testset.rows import Rows, RowsSource, predicted, stored, unread
from sentviz.analysis.testset.slices import AGREE, CORNERS, Slice, matching
from sentviz.errors import InputError, RunError
from sentviz.runs import store
from sentviz.runs.store import Run
from tests.kit import small_model

TEXTS = ("A dull, dull film.", "DULL?", "Not dullness itself", "it isn't", "the isn of it", "멋진 영화", "“dull”", "dull's end")


MODEL = small_model()
SOURCE = RowsSource(MODEL.name, "digest")


@pytest.fixture(scope="module")
def rows() -> Rows:
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(len(TEXTS))], "text": TEXTS, "label": [0, 1, 0, 1, 0, 1, -1, 0]})
    return predicted(MODEL, SOURCE, frame.assign(tag=["plain", "odd"] * 4), "mine")


def test_rows_are_what_predict_says(rows: Rows) -> None:
    """Every derived column equals its definition, row by row."""
    predicted = MODEL.predict(list(TEXTS))
    for i, row in enumerate(rows.frame.to_dict("records")):
        shares = [predicted.loc[i, name] for name in MODEL.labels]
        loss = np.nan if row["label"] < 0 else -np.log(shares[row["label"]])
        assert [row["p0"], row["p1"], row["confidence"]] == pytest.approx([*shares, max(shares)], abs=1e-6)
        assert row["loss"] == pytest.approx(loss, abs=1e-5, nan_ok=True)
        assert MODEL.labels[row["predicted"]] == predicted.loc[i, "label"] and row["right"] == (row["label"] == row["predicted"])
    assert rows.labelled and rows.has_text and len(rows) == len(TEXTS)


def test_stored_rows_are_the_run_s_predictions(run: Run) -> None:
    """The confusion matrix of the stored rows is the one in metrics.json; rows have no texts until texts are given."""
    rows = stored(run)
    counts = np.zeros((2, 2), dtype=int)
    np.add.at(counts, (rows.labels, rows.predicted), 1)
    assert counts.tolist() == run.metrics()["test"]["confusion"] and not rows.has_text
    ids = list(rows.frame["id"])
    texts = pd.DataFrame({"id": ids[::-1], "text": [f"text {i}" for i in ids[::-1]]})
    assert rows.with_text(texts).texts.tolist() == [f"text {i}" for i in ids]
    assert rows.with_text(texts.assign(text_pair="b")).texts.tolist() == [f"text {i}\nb" for i in ids]
    assert not rows.with_text(texts.iloc[1:]).has_text
    with pytest.raises(RunError, match="no stored predictions for the split 'nowhere'"):
        stored(run, "nowhere")


def test_damaged_predictions_are_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss of stored answers ends where their decimals do."""
    good = run.frame("test.parquet")
    for column, value, message in (("negative", np.nan, "probabilities"), ("label", 7, "labels"), ("negative", 3.0, "probabilities")):
        frame = good.copy()
        frame.loc[2, column] = value
        for changed, why in ((frame, f"damaged: some of its {message}"), (frame.drop(columns=column), f"no column '{column}'")):
            monkeypatch.setattr(store, "read_table", lambda file, changed=changed: changed)
            with pytest.raises(RunError, match=why):
                stored(run)
    sure = good.copy()
    sure.loc[sure.index[0], list(run.labels)] = [float(k != sure["label"].iloc[0]) for k in range(2)]
    monkeypatch.setattr(store, "read_table", lambda file: sure)
    losses = stored(run).frame["loss"]
    assert losses.iloc[0] == losses.max() == -np.log(0.5e-5)


def test_a_threshold_moves_the_second_class(rows: Rows) -> None:
    moved = rows.at_threshold(0.3)
    assert moved.predicted.tolist() == [int(p >= 0.3) for p in rows.probabilities[:, 1]]
    assert moved.frame["right"].tolist() == (moved.labels == moved.predicted).tolist() and rows.at_threshold(-1) is rows
    assert rows.about == f"own file n = {len(rows)}" and moved.about == f"{rows.about}, {rows.classes[1]} said from probability 0.3 on"
    assert replace(rows, over="official_test").about.startswith("official test n = ")


def test_cells_bands_and_tags_pick_the_rows_that_a_loop_picks(rows: Rows) -> None:
    records, (low, high) = rows.frame.to_dict("records"), np.quantile(rows.probabilities[:, 1], [0.2, 0.7])
    for label, said in product((0, 1), (0, 1)):
        wanted = [row["label"] == label and row["predicted"] == said for row in records]
        assert Slice.parse(f"cell={label},{said}").mask(rows).tolist() == wanted
    assert Slice("p", f"1:{low}-{high}").mask(rows).tolist() == [low <= row["p1"] <= high for row in records]
    assert Slice.parse("tag=odd").mask(rows).tolist() == [row["tag"] == "odd" for row in records]


def test_a_word_is_a_whole_word(rows: Rows) -> None:
    """Slices by word equal Python's regular expressions on each text; letters and inner apostrophes belong to a word."""
    for word in ("dull", "isn", "isn't", "멋진", "it", "dull's"):
        has_word = [word in [w.strip("'’") for w in re.findall(r"[\w'’]+", text.casefold())] for text in TEXTS]
        assert Slice("word", word).mask(rows).tolist() == has_word
        inside = Slice("word", f"{word}@0,1").mask(rows)
        assert inside.tolist() == (np.array(has_word) & (rows.labels == 0) & (rows.predicted == 1)).tolist()


def test_agreement_needs_the_same_rows(rows: Rows) -> None:
    moved = rows.at_threshold(0.0)
    parts = {name: Slice("agree", name).mask(rows, moved) for name in AGREE}
    assert (np.sum(list(parts.values()), axis=0) == 1).all()
    first, second = rows.frame["right"].to_numpy(), moved.frame["right"].to_numpy()
    assert parts["first"].tolist() == [a and not b for a, b in zip(first, second, strict=True)]
    with pytest.raises(InputError, match="second run on the same rows"):
        Slice("agree", "first").mask(rows, None)


def test_a_lasso_keeps_at_most_24_corners_and_picks_what_lies_inside(rows: Rows) -> None:
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    part = Slice.lasso("tsne", 2, np.stack([np.cos(angle), np.sin(angle)], axis=1))
    assert len(part.outline) == CORNERS
    assert part.picture == ("tsne", 2)
    assert Slice.parse(str(part)) == part
    points = pd.DataFrame({"id": [f"r{i}" for i in range(8)], "x": np.linspace(0, 3.5, 8), "y": 0.0})
    assert part.mask(rows, points=points).tolist() == [x < 1 for x in points["x"]]
    with pytest.raises(InputError, match="Open Rows › Map: t-SNE, UMAP"):
        part.mask(rows)


def test_what_is_no_slice_is_refused() -> None:
    for text in (
        *("nonsense", "cell=", "cell=1", "cell=a,b", "p=1:0.9-0.1", "p=x", "agree=maybe", "=1,0", "word="),
        *("cell=-5,-5", "cell=1,-1", "p=-9:0-1", "p=0:0.5-1.5", "p=0:nan-1", "cell=1000,0", "word=a@0," + "9" * 5_000),
        *("cell=" + "9" * 5_000 + ",0", "lasso=pca.-1:0,0;1,1;2,2", "lasso=pca." + "9" * 5_000 + ":0,0;1,1;2,2"),
        *("lasso=pca.1:0,0;1,1", "lasso=pca:1,1;2,2;3,3", "lasso=pca.1:1,nan;1,1;2,2", "lasso=pca.1:" + ";".join(["0,0"] * 25)),
    ):
        with pytest.raises(InputError, match=r"Unknown selection of rows|is not a valid selection of rows"):
            Slice.parse(text)


PIECES = [*"=,:.;@-0123456789", "cell", "word", "p", "agree", "tag", "lasso", "first", "pca", "tsne", "nan", "1e999", "dull", "²", "٣"]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.sampled_from(["", "cell=", "word=", "p=", "agree=", "tag=", "lasso=", "word=dull@", "lasso=pca.1:"]),
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=30),
)
def test_any_text_is_a_part_or_one_sentence(rows: Rows, begin: str, rest: str) -> None:
    """Any text of a link is refused in a sentence, or is a slice that can be said in words and gives rows or a sentence."""
    points = pd.DataFrame({"id": rows.frame["id"], "x": 0.5, "y": 0.5})
    try:
        part = Slice.parse(begin + rest)
        if part is None:
            return
        assert part.says(rows.classes) and Slice.parse(str(part)) == part
        assert part.mask(rows, points=points).shape == (len(rows),)
    except InputError as error:
        assert "\n" not in str(error)


def test_slices_that_do_not_fit_the_rows_say_so(rows: Rows) -> None:
    for text in ("cell=2,0", "p=4:0-1"):
        with pytest.raises(InputError, match="there is no"):
            Slice.parse(text).mask(rows)
    with pytest.raises(InputError, match="no tags"):
        Slice.parse("tag=odd").mask(Rows(rows.source, "test", rows.classes, rows.frame.drop(columns="tag")))
    with pytest.raises(InputError, match="not installed"):
        Slice.parse("word=dull").mask(Rows(rows.source, "test", rows.classes, rows.frame.drop(columns="text")))


def test_a_search_is_linear_and_a_bad_pattern_is_one_sentence(rows: Rows) -> None:
    """A pattern that hangs a backtracking engine returns at once; an invalid pattern is named."""
    long = Rows(rows.source, "mine", rows.classes, rows.frame.assign(text="a" * 60 + "!"))
    assert not matching(long, "(a+)+$").any()
    for pattern in ("(a", "[", "(?<=a)b", r"\1"):
        with pytest.raises(InputError, match="is not a regular expression"):
            matching(rows, pattern)


def test_rows_that_cannot_be_read_hold_up_no_other() -> None:
    """The other rows are predicted as without the unreadable ones, and a sentence names those with the reason."""
    texts = [*TEXTS[:3], "\n", *TEXTS[3:6], "", "  "]
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(len(texts))], "text": texts, "label": 0, "tag": "plain"})
    readable = frame[[bool(text.strip()) for text in texts]]
    answered, alone = (predicted(MODEL, SOURCE, each, "mine") for each in (frame, readable))
    pd.testing.assert_frame_equal(answered.frame, alone.frame)
    assert set(answered.unread) == {"r3", "r7", "r8"} and not alone.unread
    note = unread(answered)
    assert all(name in note for name in answered.unread) and note.count("cannot read") == len(set(answered.unread.values()))
    with pytest.raises(InputError, match="can read none of these rows"):
        predicted(MODEL, SOURCE, frame.iloc[[7, 8]], "mine")
