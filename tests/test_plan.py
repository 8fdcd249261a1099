"""The plan of a training run: rates by formula, when it is evaluated, which state is the best, against scikit-learn."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import torch
from scipy.special import softmax
from sklearn.metrics import accuracy_score, f1_score, log_loss
from torch.nn import functional as F

from sentviz.analysis.evaluation import Evaluation
from sentviz.data.datasets import MIDDLE
from sentviz.errors import InputError
from sentviz.training import trainer as trainers
from sentviz.training.plan import Mixture, batches, better, evaluation_due, rate, scores
from sentviz.training.recipe import Recipe, Selection
from sentviz.training.trainer import targets
from tests.kit import toy_trainer

# ---- rates


SHAPES = {"cosine": lambda x: (1 + math.cos(math.pi * x)) / 2, "linear": lambda x: 1 - x, "constant": lambda x: 1.0}


@pytest.mark.parametrize("schedule", SHAPES)
def test_the_rate_rises_linearly_then_follows_its_schedule(schedule: str) -> None:
    """Over 20 steps the first step has the full rate without a warm-up, and the last step of the warm-up has it otherwise."""
    for warm in (0, 1, 5):
        rates = [rate(schedule, step, 20, warm / 20) for step in range(20)]
        wanted = [*((i + 1) / warm for i in range(warm)), *(SHAPES[schedule](i / (20 - warm)) for i in range(20 - warm))]
        np.testing.assert_allclose(rates, wanted)
    assert rate("cosine", 0, 20, 0.001) == 1 == rate("cosine", 1, 20, 0.001) and rate("cosine", 1, 20, 0.0) < 1


@pytest.mark.slow
@pytest.mark.usefixtures("toy_data")
def test_a_training_follows_its_schedule_and_stops_by_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training stops after `patience` evaluations without improvement of what is selected; 0 never stops."""
    count = iter(range(100))
    monkeypatch.setattr(trainers, "scores", lambda *_: {"accuracy": 0.5 + 0.01 * (i := next(count)), "loss": 1.0 + i})
    for patience, steps in ((2, 15), (0, 20)):
        settings = {"schedule": "linear", "warmup": 0.25, "log_every": 1, "epochs": 2, "select": "loss"}
        trainer = toy_trainer(tmp_path / str(patience), patience=patience, **settings)
        trainer.fit(progress=False)
        seen = [row[5] for row in trainer.at.history if row[2] == "learning_rate"]
        np.testing.assert_allclose(seen, [1e-2 * rate("linear", step, 20, 0.25) for step in range(steps)])
        assert trainer.at.step == steps and trainer.at.stopped == bool(patience)


def test_evaluations_are_spread_over_an_epoch() -> None:
    for evaluations, at in ((1, [10]), (2, [5, 10]), (3, [4, 7, 10]), (10, [*range(1, 11)])):
        assert [step for step in range(1, 21) if evaluation_due(step, 10, evaluations)] == [*at, *(10 + place for place in at)]


# ---- selection


def answers(seed: int = 0, rows: int = 50, classes: int = 3) -> Evaluation:
    """Return random predictions of three classes, with a rare last one that is never predicted, or of two."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(classes, rows, p=[0.5, 0.4, 0.1] if classes == 3 else [0.6, 0.4])
    logits = (rng.normal(size=(rows, classes)) + 2 * np.eye(classes)[labels]).astype(np.float32)
    logits[:, 2:] -= 20
    ids = tuple(map(str, range(rows)))
    return Evaluation("validation", ids, labels, logits, np.zeros((rows, 2), dtype=np.float32), ("a", "b", "c")[:classes])


@pytest.mark.parametrize("select", get_args(Selection))
def test_scores_are_those_of_scikit_learn(select: str) -> None:
    evaluation = answers(classes=2 if select == "f1_positive" else 3)
    labels, predicted = evaluation.labels, evaluation.logits.argmax(axis=1)
    wanted = {
        "accuracy": accuracy_score(labels, predicted),
        "loss": log_loss(labels, softmax(evaluation.logits.astype(np.float64), axis=1)),
        "f1_macro": f1_score(labels, predicted, average="macro"),
        "f1_positive": f1_score(labels, predicted) if select == "f1_positive" else 0,
    }
    assert scores(evaluation, select) == pytest.approx({name: wanted[name] for name in {"accuracy", "loss", select}}, rel=1e-5)


def test_the_best_is_told_by_what_is_selected_and_ties_by_loss() -> None:
    best = {"accuracy": 0.8, "loss": 0.5, "f1_macro": 0.7}
    assert better(best, {}, "accuracy")
    assert better(best | {"loss": 0.4}, best, "accuracy") and not better(best | {"loss": 0.6}, best, "accuracy")
    assert better(best | {"accuracy": 0.81, "loss": 0.9}, best, "accuracy") and not better(best, best, "accuracy")
    assert better(best | {"accuracy": 0.1, "loss": 0.49}, best, "loss")
    assert not better(best | {"accuracy": 0.9, "loss": 0.51}, best, "loss")
    assert better(best | {"f1_macro": 0.71, "accuracy": 0.1, "loss": 9.0}, best, "f1_macro")
    assert better(best | {"loss": 0.4}, best, "f1_macro") and not better(best | {"f1_macro": 0.69, "accuracy": 1.0}, best, "f1_macro")


@pytest.mark.slow
@pytest.mark.usefixtures("toy_data")
def test_a_training_keeps_the_state_that_was_best(tmp_path: Path) -> None:
    """The kept step is the first best one in the history, and its weights are the best state."""
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


def test_a_choice_that_is_none_is_refused() -> None:
    for name in ("select", "schedule", "tokenizer"):
        with pytest.raises(InputError, match=f"recipe's {name} must be .* or .*, not 'magic'"):
            Recipe.of({"dataset": "toy", name: "magic"})


# ---- loss


@pytest.mark.usefixtures("toy_data")
def test_a_smoothed_loss_is_that_of_smoothed_labels(tmp_path: Path) -> None:
    """The loss is the cross-entropy with 1 - s on the label and s spread evenly over the classes."""
    trainer = toy_trainer(tmp_path / "x", label_smoothing=0.2, dropout=0.0, log_every=1)
    rows = next(trainer._remaining(1))
    logs = F.log_softmax(toy_trainer(tmp_path / "y", dropout=0.0).task.logits(rows).detach(), dim=-1).numpy()
    shares = 0.8 * np.eye(2)[trainer.task.train.frame["label"].to_numpy()[rows]] + 0.1
    trainer.fit(progress=False, until=1)
    loss = next(row[5] for row in trainer.at.history if row[2] == "train_loss")
    assert loss == pytest.approx(-(shares * logs).sum(axis=1).mean(), rel=1e-5)


# ---- mixtures

SOURCES = np.array(["many"] * 64 + ["few"] * 4 + ["some"] * 16)


def shares(temperature: float) -> dict[str, int]:
    """Return the rows that an epoch draws of each source; n^(1/T) over their sum, of 84 rows."""
    rows = Mixture(SOURCES, temperature).draw(np.random.default_rng(0))
    assert len(rows) == len(SOURCES)
    names, counts = np.unique(SOURCES[rows], return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def test_a_mixture_is_drawn_by_its_temperature() -> None:
    """T = 1 keeps the sizes, T = 2 takes square roots (8 : 2 : 4 of 84); no row comes again before all of its source came."""
    assert shares(1) == {"many": 64, "few": 4, "some": 16}
    assert shares(2) == {"many": 48, "few": 12, "some": 24}
    assert shares(1e6) == {"many": 28, "few": 28, "some": 28}
    rows = Mixture(SOURCES, 2).draw(np.random.default_rng(1))
    for source in ("many", "few", "some"):
        assert np.ptp(np.bincount(rows, minlength=len(SOURCES))[source == SOURCES]) <= 1


def test_epochs_of_a_mixture_are_batches_like_others() -> None:
    lengths = np.random.default_rng(0).integers(3, 30, len(SOURCES))
    epochs = [batches(lengths, 16, 0, epoch, Mixture(SOURCES, 2)) for epoch in (0, 0, 1)]
    assert [len(batch) for batch in epochs[0]].count(16) == 5 and sum(map(len, epochs[0])) == 84
    assert all((a == b).all() for a, b in zip(epochs[0], epochs[1], strict=True))
    assert any(len(a) != len(b) or (a != b).any() for a, b in zip(epochs[0], epochs[2], strict=True))


@pytest.mark.usefixtures("toy_data")
def test_rows_between_the_classes_ask_for_even_shares(tmp_path: Path) -> None:
    """The loss of such a row is least if both probabilities are one half; all other rows are learned as before."""
    before = toy_trainer(tmp_path / "a").targets
    trainer = toy_trainer(tmp_path / "b")
    frame = trainer.task.train.frame.copy()
    frame.loc[3, "label"] = MIDDLE
    shares = targets(replace(trainer.task.train, frame=frame), trainer.recipe)
    assert shares[3].tolist() == [0.5, 0.5] and before.dtype == torch.int64
    rest = torch.arange(len(before)) != 3
    assert (shares[rest].argmax(dim=1) == before[rest]).all() and set(shares[rest].flatten().tolist()) == {0.0, 1.0}
