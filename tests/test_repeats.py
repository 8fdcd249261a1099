"""Repeated texts and leaks: against loops over all pairs; planted ones are listed; bad input takes bounded time."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.testset import repeats as lib
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted_rows
from sentviz.errors import InputError

WORDS = [f"w{i}" for i in range(40)]


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


def test_repeats_are_those_of_a_loop_over_all_pairs() -> None:
    """Groups are the connected parts of the pairs at or above the limit; each row names its most similar text."""
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


def test_case_punctuation_and_markup_do_not_count_and_order_does() -> None:
    texts = ["Not good, bad!", "not <b>good</b> bad", "bad not good", ":)", " :) ", ":("]
    frame = lib.repeats(pd.Series(texts), [0, 1, 0, 1, 1, 0])
    assert sorted(zip(frame["place"], frame["kind"], frame["partner"], frame["differ"], strict=True)) == [
        (0, "exact", 1, True),
        (1, "exact", 0, True),
        (3, "exact", 4, False),
        (4, "exact", 3, False),
    ]
    assert frame["differ"].tolist() == [True, True, False, False]  # groups with different labels come first


def test_leaks_are_those_of_a_loop() -> None:
    """Exact, near and inside, against loops over words; the training text of each is named."""
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


def test_rows_without_texts_or_repeats() -> None:
    rows = rows_of(["one", "two"])
    assert not len(lib.repeated(rows)) and "None of the 2 rows" in lib.describe_repeats(lib.repeated(rows), 2)
    with pytest.raises(InputError, match="texts of these rows are not available"):
        lib.repeated(Rows(rows.source, "mine", rows.classes, rows.frame.drop(columns="text")))
