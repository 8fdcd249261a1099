"""Training the hardmax classifier on short texts, of which some have no word that it knows, and on what it cannot read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sentviz.data import datasets
from sentviz.data.examples import EXAMPLES
from sentviz.errors import InputError
from sentviz.models.hardmax import HardmaxModel
from sentviz.runs.store import Run
from sentviz.training import train
from sentviz.training.recipe import Recipe
from tests import kit

STRANGE = {"train": (3, 50, 159), "validation": (0,), "test": (7, 8)}  # rows without a known word


def recipe(**changes: object) -> Recipe:
    return kit.hardmax_recipe(**{"min_count": 2, "epochs": 6, "example": "a warm garden"} | changes)


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, datasets.Split]]:
    """Train a run on the made-up set with a few texts of otherwise unknown words."""
    with pytest.MonkeyPatch.context() as patch:
        splits = kit.use_toy_data(patch)
        for split, rows in STRANGE.items():
            frame = splits[split].frame.copy()
            for row in rows:
                frame.loc[row, "text"] = f"the {split}{'abc'[rows.index(row)]}"
            splits[split] = replace(splits[split], frame=frame)
        return train(recipe(), tmp_path_factory.mktemp("runs"), progress=False), splits


@pytest.mark.exhaustive
def test_training_texts_without_a_known_word_are_dropped_and_counted(short: tuple[Run, dict[str, datasets.Split]]) -> None:
    run, splits = short
    stored_splits = run.config["data"]["splits"]
    assert (stored_splits["train"]["n"], stored_splits["train"]["dropped"]) == (len(splits["train"]) - 3, 3)
    assert (stored_splits["validation"]["n"], stored_splits["validation"]["dropped"]) == (len(splits["validation"]), 0)


def test_every_row_of_the_test_split_is_answered(short: tuple[Run, dict[str, datasets.Split]]) -> None:
    """A row without a known word has the answer at the origin, the others that of the model; metrics count all rows."""
    run, splits = short
    stored, model = run.frame("test.parquet"), HardmaxModel.of(run)
    frame = splits["test"].frame
    assert stored["id"].tolist() == frame["id"].tolist() and run.metrics()["test"]["n"] == len(frame)
    strange = frame.index.isin(STRANGE["test"])
    bias = model.decision[1]
    np.testing.assert_allclose(stored["positive"][strange], 1 / (1 + np.exp(-bias)), atol=1e-5)
    predicted = model.calibrated(1.0).predict(frame["text"][~strange].tolist())
    np.testing.assert_allclose(stored["positive"][~strange], predicted["positive"], atol=1e-5)
    right = (stored["positive"] > 0.5).to_numpy(int) == frame["label"].to_numpy()
    assert run.metrics()["test"]["accuracy"]["value"] == pytest.approx(right.mean(), abs=1e-5)
    assert run.metrics()["validation"]["stored_accuracy"] == pytest.approx(run.metrics()["validation"]["accuracy"], abs=0.02)


def test_an_example_that_it_cannot_read_gives_way_to_one_of_ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    splits = kit.use_toy_data(monkeypatch)
    run = train(recipe(example="정말 따뜻하고 밝은 영화", epochs=1), tmp_path, progress=False)
    assert run.example().text in {example.text for example in EXAMPLES}
    assert run.config["recipe"]["example"] == run.example().text
    frame = splits["train"].frame.replace(to_replace={"text": {word: f"{word}x" for word in (*kit.BAD, "song")}}, regex=True)
    splits["train"] = replace(splits["train"], frame=frame)
    with pytest.raises(InputError, match="would know no word of the example"):
        train(recipe(example="정말 따뜻하고 밝은 영화", epochs=2), tmp_path / "other", progress=False)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [("klue_nli", "has pairs"), ("yelp_full", "has 5 classes"), ("twitter_financial", "has 3 classes"), ("korsts", "has pairs")],
)
def test_what_it_cannot_tell_apart_is_refused_at_once(dataset: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data set is refused before it is read and before a folder is made."""
    monkeypatch.setenv("SENTVIZ_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "none"))
    with pytest.raises(InputError, match=f"needs two classes of single texts, but {dataset} {message}"):
        train(recipe(dataset=dataset), tmp_path / "runs")
    for seed in (-1, 1 << 63):
        with pytest.raises(InputError, match=f"seed .*{seed}"):
            recipe(seed=seed)
    assert not list(tmp_path.iterdir())


def test_a_lambda_is_refused_not_ignored(short: tuple[Run, dict[str, datasets.Split]]) -> None:
    model = HardmaxModel.of(short[0])
    ones = np.ones((model.config.layers, 1))
    same = model.trace("a warm garden", lambdas=ones)
    np.testing.assert_array_equal(same.logits, model.trace("a warm garden").logits)
    with pytest.raises(InputError, match="mixing cannot be changed"):
        model.trace("a warm garden", lambdas=ones / 2)
