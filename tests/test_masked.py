"""Masked tokens before the classes, and targets that a teacher's probabilities are mixed into."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sentviz.analysis.evaluation import evaluate
from sentviz.data import datasets
from sentviz.data.datasets import MIDDLE
from sentviz.errors import InputError, RunError
from sentviz.models.loading import load
from sentviz.models.protocol import Capture
from sentviz.runs import store
from sentviz.training import recipe as recipes
from sentviz.training import task_of, train, trainer
from sentviz.training.encoder_task import MASK, hidden_tokens, masked_loss, states
from sentviz.training.recipe import Recipe
from tests.kit import batch, refused, toy_recipe

pytestmark = pytest.mark.usefixtures("toy_data")


def test_hidden_tokens_and_their_loss_are_those_of_the_paper(tmp_path: Path) -> None:
    torch.manual_seed(0)
    rows = [np.concatenate([[2], np.full(size, 50), [3]]) for size in (40, 400)] * 200
    inputs = batch(rows)
    masked_inputs, is_hidden = hidden_tokens(inputs, 1000, 4)
    text = inputs.ids == 50
    assert not is_hidden[~text].any() and torch.equal(masked_inputs.ids[~text], inputs.ids[~text])
    assert is_hidden.sum().item() / text.sum().item() == pytest.approx(0.15, abs=0.005)
    assert torch.equal(masked_inputs.ids[~is_hidden], inputs.ids[~is_hidden])
    hidden_ids = masked_inputs.ids[is_hidden]
    assert (hidden_ids == MASK).float().mean().item() == pytest.approx(0.8, abs=0.01)
    assert (hidden_ids == 50).float().mean().item() == pytest.approx(0.1, abs=0.01)
    random_ids = hidden_ids[(hidden_ids != MASK) & (hidden_ids != 50)]
    assert random_ids.min() >= 4 and random_ids.max() < 1000 and len(random_ids.unique()) > 300
    subject = task_of(toy_recipe())
    network = subject.network.eval().requires_grad_(False)
    inputs = subject.batch(np.arange(8))
    torch.manual_seed(1)
    loss = masked_loss(network, inputs, 4)  # type: ignore[arg-type]
    torch.manual_seed(1)
    masked_inputs, is_hidden = hidden_tokens(inputs, network.config.vocab_size, 4)
    last = network(masked_inputs, Capture()).hidden[-1]
    losses = []
    for text, place in is_hidden.nonzero().tolist():
        scores = [float(network.final_norm(last[text, place]) @ row) for row in network.table]  # type: ignore[operator]
        losses.append(math.log(sum(map(math.exp, scores))) - scores[int(inputs.ids[text, place])])
    assert losses and float(loss) == pytest.approx(np.mean(losses), rel=1e-4)
    subject = task_of(toy_recipe())
    network, inputs = subject.network.eval(), subject.batch(np.arange(4))
    seen = states(network, inputs)  # type: ignore[arg-type]
    mask = torch.ones_like(inputs.ids, dtype=torch.bool) if inputs.mask is None else inputs.mask
    mean = torch.stack([row[is_token].mean(0) for row, is_token in zip(seen, mask, strict=True)])
    torch.testing.assert_close(mean, network(inputs, Capture()).pooled)
    subject = task_of(toy_recipe())
    only = batch([np.array([2, 3])])
    assert masked_loss(subject.network, only, 4).item() == 0  # type: ignore[arg-type]
    recipe = toy_recipe("cnn", shape={"filters": 4}, pretrain=5)
    refused(InputError, "cnn cannot be trained on masked tokens", train, recipe, tmp_path, progress=False)
    assert not (tmp_path / "toy").exists()


def taught(teacher: str = "toy/vanilla", **changes: object) -> Recipe:
    return replace(toy_recipe("vanilla", epochs=1), teacher=teacher, folder="taught", **changes)  # type: ignore[arg-type]


def test_a_student_learns_shares_of_label_and_teacher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = train(toy_recipe("vanilla", epochs=1), tmp_path / "runs", progress=False)
    for module in (recipes, trainer):
        monkeypatch.setattr(module, "find", lambda name: store.find(name, [tmp_path / "runs"]))
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "home"))
    recipe = taught().pinned()
    assert recipe.teacher == f"toy/vanilla@{teacher.digest}"
    split = datasets.load_split("toy", "train")
    frame = split.frame.copy()
    frame.loc[2, "label"] = MIDDLE
    split = replace(split, frame=frame, digest="changed")
    model = load(teacher)
    logits = torch.from_numpy(evaluate(model, split).logits).double() / teacher.calibration
    wanted = 0.5 * torch.softmax(logits, dim=1)
    for row, label in enumerate(frame["label"]):
        wanted[row] += torch.tensor([0.25, 0.25] if label == MIDDLE else [0.5 * (label == 0), 0.5 * (label == 1)])
    assert torch.allclose(trainer.targets(split, recipe).double(), wanted, atol=0.01)  # the teacher's products are in bfloat16
    alone = trainer.targets(split, replace(recipe, teacher_share=0.0))
    assert alone[2].tolist() == [0.5, 0.5] and (alone[0].argmax() == frame["label"][0])
    student = train(taught(), tmp_path / "students", progress=False)
    assert student.config["recipe"]["teacher"] == f"toy/vanilla@{teacher.digest}"
    with pytest.raises(RunError, match="is another run than the installed toy/vanilla: its digest is 000000000000, not"):
        taught(teacher="toy/vanilla@000000000000").pinned()
    split = replace(datasets.load_split("toy", "train"), labels=("no", "yes"))
    with pytest.raises(InputError, match="toy/vanilla cannot teach toy: its classes are negative, positive"):
        trainer.targets(split, taught())
    refused(InputError, r"teacher_share must be a .*, not 1", Recipe.of, {"dataset": "toy", "teacher": "toy/vanilla", "teacher_share": 1.0})
    monkeypatch.setattr(trainer, "CHUNK", 10)
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path / "empty"))
    split = datasets.load_split("toy", "test")
    first = trainer.answers(teacher, split, 16)
    files = sorted((trainer.home() / "teachers").rglob("*.npy"))
    assert len(files) == -(-len(split) // 10) and np.allclose(first.sum(axis=1), 1)
    files[0].unlink()
    before = {file: file.stat().st_mtime_ns for file in files[1:]}
    assert np.allclose(trainer.answers(teacher, split, 16), first, atol=1e-6)
    assert files[0].is_file() and {file: file.stat().st_mtime_ns for file in files[1:]} == before
