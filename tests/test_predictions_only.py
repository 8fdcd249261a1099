"""Predictions without a model: every figure of rows is drawn from them, and pages and figures say what needs a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sentviz.analysis.evaluation import confusion
from sentviz.analysis.testset.rows import Rows, RowsSource, predicted_rows
from sentviz.charts import gallery
from sentviz.charts.points import Points
from sentviz.charts.source import Source
from sentviz.charts.subjects import Answers, sourced
from sentviz.errors import InputError
from sentviz.export.record import Record
from sentviz.runs.store import Run

OURS = ("a dull garden", "a bright song and a warm soup", "the soup is not bright", "nobody sang, it was dull")
FILE = RowsSource("reviews.csv", "0123456789ab")
ORIGIN = "reviews.csv (own file n = 80, digest 0123456789ab)."
NO_VECTORS = "reviews.csv has predictions but no model, so there are no vectors"


def brought(source: RowsSource = FILE, labels: bool = True) -> Rows:
    """Return 80 rows with texts, as a file of predictions gives them; two thirds of the predictions are right."""
    label, wrong = np.arange(80) % 2, np.arange(80) % 3 == 0
    positive = np.where((label == 1) != wrong, 0.9, 0.2) + np.arange(80) / 1_000
    texts = [OURS[2 * label[place] + wrong[place]] for place in range(80)]  # a text per cell, so that words belong to cells
    columns = {"id": [f"r{place}" for place in range(80)], "label": label if labels else np.full(80, -1), "text": texts}
    return predicted_rows(source, "mine", ("negative", "positive"), columns, np.stack([1 - positive, positive], axis=1))


@pytest.mark.parametrize("name", ["confusion", "classes", "roc", "precision-recall", "threshold", "reliability", "word-cloud", "word-list"])
@pytest.mark.exhaustive
def test_figures_of_rows_need_no_model(name: str) -> None:
    """Each figure names the file as its source, has no call that draws it again, and its record names no run."""
    figure = gallery.make(name, Answers.of(brought()))
    assert len(figure.frame) and figure.source == ORIGIN
    assert figure.call is None and figure.runs == ()
    assert Record.read(Record.of(figure).text()).source == ORIGIN


def test_numbers_are_those_of_the_file() -> None:
    """The matrix is counted from the rows. Without a temperature, the reliability diagram has one curve, otherwise two."""
    rows = brought()
    counts = gallery.make("confusion", Answers.of(rows)).frame["count"].to_numpy()
    assert counts.tolist() == confusion(rows.labels, rows.predicted, 2).ravel().tolist() and counts.min() > 0
    states = [
        set(gallery.make("reliability", Answers.of(brought(source))).frame["state"]) for source in (FILE, RowsSource("a", "b", 3, 2.0))
    ]
    assert states == [{"as it is"}, {"as it is", "logits / 2.00"}]


def test_words_of_rows_without_labels_are_counted_by_prediction() -> None:
    of = Answers.of(brought(labels=False))
    assert set(gallery.make("word-cloud", of, by="count").frame["label"]) == {-1}
    words = gallery.make("word-list", of, label=-1, predicted=1, by="count").frame.set_index("word")["count"]
    rows = of.first.frame
    assert words["soup"] == rows.loc[rows["predicted"] == 1, "text"].str.count("soup").sum() > 0


def test_a_file_is_compared_with_a_run(tiny_run: Path) -> None:
    """The source names both. The record names the run alone, because a file cannot be opened by name."""
    run = Run.open(tiny_run)
    figure = gallery.make("agreement", Answers.of(brought(RowsSource.of(run)), brought()))
    origin = f"{run.name} (seed 0, own file n = 80, digest {run.digest})"
    assert figure.source == f"{origin}; {ORIGIN}" and figure.call is None
    assert figure.runs == (Source(run.name, run.digest, 0, "own file n = 80"),)
    assert sourced(figure, run, rows=brought()).source == f"{origin}."


@pytest.mark.parametrize("name", ["embeddings", "silhouette"])
def test_pictures_of_vectors_need_a_model(name: str) -> None:
    with pytest.raises(InputError, match=NO_VECTORS):
        gallery.make(name, Points.of(brought()))


def test_words_need_texts() -> None:
    rows = brought()
    bare = predicted_rows(FILE, "mine", rows.classes, rows.frame.drop(columns="text"), rows.probabilities)
    with pytest.raises(InputError, match="texts of these rows are not available"):
        gallery.make("word-cloud", Answers.of(bare))
