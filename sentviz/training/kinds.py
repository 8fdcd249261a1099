"""The training task of each kind of model, imported when it is used."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sentviz.training.task import TrainingTask

TASKS = {  # `KIND` of a configuration -> training task, if it is not `OwnTask`
    "encoder": "sentviz.training.own:EncoderTask",
    "hardmax": "sentviz.training.hardmax:HardmaxTask",
}


def task_class(kind: str) -> type[TrainingTask]:
    """Return the class that trains models of a kind by a recipe."""
    cls: type[TrainingTask] = resolve_name(TASKS.get(kind, "sentviz.training.own:OwnTask"))
    return cls
