"""Training: the loop does what the recipe says, and a toy task is learned."""

from __future__ import annotations

import errno
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.nn import functional as F

from sentviz.analysis.evaluation import evaluate
from sentviz.analysis.testset.rows import RowsSource, predicted
from sentviz.data import datasets
from sentviz.data.lexicon import Lexicon
from sentviz.errors import InputError, SentvizError
from sentviz.models.batches import collate
from sentviz.models.loading import load
from sentviz.runs.calibration import softmax
from sentviz.training import Trainer, batches, task_of, train
from sentviz.training.recipe import Recipe, finished, recipe_names
from tests.kit import hardmax_recipe, toy_recipe, toy_splits, toy_trainer, use_toy_data

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("toy_data")]


def whole(folder: Path, **changes: Any) -> Trainer:
    """Return a trainer after uninterrupted training."""
    trainer = toy_trainer(folder, **changes)
    trainer.fit(progress=False)
    return trainer


@pytest.mark.exhaustive
def test_train_finishes_what_was_begun(tmp_path: Path) -> None:
    """`train` after a stop writes a run with the uninterrupted history and deletes the resume point."""
    toy_trainer(tmp_path / "toy" / "ndt-unit-2").fit(progress=False, until=15)
    run = train(toy_recipe(), tmp_path, device="cpu", progress=False)
    assert run.config["steps"] == 40
    straight = whole(tmp_path / "straight")
    np.testing.assert_array_equal(run.history()["step"], [row[0] for row in straight.at.history])
    np.testing.assert_allclose(run.history()["value"], [row[5] for row in straight.at.history], rtol=1e-6)
    assert sorted(p.name for p in (tmp_path / "toy").iterdir()) == ["ndt-unit-2"]


@pytest.mark.exhaustive
def test_the_toy_task_is_learned(tmp_path: Path) -> None:
    """Training loss halves, validation is far above chance, and the best weights are stored."""
    trainer = whole(tmp_path / "x", epochs=6)
    losses = [row[5] for row in trainer.at.history if row[2] == "train_loss"]
    assert losses[-1] < 0.5 * losses[0] and trainer.at.best["accuracy"] > 0.85
    scores = [row[5] for row in trainer.at.history if row[2] == "validation_accuracy"]
    assert trainer.at.best["accuracy"] == max(scores) and len(scores) == 12
    run = trainer.finish()
    assert run.metrics()["validation"]["stored_accuracy"] == pytest.approx(max(scores), abs=0.02)
    assert run.metrics()["test"]["accuracy"]["value"] > 0.85


def test_what_is_written_says_its_format_and_kind(tmp_path: Path) -> None:
    """Every kind that needs no other package stores its format and its kind, and is read by them."""
    for recipe, kind in ((toy_recipe(epochs=1), "encoder"), (hardmax_recipe(epochs=1), "hardmax")):
        run = train(recipe, tmp_path, progress=False)
        assert run.config["format"] == 2 and run.config["model"]["kind"] == kind == run.shape.KIND
        assert finished(recipe, tmp_path) == run
        assert set(run.config["data"]["splits"]) == {"train", "validation", "test"}


def test_a_run_with_a_lexicon_is_measured_as_it_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polarities sum to exactly 1 in the loaded model, and the stored probabilities are exactly those of that model."""
    lexicon = Lexicon.of("own", pd.DataFrame({"term": ["warm", "dull", "clever"], "polarity": [3.0, -1.7, 0.3]}))
    monkeypatch.setattr(Lexicon, "load", lambda name: lexicon)
    run = train(toy_recipe("cls-all", lexicon="own", cls=True, epochs=1), tmp_path, progress=False)
    model, test = load(run), toy_splits()["test"]
    np.testing.assert_array_equal(run.frame("test.parquet")["positive"], evaluate(model, test).frame()["positive"])


def test_an_embedding_starts_as_wide_as_the_recipe_says() -> None:
    """Padding starts at the origin; without the setting each kind has its usual start."""
    for make, usual in ((toy_recipe, 0.02), (hardmax_recipe, 0.1)):
        for start, wanted in ((None, usual), (0.5, 0.5)):
            recipe = make(**({} if start is None else {"start": start}))
            weight = task_of(recipe).network.state_dict()["embedding.weight"]
            assert float(weight[1:].std()) == pytest.approx(wanted, rel=0.25) and not weight[0].any()


def test_the_logged_loss_is_the_mean_of_the_steps(tmp_path: Path) -> None:
    """The first log entry is the mean of the first five batches, without dropout and with a rate near 0."""
    trainer = toy_trainer(tmp_path / "x", dropout=0.0, learning_rate=1e-12, lambda_rate=1e-12, weight_decay=0.0)
    order = batches(trainer.lengths, 16, 0, 0)[:5]
    losses = []
    for rows in order:
        logits = torch.stack([trainer.task.network(collate([trainer.task.rows[i]])).logits[0] for i in rows])
        losses.append(float(F.cross_entropy(logits, trainer.targets[rows]).detach()))
    trainer.fit(progress=False, until=5)
    entry = next(row for row in trainer.at.history if row[2] == "train_loss")
    assert entry[:2] == [5, 0.5] and entry[5] == pytest.approx(np.mean(losses), abs=1e-5)


@pytest.mark.exhaustive
@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.25])
def test_the_rate_rises_linearly_then_falls_as_a_cosine(warmup: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step's rate equals the formula, in both groups."""
    trainer = toy_trainer(tmp_path / "x", warmup=warmup, lambda_rate=3e-3)
    seen: list[tuple[float, float]] = []
    optimizer = trainer.task.optimizer
    plain = optimizer.step

    def step(*_: object) -> None:
        seen.append((optimizer.param_groups[0]["lr"], optimizer.param_groups[1]["lr"]))
        plain()

    monkeypatch.setattr(optimizer, "step", step)
    trainer.fit(progress=False)
    warm = round(40 * warmup)
    for step, (rate, lambda_rate) in enumerate(seen):
        part = (step + 1) / warm if step < warm else (1 + math.cos(math.pi * (step - warm) / (40 - warm))) / 2
        assert rate == pytest.approx(1e-2 * part) and lambda_rate == pytest.approx(3e-3 * part)
    assert len(seen) == 40


@pytest.mark.parametrize("count, size", [(1000, 7), (64, 64), (5, 16), (3300, 32)])
def test_an_epoch_holds_every_row_once(count: int, size: int) -> None:
    """Batches have the stated size except the last of a pool, and depend on seed and epoch only."""
    lengths = np.random.default_rng(0).integers(1, 200, count)
    epoch = batches(lengths, size, 3, 1)
    assert sorted(np.concatenate(epoch).tolist()) == list(range(count))
    assert len(epoch) == math.ceil(count / size) and max(map(len, epoch)) <= size
    assert all(np.array_equal(a, b) for a, b in zip(epoch, batches(lengths, size, 3, 1), strict=True))
    if count > size:
        other_epochs = [np.concatenate(batches(lengths, size, *key)).tolist() for key in ((3, 2), (4, 1))]
        assert np.concatenate(epoch).tolist() not in other_epochs
        padded = sum(len(b) * lengths[b].max() for b in epoch)
        shuffled = np.random.default_rng(1).permutation(count)
        plain = sum(len(b) * lengths[b].max() for b in np.array_split(shuffled, len(epoch)))
        assert padded < 1.2 * lengths.sum() < plain
        firsts = [int(lengths[b].max()) for b in epoch]
        assert firsts != sorted(firsts)


@pytest.mark.parametrize("model", ["ndt-unit-3", "diff", "vanilla"])
def test_lambda_parameters_alone_are_not_decayed(model: str, tmp_path: Path) -> None:
    """The mixing's parameters have decay 0 and their own rate, all others the recipe's."""
    trainer = toy_trainer(tmp_path / "x", model, lambda_rate=2e-3)
    names = {id(p): n for n, p in trainer.task.network.named_parameters()}
    groups = [({names[id(p)] for p in g["params"]}, g["weight_decay"], g["lr"]) for g in trainer.task.optimizer.param_groups]
    mixing = {n for n in names.values() if ".mixing." in n}
    assert groups[0] == (set(names.values()) - mixing, 0.1, 1e-2)
    assert groups[1:] == ([(mixing, 0.0, 2e-3)] if model != "vanilla" else [])
    assert (model == "vanilla") == (not mixing)


def test_frozen_lambdas_stay_at_their_start(tmp_path: Path) -> None:
    """With learn_lambda = false the history of lambda is flat; otherwise it is not."""
    shape = {"width": 16, "heads": 2, "ffn_width": 24}
    for learn in (False, True):
        trainer = whole(tmp_path / str(learn), shape=shape | {"learn_lambda": learn}, epochs=1)
        values = {row[5] for row in trainer.at.history if row[2] == "lambda" and row[3] == 0}
        assert (len(values) == 1) == (not learn)


def test_patience_stops_a_run_that_gets_no_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a rate near 0 no evaluation after the first is better, and training stops, also after a resume."""
    settings = {"learning_rate": 1e-12, "lambda_rate": 1e-12, "weight_decay": 0.0, "patience": 2, "dropout": 0.0}
    trainer = toy_trainer(tmp_path / "x", **settings)
    plain = trainer._validate

    def validate() -> None:
        plain()
        trainer.at.best.update(accuracy=1.1)

    monkeypatch.setattr(trainer, "_validate", validate)
    trainer.fit(progress=False)
    assert trainer.at.stopped and trainer.at.step == 15
    again = toy_trainer(tmp_path / "x", **settings)
    again.resume()
    again.fit(progress=False)
    assert again.at.step == 15


@pytest.mark.parametrize(
    "values, reason",
    [
        ({"learning_rte": 1}, "no setting 'learning_rte'"),
        ({"epochs": "six"}, "epochs must be a whole number"),
        ({"epochs": 2.5}, "epochs must be a whole number"),
        ({"epochs": True}, "epochs must be a whole number"),
        ({"epochs": 0}, r"epochs must be a .*, not 0"),
        ({"batch_size": -1}, r"batch_size must be a .*, not -1"),
        ({"learning_rate": float("nan")}, r"learning_rate must be a .*, not nan"),
        ({"learning_rate": float("inf")}, r"learning_rate must be a .*, not inf"),
        ({"learning_rate": [1]}, "learning_rate must be a number"),
        ({"dropout": 1.5}, r"dropout must be a .*, not 1.5"),
        ({"label_smoothing": 1}, r"label_smoothing must be a .*, not 1"),
        ({"cls": "no"}, "cls must be true or false"),
        ({"model": 3}, "model must be a text"),
        ({"dataset": 3}, "dataset must be a text"),
        ({"shape": 3}, "shape must be a table"),
        ({"model": "magic"}, "no model 'magic'"),
        ({"tokenizer": "letters"}, "tokenizer must be words, bpe, tweets or english"),
    ],
)
def test_a_recipe_with_a_mistake_is_refused(values: dict[str, Any], reason: str) -> None:
    """The message names the setting."""
    with pytest.raises(InputError, match=reason):
        Recipe.of({"dataset": "toy"} | values)


def test_recipes_are_read_from_files(tmp_path: Path) -> None:
    """The shipped recipes and an own file with changes are read; unreadable files are refused."""
    for name in recipe_names():
        recipe = Recipe.read(name)
        assert Recipe.of(recipe.as_dict()) == recipe and recipe.name.startswith(f"{recipe.folder or recipe.dataset}/")
    own = tmp_path / "own.toml"
    own.write_text('dataset = "toy"\nlearning_rate = 1\n[shape]\nlayers = 3\n')
    recipe = Recipe.read(own, model="diff", seed=4, epochs=None)
    assert (recipe.name, recipe.shape, recipe.epochs) == ("toy/diff-s4", {"layers": 3}, 6)
    with pytest.raises(InputError, match="no recipe"):
        Recipe.read("none")
    for content in (b"dataset = ", b"\xff\xfe", b"epochs = 3"):
        own.write_bytes(content)
        with pytest.raises(InputError, match=r"is not valid TOML|is not in UTF-8|needs a dataset"):
            Recipe.read(own)


def test_a_data_set_without_classes_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A data set of scores instead of classes is refused at once."""
    splits = {name: replace(split, labels=()) for name, split in toy_splits().items()}
    monkeypatch.setattr(datasets, "load_split", lambda name, split: splits[split])
    with pytest.raises(InputError, match="toy has no classes to tell apart"):
        toy_trainer(tmp_path / "x")


def test_pairs_go_in_as_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored predictions of a row are those of the trace of both texts, also on another test split."""
    splits = use_toy_data(monkeypatch, pairs=True)
    recipe = toy_recipe("cls", cls=True, transfer="elsewhere", epochs=1)
    run = train(recipe, tmp_path, progress=False)
    model = load(run)
    assert model.config.segments == 2
    stored = run.frame("test.parquet")
    assert stored["split"].value_counts().to_dict() == {"test": 60, "elsewhere": 60}
    assert run.metrics()["elsewhere"]["accuracy"] == run.metrics()["test"]["accuracy"]
    frame = splits["test"].frame
    for row in (0, 7):
        text, pair = frame.loc[row, ["text", "text_pair"]]
        trace = model.trace(text, pair)
        assert trace.tokens.count("[SEP]") == 2 and set(trace.segments.tolist()) == {0, 1}
        np.testing.assert_allclose(stored.iloc[row][list(model.labels)].to_numpy(float), softmax(trace.logits), atol=2e-5)
        assert not np.allclose(model.trace(pair, text).probabilities, trace.probabilities, atol=1e-6)
    rows = model.read(frame)
    again = predicted(model, RowsSource(model.name, "digest"), frame, "test").probabilities
    np.testing.assert_allclose(again, softmax(model.forward(rows)[0], model.calibration), atol=1e-6)
    bare = [replace(row, segments=None) for row in rows]
    assert not np.allclose(again, softmax(model.forward(bare)[0], model.calibration), atol=1e-4)  # without segments it is another question


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read-only disk refuses the lock, the first file that training writes, in one sentence."""
    use_toy_data(monkeypatch)

    def refused(path: Path, *rest: object, **more: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(SentvizError, match=r"toy cannot be written: Read-only file system\.$"):
        train(toy_recipe(), tmp_path, progress=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("precision", "capability", "is_half"),
    [("bf16", "AVX512", True), ("bf16", "AVX2", False), ("fp32", "AVX512", False), ("auto", "AVX512", False)],
)
def test_bf16_is_computed_where_the_processor_has_it(
    precision: str, capability: str, is_half: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A product within the trainer's context has the type of the recipe, or fp32 on a processor that imitates bf16."""
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    use_toy_data(monkeypatch)
    with toy_trainer(tmp_path, precision=precision)._precision("cpu"):
        product = torch.ones(2, 2) @ torch.ones(2, 2)
    assert (product.dtype == torch.bfloat16) == is_half
