"""Repeated texts and leaks against loops over all pairs; the search for weak slices, which finds those planted and no other."""

import re
from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.testset import repeats as lib
from sentviz.analysis.testset.predictions_file import predictions
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted_rows
from sentviz.analysis.testset.subset import Subset
from sentviz.analysis.testset.weak import ALPHA, FEWEST, exact_p, halves, newcombe, weak_slices
from sentviz.charts.subjects import Answers
from sentviz.errors import InputError
from tests.kit import refused

WORDS = [f"w{i}" for i in range(40)]
N = 2_400


def words(text: str) -> list[str]:
    """The words of a text of this test, slowly."""
    return re.findall(r"[a-z0-9]+", text.lower())


def overlap(a: str, b: str) -> float:
    """Jaccard index of the sets of neighbouring word pairs, with the beginning of the text as a word."""
    first, second = ({*zip(["^", *words(text)], words(text), strict=False)} for text in (a, b))
    return len(first & second) / len(first | second) if first | second else 0.0


def random_texts(n: int = 150, seed: int = 0) -> list[str]:
    """Return random texts of 6 to 30 words; a third of them are changed copies of others."""
    rng = np.random.default_rng(seed)
    texts = [list(rng.choice(WORDS, rng.integers(6, 31))) for _ in range(n)]
    for i in range(0, n, 3):
        texts[i] = [*texts[(i * 7 + 1) % n]]
        for _ in range(rng.integers(0, 3)):
            texts[i][rng.integers(len(texts[i]))] = rng.choice(WORDS)
    return [" ".join(text).capitalize() + rng.choice([".", "!", ""]) for text in texts]


def rows_of(texts: list[str], labels: list[int] | None = None) -> Rows:
    n = len(texts)
    columns = {"id": [f"r{i}" for i in range(n)], "label": labels or [i % 2 for i in range(n)], "text": texts}
    shares = np.tile([0.2, 0.8], (n, 1))
    return predicted_rows(RowsSource("a file", "0" * 12), "mine", ("bad", "good"), columns, shares)


def test_repeats_and_leaks_are_those_of_loops() -> None:
    texts = random_texts()
    frame = lib.repeats(pd.Series(texts), np.zeros(len(texts)))
    group = list(range(len(texts)))
    best = [0.0] * len(texts)
    for i in range(len(texts)):
        for j in range(i):
            value = overlap(texts[i], texts[j])
            if value >= lib.NEAR:
                group = [group[j] if each == group[i] else each for each in group]
                best[i], best[j] = max(best[i], value), max(best[j], value)
    want = {i for i in range(len(texts)) if best[i]}
    assert set(frame["place"]) == want and 20 < len(want) < len(texts)
    for row in frame.itertuples():
        assert row.overlap == pytest.approx(best[row.place]) == pytest.approx(overlap(texts[row.place], texts[row.partner]))
        assert (row.kind == "exact") == (words(texts[row.place]) == words(texts[row.partner]))
    for _, part in frame.groupby("group"):
        assert len({group[i] for i in part["place"]}) == 1
    train, rng = random_texts(90, seed=1), np.random.default_rng(2)
    texts = [*random_texts(60, seed=3), *(train[i].upper() for i in range(5)), "w1 w2"]
    for i in range(5, 15):
        start = int(rng.integers(0, len(train[i].split()) - 5))
        texts.append(" ".join(train[i].split()[start : start + 5]))
    texts += [f"{text} again" for text in train if len(text.split()) > 15][:5]
    frame = lib.leaks(pd.Series(texts), pd.Series(train)).set_index("place")
    joined, kinds = [f" {' '.join(words(text))} " for text in train], set()
    for i, text in enumerate(texts):
        own, kind = f" {' '.join(words(text))} ", ""
        if own in joined:
            kind = "exact"
        elif len(words(text)) >= lib.LONG and any(own in known for known in joined):
            kind = "inside"
        elif max(overlap(text, known) for known in train) >= lib.NEAR:
            kind = "near"
        assert kind == (frame.loc[i, "kind"] if i in frame.index else "")
        assert kind != "inside" or own in joined[frame.loc[i, "partner"]]
        kinds.add(kind)
    assert kinds == {"exact", "inside", "near", ""}


def test_rows_say_why_they_are_listed() -> None:
    texts = ["Not good, bad!", "not <b>good</b> bad", "bad not good", ":)", " :) ", ":("]
    frame = lib.repeats(pd.Series(texts), [0, 1, 0, 1, 1, 0])
    assert sorted(zip(frame["place"], frame["kind"], frame["partner"], frame["differ"], strict=True)) == [
        (0, "exact", 1, True),
        (1, "exact", 0, True),
        (3, "exact", 4, False),
        (4, "exact", 3, False),
    ]
    assert frame["differ"].tolist() == [True, True, False, False]  # groups with different labels come first
    rows = rows_of(["a fine film", "a fine film!", "another story of the sea"], [0, 1, 1])
    listed, answer = lib.repeated(rows), lib.describe_repeats(lib.repeated(rows), 3)
    assert listed.frame["reason"].tolist() == [
        "The same words as row r1, which is labelled good.",
        "The same words as row r0, which is labelled bad.",
    ]
    assert listed.frame["other_text"].tolist() == ["a fine film!", "a fine film"]
    assert answer.startswith("2 of 3 rows (66.7\u00a0% [") and answer.endswith("in 1 of the groups.")
    train = pd.DataFrame({"id": ["t1"], "text": ["we heard another story of the sea today"], "label": [0]})
    leaks = lib.leaked(rows, train)
    assert leaks.frame["reason"].tolist() == ["Stands inside training row t1, which is labelled bad."]
    answer = lib.describe_leaks(leaks, rows, 1)
    assert "1 of 3 rows" in answer
    assert "is right on 100.0\u00a0% [20.7, 100.0] of them and on 50.0\u00a0% [9.5, 90.5] of the other rows" in answer
    assert lib.describe_leaks(lib.leaked(rows, train.assign(text="nothing")), rows, 1).startswith("None of the 3 rows")
    rows = rows_of(["one", "two"])
    assert not len(lib.repeated(rows)) and "None of the 2 rows" in lib.describe_repeats(lib.repeated(rows), 2)
    with pytest.raises(InputError, match="texts of these rows are not available"):
        lib.repeated(Rows(rows.source, "mine", rows.classes, rows.frame.drop(columns="text")))


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


def rows_in(frame: pd.DataFrame) -> Rows:
    return next(iter(predictions(frame).values()))


@pytest.fixture(scope="module")
def rows() -> Rows:
    return rows_in(table())


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


def test_p_values_and_intervals_are_those_of_slow_versions() -> None:
    rng = np.random.default_rng(7)
    for _ in range(6):
        predicted, right, inside = rng.integers(0, 2, 9), rng.random(9) < 0.5, rng.random(9) < 0.5
        ways = [[*combinations(np.flatnonzero(predicted == k), int(right[predicted == k].sum()))] for k in (0, 1)]
        counts = [sum(inside[i] for i in (*a, *b)) for a in ways[0] for b in ways[1]]
        observed = int((right & inside).sum())
        assert exact_p(right, predicted, inside) == pytest.approx(np.mean([count <= observed for count in counts]))
    assert exact_p(np.array([True] * 5 + [False] * 5), np.zeros(10, int), np.arange(10) >= 5) == pytest.approx(1 / comb(10, 5))
    assert newcombe(56, 70, 48, 80, 1.959964) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)
    assert newcombe(9, 10, 3, 10, 1.959964)[1:] == pytest.approx((0.1705, 0.8090), abs=5e-5)


def test_equal_texts_are_in_one_half_and_rows_that_cannot_be_searched_say_why(rows: Rows) -> None:
    twice = replace(rows, frame=pd.concat([rows.frame, rows.frame.assign(text=rows.frame["text"].str.upper() + " ")]))
    first = halves(twice, 0)
    assert (first[:N] == first[N:]).all() and 0.45 < first.mean() < 0.55 and (halves(rows, 1) != halves(rows, 0)).any()
    of = Answers.of(rows)
    of.weak = weak_slices(rows)
    assert of.weak_slices(0) is of.weak
    for change, message in [
        (lambda frame: frame.head(FEWEST - 1), "needs 100 rows with labels, and your table has 99"),
        (lambda frame: frame.assign(predicted=frame["label"]), "are right, so no slice is weaker"),
        (lambda frame: frame.assign(label=frame["predicted"].map({"negative": "positive", "positive": "negative"})), "are wrong, so no"),
        (lambda frame: frame.head(100).assign(text="a warm day", stars=1, product="x"), "of these 100 rows has 10 rows in each half"),
    ]:
        refused(InputError, message, weak_slices, rows_in(change(table(n=400))))
