"""The search for weak slices: slices planted on purpose are found, shuffled labels give none, and the test against slow versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.testset.predictions_file import predictions
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.subset import Subset
from sentviz.analysis.testset.weak import ALPHA, FEWEST, candidates, exact_p, halves, newcombe, searched, weak_slices
from sentviz.charts.subjects import Answers
from sentviz.errors import InputError
from tests.kit import refused

N = 2_400


def table(seed: int = 0, n: int = N, *, planted: bool = True, positive: float = 0.5) -> pd.DataFrame:
    """Return made-up reviews with predictions. If planted, those of phones with a negation and those with “battery” are often wrong."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(80)]
    texts = [" ".join(rng.choice(words, rng.integers(4, 12))) for _ in range(n)]
    negated, battery = rng.random(n) < 0.3, rng.random(n) < 0.1
    texts = [text + " not" * int(a) + " battery" * int(b) for text, a, b in zip(texts, negated, battery, strict=True)]
    product, label = rng.choice(["phone", "tablet", "laptop", "watch"], n), (rng.random(n) < positive).astype(int)
    accuracy = np.full(n, 0.9)
    if planted:
        accuracy[(product == "phone") & negated], accuracy[battery] = 0.5, 0.6
    answers = np.where(rng.random(n) < accuracy, label, 1 - label)
    names = np.array(["negative", "positive"])
    stars = np.where(label, 4, 1) + rng.integers(0, 2, n)
    return pd.DataFrame({"text": texts, "label": names[label], "predicted": names[answers], "product": product, "stars": stars})


def rows_of(frame: pd.DataFrame) -> Rows:
    return next(iter(predictions(frame).values()))


@pytest.fixture(scope="module")
def rows() -> Rows:
    return rows_of(table())


@pytest.mark.exhaustive
def test_planted_slices_are_found_and_nothing_else(rows: Rows) -> None:
    weak = weak_slices(rows)
    assert set(weak.weaker["slice"]) == {"col=product:phone~has=negation", "word=battery"}
    assert len(weak.frame) <= 10 and weak.halves[0] + weak.halves[1] == N
    second = ~halves(rows, 0)
    for row in weak.frame.to_dict("records"):
        mask = Subset.parse(row["slice"]).mask(rows)
        right, held_out, rest = [rows.frame["right"][i] for i in range(N)], [], []
        for i in range(N):
            if second[i]:
                (held_out if mask[i] else rest).append(right[i])
        assert (row["n"], row["right"]) == (len(held_out), sum(held_out))
        assert row["difference"] == pytest.approx(np.mean(held_out) - np.mean(rest))
        assert (row["rows"], row["mistakes"]) == (mask.sum(), sum(mask[i] and not right[i] for i in range(N)))
        assert row["low"] <= row["difference"] <= row["high"] and row["p"] <= row["adjusted"]
        assert row["found"] == (row["adjusted"] < ALPHA and row["high"] < 0)
    assert "product: phone; with negation: " in str(weak)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("planted", "positive"), [(True, 0.5), (False, 0.8)])
def test_at_most_one_shuffle_in_twenty_finds_a_slice(planted: bool, positive: float) -> None:
    """200 shuffles of the labels, also with four positive labels for each negative one: any slice is found in at most 5 % of them."""
    rows = rows_of(table(4, planted=planted, positive=positive))
    of = candidates(rows)
    labels = (np.random.default_rng(seed).permutation(rows.labels) for seed in range(200))
    assert sum(not searched(rows, of, rows.predicted == each).weaker.empty for each in labels) <= 10


def test_the_exact_p_is_the_share_of_all_ways_to_draw() -> None:
    rng = np.random.default_rng(7)
    for _ in range(6):
        predicted, right, inside = rng.integers(0, 2, 9), rng.random(9) < 0.5, rng.random(9) < 0.5
        ways = [[*combinations(np.flatnonzero(predicted == k), int(right[predicted == k].sum()))] for k in (0, 1)]
        counts = [sum(inside[i] for i in (*a, *b)) for a in ways[0] for b in ways[1]]
        observed = int((right & inside).sum())
        assert exact_p(right, predicted, inside) == pytest.approx(np.mean([count <= observed for count in counts]))
    assert exact_p(np.array([True] * 5 + [False] * 5), np.zeros(10, int), np.arange(10) >= 5) == pytest.approx(1 / comb(10, 5))


def test_the_interval_of_a_difference_is_newcombe_s() -> None:
    """Published example: 56 of 70 minus 48 of 80 is 0.2 [0.0524, 0.3339] (Newcombe 1998, method 10)."""
    assert newcombe(56, 70, 48, 80, 1.959964) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert newcombe(9, 10, 3, 10, 1.959964)[1:] == pytest.approx((0.1705, 0.8090), abs=5e-5)


def test_equal_texts_are_in_one_half(rows: Rows) -> None:
    twice = replace(rows, frame=pd.concat([rows.frame, rows.frame.assign(text=rows.frame["text"].str.upper() + " ")]))
    first = halves(twice, 0)
    assert (first[:N] == first[N:]).all() and 0.45 < first.mean() < 0.55
    assert (halves(rows, 1) != halves(rows, 0)).any()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.head(FEWEST - 1), "needs 100 rows with labels, and your table has 99"),
        (lambda frame: frame.assign(predicted=frame["label"]), "are right, so no slice is weaker"),
        (lambda frame: frame.assign(label=frame["predicted"].map({"negative": "positive", "positive": "negative"})), "are wrong, so no"),
        (lambda frame: frame.head(100).assign(text="a warm day", stars=1, product="x"), "of these 100 rows has 10 rows in each half"),
    ],
)
def test_rows_that_cannot_be_searched_say_why(change: Callable[[pd.DataFrame], pd.DataFrame], message: str) -> None:
    refused(InputError, message, weak_slices, rows_of(change(table(n=400))))


def test_a_page_s_result_is_drawn_without_a_new_search(rows: Rows) -> None:
    of = Answers.of(rows)
    of.weak = weak_slices(rows)
    assert of.weak_slices(0) is of.weak
