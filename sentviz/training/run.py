"""Train a recipe from its first step or its resume point to its run folder."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from pkgutil import resolve_name

from sentviz.errors import InputError, RunError
from sentviz.io.files import disk_errors, hold
from sentviz.io.lazy import torch
from sentviz.runs.presets import find_preset
from sentviz.runs.store import Run, folder_for
from sentviz.training.based import BasedTask
from sentviz.training.recipe import Recipe, finished
from sentviz.training.task import TrainingTask
from sentviz.training.trainer import Shown, Trainer

TASKS = {  # `KIND` of a configuration -> training task, if it is not `OwnTask`
    "encoder": "sentviz.training.encoder_task:EncoderTask",
    "hardmax": "sentviz.training.hardmax:HardmaxTask",
}


def train(recipe: Recipe | str, root: str | Path | None = None, *, device: str = "", progress: Shown = True) -> Run:
    """Train a recipe to the run folder `root/<data set>/<model>`. A stopped run is continued; a finished run is returned unchanged.

    Args:
        recipe: a recipe, the name of a shipped one, or a data set of the user, as ``"mine/reviews"``.
        root: folder of runs; by default ``runs`` here or, for a data set of the user, the user's library.
        progress: whether a bar is shown, or a function that is called after each step with the numbers of steps done and of all.
    Raises:
        DataMissingError: the data set is not installed. InputError: the data set or the model does not allow the recipe.
        RunError: the folder contains something else or cannot be written, or a resume point belongs to another recipe.
        KeyboardInterrupt: training was interrupted; a resume point was saved.
    """
    recipe = (Recipe.read(recipe) if isinstance(recipe, str) else recipe).pinned()
    root = folder_for(recipe.dataset, root)
    kind = _kind(recipe)
    kind.check(recipe)
    if recipe.pretrain and not kind.masks:
        raise InputError(f"{recipe.model} cannot be trained on masked tokens; only sentviz encoders can. Set pretrain to 0.")

    def finished_run() -> Run | None:
        run = finished(recipe, root)
        if run is not None and not run.has_weights:
            raise RunError(f"{run.folder} contains the run's measurements without its weights. Choose another folder to train the run.")
        return run

    return completed(recipe.name, root, lambda device: kind(recipe, device), finished_run, device=device, progress=progress)


def task_of(recipe: Recipe, device: str = "cpu") -> TrainingTask:
    """Return the training task of a recipe.

    Raises:
        DataMissingError: the data set is not installed. InputError: the data set does not allow the recipe.
    """
    return _kind(recipe)(recipe, device)


def completed(
    name: str,
    root: str | Path,
    task: Callable[[str], TrainingTask],
    existing: Callable[[], Run | None] = lambda: None,
    *,
    device: str = "",
    progress: Shown = True,
) -> Run:
    """Train a run to its end, from its resume point if it has one, while this process holds the run's folder.

    Args:
        task: makes the training task on a device; called once the folder is held. existing: returns the run if it is finished already.
    Raises:
        SentvizError: the folder cannot be written, or another process trains the run.
    """
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    folder = Path(root) / name
    with ExitStack() as stack:
        with disk_errors(folder.parent):
            mine = stack.enter_context(hold(folder))
        if not mine:
            raise RunError(f"{name} is being trained by another process in {root}.")
        if run := existing():
            return run
        trainer = Trainer(task(device or ("cuda" if torch.cuda.is_available() else "cpu")), folder, progress=progress)
        trainer.resume()
        trainer.fit(progress=progress)
        return trainer.finish()


def task_class(kind: str) -> type[TrainingTask]:
    """Return the class that trains models of a kind by a recipe."""
    cls: type[TrainingTask] = resolve_name(TASKS.get(kind, "sentviz.training.encoder_task:OwnTask"))
    return cls


def _kind(recipe: Recipe) -> type[TrainingTask]:
    if recipe.source:
        raise InputError(f"{recipe.model} is a Hugging Face encoder: `finetune`, or `sentviz train` with --hub, trains it.")
    if recipe.base:
        return BasedTask
    return task_class(find_preset(recipe.model).kind)
