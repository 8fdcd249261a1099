"""Labels that look wrong: planted ones are found, the shipped precision is measured again, and bad input gets one sentence."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sentviz.analysis.evaluation import wilson
from sentviz.analysis.testset.label_errors import (
    NEAREST,
    describe,
    describe_check,
    flipped,
    label_errors,
    planted,
    summarised,
    suspected_pairs,
)
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted_rows
from sentviz.charts import gallery
from sentviz.charts.subjects import Answers
from sentviz.errors import InputError, RunError
from sentviz.io.numbers import percent
from tests.kit import refused

NAMES = ("bad", "fair", "good")


def judged(n: int = 300, wrong: int = 12, classes: int = 3, seed: int = 0) -> tuple[Rows, set[str]]:
    """Return rows whose probabilities fit the labels of all but the first `wrong` rows, and the ids of these."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, n)
    shares = rng.dirichlet(np.full(classes, 9.0), n) * 0.1 + 0.9 * np.eye(classes)[truth]
    labels = np.where(np.arange(n) < wrong, (truth + 1) % classes, truth)
    columns = {"id": [f"r{i}" for i in range(n)], "label": labels, "text": [f"row {i}" for i in range(n)]}
    return predicted_rows(RowsSource("a file", "0" * 12), "mine", NAMES[:classes], columns, shares), {f"r{i}" for i in range(wrong)}


@pytest.mark.parametrize("classes", [2, 3])
def test_wrong_labels_are_flagged_and_come_first(classes: int) -> None:
    rows, wrong = judged(classes=classes)
    marked = label_errors(rows)
    flagged = marked.frame[marked.frame["suspect"]]
    assert set(flagged["id"]) == wrong == set(marked.frame["id"].head(len(wrong)))
    own = [marked.frame[f"p{label}"].iloc[i] for i, label in enumerate(marked.labels)]
    assert marked.frame["own"].tolist() == own and own[: len(wrong)] == sorted(own[: len(wrong)])
    first = flagged.iloc[0]
    assert f"Labelled {NAMES[first['label']]}, which gets {percent(first['own'])}; {NAMES[first['likely']]} gets" in first["reason"]
    assert not any(marked.frame["reason"].iloc[len(wrong) :]) and describe(marked).startswith(
        f"{len(wrong)} of 300 labels look wrong: 4.0\u00a0%"
    )


def test_pairs_are_counted_with_wilsons_interval() -> None:
    rows, _ = judged()
    marked = label_errors(rows)
    frame = suspected_pairs(marked)
    for row in frame.to_dict("records"):
        n = int((marked.frame["suspect"] & (marked.frame["label"] == row["label"]) & (marked.frame["likely"] == row["likely"])).sum())
        of = sum(label == row["label"] for label in rows.labels)
        low, high = wilson(n, of)
        assert (row["n"], row["of"], row["low"], row["high"]) == (n, of, pytest.approx(float(low)), pytest.approx(float(high)))
    assert frame["n"].sum() == 12 and frame["n"].is_monotonic_decreasing
    figure = gallery.make("label-errors", Answers.of(rows))
    assert figure.frame["n"].tolist() == frame["n"].tolist() and figure.frame["label"].tolist() == [NAMES[k] for k in frame["label"]]


def test_the_labels_of_the_nearest_rows_are_counted() -> None:
    rows, _ = judged(60, wrong=5)
    rows.frame.loc[50:52, "label"] = -1
    places = np.arange(10, 58)
    vectors = np.random.default_rng(1).normal(size=(len(places), 4))
    marked = label_errors(rows, vectors, places).frame.set_index("id")["near"]
    labels, likely = rows.labels, rows.probabilities.argmax(axis=1)
    for i in range(60):
        if labels[i] < 0:
            assert f"r{i}" not in marked
        elif i not in places:
            assert np.isnan(marked[f"r{i}"])
        else:
            away = sorted((float(np.linalg.norm(vectors[i - 10] - vectors[j - 10])), j) for j in places if j != i and labels[j] >= 0)
            assert marked[f"r{i}"] == sum(labels[j] == likely[i] for _, j in away[:NEAREST])


def test_flipped_labels_are_another_class() -> None:
    labels = np.random.default_rng(0).integers(0, 3, 1_000)
    new, is_flipped = flipped(labels, 3, 0.05, seed=4)
    assert is_flipped.sum() == 50 and ((new != labels) == is_flipped).all() and new.min() >= 0 and new.max() <= 2
    assert (flipped(labels, 3, 0.05, seed=4)[0] == new).all() and (flipped(labels, 3, 0.05, seed=5)[0] != new).any()


def test_precision_is_that_of_a_loop() -> None:
    rows, _ = judged(400, wrong=0, classes=2, seed=2)
    rng = np.random.default_rng(3)
    shares = 0.6 * rows.probabilities + 0.4 * rng.dirichlet([1, 1], len(rows))
    frame = planted(rows.labels, shares, share=0.1, first=30, seeds=range(3))
    values = []
    for seed in range(3):
        new_labels, is_flipped = flipped(rows.labels, 2, 0.1, seed)
        ranked = sorted(range(len(rows)), key=lambda i: (shares[i, new_labels[i]], i))
        values.append(sum(bool(is_flipped[i]) for i in ranked[:30]) / 30)
    assert frame.loc[frame["method"] == "probability", "precision"].tolist() == values
    table = summarised(frame).set_index("method")
    spread = 4.302653 * np.std(values, ddof=1) / np.sqrt(3)
    assert table.loc["probability", "value"] == pytest.approx(np.mean(values))
    assert table.loc["probability", "low"] == pytest.approx(np.mean(values) - spread, abs=1e-5)
    assert table.loc["chance", "value"] == 0.1 and table.loc["cleanlab", "value"] > 0.5
    assert "against 10\u00a0% by chance" in describe_check(table.reset_index())


# ---- bad input


ROWS, _ = judged(classes=2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"frame": ROWS.frame.assign(label=(ROWS.labels + 1) % 2)}, "labels are probably swapped"),
        ({"frame": ROWS.frame.assign(label=1)}, "All labelled rows are “fair”"),
        ({"frame": ROWS.frame.head(5)}, "at least 20 labelled rows, and a file has 5"),
        ({"source": replace(ROWS.source, gives="classes")}, "only predicted classes"),
        ({"source": replace(ROWS.source, gives="scores")}, "scores that are not probabilities"),
    ],
)
def test_rows_that_cannot_be_judged(changes: Any, message: str) -> None:
    refused(InputError, message, label_errors, replace(ROWS, **changes))


def test_a_class_that_never_occurs() -> None:
    rows, _ = judged(classes=2)
    shares = np.column_stack([rows.probabilities * 0.9, np.full(len(rows), 0.1)])
    shares[200:210] = [0.01, 0.01, 0.98]
    wide = predicted_rows(rows.source, "mine", NAMES, {name: rows.frame[name] for name in ("id", "label", "text")}, shares)
    marked = label_errors(wide)
    assert set(marked.frame.loc[marked.frame["suspect"], "id"]) == {f"r{i}" for i in range(12)}


def test_without_cleanlab_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cleanlab.filter", None)
    refused(RunError, r"cleanlab: `python -m pip install 'sentviz\[labels\]'`", label_errors, judged()[0])
