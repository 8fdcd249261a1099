"""Hugging Face encoders as runs, and fine-tuning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

transformers = pytest.importorskip("transformers", reason="the extra hub (transformers) is not installed")


import sentviz  # noqa: E402
from sentviz import training  # noqa: E402
from sentviz.data import datasets  # noqa: E402
from sentviz.data.labels import order_of as order  # noqa: E402
from sentviz.data.lexicon import Lexicon  # noqa: E402
from sentviz.errors import InputError, RunError  # noqa: E402
from sentviz.models import hub  # noqa: E402
from sentviz.models.protocol import Capture  # noqa: E402
from sentviz.runs.catalog import catalog  # noqa: E402
from sentviz.runs.store import Run  # noqa: E402
from sentviz.training import Trainer  # noqa: E402
from sentviz.training.foreign import ForeignTask  # noqa: E402
from sentviz.training.recipe import Recipe  # noqa: E402
from tests.foreign.models import SHORT, TEXT, answers, changed, saved  # noqa: E402

pytestmark = pytest.mark.slow


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
    texts = toy_data["test"].frame["text"].tolist()
    np.testing.assert_allclose(answers(model, *texts), answers(first, *texts)[:, ::-1], atol=1e-5)
    np.testing.assert_allclose(model.trace(TEXT).attention, first.trace(TEXT).attention, atol=1e-6)
    stored = run.frame("test.parquet")
    np.testing.assert_allclose(stored["positive"], model.calibrated(1.0).predict(texts)["positive"], atol=1e-5)
    right = (stored["positive"] > 0.5).to_numpy(int) == toy_data["test"].frame["label"].to_numpy()
    assert run.metrics()["test"]["accuracy"]["value"] == pytest.approx(right.mean(), abs=1e-5)
    assert run.shape == model.config and model.config.windows == (0, 6, 0)
    row = catalog([tmp_path / "runs"]).set_index("run").loc[run.name]
    assert row["problem"] == "" and row["components"] == 1 and row["data"] == "toy"
    assert run.example().text and set(run.history()["name"]) == {"validation_accuracy", "validation_loss"}
    assert str(tmp_path) not in (run.folder / "config.json").read_text()

    (run.folder / "tokenizer.json").write_text("{}")
    with pytest.raises(RunError, match=r"tokenizer\.json is damaged"):
        hub.HubModel.of(Run.open(run.folder))


@pytest.mark.exhaustive
def test_classes_that_cannot_be_told(toy_data: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="has the classes NEGATIVE, NEUTRAL, POSITIVE and the data set negative, positive"):
        training.adopt(folders["bert"], "toy", tmp_path)
    with pytest.raises(InputError, match=r"has 3 classes .*, but 2 are given \(negative, positive\)"):
        training.adopt(folders["bert"], "toy", tmp_path, classes=("negative", "positive"))
    folder = saved(tmp_path / "stars", "distilbert", ("one star", "five stars"))
    with pytest.raises(InputError, match="name the model's classes as the data set does"):
        training.adopt(folder, "toy", tmp_path)
    run = training.adopt(folder, "toy", tmp_path, classes=("negative", "positive"))
    np.testing.assert_allclose(answers(hub.HubModel.of(run), TEXT), answers(hub.load(folder), TEXT), atol=1e-6)
    assert order(("Pos", "neu", "NEG"), ("negative", "neutral", "positive"), "short") == [2, 1, 0]
    with pytest.raises(InputError, match="name the model"):
        order(("pos", "positive"), ("negative", "positive"), "twice the same")


SETTINGS: dict[str, Any] = {"epochs": 4, "batch_size": 16, "learning_rate": 3e-3, "max_length": 24, "log_every": 5, "patience": 9}


@pytest.mark.exhaustive
def test_fine_tuning_learns_and_its_run_answers(toy_data: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path]) -> None:
    """Fine-tuning a checkpoint with another number of classes trains a new head; the metrics are those of the stored weights."""
    folder = changed(folders["bert"], tmp_path / "bert")
    config = transformers.AutoConfig.from_pretrained(folder)
    torch.manual_seed(0)
    transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    run = training.finetune(folder, "toy", tmp_path, progress=False, **{**SETTINGS, "epochs": 8})
    assert run.name == "toy/bert"
    assert run.metrics()["test"]["accuracy"]["value"] > 0.9
    model = hub.HubModel.of(run)
    assert model.config.max_length == 24 and model.labels == ("negative", "positive")
    texts = toy_data["test"].frame["text"].tolist()
    np.testing.assert_allclose(run.frame("test.parquet")["positive"], model.calibrated(1.0).predict(texts)["positive"], atol=1e-5)
    assert run.config["recipe"]["source"] == "bert" and run.config["temperature"] > 0
    assert {"train_loss", "validation_accuracy", "learning_rate"} <= set(run.history()["name"])


def test_a_lexicon_is_a_constant_of_the_training(
    toy_data: dict[str, datasets.Split], tmp_path: Path, folders: dict[str, Path], lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training does not change the polarities of a lexicon."""
    monkeypatch.setattr(Lexicon, "load", lambda name: lexicon)
    values = {**SETTINGS, "epochs": 1, "dataset": "toy", "model": "bert-all", "source": "bert", "lexicon": "own", "example": SHORT}
    subject = ForeignTask(Recipe.of(values), folders["bert"], "all")
    Trainer(subject, tmp_path / "toy" / "bert").fit(progress=False)
    table = lexicon.polarity(subject.tokenizer)
    table[list(subject.tokenizer.special_ids)] = 1 / 3
    assert torch.equal(subject.network.polarity, torch.from_numpy(table))


def test_fine_tuning_has_settings_of_its_own() -> None:
    """Fine-tuning uses linear warm-up and decay unless the recipe says otherwise."""
    recipe = Recipe.of({"dataset": "toy", "model": "m", "source": "someone/m"})
    assert (recipe.schedule, recipe.epochs, recipe.batch_size, recipe.learning_rate, recipe.max_length) == ("linear", 3, 32, 2e-5, 128)
    assert Recipe.of(recipe.as_dict() | {"schedule": "cosine"}).schedule == "cosine"


def test_attention_dropout_acts_in_training_only(folders: dict[str, Path]) -> None:
    """The mean over many draws of dropout on the attention weights equals the output without dropout."""
    model = hub.load(folders["bert"])
    batch = model.inputs(model.encode(SHORT))
    for module in model.network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    attention = model.network.model.base_model.encoder.layer[0].attention.self
    attention.dropout.p = 0.5
    model.network.train()
    with torch.inference_mode():
        draws = [model.network(batch, Capture(maps=False, layers=(2,))).hidden[1] for _ in range(3)]
        assert not torch.equal(draws[0], draws[1])
        model.network.eval()
        same = [model.network(batch, Capture(maps=False, layers=(2,))).hidden[1] for _ in range(2)]
    assert torch.equal(same[0], same[1])


def test_settings_are_checked(tmp_path: Path, folders: dict[str, Path]) -> None:
    with pytest.raises(InputError, match="no setting 'speed'"):
        training.finetune(folders["bert"], "toy", tmp_path, speed=3)
    with pytest.raises(InputError, match=r"batch_size must be a .*, not 0"):
        training.finetune(folders["bert"], "toy", tmp_path, batch_size=0)


def test_other_classes_or_another_folder_are_another_run_and_no_run_is_replaced(tmp_path: Path) -> None:
    """Swapped classes, other weights and another tokenizer are other runs; the same folder and classes are the same run."""
    first, namesake = (saved(tmp_path / place / "good", kind, ("LABEL_0", "LABEL_1")) for place, kind in (("a", "bert"), ("b", "electra")))
    worded = changed(first, tmp_path / "c" / "good")
    stored = (worded / "tokenizer.json").read_text()
    (worded / "tokenizer.json").write_text(
        stored.replace('"lowercase":true', '"lowercase":false').replace('"lowercase": true', '"lowercase": false')
    )
    assert (worded / "tokenizer.json").read_text() != stored
    order, swapped = ("negative", "positive"), ("positive", "negative")

    def opened(folder: Path, classes: tuple[str, str]) -> Run:
        return training.adopt(folder, "", tmp_path / "runs", classes=classes, own_name=True)

    first_run = opened(first, order)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in first_run.folder.rglob("*") if path.is_file()}
    wanted = sentviz.load(first_run).predict([SHORT])["positive"].item()
    further = [opened(first, swapped), opened(namesake, order), opened(worded, order)]
    assert len({first_run.name, *(run.name for run in further)}) == 4 and all(run.name.startswith("adopted/good-") for run in further)
    assert opened(first, order) == first_run and Run.open(first_run.folder).labels == order and further[0].labels == swapped
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in first_run.folder.rglob("*") if path.is_file()} == before
    assert sentviz.load(first_run).predict([SHORT])["positive"].item() == wanted
    assert sentviz.load(further[0]).predict([SHORT])["negative"].item() == pytest.approx(wanted, abs=1e-6)

    (first_run.folder / "tokenizer.json").write_text("{}")  # A damaged run is written again.
    assert sentviz.load(opened(first, order)).predict([SHORT])["positive"].item() == wanted
