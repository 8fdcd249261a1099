"""One trainer for every kind of model, and one way to finish a run.

subject    what is trained: the protocol, and how it is met: own (from a configuration alone), foreign (Hugging Face), hardmax
trainer    the loop: steps, selection, early stop, kept epochs, Ctrl-C; resumable bit for bit
plan       batches of an epoch, when to evaluate, the rate of a step, which state is the best
resuming   resume points on disk
finishing  a model as a run folder: evaluated as it will be loaded
adoption   a Hugging Face classifier as a run, as it is
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sentviz.io.late import lazy

if TYPE_CHECKING:
    from sentviz.training.adoption import adopt
    from sentviz.training.finishing import finish
    from sentviz.training.foreign import finetune
    from sentviz.training.plan import batches
    from sentviz.training.run import subject_of, train
    from sentviz.training.subject import TrainingTask
    from sentviz.training.trainer import Trainer

__all__ = ["Trainer", "TrainingTask", "adopt", "batches", "finetune", "finish", "subject_of", "train"]

_MODULES = {
    "TrainingTask": "subject",
    "Trainer": "trainer",
    "adopt": "adoption",
    "batches": "plan",
    "finetune": "foreign",
    "finish": "finishing",
    "subject_of": "run",
    "train": "run",
}

__getattr__ = lazy(__name__, _MODULES)
