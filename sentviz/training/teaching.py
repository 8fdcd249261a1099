"""Targets of training rows: their classes or, if the recipe names a teacher, also the teacher's probabilities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from sentviz.data.datasets import MIDDLE, Split
from sentviz.errors import InputError
from sentviz.io.files import disk_errors, replacing
from sentviz.io.paths import home
from sentviz.models.loading import load
from sentviz.runs.calibration import softmax
from sentviz.runs.store import Run, find
from sentviz.training.recipe import Recipe

CHUNK = 2_000  # rows whose probabilities are stored together: a stopped teacher continues at the next chunk


def targets(train: Split, recipe: Recipe, *, progress: bool = False) -> Tensor:
    """Return the targets of rows: classes (n,), or shares of the classes (n, K) if there is a teacher or if rows are between the classes.

    With a teacher, shares are `teacher_share` of its calibrated probabilities and the rest of the label (Hinton et al. 2015,
    "Distilling the knowledge in a neural network", with a temperature of 1 after calibration).

    Raises:
        RunError: the teacher is not installed, has no weights, or is another run than the recipe's. InputError: it has other classes.
    """
    labels = torch.tensor(train.frame["label"].to_numpy(np.int64, copy=True))
    middle = labels == MIDDLE
    if not (recipe.teacher or middle.any()):
        return labels
    shares = F.one_hot(labels.clamp(min=0), len(train.labels)).float()
    shares[middle] = 1 / len(train.labels)
    if recipe.teacher:
        taught = torch.from_numpy(answers(find(recipe.teacher.partition("@")[0]), train, recipe.max_length, progress=progress))
        shares = (1 - recipe.teacher_share) * shares + recipe.teacher_share * taught
    return shares


def answers(teacher: Run, split: Split, max_length: int, *, progress: bool = False) -> npt.NDArray[np.float32]:
    """Return the calibrated probabilities (n, K) that a run gives to the first `max_length` of its tokens of each row of a split.

    They are computed with products in bfloat16 and stored in the user's cache, 2,000 rows at a time.

    Raises:
        InputError: the run has other classes than the split. RunError: it has no weights. SentvizError: the cache cannot be written.
    """
    from tqdm import tqdm

    if teacher.labels != tuple(split.labels):
        raise InputError(f"{teacher.name} cannot teach {split.name}: its classes are {', '.join(teacher.labels)}.")
    rows_read = f"{split.name}-{split.split}-{split.digest}-{max_length}"
    folder = home() / "teachers" / f"{teacher.name.replace('/', '-')}-{teacher.digest}" / rows_read
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    model, parts = None, []
    for start in tqdm(range(0, len(split), CHUNK), disable=not progress, desc=f"answers of {teacher.name}", unit_scale=CHUNK, unit="row"):
        file = folder / f"{start}.npy"
        if not file.is_file():
            model = model or load(teacher)
            rows = model.read(split.frame.iloc[start : start + CHUNK], max_length)
            with torch.autocast("cpu", torch.bfloat16):
                logits, _ = model.forward(rows)
            with disk_errors(folder), replacing(file) as fresh, fresh.open("wb") as handle:
                np.save(handle, softmax(logits, teacher.calibration))
        parts.append(np.load(file, allow_pickle=False))
    return np.concatenate(parts)
