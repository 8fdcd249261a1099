"""Training on the user's own data: usual settings, where the run is stored, and what its result is compared with."""

import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from click.testing import CliRunner, Result
from scipy.stats import binomtest

from sentviz import Recipe, RunError, find, train
from sentviz.analysis.testset.baselines import simple_predictions
from sentviz.cli import main
from sentviz.data import datasets
from sentviz.data.dataset_info import Cut
from sentviz.data.datasets import load_split
from sentviz.data.user_datasets import add_data
from sentviz.errors import InputError
from sentviz.runs.presets import presets
from sentviz.runs.store import SHIPPED, folder_for
from sentviz.training import own_data, task_of
from sentviz.training.based import BasedTask
from sentviz.training.own_data import compared
from tests.bases import toy_base
from tests.kit import refused, toy_splits

VADER = ["VADER"] if find_spec("vaderSentiment") else []  # an optional package


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library with the made-up data set as mine/soups and the base `tiny`."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTVIZ_HOME", str(home))
        patch.delenv("SENTVIZ_MODELS", raising=False)
        add_data(rows(), "soups")
        toy_base(home / "runs")
    return home


@pytest.fixture(autouse=True)
def home(library: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SENTVIZ_HOME", str(library))
    monkeypatch.delenv("SENTVIZ_MODELS", raising=False)
    return library


def rows() -> pd.DataFrame:
    """Return the made-up data set as a user's table."""
    parts = [split.frame.assign(split=name) for name, split in toy_splits().items()]
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(label=[("negative", "positive")[label] for label in frame["label"]]).drop(columns="id")


def command(*arguments: str | Path) -> Result:
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.exhaustive
def test_a_run_on_own_data_does_everything(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = command("train", "mine/soups", "--base", "tiny", "--length", "20", "--quiet")
    run = find("soups/tiny")
    assert run.folder == (home / "runs" / "soups" / "tiny").resolve() and run.config["data"]["name"] == "mine/soups"
    assert run.shape.max_length == 20 and run.config["recipe"]["max_length"] == 20 and run.epochs == tuple(range(1, 7))
    _, _, after = done.output.partition("Accuracy on 60 validation rows, with its 95 % interval:\n")
    beside = [re.split(r"\s+\d", line.strip())[0] for line in after.splitlines()[: 3 + len(VADER)]]
    assert beside == ["this run, soups/tiny", "TF-IDF, logistic regression", *VADER, "commonest class, positive"]
    frame = compared(run)
    assert frame["accuracy"][0] == run.metrics()["validation"]["stored_accuracy"] and (frame["n"] == 60).all()
    assert "was already trained with this recipe" in command("train", "mine/soups", "--base", "tiny", "--length", "20").output
    for words in (["words"], ["epochs", "--sample", "20"], ["faithfulness", "--sample", "4"], ["heads"], ["evaluate"]):
        command(words[0], "soups/tiny", *words[1:])
    scored = command("score", "soups/tiny", "mine/soups", "--label", "label", "-o", tmp_path / "out.csv").output
    assert "280 rows" in scored and "on the 280 rows with a label" in scored
    add_data(rows().iloc[:200], "soups", replace=True)
    with pytest.raises(RunError, match="was trained on other rows of mine/soups"):
        train(Recipe.read("mine/soups", base="tiny", max_length=20, epochs=6, keep_epochs=6), progress=False)
    add_data(rows(), "soups", replace=True)


def test_the_settings_follow_the_number_of_rows_and_any_preset_can_be_trained(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, known in presets().items():
        lexicon = "lexicon_en_vader" if known.shape.get("lexicon", "none") != "none" else None
        recipe = Recipe.read("mine/soups", model=name, lexicon=lexicon, max_length=32)
        assert (recipe.name, recipe.base, recipe.max_length, recipe.keep_epochs) == (f"soups/{name}", "", 32, 0)
    refused(InputError, "There is no data set 'mine/soup'; similar names: mine/soups", Recipe.read, "mine/soup")
    refused(RunError, "The base 'other' is not installed", Recipe.read, "mine/soups", base="other")
    assert folder_for("mine/soups") == home / "runs" and folder_for("sst2") == Path("runs")
    assert folder_for("mine/soups", tmp_path) == tmp_path
    for folder in (SHIPPED, SHIPPED / "mine"):
        refused(InputError, "Runs on mine/soups are private", folder_for, "mine/soups", folder)
    soups = datasets.info("mine/soups")
    for rows_, batch, epochs, updates in [(22, 4, 10, 0), (1_400, 16, 3, 0), (90_000, 16, 1, 0), (900_000, 16, 1, 6_000)]:
        item = replace(soups, cuts=(Cut(("train",), {"train": rows_}),))
        monkeypatch.setattr(datasets, "info", lambda name, item=item: item)
        recipe = Recipe.read("mine/soups", base="tiny")
        assert (recipe.batch_size, recipe.epochs, recipe.updates, recipe.adapter_rank) == (batch, epochs, updates, 8)
        assert recipe.keep_epochs == (0 if updates else epochs)
        assert recipe.name == "soups/tiny" and recipe.max_length == recipe.shape["max_length"] == 24


def test_simple_classifiers_ignore_the_order_of_words() -> None:
    learned, tested = load_split("mine/soups", "train"), load_split("mine/soups", "validation")
    most, predicted = int(np.bincount(learned.frame["label"]).argmax()), simple_predictions(learned, tested, "en")
    assert list(predicted) == ["TF-IDF, logistic regression", *VADER, f"commonest class, {learned.labels[most]}"]
    labels = tested.frame["label"].to_numpy()
    assert (predicted["TF-IDF, logistic regression"] == labels).mean() > 0.95
    assert "VADER" not in simple_predictions(learned, tested, "ko") and set(predicted[list(predicted)[-1]]) == {most}


def test_frozen_layers_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe.read("mine/soups", base="tiny", max_length=20)
    assert recipe.adapter_layers == 1
    task = task_of(recipe)
    assert isinstance(task, BasedTask) and task.start == task.network.config.layers - 1 > 0
    rows, below = np.array([3, 50, 7, 120]), task.network.blocks[0]
    once = task.logits(rows)
    torch.testing.assert_close(once, task.network(task.batch(rows)).logits, atol=5e-3, rtol=5e-3)
    with monkeypatch.context() as patch:
        patch.setattr(below, "forward", None)  # is not needed again
        assert torch.equal(task.logits(rows), once)
    once.sum().backward()
    assert all(parameter.grad is not None for parameter in task.network.parameters())
    room = 2 * 32 * int(task.lengths.sum())
    for start, most, changes in (
        *((2 * (updates > 40), room, {"updates": updates}) for updates in (40, 41)),
        *((2 * (most == room), most, {}) for most in (room - 1, room)),
        *((0, room, changes) for changes in ({"epochs": 1}, {"dropout": 0.1}, {"adapter_layers": 0})),
    ):
        monkeypatch.setattr("sentviz.training.based.MOST_STATES", most)
        assert task_of(Recipe.read("mine/soups", base="tiny", max_length=20, **changes)).start == start, changes


def test_a_run_is_compared_with_simple_classifiers(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr(own_data, "simple_predictions", lambda train, *_: read.append(len(train)) or {"all good": np.ones(60, dtype=int)})
    right = int(load_split("mine/soups", "validation").frame["label"].sum())
    for rows_ in (40, 0):
        config = {"data": {"name": "mine/soups"}, "recipe": {"rows": rows_} if rows_ else {}}
        run: Any = SimpleNamespace(name="a/b", config=config, metrics=lambda: {"validation": {"confusion": [[20, 3], [7, 30]]}})
        frame = compared(run)
        assert frame[["name", "accuracy", "n"]].to_numpy().tolist() == [["this run, a/b", 50 / 60, 60], ["all good", right / 60, 60]]
        limits = [binomtest(hits, 60).proportion_ci(method="wilson") for hits in (50, right)]
        np.testing.assert_allclose(frame[["low", "high"]], limits, atol=1e-3)
    assert read == [40, len(load_split("mine/soups", "train"))]
