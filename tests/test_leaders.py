"""Leaders over a split, against one review after the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sentviz.analysis.testset.leaders import CONFIDENCES, FILE, MEASURES, NEAR, followed, frequent, leading, per_layer, survey
from sentviz.errors import InputError
from sentviz.models.hardmax import HardmaxModel
from sentviz.runs.store import Run
from sentviz.runs.writing import attach
from sentviz.training import train
from tests import kit


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Train a run on the made-up set."""
    with pytest.MonkeyPatch.context() as patch:
        kit.use_toy_data(patch)
        return train(kit.hardmax_recipe(epochs=2), tmp_path_factory.mktemp("runs"), progress=False)


@pytest.fixture(scope="module")
def model(run: Run) -> HardmaxModel:
    return HardmaxModel.of(run).calibrated(1.0)


@pytest.fixture(scope="module")
def frame(model: HardmaxModel) -> pd.DataFrame:
    return survey(model, kit.toy_splits()["test"])


@pytest.mark.exhaustive
def test_measures_and_leaders_are_those_of_each_review(model: HardmaxModel) -> None:
    rng = np.random.default_rng(0)
    rows = [rng.integers(4, model.config.vocab_size, size=n).astype(np.int32) for n in (1, 2, 7, 12, 30, 30)]
    measures, words, probabilities = followed(model, rows)
    for i, row in enumerate(rows):
        review = model.follow(" ".join(model.tokenizer.token_of(int(j)) for j in row))
        np.testing.assert_array_equal(np.sort(words[i]), np.sort(row[review.leaders]))
        assert probabilities[i] == pytest.approx(review.probabilities[-1, 1], abs=1e-9)
        since = np.full(len(row), 99)
        since[review.leaders] = review.since
        first = [list(row).index(word) for word in row]
        since = since[first]  # equal words lead together
        for k, places in enumerate(review.positions):
            close = np.linalg.norm(places[:, None] - places[None], axis=-1) <= NEAR * np.linalg.norm(review.positions[0], axis=1).max()
            leads = since < (k + 1 if k < model.config.layers else 99)
            assert measures[i, k, 0] == len({word for word, lead in zip(row, leads, strict=True) if lead})
            order = [list(row).index(word) for word in np.unique(row)]
            assert measures[i, k, 1] == sum(not close[j, order[:place]].any() for place, j in enumerate(order))
            assert measures[i, k, 2] == pytest.approx(np.mean([close[j][leads].any() for j in range(len(row))]))


@pytest.mark.exhaustive
def test_the_survey_counts_reviews(model: HardmaxModel, frame: pd.DataFrame) -> None:
    split = kit.toy_splits()["test"].frame
    counts: Counter[tuple[str, str, bool]] = Counter()
    answers = model.predict(split["text"].tolist())
    for text, label, answer in zip(split["text"], split["label"], answers["label"], strict=True):
        review = model.follow(text)
        counts.update((review.words[i], kit.LABELS[label], kit.LABELS[label] == answer) for i in review.leaders)
    words = frame[frame["table"] == "words"].groupby(["name", "label", "correct"])["value"].sum()
    assert {key: int(value) for key, value in words.items()} == counts
    reviews = frame[frame["table"] == "reviews"]
    assert reviews["value"].sum() == len(split)
    assert set(np.round(reviews["confidence"].astype(float), 4)) <= set(CONFIDENCES)
    high = answers[["negative", "positive"]].max(axis=1)
    sure = reviews.loc[reviews["confidence"] >= np.float32(0.95), "value"].sum()
    assert sure == (high >= 0.95).sum()


def test_the_most_frequent_leaders(model: HardmaxModel, frame: pd.DataFrame) -> None:
    weight, _ = model.decision
    leaders = frequent(frame, model.vocabulary, weight, distance=0, confidence=0.5, top=3)
    assert leaders.groupby("label").size().max() <= 3
    words = frame[(frame["table"] == "words") & frame["correct"]]
    for label, part in leaders.groupby("label"):
        totals = words[words["label"] == label].groupby("name")["value"].sum().sort_values(ascending=False)
        assert part["count"].tolist() == totals.head(3).astype(int).tolist()
        np.testing.assert_allclose(part["share"], part["count"] / part["n"])
    np.testing.assert_allclose(leaders["distance"], leaders["score"] / np.linalg.norm(weight))
    far = frequent(frame, model.vocabulary, weight, distance=float(leaders["distance"].abs().median()), confidence=0.5, top=100)
    assert (far["distance"].abs() >= leaders["distance"].abs().median()).all()
    assert frequent(frame, model.vocabulary, weight, distance=1e9).empty
    for wrong in ({"confidence": 0.2}, {"distance": -1.0}, {"distance": float("nan")}, {"top": 0}):
        with pytest.raises(InputError):
            frequent(frame, model.vocabulary, weight, **wrong)  # type: ignore[arg-type]


def test_texts_without_a_known_word_are_left_out(model: HardmaxModel, frame: pd.DataFrame) -> None:
    split = kit.toy_splits()["test"]
    strange = split.frame.head(2).assign(text="the unheard-of")
    pd.testing.assert_frame_equal(survey(model, replace(split, frame=pd.concat([strange, split.frame], ignore_index=True))), frame)
    with pytest.raises(InputError, match="knows no word of these texts"):
        survey(model, replace(split, frame=strange))


def test_how_often_each_word_leads(model: HardmaxModel, frame: pd.DataFrame) -> None:
    table = leading(frame, model.vocabulary)
    assert table["word"].tolist() == model.vocabulary["word"].tolist()
    assert table["leads"].sum() == frame.loc[frame["table"] == "words", "value"].sum()
    assert "leads" not in model.vocabulary


def test_clustering_per_layer(model: HardmaxModel, frame: pd.DataFrame) -> None:
    rows = model.tokenizer.ids_batch(kit.toy_splits()["test"].frame["text"].tolist())
    measures, _, _ = followed(model, list(rows))
    table = per_layer(frame).set_index(["measure", "layer"])
    for column, name in enumerate(MEASURES):
        for k in (0, 3, model.config.layers):
            line = table.loc[(name, k)]
            assert line["mean"] == pytest.approx(measures[:, k, column].mean(), rel=1e-5)
            assert line["q25"] == pytest.approx(np.quantile(measures[:, k, column], 0.25), rel=1e-5)
            assert line["n"] == len(rows)


def test_stored_with_the_run(run: Run, frame: pd.DataFrame, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "toy" / "hardmax-d2"
    shutil.copytree(run.folder, folder)
    copy = Run.open(folder, run.name)
    stored = attach(copy, FILE, frame)
    pd.testing.assert_frame_equal(stored.frame(FILE), frame)
    assert stored.digest != run.digest and stored.config["files"].items() >= run.config["files"].items()
    assert HardmaxModel.of(stored).alpha == HardmaxModel.of(run).alpha
