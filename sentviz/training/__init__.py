"""Train models of every kind, and write them as runs.

task       the training task: everything that the trainer needs of a kind of model. Implemented in own (networks described by their
           configuration alone), foreign (Hugging Face), based (pretrained bases) and hardmax
trainer    the loop: steps, evaluations, best state, kept epochs, early stop, Ctrl-C; resuming gives equal bits
plan       batches of an epoch, times of evaluations, learning rates, choice of the best state
resuming   resume points on disk
finishing  write a model as a run folder and evaluate it as it will be loaded
adoption   write a Hugging Face classifier as a run, without training
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentviz.io.lazy import package_names

if TYPE_CHECKING:
    from sentviz.training.adoption import adopt, evaluate_on
    from sentviz.training.finishing import finish
    from sentviz.training.foreign import finetune
    from sentviz.training.plan import batches
    from sentviz.training.run import task_of, train
    from sentviz.training.task import TrainingTask
    from sentviz.training.trainer import Trainer

__all__ = ["Trainer", "TrainingTask", "adopt", "batches", "evaluate_on", "finetune", "finish", "task_of", "train"]

_MODULES = {
    "TrainingTask": "task",
    "Trainer": "trainer",
    "adopt": "adoption",
    "batches": "plan",
    "finetune": "foreign",
    "finish": "finishing",
    "evaluate_on": "adoption",
    "task_of": "run",
    "train": "run",
}

__getattr__ = package_names(__name__, _MODULES)
