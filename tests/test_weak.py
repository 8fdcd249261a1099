"""The search for weak slices: slices planted on purpose are found, shuffled labels give none, and the test against slow versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import sentviz
from sentviz.analysis.testset.predictions_file import predictions
from sentviz.analysis.testset.rows import Rows
from sentviz.analysis.testset.subset import Subset
from sentviz.analysis.testset.weak import ALPHA, FEWEST, candidates, exact_p, halves, newcombe, searched, weak_slices
from sentviz.charts import gallery
from sentviz.charts.subjects import Answers
from sentviz.cli import main
from sentviz.errors import InputError
from tests.charts import figure_of, stub

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
    """The pair of a column and a phenomenon and the word are found; their numbers are those of a loop over the rows."""
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


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.exhaustive
def test_other_halves_find_the_planted_slices_too(rows: Rows, seed: int) -> None:
    assert {"col=product:phone~has=negation", "word=battery"} <= set(weak_slices(rows, seed=seed).weaker["slice"])


@pytest.mark.parametrize("word", ["my", "the", "was"])
@pytest.mark.exhaustive
def test_a_slice_of_a_stop_word_is_found(word: str) -> None:
    """Predictions of texts with a word such as "my" are often wrong: the word is found like any other one."""
    rng = np.random.default_rng(2)
    frame = table(planted=False)
    has = rng.random(N) < 0.15
    wrong = has & (rng.random(N) < 0.4)
    texts = [f"{text} {word}" if gets_word else text for text, gets_word in zip(frame["text"].str.replace(" not", ""), has, strict=True)]
    swapped = frame["label"].map({"negative": "positive", "positive": "negative"})
    weak = weak_slices(rows_of(frame.assign(text=texts, predicted=frame["predicted"].where(~wrong, swapped))))
    assert f"word={word}" in set(weak.weaker["slice"])


def shuffles_with_a_slice(frame: pd.DataFrame, shuffles: int) -> int:
    """Return in how many shuffles of the labels the search finds a slice."""
    rows = rows_of(frame)
    of = candidates(rows)
    labels = (np.random.default_rng(seed).permutation(rows.labels) for seed in range(shuffles))
    return sum(not searched(rows, of, rows.predicted == each).weaker.empty for each in labels)


@pytest.mark.exhaustive
def test_shuffled_labels_give_no_slice() -> None:
    """40 shuffles: 5 or fewer find any slice; more would have a probability below 2 % at a rate of 5 %."""
    assert shuffles_with_a_slice(table(3, 1_200), 40) <= 5


@pytest.mark.exhaustive
@pytest.mark.parametrize(("planted", "positive"), [(True, 0.5), (False, 0.5), (True, 0.8), (False, 0.8)])
def test_at_most_one_shuffle_in_twenty_finds_a_slice(planted: bool, positive: float) -> None:
    """200 shuffles of the labels, also with four positive labels for each negative one: any slice is found in at most 5 % of them."""
    assert shuffles_with_a_slice(table(4, planted=planted, positive=positive), 200) <= 10


def test_the_exact_p_is_the_share_of_all_ways_to_draw() -> None:
    """The p-value is the share of all placements of right predictions within each class that put at most as many into the slice."""
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
        (lambda frame: frame.head(1), "needs 100 rows with labels, and your table has 1"),
        (lambda frame: frame.assign(predicted=frame["label"]), "are right, so no slice is weaker"),
        (
            lambda frame: frame.assign(label=frame["predicted"].map({"negative": "positive", "positive": "negative"})),
            "are wrong, so no slice",
        ),
        (
            lambda frame: frame.head(100).assign(text="a warm day", stars=1, product="x"),
            "No slice of these 100 rows has 10 rows in each half",
        ),
    ],
)
def test_rows_that_cannot_be_searched_say_why(change: Callable[[pd.DataFrame], pd.DataFrame], message: str) -> None:
    with pytest.raises(InputError, match=message):
        weak_slices(rows_of(change(table(n=400))))


@pytest.mark.exhaustive
def test_one_class_and_strange_columns_are_searched() -> None:
    """One predicted class, one labelled class, columns of NaN and of as many values as rows: each search ends without an error."""
    frame = table(n=600).assign(empty=np.nan, key=[f"k{i}" for i in range(600)], amount=np.linspace(0, 1, 600), when="2024-05-31")
    for changed in (frame.assign(predicted="positive"), frame.assign(label="positive")):
        weak = weak_slices(rows_of(changed))
        assert weak.candidates > 4 and not {"empty", "key", "when"} & set(rows_of(changed).own)


def test_flipped_labels_make_the_weak_slices_of_the_mirror(rows: Rows) -> None:
    """If every label is flipped, the slices with most right predictions are weak: none of the planted ones is found."""
    flipped = replace(rows, frame=rows.frame.assign(label=1 - rows.labels, right=~rows.frame["right"].to_numpy(bool)))
    assert not {"col=product:phone~has=negation", "word=battery"} & set(weak_slices(flipped).weaker["slice"])


@pytest.mark.exhaustive
def test_the_command_and_the_figure_show_what_was_found(tmp_path: Path) -> None:
    """The command prints each slice with the text that --among takes; the figure has a row for each tested slice."""
    file = tmp_path / "reviews.csv"
    table().to_csv(file, index=False)
    done = CliRunner().invoke(main, ["evaluate", str(file), "--slices"])
    assert done.exit_code == 0 and "--among 'col=product:phone~has=negation'" in done.output, done.output
    refused = CliRunner().invoke(main, ["evaluate", str(file), "--among", "col=colour:red"])
    assert refused.exit_code == 1 and "no column “colour”" in refused.output
    figure = gallery.draw(str(file), "weak-slices")
    weak = sentviz.weak_slices(rows_of(table()))
    pd.testing.assert_frame_equal(figure.frame, weak.frame)
    words = "significantly weaker (p adjusted by Holm below 0.05)"
    assert f"{words}; the others are grey." in figure.caption
    first, tested = weak.frame.iloc[:1], weak.frame.iloc[:3]
    for frame, weaker, sentence in (
        (tested, [True, False, False], f"1 is {words}; the others are grey."),
        (tested, [True, True, False], f"2 are {words}; the others are grey."),
        (tested, [True] * 3, f"All are {words}."),
        (tested, [False] * 3, f"No slice is {words}."),
        (first, [True], f"The slice is {words}."),
    ):
        result = replace(weak, frame=frame.assign(found=weaker))
        assert sentence in figure_of("weak-slices", stub(weak_slices=lambda seed, result=result: result)).caption
    part = gallery.draw(str(file), "confusion", among="has=negation")
    assert part.frame["count"].sum() == table()["text"].str.endswith(" not").sum() + table()["text"].str.contains(" not battery").sum()
    assert "with negation n = " in str(part.source)
    with pytest.raises(InputError, match="no slice was tested"):
        figure_of("weak-slices", stub(weak_slices=lambda seed: replace(weak, frame=weak.frame.iloc[:0])))


def test_a_page_s_result_is_drawn_without_a_new_search(rows: Rows) -> None:
    of = Answers.of(rows)
    of.weak = weak_slices(rows)
    assert of.weak_slices(0) is of.weak
