"""Training: resumed equals uninterrupted, the loop does what the recipe says, and a toy task is learned."""

from __future__ import annotations

import json
import math
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from sentviz import datasets, training
from sentviz.errors import InputError, RunError
from sentviz.models.loading import load
from sentviz.models.model import softmax
from sentviz.recipe import Recipe, recipe_names
from sentviz.testset.rows import predicted
from sentviz.training import Trainer, batches, train
from tests.makers import toy_recipe, toy_splits, use_toy_data


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every recipe's data set is the made-up one."""
    use_toy_data(monkeypatch)
    yield


def same(one: Trainer, two: Trainer) -> None:
    """Weights, best weights, optimizer state, history and progress are equal bit for bit."""
    for ours, theirs in (
        (one.encoder.state_dict(), two.encoder.state_dict()),
        (one.best_state, two.best_state),
    ):
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[k], theirs[k]) for k in ours)
    moments = [t.optimizer.state_dict()["state"] for t in (one, two)]
    assert all(torch.equal(moments[0][i][k], moments[1][i][k]) for i in moments[0] for k in moments[0][i])
    assert one.at.history == two.at.history
    assert (one.at.step, one.at.best, one.at.since_best, one.at.stopped) == (
        two.at.step,
        two.at.best,
        two.at.since_best,
        two.at.stopped,
    )


def whole(folder: Path, **changes: Any) -> Trainer:
    """A run without interruption."""
    trainer = Trainer(toy_recipe(**changes), folder)
    trainer.fit(progress=False)
    return trainer


@pytest.mark.parametrize("model", ["ndt-unit-2", "diff", "vanilla"])
def test_resumed_is_uninterrupted_bit_for_bit(model: str, tmp_path: Path) -> None:
    """Stopped within an epoch, at its end, and again; each new trainer knows only the resume point."""
    straight = whole(tmp_path / "straight", model=model, dropout=0.3)
    for until in (0, 3, 10, 17, None):
        torch.rand(7)  # whatever else the process drew
        broken = Trainer(toy_recipe(model, dropout=0.3), tmp_path / "broken")
        assert broken.resume() == (until != 0)
        broken.fit(progress=False, until=until)
        assert broken.at.step == (40 if until is None else until)
    same(straight, broken)


@pytest.mark.parametrize("place", ["collate", "evaluate", "softmax"])
def test_ctrl_c_within_a_step_loses_nothing(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real SIGINT before the forward pass, in a validation, or after dropout drew its numbers; then it goes on."""
    straight = whole(tmp_path / "straight", dropout=0.3)
    owner, name = {"softmax": (F, "cross_entropy")}.get(place, (training, place))
    plain, calls, before = getattr(owner, name), [], signal.getsignal(signal.SIGINT)

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return plain(*args, **kwargs)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owner, name, interrupted)
        Trainer(toy_recipe(dropout=0.3), tmp_path / "broken").fit(progress=False)
    assert signal.getsignal(signal.SIGINT) is before
    again = Trainer(toy_recipe(dropout=0.3), tmp_path / "broken")
    assert again.resume() and again.at.step == (15 if place == "evaluate" else 3)
    again.fit(progress=False)
    same(straight, again)


def test_a_killed_run_goes_on_from_its_last_resume_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Death in the middle of writing a resume point leaves the one before; going on from it gives the same run."""
    straight = whole(tmp_path / "straight")
    Trainer(toy_recipe(), tmp_path / "broken").fit(progress=False, until=6)
    second = Trainer(toy_recipe(), tmp_path / "broken")
    second.resume()

    def dying(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="no space"):
        patch.setattr(training, "save_file", dying)
        second.fit(progress=False, until=13)
    third = Trainer(toy_recipe(), tmp_path / "broken")
    assert third.resume() and third.at.step == 6
    third.fit(progress=False)
    same(straight, third)


def test_train_finishes_what_was_begun(tmp_path: Path) -> None:
    """`train` after a stop writes a run whose history is the uninterrupted one, and no resume point stays."""
    Trainer(toy_recipe(), tmp_path / "toy" / "ndt-unit-2").fit(progress=False, until=15)
    run = train(toy_recipe(), tmp_path, device="cpu", progress=False)
    assert run.config["steps"] == 40
    straight = whole(tmp_path / "straight")
    np.testing.assert_array_equal(run.history()["step"], [row[0] for row in straight.at.history])
    np.testing.assert_allclose(run.history()["value"], [row[5] for row in straight.at.history], rtol=1e-6)
    assert sorted(p.name for p in (tmp_path / "toy").iterdir()) == ["ndt-unit-2"]


def test_a_resume_point_of_another_recipe_is_refused(tmp_path: Path) -> None:
    """Same folder, another seed; and a damaged point says how to start again."""
    Trainer(toy_recipe(), tmp_path / "x").fit(progress=False, until=1)
    with pytest.raises(RunError, match="another recipe"):
        Trainer(toy_recipe(seed=1), tmp_path / "x").resume()
    point = tmp_path / ".x.tmp-resume" / "progress.json"
    stored = json.loads(point.read_text())
    for damage in ("{", "[]", "{}", json.dumps(stored | {"at": {"walk": 1}})):
        point.write_text(damage)
        with pytest.raises(RunError, match="delete it to start again"):
            Trainer(toy_recipe(), tmp_path / "x").resume()


def test_the_toy_task_is_learned(tmp_path: Path) -> None:
    """Training loss falls by half, validation is far above chance, the best weights are those kept."""
    trainer = whole(tmp_path / "x", epochs=6)
    losses = [row[5] for row in trainer.at.history if row[2] == "train_loss"]
    assert losses[-1] < 0.5 * losses[0] and trainer.at.best["accuracy"] > 0.85
    scores = [row[5] for row in trainer.at.history if row[2] == "validation_accuracy"]
    assert trainer.at.best["accuracy"] == max(scores) and len(scores) == 12
    run = trainer.finish()
    assert run.metrics()["validation"]["stored_accuracy"] == pytest.approx(max(scores), abs=0.02)
    assert run.metrics()["test"]["accuracy"]["value"] > 0.85


def test_the_logged_loss_is_the_mean_of_the_steps(tmp_path: Path) -> None:
    """The first log entry against the first five batches run by hand, without dropout and with a rate of almost 0."""
    trainer = Trainer(toy_recipe(dropout=0.0, learning_rate=1e-12, lambda_rate=1e-12, weight_decay=0.0), tmp_path / "x")
    order = batches(trainer.lengths, 16, 0, 0)[:5]
    losses = []
    for rows in order:
        logits = torch.stack([trainer.encoder(training.collate([trainer.rows[i]])).logits[0] for i in rows])
        losses.append(float(F.cross_entropy(logits, trainer.targets[rows]).detach()))
    trainer.fit(progress=False, until=5)
    entry = next(row for row in trainer.at.history if row[2] == "train_loss")
    assert entry[:2] == [5, 0.5] and entry[5] == pytest.approx(np.mean(losses), abs=1e-5)


@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.25])
def test_the_rate_rises_linearly_then_falls_as_a_cosine(warmup: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step's rate, in both groups, by the formula."""
    trainer = Trainer(toy_recipe(warmup=warmup, lambda_rate=3e-3), tmp_path / "x")
    seen: list[tuple[float, float]] = []
    plain = trainer.optimizer.step

    def step(*_: object) -> None:
        seen.append((trainer.optimizer.param_groups[0]["lr"], trainer.optimizer.param_groups[1]["lr"]))
        plain()

    monkeypatch.setattr(trainer.optimizer, "step", step)
    trainer.fit(progress=False)
    warm = max(1, round(40 * warmup))
    for step, (rate, lambda_rate) in enumerate(seen):
        part = (step + 1) / warm if step < warm else (1 + math.cos(math.pi * (step - warm) / (40 - warm))) / 2
        assert rate == pytest.approx(1e-2 * part) and lambda_rate == pytest.approx(3e-3 * part)
    assert len(seen) == 40


@pytest.mark.parametrize("count, size", [(1000, 7), (64, 64), (5, 16), (3300, 32)])
def test_an_epoch_holds_every_row_once(count: int, size: int) -> None:
    """Batches of the stated size but the last of a pool; the same for the same seed and epoch, another for another."""
    lengths = np.random.default_rng(0).integers(1, 200, count)
    made = batches(lengths, size, 3, 1)
    assert sorted(np.concatenate(made).tolist()) == list(range(count))
    assert len(made) == math.ceil(count / size) and max(map(len, made)) <= size
    assert all(np.array_equal(a, b) for a, b in zip(made, batches(lengths, size, 3, 1), strict=True))
    if count > size:
        other = [np.concatenate(batches(lengths, size, *key)).tolist() for key in ((3, 2), (4, 1))]
        assert np.concatenate(made).tolist() not in other
        padded = sum(len(b) * lengths[b].max() for b in made)
        shuffled = np.random.default_rng(1).permutation(count)
        plain = sum(len(b) * lengths[b].max() for b in np.array_split(shuffled, len(made)))
        assert padded < 1.2 * lengths.sum() < plain
        firsts = [int(lengths[b].max()) for b in made]
        assert firsts != sorted(firsts)


@pytest.mark.parametrize("model", ["ndt-unit-3", "diff", "vanilla"])
def test_lambda_parameters_alone_are_not_decayed(model: str, tmp_path: Path) -> None:
    """Two groups: exactly the mixing's parameters with decay 0 and their own rate, all others with the recipe's."""
    trainer = Trainer(toy_recipe(model, lambda_rate=2e-3), tmp_path / "x")
    names = {id(p): n for n, p in trainer.encoder.named_parameters()}
    groups = [({names[id(p)] for p in g["params"]}, g["weight_decay"], g["lr"]) for g in trainer.optimizer.param_groups]
    mixing = {n for n in names.values() if ".mixing." in n}
    assert groups[0] == (set(names.values()) - mixing, 0.1, 1e-2)
    assert groups[1:] == ([(mixing, 0.0, 2e-3)] if model != "vanilla" else [])
    assert (model == "vanilla") == (not mixing)


def test_frozen_lambdas_stay_at_their_start(tmp_path: Path) -> None:
    """learn_lambda = false: the history of lambda is flat, that of a learned one is not."""
    shape = {"width": 16, "heads": 2, "ffn_width": 24}
    for learn in (False, True):
        trainer = whole(tmp_path / str(learn), shape=shape | {"learn_lambda": learn}, epochs=1)
        values = {row[5] for row in trainer.at.history if row[2] == "lambda" and row[3] == 0}
        assert (len(values) == 1) == (not learn)


def test_patience_stops_a_run_that_gets_no_better(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rate of almost 0: after the first evaluation none is better; the stop survives a resume."""
    settings = {"learning_rate": 1e-12, "lambda_rate": 1e-12, "weight_decay": 0.0, "patience": 2, "dropout": 0.0}
    trainer = Trainer(toy_recipe(**settings), tmp_path / "x")
    plain = trainer._validate

    def validate() -> None:
        plain()
        trainer.at.best.update(accuracy=1.1)

    monkeypatch.setattr(trainer, "_validate", validate)
    trainer.fit(progress=False)
    assert trainer.at.stopped and trainer.at.step == 15
    again = Trainer(toy_recipe(**settings), tmp_path / "x")
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
        ({"epochs": 0}, "epochs cannot be 0"),
        ({"batch_size": -1}, "batch_size cannot be -1"),
        ({"learning_rate": float("nan")}, "learning_rate cannot be nan"),
        ({"learning_rate": float("inf")}, "learning_rate cannot be inf"),
        ({"learning_rate": [1]}, "learning_rate must be a number"),
        ({"dropout": 1.5}, "dropout cannot be 1.5"),
        ({"label_smoothing": 1}, "label_smoothing cannot be 1"),
        ({"cls": "no"}, "cls must be true or false"),
        ({"model": 3}, "model must be a text"),
        ({"dataset": 3}, "dataset must be a text"),
        ({"shape": 3}, "shape must be a table"),
        ({"model": "magic"}, "no model 'magic'"),
        ({"tokenizer": "letters"}, "tokenizer must be words or bpe"),
    ],
)
def test_a_recipe_with_a_mistake_is_refused(values: dict[str, Any], reason: str) -> None:
    """The message names the setting."""
    with pytest.raises(InputError, match=reason):
        Recipe.of({"dataset": "toy"} | values)


def test_recipes_are_read_from_files(tmp_path: Path) -> None:
    """Those that ship, one's own with changes on top, and what cannot be read."""
    for name in recipe_names():
        recipe = Recipe.read(name)
        assert Recipe.of(recipe.as_dict()) == recipe and recipe.name.startswith(recipe.dataset)
    own = tmp_path / "own.toml"
    own.write_text('dataset = "toy"\nlearning_rate = 1\n[shape]\nlayers = 3\n')
    recipe = Recipe.read(own, model="diff", seed=4, epochs=None)
    assert (recipe.name, recipe.shape, recipe.epochs) == ("toy/diff-s4", {"layers": 3}, 6)
    with pytest.raises(InputError, match="no recipe"):
        Recipe.read("none")
    for content in (b"dataset = ", b"\xff\xfe", b"epochs = 3"):
        own.write_bytes(content)
        with pytest.raises(InputError, match=r"cannot be read|needs a dataset"):
            Recipe.read(own)


def test_a_data_set_without_classes_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Scores from 0 to 5, say, are nothing to classify."""
    splits = {name: replace(split, labels=()) for name, split in toy_splits().items()}
    monkeypatch.setattr(datasets, "load_split", lambda name, split: splits[split])
    with pytest.raises(InputError, match="toy has no classes to tell apart"):
        Trainer(toy_recipe(), tmp_path / "run")


def test_pairs_go_in_as_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is stored of each row is the trace of its two texts, told apart by segment; another set's test split is asked as well."""
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
        np.testing.assert_allclose(stored.iloc[row][list(model.labels)].to_numpy(float), trace.probabilities, atol=2e-5)
        assert not np.allclose(model.trace(pair, text).probabilities, trace.probabilities, atol=1e-6)
    rows = model.read(frame)
    again = predicted(model, "digest", frame, "test").probabilities
    np.testing.assert_allclose(again, softmax(model.forward(rows)[0]), atol=1e-6)
    bare = [replace(row, segments=None) for row in rows]
    assert not np.allclose(again, softmax(model.forward(bare)[0]), atol=1e-4)  # without segments it is another question
