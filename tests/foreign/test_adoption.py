"""Hugging Face encoders as runs, fine-tuning, and their ONNX graphs."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import sentviz
from sentviz import training
from sentviz.data import datasets
from sentviz.data.labels import order_of as order
from sentviz.data.lexicon import Lexicon
from sentviz.errors import InputError, RunError
from sentviz.models import hub
from sentviz.runs.catalog import catalog
from sentviz.runs.store import Run
from sentviz.serving.onnx import export, load
from sentviz.training import Trainer
from sentviz.training.foreign import ForeignTask
from sentviz.training.recipe import Recipe
from tests.foreign.models import SHORT, TEXT, answers, changed, saved


@pytest.mark.exhaustive
def test_a_foreign_model_becomes_a_run(
    toy_data: dict[str, datasets.Split], tmp_path: Path, lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An adopted model has the classes in the data set's order, answers as the folder's model does, and is one row of the catalogue."""
    monkeypatch.setattr(Lexicon, "load", lambda name: lexicon)
    folder = saved(tmp_path / "own model", "modernbert", ("POS", "NEG"))
    run = training.adopt(folder, "toy", tmp_path / "runs", lexicon="own", injection="last-scaled")
    assert run.name == "toy/own-model-last-scaled" and run.labels == ("negative", "positive")
    model, first = hub.HubModel.of(Run.open(run.folder)), hub.load(folder, lexicon=lexicon, injection="last-scaled")
    texts, labels = (toy_data["test"].frame[name].tolist() for name in ("text", "label"))
    np.testing.assert_allclose(answers(model, *texts), answers(first, *texts)[:, ::-1], atol=1e-5)
    np.testing.assert_allclose(model.trace(TEXT).attention, first.trace(TEXT).attention, atol=1e-6)
    stored = run.frame("test.parquet")["positive"]
    np.testing.assert_allclose(stored, model.calibrated(1.0).predict(texts)["positive"], atol=1e-5)
    assert run.metrics()["test"]["accuracy"]["value"] == pytest.approx(((stored > 0.5) == labels).mean(), abs=1e-5)
    assert run.shape == model.config and model.config.windows == (0, 6, 0)
    row = catalog([tmp_path / "runs"]).set_index("run").loc[run.name]
    assert (row["problem"], row["components"], row["data"]) == ("", 1, "toy")
    assert str(tmp_path) not in (run.folder / "config.json").read_text()
    (run.folder / "tokenizer.json").write_text("{}")
    with pytest.raises(RunError, match=r"tokenizer\.json is damaged"):
        hub.HubModel.of(Run.open(run.folder))


@pytest.mark.exhaustive
def test_classes_that_do_not_fit_the_data_set(toy_data: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="has the classes NEGATIVE, NEUTRAL, POSITIVE and the data set negative, positive"):
        training.adopt(folders["bert"], "toy", tmp_path)
    with pytest.raises(InputError, match=r"has 3 classes .*, but 2 are given \(negative, positive\)"):
        training.adopt(folders["bert"], "toy", tmp_path, classes=("negative", "positive"))


def test_classes_that_cannot_be_told() -> None:
    assert order(("Pos", "neu", "NEG"), ("negative", "neutral", "positive"), "short") == [2, 1, 0]
    for names in (("pos", "positive"), ("one star", "five stars")):
        with pytest.raises(InputError, match="name the model's classes as the data set does"):
            order(names, ("negative", "positive"), "twice the same")


@pytest.mark.exhaustive
def test_fine_tuning_learns_and_its_run_answers(toy_data: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path]) -> None:
    folder = changed(folders["bert"], tmp_path / "bert")
    torch.manual_seed(0)
    config = transformers.AutoConfig.from_pretrained(folder)
    transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    settings: dict[str, Any] = {"epochs": 8, "batch_size": 16, "learning_rate": 3e-3, "max_length": 24, "patience": 9}
    run = training.finetune(folder, "toy", tmp_path, progress=False, **settings)
    model, texts = hub.HubModel.of(run), toy_data["test"].frame["text"].tolist()
    assert run.name == "toy/bert" and run.metrics()["test"]["accuracy"]["value"] > 0.9
    assert model.config.max_length == 24 and model.labels == ("negative", "positive")
    np.testing.assert_allclose(run.frame("test.parquet")["positive"], model.calibrated(1.0).predict(texts)["positive"], atol=1e-5)


def test_a_lexicon_is_a_constant_of_the_training(
    toy_data: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path], lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Lexicon, "load", lambda name: lexicon)
    values = {"epochs": 1, "batch_size": 32, "max_length": 24, "dataset": "toy", "model": "bert-all", "source": "bert", "lexicon": "own"}
    subject = ForeignTask(Recipe.of(values | {"example": SHORT}), folders["bert"], "all")
    Trainer(subject, tmp_path / "toy" / "bert").fit(progress=False)
    table = lexicon.polarity(subject.tokenizer)
    table[list(subject.tokenizer.special_ids)] = 1 / 3
    assert torch.equal(subject.network.polarity, torch.from_numpy(table))


def test_fine_tuning_has_settings_of_its_own(tmp_path: Path, folders: dict[str, Path]) -> None:
    recipe = Recipe.of({"dataset": "toy", "model": "m", "source": "someone/m"})
    assert (recipe.schedule, recipe.epochs, recipe.batch_size, recipe.learning_rate, recipe.max_length) == ("linear", 3, 32, 2e-5, 128)
    assert Recipe.of(recipe.as_dict() | {"schedule": "cosine"}).schedule == "cosine"
    with pytest.raises(InputError, match="no setting 'speed'"):
        training.finetune(folders["bert"], "toy", tmp_path, speed=3)
    with pytest.raises(InputError, match=r"batch_size must be a .*, not 0"):
        training.finetune(folders["bert"], "toy", tmp_path, batch_size=0)


@pytest.mark.slow
def test_other_classes_or_another_folder_are_another_run_and_no_run_is_replaced(tmp_path: Path) -> None:
    """Swapped classes, other weights and another tokenizer are other runs; the same folder and classes are the same run."""
    first, namesake = (saved(tmp_path / place / "good", kind, ("LABEL_0", "LABEL_1")) for place, kind in (("a", "bert"), ("b", "electra")))
    worded = changed(first, tmp_path / "c" / "good") / "tokenizer.json"
    stored = json.loads(worded.read_text())
    stored["normalizer"]["lowercase"] = False
    worded.write_text(json.dumps(stored))
    order, swapped = ("negative", "positive"), ("positive", "negative")

    def opened(folder: Path, classes: tuple[str, str]) -> Run:
        return training.adopt(folder, "", tmp_path / "runs", classes=classes, own_name=True)

    def positive(run: Run, label: str = "positive") -> float:
        return sentviz.load(run).predict([SHORT])[label].item()

    run = opened(first, order)
    before, wanted = run.digest, positive(run)
    further = [opened(first, swapped), opened(namesake, order), opened(worded.parent, order)]
    assert len({run.name, *(each.name for each in further)}) == 4 and all(each.name.startswith("adopted/good-") for each in further)
    assert opened(first, order) == run and Run.open(run.folder).labels == order and further[0].labels == swapped
    assert Run.open(run.folder).digest == before and positive(run) == wanted
    assert positive(further[0], "negative") == pytest.approx(wanted, abs=1e-6)
    (run.folder / "tokenizer.json").write_text("{}")  # A damaged run is written again.
    assert positive(opened(first, order)) == wanted


@pytest.mark.exhaustive
@pytest.mark.skipif(find_spec("onnxruntime") is None or find_spec("onnxscript") is None, reason="the extra onnx is not installed")
@pytest.mark.parametrize("kind", ["bert", "deberta-v2", "gpt2"])
def test_an_adopted_model_is_exported(kind: str, tmp_path: Path) -> None:
    run = training.adopt(saved(tmp_path / kind, kind), "", tmp_path / "runs")
    card = export(run, tmp_path / "exported", maps=True)
    assert card["compared"]["largest_difference"] < 1e-4 and card["outputs"] == ["logits", "pooled", "attention"]
    ours, theirs = (model.predict([TEXT, SHORT])[list(run.labels)].to_numpy() for model in (sentviz.load(run), load(tmp_path / "exported")))
    np.testing.assert_allclose(theirs, ours, atol=1e-4)
