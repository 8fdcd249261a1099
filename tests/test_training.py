"""Training: its plan by formula and scikit-learn, the loop does what the recipe says, and a toy task is learned."""

import errno
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import softmax as scipy_softmax
from sklearn.metrics import accuracy_score, f1_score, log_loss
from torch.nn import functional as F

from sentviz.analysis.evaluation import Evaluation
from sentviz.analysis.testset.rows import RowsSource, predicted
from sentviz.data import datasets
from sentviz.data.datasets import MIDDLE
from sentviz.data.lexicon import Lexicon
from sentviz.errors import InputError, SentvizError
from sentviz.models.loading import load
from sentviz.runs.calibration import softmax
from sentviz.runs.store import Run
from sentviz.training import Trainer, batches, resuming, task_of, train
from sentviz.training import trainer as trainers
from sentviz.training.plan import Mixture, better, evaluation_due, rate, scores
from sentviz.training.recipe import Recipe, Selection, finished, recipe_names
from sentviz.training.trainer import targets
from tests.kit import hardmax_recipe, refused, toy_recipe, toy_splits, toy_trainer, use_toy_data

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


def test_tasks_begin_as_their_recipes_say(monkeypatch: pytest.MonkeyPatch) -> None:
    lexicon = Lexicon.of("own", pd.DataFrame({"term": ["warm", "dull", "clever"], "polarity": [3.0, -1.7, 0.3]}))
    monkeypatch.setattr(Lexicon, "load", lambda name: lexicon)
    for make, usual in ((toy_recipe, 0.02), (hardmax_recipe, 0.1)):
        for start in (0.0, 0.5):
            weight = task_of(make(start=start) if start else make()).network.state_dict()["embedding.weight"]
            assert float(weight[1:].std()) == pytest.approx(start or usual, rel=0.25) and not weight[0].any()
    task = task_of(toy_recipe("cls-all", lexicon="own", cls=True))
    np.testing.assert_allclose(task.network.state_dict()["polarity"], lexicon.polarity(task.tokenizer), atol=1e-6)  # type: ignore[attr-defined]
    cnn = task_of(toy_recipe("cnn", shape={"filters": 4}))
    assert [type(each).__name__ for each in (task, cnn)] == ["EncoderTask", "OwnTask"]
    refused(NotImplementedError, "^$", cnn.masked_loss, np.arange(2))
    monkeypatch.setattr("sentviz.training.run.completed", lambda name, root, *_, **more: (name, root, more))
    answer: Any = train(toy_recipe(seed=2))
    assert answer == ("toy/ndt-unit-2-s2", Path("runs"), {"device": "", "progress": True})


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


LOOPS = [
    {"epochs": 3, "patience": 2, "warmup": 0.3, "clip": 0.1, "log_every": 2, "keep_epochs": 2, "label_smoothing": 0.2},
    {"epochs": 3, "schedule": "linear", "log_every": 3, "keep_epochs": 0, "patience": 3, "evaluations": 1, "select": "loss"},
    {"updates": 8, "pretrain": 4, "schedule": "constant", "evaluations": 4, "patience": 9, "log_every": 20, "keep_epochs": 9},
]
MEASURED = [0.5, 0.6, 0.6, 0.4, 0.7, 0.7]


@pytest.mark.parametrize("changes", LOOPS)
def test_the_loop_is_that_of_a_slow_one(changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe.of({"dataset": "toy", "model": "vanilla", "batch_size": 4, "learning_rate": 0.1, "dropout": 0.0} | changes)
    inputs, start = torch.randn(10, 3, generator=torch.Generator().manual_seed(0)), torch.full((2, 3), 0.1)
    frame = toy_splits()["train"].frame.head(10)
    labels, lengths = torch.tensor(frame["label"].to_numpy(np.int64, copy=True)), np.arange(10)

    def measured(step: int) -> dict[str, float]:
        return {"accuracy": MEASURED[step % 6], "loss": MEASURED[(step + 1) % 6]}

    def trainer() -> Trainer:
        network = torch.nn.Linear(3, 2, bias=False)
        network.weight.data = start.clone()
        network.scalars = lambda: [("lambda", 1, 2, float(network.weight[0, 0].detach()))]  # type: ignore[assignment]
        device = torch.device("cpu")
        task: Any = SimpleNamespace(recipe=recipe, network=network, device=device, lengths=lengths, validation=toy_splits()["validation"])
        task.train, task.optimizer = replace(toy_splits()["train"], frame=frame), torch.optim.AdamW(network.parameters(), lr=0.1)
        task.logits, task.masked_loss = lambda rows: network(inputs[rows]), lambda rows: (network(inputs[rows]) ** 2).mean()
        task.stored = lambda state: {name: tensor.clone() + 1 for name, tensor in state.items()}
        task.model = lambda: SimpleNamespace(on=lambda device: done.at.step)
        return (done := Trainer(task, tmp_path / "run"))

    monkeypatch.setattr(trainers, "evaluate", lambda step, split: step)
    monkeypatch.setattr(trainers, "scores", lambda step, select: measured(step))
    weight, per = start.clone().requires_grad_(), 3
    optimizer, history, losses = torch.optim.AdamW([weight], lr=0.1), list[Any](), list[float]()
    best, by_epoch, since, state, step = dict[str, float](), dict[int, Any](), 0, weight, 0
    learned = recipe.updates or per * recipe.epochs

    def log(name: str, value: float, layer: int = -1, component: int = -1) -> None:
        history.append([step, step / per, name, layer, component, pytest.approx(value, abs=1e-6)])

    log("lambda", 0.1, 1, 2)
    while step < recipe.pretrain + learned and since < recipe.patience:
        rows, masked = batches(lengths, 4, 0, step // per)[step % per], step < recipe.pretrain
        place = (step, recipe.pretrain) if masked else (step - recipe.pretrain, learned)
        optimizer.param_groups[0]["lr"] = high = 0.1 * rate(recipe.schedule, *place, recipe.warmup)
        logits = inputs[rows] @ weight.T
        shares = F.one_hot(labels[rows], 2) * (1 - recipe.label_smoothing) + recipe.label_smoothing / 2
        loss = (logits**2).mean() if masked else -(shares * F.log_softmax(logits, dim=1)).sum(dim=1).mean()
        (slope,) = torch.autograd.grad(loss, weight)
        weight.grad = slope * min(1.0, recipe.clip / float(slope.norm()))
        optimizer.step()
        losses, step = [*losses, float(loss.detach())], step + 1
        if step % recipe.log_every == 0 or step == recipe.pretrain:
            log("masked_loss" if masked else "train_loss", np.mean(losses))
            log("learning_rate", high)
            log("lambda", float(weight[0, 0].detach()), 1, 2)
            losses = []
        if step % per == 0:
            by_epoch[step // per] = weight.detach() + 1
        if not masked and evaluation_due(step - recipe.pretrain, learned if recipe.updates else per, recipe.evaluations):
            for name, value in measured(step).items():
                log(f"validation_{name}", value)
            since += 1
            if better(measured(step), best, recipe.select):
                best, since, state = measured(step) | {"step": step, "epoch": step / per}, 0, weight.detach().clone()
    parts, seen, saves, clock = trainer(), list[Any](), list[int](), iter(range(1_000))
    parts.fit(progress=False, until=5)
    again, save = trainer(), resuming.write
    monkeypatch.setattr(trainers, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(trainers, "SAVE_EVERY", 4)
    monkeypatch.setattr(resuming, "write", lambda *words: (saves.append(words[-1].step), save(*words)))
    assert again.resume() and again.at == parts.at and again.at.step == 5
    again.at.seconds = 90
    again.fit(progress=lambda *done: seen.append(done))
    assert again.at.history == history and again.at.best == best and again.at.since_best == since
    assert seen == [(i, recipe.pretrain + learned) for i in range(6, step + 1)] and again.at.step == step
    assert saves == [*range(8, step + 1, 3), step] and again.at.seconds == 90 + 2 * (step - 5) + (step - 6) // 3
    assert again.at.stopped == (since == recipe.patience) and len(again.at.best) == 4
    torch.testing.assert_close([again.best_state["weight"], again.task.network.weight], [state, weight], atol=1e-6, rtol=0)
    last = [*by_epoch][max(0, len(by_epoch) - recipe.keep_epochs) :]
    assert [*again.epochs] == last
    torch.testing.assert_close([each["weight"] for each in again.epochs.values()], [by_epoch[epoch] for epoch in last], atol=1e-6, rtol=0)
    (tmp_path / ".run.tmp-resume" / "progress.json").write_text("{")
    refused(SentvizError, "is damaged.*; delete it to start again", trainer().resume)


def test_rows_between_the_classes_are_shares(tmp_path: Path) -> None:
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
