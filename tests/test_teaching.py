"""Targets of training rows that a teacher's probabilities are mixed into."""

from __future__ import annotations

from collections.abc import Iterator
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
from sentviz.runs import store
from sentviz.runs.store import Run
from sentviz.training import recipe as recipes
from sentviz.training import train, trainer
from sentviz.training.recipe import Recipe
from tests.kit import toy_recipe, use_toy_data


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Return a trained run that `find` finds by name; probabilities are stored in a folder of their own."""
    root = tmp_path_factory.mktemp("teacher")
    with pytest.MonkeyPatch.context() as patch:
        use_toy_data(patch)
        run = train(toy_recipe("vanilla", epochs=1), root / "runs", progress=False)
        for module in (recipes, trainer):
            patch.setattr(module, "find", lambda name: store.find(name, [root / "runs"]))
        patch.setenv("SENTVIZ_HOME", str(root / "home"))
        yield run


def taught(teacher: str = "toy/vanilla", **changes: object) -> Recipe:
    return replace(toy_recipe("vanilla", epochs=1), teacher=teacher, folder="taught", **changes)  # type: ignore[arg-type]


def test_targets_are_shares_of_label_and_teacher(teacher: Run) -> None:
    """Half of a target is the label's, the other half the teacher's calibrated probability; a row between the classes has even labels."""
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


def test_a_teacher_answers_once(teacher: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Stored parts are read back; only a missing part is computed again."""
    monkeypatch.setattr(trainer, "CHUNK", 10)
    monkeypatch.setenv("SENTVIZ_HOME", str(tmp_path))
    split = datasets.load_split("toy", "test")
    first = trainer.answers(teacher, split, 16)
    files = sorted((trainer.home() / "teachers").rglob("*.npy"))
    assert len(files) == -(-len(split) // 10) and np.allclose(first.sum(axis=1), 1)
    files[0].unlink()
    before = {file: file.stat().st_mtime_ns for file in files[1:]}
    assert np.allclose(trainer.answers(teacher, split, 16), first, atol=1e-6)
    assert files[0].is_file() and {file: file.stat().st_mtime_ns for file in files[1:]} == before


def test_a_student_is_trained_and_names_its_teacher(teacher: Run, tmp_path: Path) -> None:
    student = train(taught(), tmp_path / "students", progress=False)
    assert student.config["recipe"]["teacher"] == f"toy/vanilla@{teacher.digest}"
    with pytest.raises(RunError, match="is another run than the installed toy/vanilla: its digest is 000000000000, not"):
        taught(teacher="toy/vanilla@000000000000").pinned()


def test_a_teacher_of_other_classes_is_refused(teacher: Run) -> None:
    split = replace(datasets.load_split("toy", "train"), labels=("no", "yes"))
    with pytest.raises(InputError, match="toy/vanilla cannot teach toy: its classes are negative, positive"):
        trainer.targets(split, taught())
    with pytest.raises(InputError, match=r"teacher_share must be a .*, not 1"):
        Recipe.of({"dataset": "toy", "teacher": "toy/vanilla", "teacher_share": 1.0})
