"""Training: its plan by formula and scikit-learn, the loop does what the recipe says, and a toy task is learned."""

import errno
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import softmax as scipy_softmax
from sklearn.metrics import accuracy_score, f1_score, log_loss
from torch.nn import functional as F

from sentviz.analysis.evaluation import Evaluation, evaluate
from sentviz.analysis.testset.rows import RowsSource, predicted
from sentviz.data import datasets
from sentviz.data.datasets import MIDDLE
from sentviz.data.lexicon import Lexicon
from sentviz.errors import InputError, SentvizError
from sentviz.models.batches import collate
from sentviz.models.loading import load
from sentviz.runs.calibration import softmax
from sentviz.runs.store import Run
from sentviz.training import batches, task_of, train
from sentviz.training import trainer as trainers
from sentviz.training.plan import Mixture, better, evaluation_due, rate, scores
from sentviz.training.recipe import Recipe, Selection, finished, recipe_names
from sentviz.training.trainer import targets
from tests.kit import hardmax_recipe, toy_recipe, toy_splits, toy_trainer, use_toy_data

pytestmark = pytest.mark.usefixtures("toy_data")
SHAPES = {"cosine": lambda x: (1 + math.cos(math.pi * x)) / 2, "linear": lambda x: 1 - x, "constant": lambda x: 1.0}
SOURCES = np.array(["many"] * 64 + ["few"] * 4 + ["some"] * 16)


def test_the_toy_task_is_learned(run: Run, tmp_path: Path) -> None:
    history = run.history().groupby("name")["value"].apply(list)
    assert history["train_loss"][-1] < 0.5 * history["train_loss"][0] and len(history["validation_accuracy"]) == 8
    best = max(history["validation_accuracy"])
    assert run.config["best"]["accuracy"] == pytest.approx(best) and run.config["steps"] == 40
    assert run.metrics()["validation"]["stored_accuracy"] == pytest.approx(best, abs=0.02)
    assert run.metrics()["test"]["accuracy"]["value"] > 0.85
    assert run.config["format"] == 2 and run.config["model"]["kind"] == "encoder" == run.shape.KIND
    assert set(run.config["data"]["splits"]) == {"train", "validation", "test"}
    assert finished(toy_recipe(), run.folder.parents[1]) == run
    frozen = toy_trainer(tmp_path, shape={"width": 16, "heads": 2, "ffn_width": 24, "learn_lambda": False}, epochs=1)
    frozen.fit(progress=False)
    assert len({row[5] for row in frozen.at.history if row[2] == "lambda" and row[3] == 0}) == 1
    assert run.history().query("name == 'lambda' and layer == 0")["value"].nunique() > 1


def test_a_run_with_a_lexicon_is_measured_as_it_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lexicon = Lexicon.of("own", pd.DataFrame({"term": ["warm", "dull", "clever"], "polarity": [3.0, -1.7, 0.3]}))
    monkeypatch.setattr(Lexicon, "load", lambda name: lexicon)
    run = train(toy_recipe("cls-all", lexicon="own", cls=True, epochs=1), tmp_path, progress=False)
    model, test = load(run), toy_splits()["test"]
    np.testing.assert_array_equal(run.frame("test.parquet")["positive"], evaluate(model, test).frame()["positive"])


def test_an_embedding_starts_as_stated_and_the_logged_loss_is_the_mean_of_the_steps(tmp_path: Path) -> None:
    for make, usual in ((toy_recipe, 0.02), (hardmax_recipe, 0.1)):
        for start, wanted in ((None, usual), (0.5, 0.5)):
            recipe = make(**({} if start is None else {"start": start}))
            weight = task_of(recipe).network.state_dict()["embedding.weight"]
            assert float(weight[1:].std()) == pytest.approx(wanted, rel=0.25) and not weight[0].any()
    trainer = toy_trainer(tmp_path / "x", dropout=0.0, learning_rate=1e-12, lambda_rate=1e-12, weight_decay=0.0)
    order = batches(trainer.lengths, 16, 0, 0)[:5]
    losses = []
    for rows in order:
        logits = torch.stack([trainer.task.network(collate([trainer.task.rows[i]])).logits[0] for i in rows])
        losses.append(float(F.cross_entropy(logits, trainer.targets[rows]).detach()))
    trainer.fit(progress=False, until=5)
    entry = next(row for row in trainer.at.history if row[2] == "train_loss")
    assert entry[:2] == [5, 0.5] and entry[5] == pytest.approx(np.mean(losses), abs=1e-5)


def test_an_epoch_holds_every_row_once_and_mixtures_are_drawn_by_temperature() -> None:
    for count, size in [(1000, 7), (64, 64), (5, 16)]:
        lengths = np.random.default_rng(0).integers(1, 200, count)
        epoch = batches(lengths, size, 3, 1)
        assert sorted(np.concatenate(epoch).tolist()) == list(range(count))
        assert len(epoch) == math.ceil(count / size) and max(map(len, epoch)) <= size
        assert all(np.array_equal(a, b) for a, b in zip(epoch, batches(lengths, size, 3, 1), strict=True))
        if count > size:
            other_epochs = [np.concatenate(batches(lengths, size, *key)).tolist() for key in ((3, 2), (4, 1))]
            assert np.concatenate(epoch).tolist() not in other_epochs
            padded = sum(len(b) * lengths[b].max() for b in epoch)
            shuffled = np.array_split(np.random.default_rng(1).permutation(count), len(epoch))
            assert padded < 1.2 * lengths.sum() < sum(len(b) * lengths[b].max() for b in shuffled)
            firsts = [int(lengths[b].max()) for b in epoch]
            assert firsts != sorted(firsts)
    assert shares(1) == {"many": 64, "few": 4, "some": 16} and shares(2) == {"many": 48, "few": 12, "some": 24}
    assert shares(1e6) == {"many": 28, "few": 28, "some": 28}
    rows = Mixture(SOURCES, 2).draw(np.random.default_rng(1))
    for source in ("many", "few", "some"):
        assert np.ptp(np.bincount(rows, minlength=len(SOURCES))[source == SOURCES]) <= 1
    lengths = np.random.default_rng(0).integers(3, 30, len(SOURCES))
    epochs = [batches(lengths, 16, 0, epoch, Mixture(SOURCES, 2)) for epoch in (0, 0, 1)]
    assert [len(batch) for batch in epochs[0]].count(16) == 5 and sum(map(len, epochs[0])) == 84
    assert all((a == b).all() for a, b in zip(epochs[0], epochs[1], strict=True))
    assert any(len(a) != len(b) or (a != b).any() for a, b in zip(epochs[0], epochs[2], strict=True))


def test_lambda_parameters_alone_are_not_decayed_and_bf16_is_computed_where_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in ["ndt-unit-3", "diff", "vanilla"]:
        trainer = toy_trainer(tmp_path / "x", model, lambda_rate=2e-3)
        names = {id(p): n for n, p in trainer.task.network.named_parameters()}
        groups = [({names[id(p)] for p in g["params"]}, g["weight_decay"], g["lr"]) for g in trainer.task.optimizer.param_groups]
        mixing = {n for n in names.values() if ".mixing." in n}
        assert groups[0] == (set(names.values()) - mixing, 0.1, 1e-2)
        assert groups[1:] == ([(mixing, 0.0, 2e-3)] if model != "vanilla" else []) and (model == "vanilla") == (not mixing)
    cases = [("bf16", "AVX512", True), ("bf16", "AVX2", False), ("fp32", "AVX512", False), ("auto", "AVX512", False)]
    for precision, capability, half in cases:
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda capability=capability: capability)
        with toy_trainer(tmp_path, precision=precision)._precision("cpu"):
            product = torch.ones(2, 2) @ torch.ones(2, 2)
        assert (product.dtype == torch.bfloat16) == half


def test_recipes_are_read_and_checked(tmp_path: Path) -> None:
    mistakes: list[tuple[str, Any, str]] = [
        ("learning_rte", 1, "no setting 'learning_rte'"),
        *(("epochs", value, "epochs must be a whole number") for value in ("six", 2.5, True)),
        ("epochs", 0, r"epochs must be a .*, not 0"),
        ("batch_size", -1, r"batch_size must be a .*, not -1"),
        ("learning_rate", float("nan"), r"learning_rate must be a .*, not nan"),
        ("learning_rate", float("inf"), r"learning_rate must be a .*, not inf"),
        ("learning_rate", [1], "learning_rate must be a number"),
        ("dropout", 1.5, r"dropout must be a .*, not 1.5"),
        ("label_smoothing", 1, r"label_smoothing must be a .*, not 1"),
        ("cls", "no", "cls must be true or false"),
        ("model", 3, "model must be a text"),
        ("dataset", 3, "dataset must be a text"),
        ("shape", 3, "shape must be a table"),
        ("model", "magic", "no model 'magic'"),
        ("tokenizer", "letters", "tokenizer must be words, bpe, tweets or english"),
    ]
    for name, value, reason in mistakes:
        with pytest.raises(InputError, match=reason):
            Recipe.of({"dataset": "toy"} | {name: value})
    for name in ("select", "schedule", "tokenizer"):
        with pytest.raises(InputError, match=f"recipe's {name} must be .* or .*, not 'magic'"):
            Recipe.of({"dataset": "toy", name: "magic"})
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
    assert repr(Recipe.of({"dataset": "toy"})) == (
        "Recipe(dataset='toy', model='vanilla-matched', folder='', variant='', seed=0, example='', example_pair='', "
        "rows=0, test_rows=0, mixing_temperature=0.0, transfer='', source='', base='', weights='', teacher='', "
        "teacher_share=0.5, adapter_rank=0, adapter_alpha=16.0, adapter_layers=0, tokenizer='words', min_count=5, "
        "vocab_size=0, max_length=256, cls=False, lexicon='', shape={}, epochs=6, pretrain=0, updates=0, batch_size=64, "
        "learning_rate=0.0005, lambda_rate=0.0005, weight_decay=0.1, warmup=0.06, schedule='cosine', clip=1.0, "
        "dropout=0.2, label_smoothing=0.0, start=0.0, precision='auto', evaluations=2, select='accuracy', patience=6, "
        "log_every=20, intercept=False, keep_epochs=0)"
    )


def test_what_cannot_be_trained_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    splits = {name: replace(split, labels=()) for name, split in toy_splits().items()}
    monkeypatch.setattr(datasets, "load_split", lambda name, split: splits[split])
    with pytest.raises(InputError, match="toy has no classes to tell apart"):
        toy_trainer(tmp_path / "x")
    use_toy_data(monkeypatch)

    def refused(path: Path, *rest: object, **more: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(SentvizError, match=r"toy cannot be written: Read-only file system\.$"):
        train(toy_recipe(), tmp_path, progress=False)
    assert not list(tmp_path.iterdir())


def test_pairs_go_in_as_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = use_toy_data(monkeypatch, pairs=True)["test"].frame
    run = train(toy_recipe("cls", cls=True, transfer="elsewhere", epochs=1), tmp_path, progress=False)
    model, stored = load(run), run.frame("test.parquet")
    assert model.config.segments == 2 and stored["split"].value_counts().to_dict() == {"test": 60, "elsewhere": 60}
    assert run.metrics()["elsewhere"]["accuracy"] == run.metrics()["test"]["accuracy"]
    text, pair = frame.loc[7, ["text", "text_pair"]]
    trace = model.trace(text, pair)
    assert trace.tokens.count("[SEP]") == 2 and set(trace.segments.tolist()) == {0, 1}
    np.testing.assert_allclose(stored.iloc[7][list(model.labels)].to_numpy(float), softmax(trace.logits), atol=2e-5)
    rows = model.read(frame)
    again = predicted(model, RowsSource(model.name, "digest"), frame, "test").probabilities
    np.testing.assert_allclose(again, softmax(model.forward(rows)[0], model.calibration), atol=1e-6)
    bare = [replace(row, segments=None) for row in rows]
    assert not np.allclose(again, softmax(model.forward(bare)[0], model.calibration), atol=1e-4)  # without segments it is another question


def test_the_rate_follows_its_schedule_and_evaluations_are_spread() -> None:
    for schedule in SHAPES:
        for warm in (0, 1, 5):
            rates = [rate(schedule, step, 20, warm / 20) for step in range(20)]
            wanted = [*((i + 1) / warm for i in range(warm)), *(SHAPES[schedule](i / (20 - warm)) for i in range(20 - warm))]
            np.testing.assert_allclose(rates, wanted)
        assert rate("cosine", 0, 20, 0.001) == 1 == rate("cosine", 1, 20, 0.001) and rate("cosine", 1, 20, 0.0) < 1
    for evaluations, at in ((1, [10]), (2, [5, 10]), (3, [4, 7, 10]), (10, [*range(1, 11)])):
        assert [step for step in range(1, 21) if evaluation_due(step, 10, evaluations)] == [*at, *(10 + place for place in at)]


def answers(seed: int = 0, rows: int = 50, classes: int = 3) -> Evaluation:
    """Return random predictions of three classes, with a rare last one that is never predicted, or of two."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(classes, rows, p=[0.5, 0.4, 0.1] if classes == 3 else [0.6, 0.4])
    logits = (rng.normal(size=(rows, classes)) + 2 * np.eye(classes)[labels]).astype(np.float32)
    logits[:, 2:] -= 20
    ids = tuple(map(str, range(rows)))
    return Evaluation("validation", ids, labels, logits, np.zeros((rows, 2), dtype=np.float32), ("a", "b", "c")[:classes])


def test_scores_are_those_of_scikit_learn_and_tell_the_best() -> None:
    for select in get_args(Selection):
        evaluation = answers(classes=2 if select == "f1_positive" else 3)
        labels, predicted = evaluation.labels, evaluation.logits.argmax(axis=1)
        wanted = {
            "accuracy": accuracy_score(labels, predicted),
            "loss": log_loss(labels, scipy_softmax(evaluation.logits.astype(np.float64), axis=1)),
            "f1_macro": f1_score(labels, predicted, average="macro"),
            "f1_positive": f1_score(labels, predicted) if select == "f1_positive" else 0,
        }
        assert scores(evaluation, select) == pytest.approx({name: wanted[name] for name in {"accuracy", "loss", select}}, rel=1e-5)
    best = {"accuracy": 0.8, "loss": 0.5, "f1_macro": 0.7}
    assert better(best, {}, "accuracy")
    assert better(best | {"loss": 0.4}, best, "accuracy") and not better(best | {"loss": 0.6}, best, "accuracy")
    assert better(best | {"accuracy": 0.81, "loss": 0.9}, best, "accuracy") and not better(best, best, "accuracy")
    assert better(best | {"accuracy": 0.1, "loss": 0.49}, best, "loss")
    assert not better(best | {"accuracy": 0.9, "loss": 0.51}, best, "loss")
    assert better(best | {"f1_macro": 0.71, "accuracy": 0.1, "loss": 9.0}, best, "f1_macro")
    assert better(best | {"loss": 0.4}, best, "f1_macro") and not better(best | {"f1_macro": 0.69, "accuracy": 1.0}, best, "f1_macro")


def test_a_training_follows_its_schedule_stops_by_patience_and_keeps_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changes: dict[str, Any] = {"select": "f1_macro", "epochs": 2, "patience": 0, "log_every": 1}
    trainer = toy_trainer(tmp_path / "x", **changes)
    trainer.fit(progress=False)
    seen: dict[str, dict[int, float]] = {}
    for step, _, name, _, _, value in trainer.at.history:
        if name.startswith("validation_"):
            seen.setdefault(name.removeprefix("validation_"), {})[step] = value
    ranks = {step: (seen["f1_macro"][step], -seen["loss"][step]) for step in seen["loss"]}
    first = min(step for step in ranks if ranks[step] == max(ranks.values()))
    assert set(seen) == {"accuracy", "loss", "f1_macro"}
    assert trainer.at.best["step"] == first and trainer.at.best["f1_macro"] == seen["f1_macro"][first]
    until = toy_trainer(tmp_path / "y", **changes)
    until.fit(progress=False, until=first)
    assert all(torch.equal(trainer.best_state[k], v) for k, v in until.task.network.state_dict().items())
    count = iter(range(100))
    monkeypatch.setattr(trainers, "scores", lambda *_: {"accuracy": 0.5 + 0.01 * (i := next(count)), "loss": 1.0 + i})
    for patience, steps in ((2, 15), (0, 20)):
        settings = {"schedule": "linear", "warmup": 0.25, "log_every": 1, "epochs": 2, "select": "loss"}
        trainer = toy_trainer(tmp_path / str(patience), patience=patience, **settings)
        trainer.fit(progress=False)
        seen = [row[5] for row in trainer.at.history if row[2] == "learning_rate"]
        np.testing.assert_allclose(seen, [1e-2 * rate("linear", step, 20, 0.25) for step in range(steps)])
        assert trainer.at.step == steps and trainer.at.stopped == bool(patience)


def test_smoothed_labels_and_rows_between_the_classes_are_shares(tmp_path: Path) -> None:
    trainer = toy_trainer(tmp_path / "x", label_smoothing=0.2, dropout=0.0, log_every=1)
    rows = next(trainer._remaining(1))
    logs = F.log_softmax(toy_trainer(tmp_path / "y", dropout=0.0).task.logits(rows).detach(), dim=-1).numpy()
    shares = 0.8 * np.eye(2)[trainer.task.train.frame["label"].to_numpy()[rows]] + 0.1
    trainer.fit(progress=False, until=1)
    loss = next(row[5] for row in trainer.at.history if row[2] == "train_loss")
    assert loss == pytest.approx(-(shares * logs).sum(axis=1).mean(), rel=1e-5)
    before = toy_trainer(tmp_path / "a").targets
    trainer = toy_trainer(tmp_path / "b")
    frame = trainer.task.train.frame.copy()
    frame.loc[3, "label"] = MIDDLE
    shares = targets(replace(trainer.task.train, frame=frame), trainer.recipe)
    assert shares[3].tolist() == [0.5, 0.5] and before.dtype == torch.int64
    rest = torch.arange(len(before)) != 3
    assert (shares[rest].argmax(dim=1) == before[rest]).all() and set(shares[rest].flatten().tolist()) == {0.0, 1.0}


def shares(temperature: float) -> dict[str, int]:
    """Return the rows that an epoch draws of each source; n^(1/T) over their sum, of 84 rows."""
    rows = Mixture(SOURCES, temperature).draw(np.random.default_rng(0))
    assert len(rows) == len(SOURCES)
    names, counts = np.unique(SOURCES[rows], return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))
