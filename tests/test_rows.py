"""Predicted rows and their slices: against plain loops over the same rows, and what damaged or foreign input gives."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sentviz.analysis.testset.predictions_file import predictions
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted, predicted_rows, stored, unread
from sentviz.analysis.testset.slices import AGREE, CORNERS, Slice, matching
from sentviz.analysis.testset.subset import MOST, Subset, bands, facets, masks
from sentviz.data.columns import MOST_COLUMNS, own_columns
from sentviz.errors import InputError, RunError
from sentviz.runs import store
from sentviz.runs.store import Run
from tests.kit import refused, small_model

TEXTS = ("A dull, dull film.", "DULL?", "Not dullness itself", "it isn't", "the isn of it", "멋진 영화", "“dull”", "dull's end")


MODEL = small_model()
SOURCE = RowsSource(MODEL.name, "digest")
PIECES = [*"=,:.;@-0123456789", "cell", "word", "p", "agree", "tag", "lasso", "first", "pca", "tsne", "nan", "1e999", "dull", "²", "٣"]
MIXED = ("It isn't warm.", "warm, but late?", "very warm :)", "정말 좋지 않다", "Добрый день", "so so so so so so warm")
PRODUCTS = ("phone", "tea: green", None, "phone", "50 %~off", "tea: green")
PRICES = (1.5, 2.0, float("nan"), 9.0, float("inf"), 4.0)


@pytest.fixture(scope="module")
def rows() -> Rows:
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(len(TEXTS))], "text": TEXTS, "label": [0, 1, 0, 1, 0, 1, -1, 0]})
    return predicted(MODEL, SOURCE, frame.assign(tag=["plain", "odd"] * 4), "mine")


def test_rows_are_what_predict_says_and_unreadable_ones_hold_up_no_other(rows: Rows) -> None:
    answers = MODEL.predict(list(TEXTS))
    for i, row in enumerate(rows.frame.to_dict("records")):
        shares = [answers.loc[i, name] for name in MODEL.labels]
        loss = np.nan if row["label"] < 0 else -np.log(shares[row["label"]])
        assert [row["p0"], row["p1"], row["confidence"]] == pytest.approx([*shares, max(shares)], abs=1e-6)
        assert row["loss"] == pytest.approx(loss, abs=1e-5, nan_ok=True)
        assert MODEL.labels[row["predicted"]] == answers.loc[i, "label"] and row["right"] == (row["label"] == row["predicted"])
    assert rows.labelled and rows.has_text and len(rows) == len(TEXTS)
    assert replace(rows, frame=rows.frame.set_index(rows.frame.index + 1)).digest == rows.digest != replace(rows, over="demo").digest
    texts = [*TEXTS[:3], "\n", *TEXTS[3:6], "", "  "]
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(len(texts))], "text": texts, "label": 0, "tag": "plain"})
    readable = frame[[bool(text.strip()) for text in texts]]
    answered, alone = (predicted(MODEL, SOURCE, each, "mine") for each in (frame, readable))
    pd.testing.assert_frame_equal(answered.frame, alone.frame)
    assert set(answered.unread) == {"r3", "r7", "r8"} and not alone.unread
    note = unread(answered)
    assert all(name in note for name in answered.unread) and note.count("cannot read") == len(set(answered.unread.values()))
    refused(InputError, "can read none of these rows", predicted, MODEL, SOURCE, frame.iloc[[7, 8]], "mine")


def test_stored_rows_are_the_run_s_predictions_and_damage_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = stored(run)
    counts = np.zeros((2, 2), dtype=int)
    np.add.at(counts, (rows.labels, rows.predicted), 1)
    assert counts.tolist() == run.metrics()["test"]["confusion"] and not rows.has_text
    ids = list(rows.frame["id"])
    texts = pd.DataFrame({"id": ids[::-1], "text": [f"text {i}" for i in ids[::-1]]})
    assert rows.with_text(texts).texts.tolist() == [f"text {i}" for i in ids]
    assert rows.with_text(texts.assign(text_pair="b")).texts.tolist() == [f"text {i}\nb" for i in ids]
    assert not rows.with_text(texts.iloc[1:]).has_text
    refused(RunError, "no stored predictions for the split 'nowhere'", stored, run, "nowhere")
    good = run.frame("test.parquet")
    for column, value, message in (("negative", np.nan, "probabilities"), ("label", 7, "labels"), ("negative", 3.0, "probabilities")):
        frame = good.copy()
        frame.loc[2, column] = value
        for changed, why in ((frame, f"damaged: some of its {message}"), (frame.drop(columns=column), f"no column '{column}'")):
            monkeypatch.setattr(store, "read_table", lambda file, changed=changed: changed)
            refused(RunError, why, stored, run)
    sure = good.copy()
    sure.loc[sure.index[0], list(run.labels)] = [float(k != sure["label"].iloc[0]) for k in range(2)]
    monkeypatch.setattr(store, "read_table", lambda file: sure)
    losses = stored(run).frame["loss"]
    assert losses.iloc[0] == losses.max() == -np.log(0.5e-5)


def test_slices_pick_the_rows_that_a_loop_picks(rows: Rows) -> None:
    moved = rows.at_threshold(0.3)
    assert moved.predicted.tolist() == [int(p >= 0.3) for p in rows.probabilities[:, 1]]
    assert moved.frame["right"].tolist() == (moved.labels == moved.predicted).tolist() and rows.at_threshold(-1) is rows
    assert rows.about == f"own file n = {len(rows)}" and moved.about == f"{rows.about}, {rows.classes[1]} said from probability 0.3 on"
    assert replace(rows, over="official_test").about.startswith("official test n = ")
    records, (low, high) = rows.frame.to_dict("records"), np.quantile(rows.probabilities[:, 1], [0.2, 0.7])
    for label, answer in product((0, 1), (0, 1)):
        wanted = [row["label"] == label and row["predicted"] == answer for row in records]
        assert Slice.parse(f"cell={label},{answer}").mask(rows).tolist() == wanted
    assert Slice("p", f"1:{low}-{high}").mask(rows).tolist() == [low <= row["p1"] <= high for row in records]
    assert Slice.parse("tag=odd").mask(rows).tolist() == [row["tag"] == "odd" for row in records]
    for word in ("dull", "isn", "isn't", "멋진", "it", "dull's"):
        has_word = [word in [w.strip("'’") for w in re.findall(r"[\w'’]+", text.casefold())] for text in TEXTS]
        assert Slice("word", word).mask(rows).tolist() == has_word
        inside = Slice("word", f"{word}@0,1").mask(rows)
        assert inside.tolist() == (np.array(has_word) & (rows.labels == 0) & (rows.predicted == 1)).tolist()
    moved = rows.at_threshold(0.0)
    parts = {name: Slice("agree", name).mask(rows, moved) for name in AGREE}
    assert (np.sum(list(parts.values()), axis=0) == 1).all()
    first, second = rows.frame["right"].to_numpy(), moved.frame["right"].to_numpy()
    assert parts["first"].tolist() == [a and not b for a, b in zip(first, second, strict=True)]
    with pytest.raises(InputError, match="second run on the same rows"):
        Slice("agree", "first").mask(rows, None)
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    part = Slice.lasso("tsne", 2, np.stack([np.cos(angle), np.sin(angle)], axis=1))
    assert len(part.outline) == CORNERS and part.picture == ("tsne", 2) and Slice.parse(str(part)) == part
    points = pd.DataFrame({"id": [f"r{i}" for i in range(8)], "x": np.linspace(0, 3.5, 8), "y": 0.0})
    assert part.mask(rows, points=points).tolist() == [x < 1 for x in points["x"]]
    refused(InputError, "Open Rows › Map: t-SNE, UMAP", part.mask, rows)


def test_what_is_no_slice_is_refused(rows: Rows) -> None:
    for text in (
        *("nonsense", "cell=", "cell=1", "cell=a,b", "p=1:0.9-0.1", "p=x", "agree=maybe", "=1,0", "word="),
        *("cell=-5,-5", "cell=1,-1", "p=-9:0-1", "p=0:0.5-1.5", "p=0:nan-1", "cell=1000,0", "word=a@0," + "9" * 5_000),
        *("cell=" + "9" * 5_000 + ",0", "lasso=pca.-1:0,0;1,1;2,2", "lasso=pca." + "9" * 5_000 + ":0,0;1,1;2,2"),
        *("lasso=pca.1:0,0;1,1", "lasso=pca:1,1;2,2;3,3", "lasso=pca.1:1,nan;1,1;2,2", "lasso=pca.1:" + ";".join(["0,0"] * 25)),
    ):
        refused(InputError, r"Unknown selection of rows|is not a valid selection of rows", Slice.parse, text)
    for text in (
        *("col=product", "col=:phone", "range=price:2..1", "range=price:..", "range=price:a..b", "range=:1..2", "length=5", "length=5..5"),
        *("script=Greek", "has=irony", "source=", "length=nan..1", "~".join(f"word=w{i}" for i in range(MOST + 1)), "agree=first"),
        "lasso=pca.1:0,0;1,1;2,2",
    ):
        refused(InputError, r"not a valid selection|Unknown selection|At most 12|cannot be combined", Subset.parse, text)
    for text in ("cell=2,0", "p=4:0-1"):
        with pytest.raises(InputError, match="there is no"):
            Slice.parse(text).mask(rows)
    with pytest.raises(InputError, match="no tags"):
        Slice.parse("tag=odd").mask(Rows(rows.source, "test", rows.classes, rows.frame.drop(columns="tag")))
    with pytest.raises(InputError, match="not installed"):
        Slice.parse("word=dull").mask(Rows(rows.source, "test", rows.classes, rows.frame.drop(columns="text")))
    long = Rows(rows.source, "mine", rows.classes, rows.frame.assign(text="a" * 60 + "!"))
    assert not matching(long, "(a+)+$").any()
    for pattern in ("(a", "[", "(?<=a)b", r"\1"):
        refused(InputError, "is not a regular expression", matching, rows, pattern)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.sampled_from(["", "cell=", "word=", "p=", "agree=", "tag=", "lasso=", "word=dull@", "lasso=pca.1:"]),
    st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=30),
)
def test_any_text_is_a_part_or_one_sentence(rows: Rows, begin: str, rest: str) -> None:
    points = pd.DataFrame({"id": rows.frame["id"], "x": 0.5, "y": 0.5})
    try:
        part = Slice.parse(begin + rest)
        if part is None:
            return
        assert part.says(rows.classes) and Slice.parse(str(part)) == part and part.mask(rows, points=points).shape == (len(rows),)
    except InputError as error:
        assert "\n" not in str(error)


def judged(texts: Sequence[str] = MIXED, ids: Sequence[str] = (), over: str = "mine", **columns: Any) -> Rows:
    """Return rows with texts and own columns; every second prediction is right."""
    n = len(texts)
    own, _ = own_columns(pd.DataFrame(columns, index=range(n)), ())
    frame = {"id": list(ids) or [str(i + 1) for i in range(n)], "label": np.arange(n) % 2, "text": list(texts)}
    shares = np.tile([0.8, 0.2], (n, 1))
    return predicted_rows(RowsSource("a.csv", "d"), over, ("negative", "positive"), frame | {name: own[name].array for name in own}, shares)


def test_groups_ranges_and_lengths_hold_the_rows_of_a_loop() -> None:
    rows = judged(**{"a:b~%": PRODUCTS})
    assert rows.own == ["a:b~%"]
    for value in ("phone", "tea: green", "50 %~off", ""):
        part = Slice.column("a:b~%", value)
        assert Subset.parse(str(Subset((part,)))).parts == (part,)
        assert part.mask(rows).tolist() == [(entry or "") == value for entry in PRODUCTS]
    assert Slice.column("a:b~%", "").says(rows.classes) == "a:b~%: no value"
    with pytest.raises(InputError, match="no column “prodct” that forms groups; columns that do: a:b~%"):
        Slice.column("prodct", "phone").mask(rows)
    numbers = np.random.default_rng(3).gamma(2, 20, 400).round(2)
    ends = bands(numbers)
    rows = judged(["a"] * 400, price=[*numbers[:-2], float("nan"), float("inf")])
    inside = np.array([Slice.between("price", low, high).mask(rows) for low, high in ends])
    assert len(ends) == 4 and ends[0][0] == -np.inf and ends[-1][1] == np.inf
    assert inside.sum(axis=0).tolist() == [1] * 398 + [0, 0] and (np.abs(inside.sum(axis=1) - 100) < 20).all()
    low, high = ends[1]
    assert inside[1].tolist()[:398] == [low <= number < high for number in numbers[:398]]
    assert Slice.column("price", "").mask(rows).tolist() == [False] * 398 + [True] * 2
    assert bands(np.ones(5)) == bands(np.array([])) == []
    rows = judged(ids=("imdb/1", "imdb/2", "sst2/3", "sst2/4", "nsmc/5", "nsmc/6"), over="test")
    assert Slice.parse("length=3..5").mask(rows).tolist() == [3 <= len(text.split()) < 5 for text in MIXED]  # type: ignore[union-attr]

    def script(text: str) -> str:
        letters = [c for c in text if c.isalpha()]
        latin, hangul = (sum(bool(re.match(kind, c)) for c in letters) for kind in ("[a-zA-Z]", "[가-힣]"))
        return "Latin" if latin > len(letters) / 2 else "Hangul" if hangul > len(letters) / 2 else "other"

    for name in ("Latin", "Hangul", "other"):
        assert Slice("script", name).mask(rows).tolist() == [script(text) == name for text in MIXED]
    assert Slice("source", "sst2").mask(rows).tolist() == [False, False, True, True, False, False]
    with pytest.raises(InputError, match="No row comes from 'yelp'; the data sets are imdb, sst2, nsmc"):
        Slice("source", "yelp").mask(rows)
    outside = (
        "a notable knot",
        "butter",
        "a warm day",
        "see https://a.example/?q=1",
        "ratio 3:4",
        "every delivery",
        "좋은 날",
        "<b>warm</b>",
    )
    for name, inside in {
        "negation": ("I cannot", "don’t go", "Not now", "without end", "재미없다", "안 좋다", "지 마세요"),
        "contrast": ("slow but good", "While slow, good", "in spite of all", "좋지만 비싸다", "그러나 좋다"),
        "intensity": ("very slow", "what a day!!", "a bit slow", "너무 좋다"),
        "question": ("is it?", "정말？"),
        "emoji": ("good 😀", "good :)", "☀", "슬퍼 ㅠㅠ"),
    }.items():
        assert Slice("has", name).mask(judged([*inside, *outside])).tolist() == [True] * len(inside) + [False] * len(outside)


def test_slices_of_one_property_are_alternatives_and_others_are_combined() -> None:
    rows = judged(product=PRODUCTS, price=PRICES)
    of = Subset.parse("col=product:phone~col=product:tea%3A green~has=negation")
    wanted = [p in ("phone", "tea: green") and t in (MIXED[0], MIXED[3]) for p, t in zip(PRODUCTS, MIXED, strict=True)]
    assert of.mask(rows).tolist() == wanted and of.says(rows.classes) == "product: phone or product: tea: green; with negation"
    (chosen,) = of.chosen(rows)
    assert chosen.frame["id"].tolist() == ["1", "4"] and chosen.about == f"own file, {of.says(rows.classes)} n = 2"
    assert Subset.parse("").chosen(rows) == [rows] and Subset.parse("has=negation~word=warm").mask(rows).sum() == 1
    rows = judged(product=PRODUCTS)
    with pytest.raises(InputError, match="None of the 6 rows is in the slice “product: phone; with the word “late””"):
        Subset.parse("col=product:phone~word=late").chosen(rows)
    bare = Rows(rows.source, "test", rows.classes, rows.frame.drop(columns="text"))
    for text in ("length=..3", "script=Latin", "has=negation"):
        with pytest.raises(InputError, match="not installed"):
            Subset.parse(text).mask(bare)
    rows = judged(MIXED * 3, product=PRODUCTS * 3, price=PRICES * 3)
    for part, inside in masks(rows):
        assert inside.tolist() == part.mask(rows).tolist(), part
    sizes = {str(each.part): each.rows for each in facets(rows)}
    assert sizes["col=product:phone"] == sizes["has=negation"] == sizes["col=product:"] * 2 == 6
    assert all(0 < n < len(rows) for n in sizes.values()) and "has=contrast" in sizes


def test_columns_that_form_no_groups_are_named() -> None:
    n = 6_000
    place = np.arange(n)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(place % 1_500, unit="D")
    columns = {"id": place, "customer": [f"c{i}" for i in place], "empty": np.nan, "same": "x", "some": [None, *["x"] * (n - 1)]}
    columns |= {"story": ["a long story that is told again and again and again and again"] * (n // 2) + ["b"] * (n // 2)}
    columns |= {"day": day.strftime("%Y-%m-%d"), "month": [f"2024-{i % 12 + 1:02}-03 10:00:00" for i in place], "stars": place % 5 + 1.0}
    columns |= {"amount": place * 1.0}
    own, remarks = own_columns(pd.DataFrame(columns), {"text"})
    assert {name: sorted(set(own[name]))[:2] for name in own if name != "own:amount"} == {
        "own:some": ["", "x"],
        "own:day": ["2020", "2021"],
        "own:month": ["2024-01", "2024-02"],
        "own:stars": ["1", "2"],
    }
    assert own["own:amount"].dtype == np.float64
    assert remarks == [
        "Columns without groups, because their values are long, almost all different, or all equal: “customer”, “same”, “story”.",
        "Columns without a value: “empty”.",
    ]
    many, notes = own_columns(pd.DataFrame({f"c{i}": ["a", "b"] for i in range(60)}), ())
    assert len(many.columns) == MOST_COLUMNS and "The first 50 columns form groups; 10 more do not." in notes
    columns = {
        "text": ["warm", "", "dull", "late", "good"],
        "label": ["positive", "negative", "negative", "positive", "positive"],
        "a_predicted": ["positive", "negative", None, "negative", "positive"],
        "b_predicted": ["positive"] * 4 + ["negative"],
        "product": ["w", "w", "w", "z", "z"],
    }
    of = predictions(pd.DataFrame(columns))["a"]
    assert of.own == ["product"] and of.frame["own:product"].tolist() == ["w", "z", "z"]
    assert of.calibrated(2.0).frame["own:product"].tolist() == ["w", "z", "z"]
