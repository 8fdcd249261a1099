"""Slices by own columns, length, script, source and phenomena: against loops over single rows, and what bad columns and texts give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.testset.predictions_file import predictions
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted_rows
from sentviz.analysis.testset.slices import Slice
from sentviz.analysis.testset.subset import MOST, Subset, bands, facets, masks
from sentviz.data.columns import MOST_COLUMNS, own_columns
from sentviz.errors import InputError

TEXTS = ("It isn't warm.", "warm, but late?", "very warm :)", "정말 좋지 않다", "Добрый день", "so so so so so so warm")
PRODUCTS = ("phone", "tea: green", None, "phone", "50 %~off", "tea: green")
PRICES = (1.5, 2.0, float("nan"), 9.0, float("inf"), 4.0)


def judged(texts: Sequence[str] = TEXTS, ids: Sequence[str] = (), over: str = "mine", **columns: Any) -> Rows:
    """Return rows with texts and own columns; every second prediction is right."""
    n = len(texts)
    own, _ = own_columns(pd.DataFrame(columns, index=range(n)), ())
    frame = {"id": list(ids) or [str(i + 1) for i in range(n)], "label": np.arange(n) % 2, "text": list(texts)}
    shares = np.tile([0.8, 0.2], (n, 1))
    return predicted_rows(RowsSource("a.csv", "d"), over, ("negative", "positive"), frame | {name: own[name].array for name in own}, shares)


def test_a_group_holds_the_rows_with_its_value() -> None:
    """Names and values may have any characters; the text of a slice gives the same slice."""
    rows = judged(**{"a:b~%": PRODUCTS})
    assert rows.own == ["a:b~%"]
    for value in ("phone", "tea: green", "50 %~off", ""):
        part = Slice.column("a:b~%", value)
        assert Subset.parse(str(Subset((part,)))).parts == (part,)
        assert part.mask(rows).tolist() == [(entry or "") == value for entry in PRODUCTS]
    assert Slice.column("a:b~%", "").says(rows.classes) == "a:b~%: no value"
    with pytest.raises(InputError, match="no column “prodct” that forms groups; columns that do: a:b~%"):
        Slice.column("prodct", "phone").mask(rows)


def test_ranges_are_half_open_and_cover_the_numbers_once() -> None:
    numbers = np.random.default_rng(3).gamma(2, 20, 400).round(2)
    ends = bands(numbers)
    rows = judged(["a"] * 400, price=[*numbers[:-2], float("nan"), float("inf")])
    inside = np.array([Slice.between("price", low, high).mask(rows) for low, high in ends])
    assert len(ends) == 4 and ends[0][0] == -np.inf and ends[-1][1] == np.inf
    assert inside.sum(axis=0).tolist() == [1] * 398 + [0, 0]
    assert (np.abs(inside.sum(axis=1) - 100) < 20).all()
    low, high = ends[1]
    assert inside[1].tolist()[:398] == [low <= number < high for number in numbers[:398]]
    assert Slice.column("price", "").mask(rows).tolist() == [False] * 398 + [True] * 2
    assert bands(np.ones(5)) == bands(np.array([])) == []


def test_lengths_scripts_and_sources_are_those_of_a_loop() -> None:
    rows = judged(ids=("imdb/1", "imdb/2", "sst2/3", "sst2/4", "nsmc/5", "nsmc/6"), over="test")
    assert Slice.parse("length=3..5").mask(rows).tolist() == [3 <= len(text.split()) < 5 for text in TEXTS]  # type: ignore[union-attr]

    def script(text: str) -> str:
        letters = [c for c in text if c.isalpha()]
        latin, hangul = (sum(bool(re.match(kind, c)) for c in letters) for kind in ("[a-zA-Z]", "[가-힣]"))
        return "Latin" if latin > len(letters) / 2 else "Hangul" if hangul > len(letters) / 2 else "other"

    for name in ("Latin", "Hangul", "other"):
        assert Slice("script", name).mask(rows).tolist() == [script(text) == name for text in TEXTS]
    assert Slice("source", "sst2").mask(rows).tolist() == [False, False, True, True, False, False]
    with pytest.raises(InputError, match="No row comes from 'yelp'; the data sets are imdb, sst2, nsmc"):
        Slice("source", "yelp").mask(rows)


def test_a_rule_finds_its_phenomenon_and_no_other_text() -> None:
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
    assert of.mask(rows).tolist() == [
        p in ("phone", "tea: green") and t in (TEXTS[0], TEXTS[3]) for p, t in zip(PRODUCTS, TEXTS, strict=True)
    ]
    assert of.says(rows.classes) == "product: phone or product: tea: green; with negation"
    (chosen,) = of.chosen(rows)
    assert chosen.frame["id"].tolist() == ["1", "4"] and chosen.about == f"own file, {of.says(rows.classes)} n = 2"
    assert Subset.parse("").chosen(rows) == [rows]
    assert Subset.parse("has=negation~word=warm").mask(rows).sum() == 1


def test_what_is_no_subset_is_one_sentence() -> None:
    for text in (
        *("col=product", "col=:phone", "range=price:2..1", "range=price:..", "range=price:a..b", "range=:1..2", "length=5", "length=5..5"),
        *("script=Greek", "has=irony", "source=", "length=nan..1", "~".join(f"word=w{i}" for i in range(MOST + 1)), "agree=first"),
        "lasso=pca.1:0,0;1,1;2,2",
    ):
        with pytest.raises(InputError, match=r"not a valid selection|Unknown selection|At most 12|cannot be combined"):
            Subset.parse(text)


def test_a_subset_without_rows_and_rows_without_texts_say_so() -> None:
    rows = judged(product=PRODUCTS)
    with pytest.raises(InputError, match="None of the 6 rows is in the slice “product: phone; with the word “late””"):
        Subset.parse("col=product:phone~word=late").chosen(rows)
    bare = Rows(rows.source, "test", rows.classes, rows.frame.drop(columns="text"))
    for text in ("length=..3", "script=Latin", "has=negation"):
        with pytest.raises(InputError, match="not installed"):
            Subset.parse(text).mask(bare)


def test_facets_are_the_slices_that_hold_some_rows() -> None:
    """Each proposed slice has the rows of its own mask; slices of all rows or of none are left out."""
    rows = judged(TEXTS * 3, product=PRODUCTS * 3, price=PRICES * 3)
    for part, inside in masks(rows):
        assert inside.tolist() == part.mask(rows).tolist(), part
    sizes = {str(each.part): each.rows for each in facets(rows)}
    assert sizes["col=product:phone"] == sizes["has=negation"] == sizes["col=product:"] * 2 == 6
    assert all(0 < n < len(rows) for n in sizes.values()) and "has=contrast" in sizes


def test_columns_that_form_no_groups_are_named() -> None:
    """Identifiers, long texts, one value for all, nothing but NaN; dates become years or months; more than 50 columns are cut."""
    n = 6_000
    place = np.arange(n)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(place % 1_500, unit="D")
    columns = {
        "id": place,
        "customer": [f"c{i}" for i in place],
        "empty": np.nan,
        "same": "x",
        "some": [None, *["x"] * (n - 1)],
        "story": ["a long story that is told again and again and again and again"] * (n // 2) + ["b"] * (n // 2),
        "day": day.strftime("%Y-%m-%d"),
        "month": [f"2024-{i % 12 + 1:02}-03 10:00:00" for i in place],
        "stars": place % 5 + 1.0,
        "amount": place * 1.0,
    }
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


def test_a_file_s_columns_stay_with_its_rows() -> None:
    """Columns of texts, labels and predictions of any model form no groups; rows left out do not move the others."""
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
