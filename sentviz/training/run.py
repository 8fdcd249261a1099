"""A recipe from its first step, or its resume point, to its run folder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import torch

from sentviz.errors import InputError, RunError
from sentviz.io.files import disk, hold
from sentviz.runs.bases import find_base
from sentviz.runs.presets import find_preset
from sentviz.runs.store import Run
from sentviz.training.based import BasedSubject
from sentviz.training.kinds import subject_class
from sentviz.training.recipe import Recipe, finished
from sentviz.training.subject import TrainingTask
from sentviz.training.trainer import Trainer


def train(recipe: Recipe, root: str | Path, *, device: str = "", progress: bool = True) -> Run:
    """Train a recipe to a run folder `root/<data set>/<model>`; a run that stopped goes on where it was, a finished one is given back.

    Raises:
        DataMissingError: the data set is not here. InputError: a recipe that its data set or its model does not allow.
        RunError: something else is in its place, a resume point of another recipe, or a folder that cannot be written.
        KeyboardInterrupt: after saving a resume point.
    """
    if recipe.base:  # runs and resume points on another base are others
        recipe = replace(recipe, weights=find_base(recipe.base, recipe.weights).digest)
    kind = _kind(recipe)
    kind.check(recipe)
    if recipe.pretrain and not kind.masks:
        raise InputError(f"{recipe.model} does not learn from masked tokens, only our encoder does: leave pretrain at 0.")

    def there() -> Run | None:
        run = finished(recipe, root)
        if run is not None and not run.has_weights:
            raise RunError(f"{run.folder} keeps the run's measurements without its weights; choose another folder to train it.")
        return run

    return completed(recipe.name, root, lambda device: kind(recipe, device), there, device=device, progress=progress)


def subject_of(recipe: Recipe, device: str = "cpu") -> TrainingTask:
    """What a recipe trains.

    Raises:
        DataMissingError: the data set is not here. InputError: a recipe that its data set does not allow.
    """
    return _kind(recipe)(recipe, device)


def completed(
    name: str,
    root: str | Path,
    subject: Callable[[str], TrainingTask],
    there: Callable[[], Run | None] = lambda: None,
    *,
    device: str = "",
    progress: bool = True,
) -> Run:
    """Train what is there of a run to its end, held by this process alone.

    Args:
        subject: made of a device, once nobody else can train it. there: the run where it is finished already.
    Raises:
        SentvizError: the folder cannot be written, or another process trains the run.
    """
    torch.set_float32_matmul_precision("highest")
    folder = Path(root) / name
    with ExitStack() as stack:
        with disk(folder.parent):
            mine = stack.enter_context(hold(folder))
        if not mine:
            raise RunError(f"{name} is being trained by another process in {root}.")
        if run := there():
            return run
        trainer = Trainer(subject(device or ("cuda" if torch.cuda.is_available() else "cpu")), folder)
        trainer.resume()
        trainer.fit(progress=progress)
        return trainer.finish()


def _kind(recipe: Recipe) -> type[TrainingTask]:
    if recipe.source:
        raise InputError(f"{recipe.model} is a Hugging Face encoder: `finetune`, or `sentviz train` with --hub, trains it.")
    if recipe.base:
        return BasedSubject
    return subject_class(find_preset(recipe.model).kind)
